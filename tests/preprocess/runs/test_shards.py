"""What a worker process does before its first shard."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

from tts_prep.preprocess import configure
from tts_prep.preprocess.runs import shards
from tts_prep.preprocess.runs.shards import get_ready


def never(*_: object) -> None:
    raise AssertionError


def test_a_process_whose_kernel_is_in_the_cache_waits_for_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure("ljspeech")
    get_ready(config, tmp_path, lambda _: None)
    with (tmp_path / "compiling").open("w") as file:
        # As by a process that compiles for other settings; waiting for it here would never end.
        fcntl.flock(file, fcntl.LOCK_EX)
        monkeypatch.setattr(fcntl, "flock", never)
        assert get_ready(config, tmp_path, lambda _: None) == 0


def test_one_process_compiles_and_the_others_wait_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def compile_kernels(_: object, note: Callable[[str], None], *, energy: bool) -> float:
        note("compiles")
        compiled.append(f"energy {energy}")
        return 1.0

    monkeypatch.setattr(shards, "compile_kernels", compile_kernels)
    locks: list[int] = []

    def flock(_: object, operation: int) -> None:
        locks.append(operation)
        if operation & fcntl.LOCK_NB:
            raise BlockingIOError

    monkeypatch.setattr(fcntl, "flock", flock)
    notes: list[str] = []
    assert get_ready(configure("ljspeech"), tmp_path, notes.append) == 1.0
    assert locks == [fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_EX]
    assert compiled == ["energy False"]
    assert notes == ["compiles"]
