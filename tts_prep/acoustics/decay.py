"""How fast the sound of a recording decays: slowly in a reverberant room."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.mels import Mels
from tts_prep.acoustics.threads import product

_BANDS: Final = 6
"""The number of bands of adjacent mel bins."""

_SECONDS: Final = 0.1
"""The duration over which a slope is measured."""

_FLOOR, _ABOVE_FLOOR = 0.05, 5.0
"""The quantile of the levels of a band that is its noise, and the least level above it of the end of a decay, in dB."""

_BELOW_TOP, _RANGE = 30.0, 30.0
"""The largest distance of the start of a decay from the loudest frame, and the least distance of noise from it, in dB.

In a band with less range, noise ends decays before their slope can be told.
"""

_STEEPEST: Final = 0.05
"""The quantile of the slopes of decays: most are those of speech that becomes softer; the steepest are free decays."""

_LEAST_DECAYS, _LEAST_BANDS = 8, 2

Floats = npt.NDArray[np.float64]


def decay_seconds(mels: Mels, decibels: float, hop_seconds: float) -> Floats:
    """Return the time in which each recording decays by 60 dB, [n]; NaN if there is too much noise, or no decay.

    Speech ends more quickly than the sound of a room. Of the slopes of the levels of a band, those that begin near
    its loudest frame and end above its noise are taken; the steepest 5 % of them end there. The result is 60 dB
    divided by the median of the slopes of the bands. It is the reverberation time of long ones, but that of a recording
    without reverberation is 0.15 to 0.25 s, because of the frames.

    Args:
        decibels: decibels per unit of the mel.
        hop_seconds: the hop length.
    """
    length = max(3, round(_SECONDS / hop_seconds))
    positions = np.arange(length) - (length - 1) / 2
    slope = positions / np.square(positions).sum() / hop_seconds
    levels = _band_levels(mels, decibels)
    times = np.full(len(mels.loudest), np.nan)
    for number, (start, stop) in enumerate(zip(mels.starts[:-1], mels.starts[1:], strict=True)):
        if stop - start >= length + _LEAST_DECAYS:
            times[number] = _decay_seconds(levels[:, start:stop], slope)
    return times


def _band_levels(mels: Mels, decibels: float) -> Floats:
    """Return the levels of bands in dB, up to a constant per recording, [_BANDS, n_frames]."""
    n_mels = mels.frames.shape[1]
    edges = np.arange(_BANDS) * n_mels // _BANDS
    loudest = np.repeat(mels.loudest, np.diff(mels.starts))
    powers = np.exp((mels.frames - loudest[:, None]) * np.float32(decibels / 10 * math.log(10)))
    members = np.zeros((n_mels, _BANDS), np.float32)
    members[np.arange(n_mels), np.searchsorted(edges, np.arange(n_mels), side="right") - 1] = 1
    # 120 dB below the loudest value is less than any noise.
    levels: Floats = 10 * np.log10(np.maximum(product(powers, members), 1e-12)).T
    return levels


def _decay_seconds(levels: npt.NDArray[Any], slope: Floats) -> float:
    """Return the time of one recording from the levels of its bands, [_BANDS, n_frames]."""
    slopes = np.lib.stride_tricks.sliding_window_view(levels, len(slope), axis=1) @ slope
    top = levels.max(axis=1, keepdims=True)
    floor = np.quantile(levels, _FLOOR, axis=1, keepdims=True)
    ends, starts = levels[:, len(slope) - 1 :], levels[:, : levels.shape[1] - len(slope) + 1]
    decays = (slopes < 0) & (ends > floor + _ABOVE_FLOOR) & (starts > top - _BELOW_TOP) & (top > floor + _RANGE)
    steepest = [
        np.quantile(of[there], _STEEPEST)
        for of, there in zip(slopes, decays, strict=True)
        if there.sum() >= _LEAST_DECAYS
    ]
    return float(-60 / np.median(steepest)) if len(steepest) >= _LEAST_BANDS else math.nan
