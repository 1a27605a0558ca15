"""What a worker process does before its first shard."""

from __future__ import annotations

import fcntl

import pytest

from tts_prep.preprocess import configure
from tts_prep.preprocess.audio import mel
from tts_prep.preprocess.runs.shards import get_ready


def never(*_: object) -> None:
    raise AssertionError


def test_a_process_whose_kernel_is_in_the_cache_waits_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    config = configure("ljspeech")
    get_ready(config, lambda _: None)
    mel._run_kernels.cache_clear()
    # Another process can compile for other settings.
    monkeypatch.setattr(fcntl, "flock", never)
    assert get_ready(config, never) == 0
