"""Hum, soft clipping and reverberation: planted ones of a known size are measured, and clean speech has none."""

from __future__ import annotations

import numpy as np
import pytest

from tts_prep.acoustics.mels import Mels, decibels_of_unit, mel_powers
from tts_prep.checks.catalogue import MEASURE
from tts_prep.checks.distortions import NO_HUM, Peaks, _average, decay_seconds, find_quantiles, hum, saturation
from tts_prep.demo.speech import speak
from tts_prep.preprocess import PRESETS, mel_spectrogram

RATE = 22_050
LIMITS = {t.reason: t.limit for measure in MEASURE.values() for t in measure.thresholds}


@pytest.fixture(scope="module")
def clip() -> np.ndarray:
    """Return four seconds of speech between half seconds of soft noise."""
    waveform, rate = speak("The room was quiet, and nobody had said a word. Then somebody laughed.")
    assert rate == RATE
    padded = np.pad(waveform.astype(np.float64) / 32768, RATE // 2)
    return padded + np.random.default_rng(0).normal(0, 1e-3, len(padded))


def hum_of(samples: np.ndarray, rate: int = RATE) -> float:
    return hum(samples.astype(np.float32), rate, 1.0, float(np.square(samples).sum()) / max(1, len(samples)))


def saturation_of(samples: np.ndarray, rate: int) -> float:
    return saturation(Peaks.of(samples.astype(np.float32), rate))


@pytest.mark.parametrize("mains", [50, 60])
@pytest.mark.parametrize("below", [20.0, 35.0])
@pytest.mark.parametrize("rate", [RATE, 48_000, 8_000])
def test_the_level_of_hum_is_that_of_the_lines_that_were_added(
    clip: np.ndarray, mains: int, below: float, rate: int
) -> None:
    times = np.arange(int(len(clip) / RATE * rate)) / rate
    speech = np.interp(times, np.arange(len(clip)) / RATE, clip)
    lines = sum(np.sin(2 * np.pi * mains * k * times + k) for k in (1, 2, 3))
    power = np.square(speech).mean()
    lines *= np.sqrt(power / np.square(lines).mean()) * 10 ** (-below / 20)
    # The power of the recording includes that of the lines.
    expected = -below - 10 * np.log10(1 + 10 ** (-below / 10))
    assert hum_of(speech + lines, rate) == pytest.approx(expected, abs=1.5)
    assert hum_of(speech, rate) == NO_HUM


def test_one_line_is_no_hum(clip: np.ndarray) -> None:
    line = 0.01 * np.sin(2 * np.pi * 100 * np.arange(len(clip)) / RATE)
    assert hum_of(clip + line) == NO_HUM


def test_hum_of_silence_and_of_short_recordings_is_not_measured(clip: np.ndarray) -> None:
    assert np.isnan([hum_of(np.zeros(RATE)), hum_of(clip[: RATE // 2]), hum_of(clip[:0])]).all()


def test_peaks_that_an_amplifier_saturates_are_equally_high(clip: np.ndarray) -> None:
    clean = saturation_of(clip, RATE)
    assert clean < LIMITS["saturated"]
    shares = [saturation_of(np.tanh(clip / np.abs(clip).max() * 10 ** (drive / 20)), RATE) for drive in (9, 12, 18)]
    assert LIMITS["saturated"] < shares[0] < shares[1] < shares[2]
    # The level does not matter, nor which polarity is saturated.
    driven = np.tanh(4 * clip / np.abs(clip).max())
    assert saturation_of(driven / 100, RATE) == saturation_of(driven, RATE)
    one_sided = np.where(clip < 0, driven, clip / np.abs(clip).max())
    assert saturation_of(one_sided, RATE) == saturation_of(-one_sided, RATE) > LIMITS["saturated"]


def test_the_share_of_equal_peaks_is_counted() -> None:
    # 100 blocks of 10 ms: 30 peaks of 1, 50 of 0.5, 20 that are no speech; nothing below zero.
    peaks = np.repeat([1.0, 0.5, 0.01], [30, 50, 20])
    samples = np.zeros((100, RATE // 100))
    samples[:, 7] = peaks
    assert saturation_of(samples.ravel(), RATE) == pytest.approx((30 - 2 * 30**0.5) / 80)
    assert np.isnan(saturation_of(samples.ravel()[: RATE // 4], RATE))


def decay_of(*clips: np.ndarray) -> np.ndarray:
    config = PRESETS["hifigan"]
    mels = Mels.of([mel_spectrogram(clip.astype(np.float32), config) for clip in clips], config.n_mels)
    unit = decibels_of_unit({"compression": {"log": "ln", "scale": 1.0}, "power": 1})
    assert unit
    return decay_seconds(mels, mel_powers(mels, unit), config.hop_length / config.sample_rate)


def in_a_room(clip: np.ndarray, seconds: float) -> np.ndarray:
    n = int(seconds * RATE)
    room = np.random.default_rng(1).normal(size=n) * 10 ** (-3 * np.arange(n) / n)
    room /= np.sqrt(np.square(room).sum())
    room[0] = 1
    heard = np.convolve(clip, room)[: len(clip)]
    return heard / np.abs(heard).max() * np.abs(clip).max()


def test_sound_decays_slowly_in_a_reverberant_room_and_not_in_noise(clip: np.ndarray) -> None:
    power = np.square(clip).mean()
    noise = np.random.default_rng(2).normal(0, np.sqrt(power / 100), len(clip))
    dry, some, much, noisy, both = decay_of(
        clip, in_a_room(clip, 0.5), in_a_room(clip, 1.0), clip + noise, in_a_room(clip, 0.7) + noise
    )
    assert dry < 0.25
    assert LIMITS["reverberant"] < some < much
    assert noisy < LIMITS["reverberant"] < both


@pytest.mark.parametrize("seconds", [0.4, 0.8, 1.5])
def test_the_decay_of_noise_bursts_is_of_the_size_of_the_reverberation_time(seconds: float) -> None:
    rng = np.random.default_rng(3)
    times = np.arange(2 * RATE) / RATE
    burst = rng.normal(size=len(times)) * np.where(times < 0.3, 1, 10 ** (-3 * (times - 0.3) / seconds))
    samples = 0.1 * np.tile(burst, 4) + rng.normal(0, 1e-5, 8 * RATE)
    (found,) = decay_of(samples)
    # The level of a band of noise varies, so that the steepest slopes are steeper than their mean: most in slow decays.
    assert 0.6 * seconds < found < 1.05 * seconds


def test_the_decay_of_noise_and_of_nothing_is_not_measured(clip: np.ndarray) -> None:
    noise = np.random.default_rng(4).normal(0, 0.1, RATE)
    assert np.isnan(decay_of(noise, np.zeros(RATE), clip[: RATE // 10])).all()


def test_a_time_of_decay_is_the_median_of_the_steepest_slopes_of_the_bands() -> None:
    rng = np.random.default_rng(5)
    # Bands of one mel bin each; a recording is too short, and one has no frames.
    lengths, hop_seconds = (300, 10, 0, 41, 200), 0.02
    mels = [rng.normal(0, 15, (n, 6)).astype(np.float32) for n in lengths]
    together = Mels.of(mels, 6)
    found = decay_seconds(together, mel_powers(together, 1.0), hop_seconds)
    positions = np.arange(5) - 2
    for time, mel in zip(found, mels, strict=True):
        steepest = []
        for levels in (mel - mel.max(initial=-999)).T if len(mel) > 12 else ():
            levels = np.maximum(levels, -120)
            floor, top = np.quantile(levels, 0.05), levels.max()
            slopes = [np.polyfit(positions * hop_seconds, levels[k : k + 5], 1)[0] for k in range(len(levels) - 4)]
            of = [
                slope
                for slope, start, end in zip(slopes, levels, levels[4:], strict=False)
                if slope < 0 and end > floor + 5 and start > top - 30 and top > floor + 30
            ]
            if len(of) >= 8:
                steepest.append(np.quantile(of, 0.05))
        expected = -60 / np.median(steepest) if len(steepest) >= 2 else np.nan
        np.testing.assert_allclose(time, expected, rtol=1e-4)
    assert np.isfinite(found[[0, 4]]).all()


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.73, 1.0])
def test_quantiles_of_parts_equal_those_of_numpy(share: float) -> None:
    rng = np.random.default_rng(6)
    # Few different values, so that many are equal; ascending, descending and constant ones.
    parts = [rng.integers(0, k, n) for k, n in ((3, 50), (10**6, 97), (1, 20), (5, 1), (5, 2))]
    parts += [np.arange(30), np.arange(30)[::-1]]
    lengths = np.array([len(part) for part in parts])
    stops, found = np.cumsum(lengths), np.zeros(len(parts))
    # Two dimensions, as of recordings in bands.
    find_quantiles(np.concatenate(parts).astype(float), (stops - lengths)[None], stops[None], share, found[None])
    np.testing.assert_allclose(found, [np.quantile(part, share) for part in parts], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int16, np.float32])
@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 11])
def test_samples_are_averaged_as_numpy_averages_them(n: int, dtype: type) -> None:
    samples = np.random.default_rng(n).integers(-32768, 32768, 9 * n + 5).astype(dtype)
    # As samples of a store.
    samples.flags.writeable = dtype != np.int16
    means = np.empty(n, np.float32)
    _average(samples, 9, 1 / 294912, means)
    np.testing.assert_array_equal(means, np.float32(samples[: 9 * n].reshape(n, 9).mean(1, np.float64) / 32768))
