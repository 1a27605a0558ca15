"""What a worker process does before its first shard."""

from __future__ import annotations

import fcntl

import pytest

from tts_prep.preprocess import PRESETS, configure, make_feature
from tts_prep.preprocess.audio.simd import machine_code
from tts_prep.preprocess.make.examples import needs_energy
from tts_prep.preprocess.make.shards import get_ready


def never(*_: object) -> None:
    raise AssertionError


def test_a_process_whose_kernel_is_in_the_cache_waits_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    config = configure("ljspeech")
    get_ready(config, lambda _: None)
    # As in a process that has loaded nothing yet.
    monkeypatch.setattr(machine_code, "_loaded", {})
    # Another process can compile for other settings.
    monkeypatch.setattr(fcntl, "flock", never)
    assert get_ready(config, never) == 0


@pytest.mark.whole
def test_only_energy_of_magnitudes_is_computed_with_the_mel() -> None:
    magnitude, log_mel, pitch = (
        make_feature(name, settings, PRESETS["hifigan"])
        for name, settings in (("energy", {}), ("energy", {"of": "log_mel"}), ("pitch", {}))
    )
    assert needs_energy([pitch, magnitude])
    assert not needs_energy([pitch, log_mel])
