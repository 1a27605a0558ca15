"""Runs that are killed at random times in all ways: no data is lost, and nothing is left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run
from corpora import TEXTS, write_ljspeech
from killing import Killer, complaints, contents, session_processes, workers_of

from tts_prep.cli.main import main
from tts_prep.loader import UtteranceDataset

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


@pytest.fixture(scope="module")
def large_corpus(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    def make(root: Path) -> None:
        write_ljspeech(root, TEXTS * 30)
        # Two rows that are left out: their lines too must be the same after any kill.
        (root / "wavs/S-0013.wav").unlink()
        (root / "wavs/S-0170.wav").write_bytes(b"")

    return made_once("corpus-of-kills", make)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, large_corpus: Path) -> dict[str, bytes]:
    store = tmp_path_factory.mktemp("whole") / "store"
    # In this process: that a run which ends leaves nothing behind is checked by those between the kills.
    with pytest.raises(SystemExit) as exit_:
        main(["ljspeech", str(large_corpus), str(store), "--jobs", "1", "--shard-utterances", "5"])
    assert not exit_.value.code
    return contents(store)


def run_kills(killer: Killer, kills: int, undisturbed: dict[str, bytes]) -> None:
    """Kill the command repeatedly, and check that finished stores have the same bytes as without kills."""
    while sum(killer.kills.values()) < kills:
        if killer.kill_once():
            assert contents(killer.store) == undisturbed
            shutil.rmtree(killer.store)
            print(f"{time.strftime('%H:%M:%S')} {sum(killer.kills.values())} kills", flush=True)
    killer.finish()
    assert contents(killer.store) == undisturbed


def test_a_few_kills_at_random_instants_change_no_byte_and_leave_nothing(
    large_corpus: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    run_kills(Killer(large_corpus, tmp_path / "store", tmp_path / "tmp", seed=5, longest=2.5), 3, undisturbed)


@pytest.mark.soak
def test_soak_of_kills(large_corpus: Path, undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    killer = Killer(large_corpus, tmp_path / "store", tmp_path / "tmp", seed=int(os.environ.get("SEED", "1")))
    started = time.monotonic()
    run_kills(killer, int(os.environ.get("KILLS", "200")), undisturbed)
    print(
        f"\n{sum(killer.kills.values())} kills in {time.monotonic() - started:.0f} s: {dict(killer.kills)}; "
        f"{killer.finished} stores finished; at most {killer.slowest:.2f} s to end in order"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_workers_work_ends_the_command_within_two_seconds(
    large_corpus: Path, tmp_path: Path, number: signal.Signals
) -> None:
    killer = Killer(large_corpus, tmp_path / "store", tmp_path / "tmp")
    process = killer.start()
    wait_for_shards(killer.store, process, 2)
    assert workers_of(process.pid)
    started = time.monotonic()
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - started < 2
    assert (process.returncode, "made in" in out) == (128 + number, False)
    assert complaints(err).lstrip("\n") == "tts-prep: error: interrupted; run the same command again to resume\n"
    killer.check_nothing_left(process.pid)
    assert not list(killer.temporary.iterdir())
    assert not list(killer.store.rglob("*.partial"))


def test_workers_do_not_outlive_a_command_that_was_killed_alone(large_corpus: Path, tmp_path: Path) -> None:
    killer = Killer(large_corpus, tmp_path / "store", tmp_path / "tmp")
    process = killer.start()
    wait_for_shards(killer.store, process, 2)
    assert workers_of(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    deadline = time.monotonic() + 2
    while session_processes(process.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not session_processes(process.pid)


def wait_for_shards(store: Path, process: subprocess.Popen[str], count: int) -> None:
    deadline = time.monotonic() + 60
    while len(list(store.glob("shards/*.h5"))) < count and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    assert process.poll() is None


DIES = """
import multiprocessing, os, pathlib, signal, sys

def die(event, arguments):
    # Only in a worker, when it opens the recording.
    if event == "open" and str(arguments[0]).endswith("S-0002.wav") and multiprocessing.parent_process():
        mark = pathlib.Path({mark!r})
        if {always} or not mark.exists():
            os.close(os.open(mark, os.O_CREAT | os.O_WRONLY))
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(die)
"""


def run_with_a_recording_that_kills(corpus: Path, folder: Path, *, always: bool) -> tuple[int, str]:
    """Run the command with a recording that kills its worker, once or always; return status and stderr."""
    (folder / "site").mkdir()
    (folder / "site/sitecustomize.py").write_text(DIES.format(mark=str(folder / "mark"), always=always))
    paths = [str(folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "tts_prep", "ljspeech", str(corpus), str(folder / "store"), "--jobs", "2"]
    done = subprocess.run(
        [*command, "--shard-utterances", "2", "--max-failures", "1"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    return done.returncode, complaints(done.stderr)


def test_a_worker_that_is_killed_once_costs_a_retry_of_its_shard(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, err = run_with_a_recording_that_kills(corpus, tmp_path, always=False)
    assert (status, err, (tmp_path / "mark").exists()) == (0, "", True)
    run(capsys, "ljspeech", corpus, tmp_path / "other", "-j", "1", "--shard-utterances", "2")
    assert contents(tmp_path / "store") == contents(tmp_path / "other")


def test_a_recording_that_always_kills_its_worker_is_left_out_and_named(corpus: Path, tmp_path: Path) -> None:
    status, err = run_with_a_recording_that_kills(corpus, tmp_path, always=True)
    assert (status, err) == (0, "")
    (failure,) = map(json.loads, (tmp_path / "store/failures.jsonl").read_text().splitlines())
    assert (failure["id"], failure["stage"]) == ("S-0002", "audio")
    assert failure["reason"].startswith("wavs/S-0002.wav: ended the process that reads it")
    assert len(UtteranceDataset(tmp_path / "store")) == len(TEXTS) - 1
