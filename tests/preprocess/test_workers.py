"""Worker processes that are started before there is anything to do, and ended at once."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from tts_prep.preprocess.workers.cluster import Backend
from tts_prep.preprocess.workers.processes import worker_pool


def test_a_pool_that_is_ended_as_soon_as_it_is_started_ends_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracebacks: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", tracebacks.append)
    for _ in range(15):
        with pytest.raises(KeyboardInterrupt), worker_pool(2, Backend(), partial(time.sleep, 0.1)):
            raise KeyboardInterrupt
    assert not tracebacks


def test_a_run_that_is_interrupted_with_more_to_do_than_the_pool_has_taken_up_ends_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracebacks: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", tracebacks.append)
    for delay in (0.02, 0.1, 0.4, 0.8):
        interruption = threading.Timer(delay, signal.raise_signal, [signal.SIGINT])
        with pytest.raises(KeyboardInterrupt), worker_pool(2, Backend(), partial(time.sleep, 0.5)) as pool:
            interruption.start()
            list(pool.run(time.sleep, [0.5] * 40, str))
        interruption.join()
    assert not tracebacks


def test_processes_that_were_started_early_do_the_jobs(tmp_path: Path) -> None:
    mark = partial(_note_process, tmp_path)
    with worker_pool(2, Backend(), mark) as pool:
        done = sorted(pool.run(_process_of, [1, 2, 3, 4], str))
    started = {int(path.name) for path in tmp_path.glob("process-*/*")}
    assert [number for number, _ in done] == [1, 2, 3, 4]
    assert started
    assert {process for _, process in done} & started


def _note_process(folder: Path) -> None:
    (folder / "process-ids").mkdir(exist_ok=True)
    (folder / "process-ids" / str(os.getpid())).touch()


def _process_of(number: int) -> tuple[int, int]:
    time.sleep(0.1)
    return number, os.getpid()


def test_a_pool_without_anything_to_do_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the pool was asked for")

    monkeypatch.setattr("tts_prep.preprocess.workers.processes.ProcessPoolExecutor", refuse)
    with worker_pool(2, Backend()):
        pass
