"""Runs that are ended in all ways: no data is lost, and nothing is left behind. Those at random times are for soak."""

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
from commands import LIGHT, run
from corpora import TEXTS, write_ljspeech
from killing import Killer, check_nothing_left, complaints, contents

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


@pytest.mark.soak
def test_soak_of_kills(large_corpus: Path, undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    killer = Killer(large_corpus, tmp_path / "store", tmp_path / "tmp", seed=int(os.environ.get("SEED", "1")))
    started = time.monotonic()
    run_kills(killer, int(os.environ.get("KILLS", "200")), undisturbed)
    print(
        f"\n{sum(killer.kills.values())} kills in {time.monotonic() - started:.0f} s: {dict(killer.kills)}; "
        f"{killer.finished} stores finished; at most {killer.slowest:.2f} s to end in order"
    )


HOOK = """
import multiprocessing, os, pathlib, signal, sys

def act(event, arguments):
    # Only in a worker, when it opens the recording.
    if event == "open" and str(arguments[0]).endswith("S-0002.wav") and multiprocessing.parent_process():
        mark = pathlib.Path({mark!r})
        if {always} or not mark.exists():
            os.close(os.open(mark, os.O_CREAT | os.O_WRONLY))
            {action}

sys.addaudithook(act)
"""
KILL_ITSELF = "os.kill(os.getpid(), signal.SIGKILL)"


def run_with_a_recording_that(
    action: str, corpus: Path, folder: Path, *, always: bool = False
) -> tuple[subprocess.CompletedProcess[str], int]:
    """Run the command with two workers, of which one acts when it opens a recording; return also its process id."""
    (folder / "site").mkdir()
    (folder / "tmp").mkdir()
    hook = HOOK.format(mark=str(folder / "mark"), always=always, action=action)
    (folder / "site/sitecustomize.py").write_text(hook)
    paths = [str(folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "tts_prep", *arguments(corpus, folder / "store"), "--jobs", "2"]
    process = subprocess.Popen(
        command,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(folder / "tmp")},
    )
    # How soon it ends is a matter of the soak test: a busy machine fails no other one.
    out, err = process.communicate(timeout=120)
    assert (folder / "mark").exists()
    return subprocess.CompletedProcess(command, process.returncode, out, complaints(err)), process.pid


# Stores of the soak test have mels and phonemes.
def arguments(corpus: Path, store: Path) -> list[str]:
    return ["ljspeech", str(corpus), str(store), *LIGHT, "--shard-utterances", "2", "--max-failures", "1"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> dict[str, bytes]:
    """Return the files of the store of an undisturbed run."""
    store = tmp_path_factory.mktemp("whole") / "store"
    with pytest.raises(SystemExit) as exit_:
        main([*arguments(corpus, store), "--jobs", "1"])
    assert not exit_.value.code
    return contents(store)


WAYS = {
    "kill everything": ("os.killpg(0, signal.SIGKILL)", -signal.SIGKILL),
    "kill the command": ("os.kill(os.getppid(), signal.SIGKILL)", -signal.SIGKILL),
    "interrupt": ("os.killpg(0, signal.SIGINT)", 128 + signal.SIGINT),
    "terminate": ("os.killpg(0, signal.SIGTERM)", 128 + signal.SIGTERM),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_command_that_is_ended_while_workers_work_is_resumed_to_the_same_bytes(
    corpus: Path, whole: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    action, status = WAYS[way]
    done, process = run_with_a_recording_that(action, corpus, tmp_path)
    assert (done.returncode, "made in" in done.stdout) == (status, False)
    # Workers exit if only their command was killed.
    check_nothing_left(process)
    if status > 0:
        assert done.stderr.lstrip("\n") == "tts-prep: error: interrupted; run the same command again to resume\n"
        assert not list((tmp_path / "tmp").iterdir())
        assert not list((tmp_path / "store").rglob("*.partial"))
    (tmp_path / "store/shards/00003.h5.partial").write_bytes(b"left by the killed run")
    assert run(capsys, *arguments(corpus, tmp_path / "store"))[0] == 0
    assert contents(tmp_path / "store") == whole


def test_what_a_killed_command_has_left_in_a_complete_store_is_removed_by_the_same_command(
    corpus: Path, whole: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    assert run(capsys, *arguments(corpus, store))[0] == 0
    # How the store was made is written after its manifest.
    (store / f"sources.json.{'0' * 32}.partial").write_bytes(b"{")
    assert run(capsys, *arguments(corpus, store))[0] == 0
    assert contents(store) == whole


def test_a_worker_that_is_killed_once_costs_a_retry_of_its_shard(
    corpus: Path, whole: dict[str, bytes], tmp_path: Path
) -> None:
    done, _ = run_with_a_recording_that(KILL_ITSELF, corpus, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert contents(tmp_path / "store") == whole


def test_a_recording_that_always_kills_its_worker_is_left_out_and_named(corpus: Path, tmp_path: Path) -> None:
    done, _ = run_with_a_recording_that(KILL_ITSELF, corpus, tmp_path, always=True)
    assert (done.returncode, done.stderr) == (0, "")
    (failure,) = map(json.loads, (tmp_path / "store/failures.jsonl").read_text().splitlines())
    assert (failure["id"], failure["stage"]) == ("S-0002", "audio")
    assert failure["reason"].startswith("wavs/S-0002.wav: ended the process that reads it and its text three times")
    assert len(UtteranceDataset(tmp_path / "store")) == len(TEXTS) - 1
