"""Runs that are ended from outside, at random instants, in every way: nothing is lost and nothing is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from corpora import TEXTS, write_ljspeech
from killing import Killer, complaints, contents, session_processes, workers_of

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


@pytest.fixture(scope="module")
def large_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_ljspeech(tmp_path_factory.mktemp("large") / "lj", TEXTS * 30)
    # Two rows that are left out: their lines too must be the same after any kill.
    (root / "wavs/S-0013.wav").unlink()
    (root / "wavs/S-0170.wav").write_bytes(b"")
    return root


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, large_corpus: Path) -> dict[str, bytes]:
    killer = Killer(large_corpus, tmp_path_factory.mktemp("whole") / "store", tmp_path_factory.mktemp("tmp"))
    killer.finish()
    return contents(killer.store)


def run_kills(killer: Killer, kills: int, undisturbed: dict[str, bytes]) -> None:
    """End the command so often, and see that each store that is finished in between has the undisturbed bytes."""
    while sum(killer.kills.values()) < kills:
        if killer.kill_once():
            assert contents(killer.store) == undisturbed
            shutil.rmtree(killer.store)
    killer.finish()
    assert contents(killer.store) == undisturbed


def test_a_dozen_kills_at_random_instants_change_no_byte_and_leave_nothing(
    large_corpus: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    run_kills(Killer(large_corpus, tmp_path / "store", tmp_path / "tmp", seed=5), 12, undisturbed)


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
    assert (process.returncode, out) == (1, "")
    assert (
        complaints(err).lstrip("\n")
        == "tts-prep: error: interrupted; run the same command again to go on where it stopped\n"
    )
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


KILLED = """
import os, signal, sys
from pathlib import Path
import tts_prep.preprocess.runs.shards as shards

def make_shard_and_die(plan, recipe, store):
    if plan.number == 1 and not (once := Path(sys.argv[3])).exists():
        if sys.argv[4] == "once":
            once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(plan, recipe, store)

whole = shards.make_shard
import tts_prep.preprocess.runs.prepare as pipeline
pipeline.make_shard = make_shard_and_die
from tts_prep.cli.main import main
main(["ljspeech", sys.argv[1], sys.argv[2], "--jobs", "2", "--shard-utterances", "2"])
"""


def run_with_a_worker_that_is_killed(corpus: Path, store: Path, mark: Path, how: str) -> tuple[int, str]:
    # The function is of the main script, so it is sent to the workers by value, with the arguments it looks at.
    code = KILLED.replace("sys.argv[3]", repr(str(mark))).replace("sys.argv[4]", repr(how))
    done = subprocess.run(
        [sys.executable, "-c", code, str(corpus), str(store)], capture_output=True, text=True, timeout=90
    )
    return done.returncode, complaints(done.stderr)


def test_a_worker_that_is_killed_once_costs_a_retry_of_its_shard(corpus: Path, tmp_path: Path) -> None:
    status, err = run_with_a_worker_that_is_killed(corpus, tmp_path / "store", tmp_path / "mark", "once")
    assert (status, err) == (0, "")
    done = [sys.executable, "-m", "tts_prep", "ljspeech", str(corpus), str(tmp_path / "other"), "-j", "1"]
    subprocess.run([*done, "--shard-utterances", "2"], check=True, capture_output=True)
    assert contents(tmp_path / "store") == contents(tmp_path / "other")


def test_a_worker_that_is_killed_again_is_an_error_that_names_the_shard(corpus: Path, tmp_path: Path) -> None:
    status, err = run_with_a_worker_that_is_killed(corpus, tmp_path / "store", tmp_path / "mark", "always")
    assert status == 1
    assert err.count("\n") == 1
    assert "shards/00001.h5 (S-0002 to S-0003): its worker process was killed, and killed again with no other" in err
    assert (tmp_path / "store/shards/00000.h5").exists()
