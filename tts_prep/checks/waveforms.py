"""Measures of waveforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.levels import HOP, decibels, edge_level, frame_levels, silences
from tts_prep.acoustics.loudness import loudness
from tts_prep.acoustics.noise import wada_snr

CLIP_RUN = 3
"""The minimum run of samples at the highest or lowest value that is a flat peak."""

CLIP_LEAST = 0.05
"""The minimum level of a flat peak relative to full scale. Below it, flat peaks are caused by rounding."""

_TRANSFORM = 1024
"""The length of the transform of `bandwidth` in samples."""

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
    """Return the number of samples in runs of at least CLIP_RUN at the highest or the lowest value.

    Flat peaks are detected at any level, because a recording may have been scaled after clipping.
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
    """Return the length of the longest run of zeros between other values, in samples."""
    sound = values != 0
    if not sound.any():
        return 0
    inside = sound[int(sound.argmax()) : len(sound) - int(sound[::-1].argmax())]
    return int(_run_lengths(~inside).max(initial=0))


def bandwidth(values: npt.NDArray[np.float32], sample_rate: int) -> float:
    """Return the highest frequency with energy in Hz; NaN for silence and recordings shorter than one transform.

    The power spectra of adjacent Hann-windowed frames of 1,024 samples are averaged over the recording. The result is
    the highest frequency within BANDWIDTH_DB of the strongest one.
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
