"""Mels whose powers change more suddenly: by a formula, and of a sound whose end is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tts_prep.acoustics.mels import Mels, with_contrast
from tts_prep.preprocess import PRESETS
from tts_prep.preprocess.audio.mel import MelExtractor

DECIBELS = 20 / np.log(10)


@pytest.mark.parametrize(("hop_seconds", "distance"), [(0.005, 2), (0.0116, 1), (0.02, 1)])
def test_to_each_power_is_added_what_it_is_above_those_before_and_after(hop_seconds: float, distance: int) -> None:
    rng = np.random.default_rng(0)
    given = [rng.normal(-5, 2, (n, 3)).astype(np.float32) for n in (7, 1, 4)]
    mels = Mels.of(given, 3)
    found = with_contrast(mels, DECIBELS, hop_seconds)
    expected = []
    for mel in given:
        powers = np.exp(2 * mel.astype(np.float64))
        padded = np.pad(powers, ((distance, distance), (0, 0)), mode="edge")
        changed = powers + 0.4 * (2 * powers - padded[: len(mel)] - padded[2 * distance :])
        expected.append(np.log(np.maximum(changed, powers / 100)) / 2)
    np.testing.assert_allclose(found.frames, np.concatenate(expected), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(found.loudest, mels.loudest)


def test_a_mel_that_is_not_finite_stays_damaged_and_digital_silence_finite() -> None:
    damaged, silent = np.zeros((3, 2), np.float32), np.full((3, 2), -300, np.float32)
    damaged[1, 1], silent[0] = np.nan, 0
    found = with_contrast(Mels.of([damaged, silent], 2), DECIBELS, 0.01)
    assert np.isnan(found.loudest[0])
    assert np.isfinite(found.frames[3:]).all()


@pytest.mark.parametrize("win_length", [512, 1024])
def test_the_end_of_a_loud_sound_is_where_it_is_and_not_later_by_a_part_of_the_window(win_length: int) -> None:
    # Noise that becomes 40 dB quieter after 1 s and loud again after 2 s.
    config = replace(PRESETS["hifigan"], win_length=win_length)
    hop = config.hop_length / config.sample_rate
    noise = np.random.default_rng(0).normal(0, 0.1, 3 * config.sample_rate)
    noise[config.sample_rate : 2 * config.sample_rate] *= 0.01
    mels = Mels.of([MelExtractor(config)(noise.astype(np.float32))], 80)

    def errors(frames: np.ndarray) -> np.ndarray:
        levels = frames.mean(axis=1) * DECIBELS
        quiet = np.flatnonzero(levels < (levels[20:60].mean() + levels[110:150].mean()) / 2)
        return np.array([quiet[0] * hop - 1, 2 - (quiet[-1] + 1) * hop])

    before, after = errors(mels.frames), errors(with_contrast(mels, DECIBELS, hop).frames)
    assert (after <= before).all()
    assert (np.abs(after) < hop).all()
    if win_length == 1024:
        assert after.sum() < before.sum() - 0.9 * hop
