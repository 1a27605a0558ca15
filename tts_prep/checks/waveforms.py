"""What the samples of a recording show."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.levels import HOP, decibels, edge_level, frame_levels, silences
from tts_prep.acoustics.loudness import loudness
from tts_prep.acoustics.noise import wada_snr

CLIP_RUN = 3
"""Samples in a row at the highest or lowest value that make a flat peak."""

CLIP_LEAST = 0.05
"""Of full scale: a flat peak below this is silence with rounding, not clipping."""

_TRANSFORM = 1024
"""Samples in a transform of `bandwidth`."""

BANDWIDTH_DB = 70.0
"""How far below the strongest frequency of a recording the spectrum may be and still counts."""

_EDGE = 0.01
"""Seconds at either end whose level tells whether speech was cut there."""


def measure_waveform(samples: npt.NDArray[Any], sample_rate: int) -> dict[str, float]:
    """Return the measures of a waveform by name, as ``docs/CHECK.md`` defines them.

    Args:
        samples: [n_samples] int16, or float from -1 to 1.
        sample_rate: Hz.
    """
    values = samples.astype(np.float32)
    if samples.dtype == np.int16:
        values *= np.float32(1 / 32768)
    seconds = len(values) / sample_rate
    levels = frame_levels(values)
    silence = silences(levels, HOP / sample_rate, seconds)
    peak = float(np.abs(values).max(initial=0))
    edge = max(1, round(_EDGE * sample_rate))
    return {
        "loudness": loudness(values, sample_rate),
        "snr": wada_snr(values),
        "peak": decibels(peak**2),
        "clipped_samples": float(clipped_samples(values)),
        "silence_start": silence.start,
        "silence_end": silence.end,
        "silence_inside": silence.inside,
        "digital_silence": digital_silence(values) / sample_rate,
        "level_start": edge_level(_power(values[:edge]), levels),
        "level_end": edge_level(_power(values[-edge:]), levels),
        "bandwidth": bandwidth(values, sample_rate),
    }


def _power(values: npt.NDArray[np.float32]) -> float:
    return float(np.dot(values, values)) / max(1, len(values))


def clipped_samples(values: npt.NDArray[np.float32]) -> int:
    """Return how many samples lie in runs of CLIP_RUN or more at the highest or the lowest value.

    Flat peaks are found at any level: a recording may have been scaled after it was clipped.
    """
    if not len(values):
        return 0
    count = 0
    for peak in (values.max(), values.min()):
        if abs(float(peak)) < CLIP_LEAST:
            continue
        runs = _run_lengths(values == peak)
        count += int(runs[runs >= CLIP_RUN].sum())
    return count


def digital_silence(values: npt.NDArray[np.float32]) -> int:
    """Return the samples in the longest run of zeros that has other values on both sides."""
    sound = values != 0
    if not sound.any():
        return 0
    inside = sound[int(sound.argmax()) : len(sound) - int(sound[::-1].argmax())]
    return int(_run_lengths(~inside).max(initial=0))


def bandwidth(values: npt.NDArray[np.float32], sample_rate: int) -> float:
    """Return the highest frequency that holds energy, Hz; NaN for silence and for less than one transform.

    The power of Hann-windowed transforms of 1,024 samples, one behind another, is averaged over the recording; what
    is within BANDWIDTH_DB of the strongest frequency counts.
    """
    n = len(values) // _TRANSFORM
    if not n:
        return math.nan
    frames = values[: n * _TRANSFORM].reshape(n, _TRANSFORM) * _HANN
    spectrum = np.fft.rfft(frames, axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=0, dtype=np.float64)
    strongest = float(power.max())
    if strongest <= 0:
        return math.nan
    highest = int(np.flatnonzero(power > strongest * 10 ** (-BANDWIDTH_DB / 10))[-1])
    return highest * sample_rate / _TRANSFORM


_HANN = np.hanning(_TRANSFORM + 1)[:-1].astype(np.float32)


def _run_lengths(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the lengths of the runs of true values."""
    at = np.flatnonzero(mask)
    ends = np.flatnonzero(np.diff(at) != 1)
    lengths: npt.NDArray[np.int64] = np.diff(np.concatenate(([-1], ends, [len(at) - 1])))
    return lengths
