"""Concurrent runs, and the files of killed ones."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from commands import LIGHT, light
from forked_tests import forked_python
from killing import contents

from tts_prep.errors import StoreInUseError, WriteError
from tts_prep.format.files import lock as lock_module
from tts_prep.format.files.lock import locked
from tts_prep.format.reindexing import reindex_store
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare

HOLD = """
import sys, time
from pathlib import Path
from tts_prep.format.files import lock as lock_module
from tts_prep.format.files.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process  # type: ignore[misc]
    process.kill()
    process.communicate()


def test_the_second_of_two_runs_is_refused_at_once_and_told_who_holds_the_store(
    holder: subprocess.Popen[str], corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(StoreInUseError) as error:
        prepare(read_ljspeech(corpus), corpus, tmp_path, Configuration())
    # It did not wait for the store to be free.
    assert holder.poll() is None
    assert f"in use by process {holder.pid} on {socket.gethostname()}; wait" in str(error.value)
    (tmp_path / "shards").mkdir()
    with pytest.raises(StoreInUseError):
        reindex_store_of_a_whole_store(tmp_path)


def reindex_store_of_a_whole_store(store: Path) -> None:
    (store / "manifest.json").write_text("{}")
    reindex_store(store)


@pytest.mark.parametrize("begun", [True, False])
def test_a_lock_left_by_a_process_that_was_killed_does_not_block(
    holder: subprocess.Popen[str], tmp_path: Path, begun: bool
) -> None:
    if begun:
        (tmp_path / "shards").mkdir()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / ".lock").exists()
    with locked(tmp_path) as lock:
        assert lock.begun == begun
    # A store that was begun is still unfinished.
    assert (tmp_path / ".lock").exists() == begun


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_an_interruption_at_any_instruction_of_the_lock_does_not_block_the_next_holder(tmp_path: Path) -> None:
    n_interruptions = 0
    while _interrupted(tmp_path, n_interruptions):
        with locked(tmp_path) as lock:
            assert not lock.begun
        assert not list(tmp_path.iterdir())
        n_interruptions += 1
    assert n_interruptions > 100


def _interrupted(store: Path, n_instructions: int) -> bool:
    """Hold a lock, and raise `KeyboardInterrupt` after this many instructions of its module; return whether it was."""
    left = n_instructions

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != lock_module.__file__:
            return None
        frame.f_trace_opcodes = True
        if event in ("opcode", "return"):
            left -= 1
            if left == -1:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with locked(store):
            pass
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_a_lock_leaves_no_file_where_nothing_was_begun(tmp_path: Path) -> None:
    with locked(tmp_path) as lock:
        assert (tmp_path / ".lock").read_text().split() == [str(os.getpid()), socket.gethostname()]
        assert not lock.begun
    assert not list(tmp_path.iterdir())


def test_a_lock_stays_as_a_mark_of_a_store_that_was_begun_and_not_finished(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="x"), locked(tmp_path) as lock:
        lock.begun = True
        raise ValueError("x")
    assert (tmp_path / ".lock").exists()


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".lock").symlink_to(tmp_path / "precious")
    with pytest.raises(WriteError, match=r"\.lock: cannot be written"), locked(tmp_path):
        pass
    assert not (tmp_path / "precious").exists()


def test_many_runs_at_once_make_one_store(corpus: Path, tmp_path: Path) -> None:
    command = [*forked_python(), "-m", "tts_prep", "ljspeech", str(corpus), str(tmp_path / "s"), "--jobs", "1"]
    command += [*LIGHT, "--shard-utterances", "3"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    done = [(*run.communicate(timeout=60), run.returncode) for run in runs]
    assert any(status == 0 for _, _, status in done)
    for _, err, status in done:
        assert status == 0 or "in use by process" in err
    prepare(read_ljspeech(corpus), corpus, tmp_path / "alone", light(3))
    assert contents(tmp_path / "s") == contents(tmp_path / "alone")


def test_a_whole_store_is_not_written_to_by_a_second_run_of_its_command(corpus: Path, tmp_path: Path) -> None:
    config = Configuration(store=StoreConfig(shard_utterances=3))
    prepare(read_ljspeech(corpus), corpus, tmp_path / "s", config)
    prepare(read_ljspeech(corpus), corpus, tmp_path / "s", config)
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == [
        *("failures.jsonl", "index.h5", "manifest.json", "plan.json", "shards", "sources.json")
    ]


def test_a_store_that_is_complete_when_its_run_is_interrupted_is_not_locked(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), locked(tmp_path) as lock:
        lock.begun = True
        (tmp_path / "manifest.json").touch()
        raise KeyboardInterrupt
    assert not (tmp_path / ".lock").exists()
