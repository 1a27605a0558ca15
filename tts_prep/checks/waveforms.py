"""Measures of waveforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.levels import HOP, block_sums, decibels, edge_level, frame_levels, silences
from tts_prep.acoustics.loudness import loudness
from tts_prep.acoustics.noise import LEAST, wada_snr

CLIP_RUN = 3
"""The minimum run of samples at the highest or lowest value that is a flat peak."""

CLIP_LEAST = 0.05
"""The minimum level of a flat peak relative to full scale. Below it, flat peaks are caused by rounding."""

_TRANSFORM = 1024
"""The length of the transform of `bandwidth` in samples."""

_MANY_FRAMES = 32
"""The number of frames from which on every second one is enough for the mean of a spectrum."""

_FRAMES = 24
"""The number of frames that are transformed at a time; memory for more is not reused, but taken from the system."""

BANDWIDTH_DB = 70.0
"""The level relative to the strongest frequency at which the spectrum ends."""

_EDGE = 0.01
"""The duration at both ends whose level is measured, in seconds."""


def measure_waveform(samples: npt.NDArray[Any], sample_rate: int) -> dict[str, float]:
    """Return the measures of a waveform by name; see ``docs/CHECK.md``.

    Args:
        samples: [n_samples] int16, or float from -1 to 1.
        sample_rate: the sample rate in Hz.
    """
    full_scale = 32768.0 if samples.dtype == np.int16 else 1.0
    n = len(samples)
    highest, lowest = float(samples.max(initial=0)), float(samples.min(initial=0))
    peak = max(highest, -lowest) / full_scale
    sums = block_sums(samples, full_scale, LEAST * peak)
    levels = frame_levels(sums[:, 1], n)
    silence = silences(levels, HOP / sample_rate, n / sample_rate)
    edge = max(1, round(_EDGE * sample_rate))
    return {
        "loudness": loudness(samples, sample_rate, full_scale),
        "snr": wada_snr(sums, n) if peak else math.nan,
        "peak": decibels(peak**2),
        "clipped_samples": float(clipped_samples(samples, full_scale)),
        "silence_start": silence.start,
        "silence_end": silence.end,
        "silence_inside": silence.inside,
        "digital_silence": digital_silence(samples) / sample_rate,
        "level_start": edge_level(_power(samples[:edge], full_scale), levels),
        "level_end": edge_level(_power(samples[-edge:], full_scale), levels),
        "bandwidth": bandwidth(samples, sample_rate),
    }


def _power(samples: npt.NDArray[Any], full_scale: float) -> float:
    values = samples.astype(np.float32) / np.float32(full_scale)
    return float(np.dot(values, values)) / max(1, len(values))


def clipped_samples(samples: npt.NDArray[Any], full_scale: float = 1.0) -> int:
    """Return the number of samples in runs of at least CLIP_RUN at the highest or the lowest value.

    Flat peaks are detected at any level, because a recording may have been scaled after clipping.
    """
    if not len(samples):
        return 0
    count = 0
    for peak in (samples.max(), samples.min()):
        is_peak = samples == peak
        # The peak of most recordings is a single sample.
        if abs(float(peak)) >= CLIP_LEAST * full_scale and np.count_nonzero(is_peak) >= CLIP_RUN:
            runs = _run_lengths(np.flatnonzero(is_peak))
            count += int(runs[runs >= CLIP_RUN].sum())
    return count


def digital_silence(samples: npt.NDArray[Any]) -> int:
    """Return the length of the longest run of zeros between other values, in samples."""
    silent = np.flatnonzero(samples == 0)
    # Position minus number is constant in a run. Zeros at both ends are not inside.
    before = silent - np.arange(len(silent))
    inside = silent[(before > 0) & (before < len(samples) - len(silent))]
    return int(_run_lengths(inside).max(initial=0))


def bandwidth(samples: npt.NDArray[Any], sample_rate: int) -> float:
    """Return the highest frequency with energy in Hz; NaN for silence and recordings shorter than one transform.

    The power spectra of Hann-windowed frames of 1,024 samples are averaged over the recording: of adjacent frames, or
    of every second one if there are at least _MANY_FRAMES. The result is the highest frequency within BANDWIDTH_DB of
    the strongest one.
    """
    n = len(samples) // _TRANSFORM
    if not n:
        return math.nan
    frames = samples[: n * _TRANSFORM].reshape(n, _TRANSFORM)[:: 1 if n < _MANY_FRAMES else 2]
    power = np.zeros(_TRANSFORM + 2)
    for start in range(0, len(frames), _FRAMES):
        windowed = frames[start : start + _FRAMES].astype(np.float32)
        windowed *= _HANN
        parts = _rfft()(windowed, axis=1).view(np.float32)
        power += np.einsum("ij,ij->j", parts, parts)
    power = power.reshape(-1, 2).sum(axis=1)
    strongest = float(power.max())
    if strongest <= 0:
        return math.nan
    highest = int(np.flatnonzero(power > strongest * 10 ** (-BANDWIDTH_DB / 10))[-1])
    return highest * sample_rate / _TRANSFORM


@lru_cache(maxsize=1)
def _rfft() -> Callable[..., Any]:
    """Return scipy's transform, which takes a fifth of the time of numpy's, or numpy's without scipy."""
    transform: Callable[..., Any]
    try:
        from scipy.fft import rfft
    except ImportError:
        transform = np.fft.rfft
    else:
        transform = rfft
    return transform


_HANN = np.hanning(_TRANSFORM + 1)[:-1].astype(np.float32)


def _run_lengths(positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the lengths of the runs of successive numbers in ascending positions."""
    ends = np.flatnonzero(np.diff(positions) != 1)
    lengths: npt.NDArray[np.int64] = np.diff(np.concatenate(([-1], ends, [len(positions) - 1])))
    return lengths
