"""A limiter: peaks are turned down in the place of being clipped."""

from __future__ import annotations

import math

import numpy as np

from tts_prep.preprocess.audio.framing import Waveform

REACH = 0.01
"""Seconds before and after a peak over which the gain goes down and comes back: a period of a low voice."""


def limited(waveform: Waveform, sample_rate: int, ceiling: float) -> tuple[Waveform, float]:
    """Return a recording none of whose samples is above a ceiling, and the largest reduction in dB.

    The gain that each sample needs is the ceiling over its magnitude, at most 1. The gain that it gets is the least one
    within REACH, averaged by a triangle of the same width. An average of gains each of which is low enough is low
    enough, so nothing is clipped; and what lies further than two REACH from any peak is unchanged. Sample peaks are
    limited, not those between samples.

    Args:
        waveform: [n_samples] float32.
        sample_rate: Hz.
        ceiling: full scale being 1.
    """
    from scipy.ndimage import minimum_filter1d, uniform_filter1d

    peak = float(max(waveform.max(), -waveform.min()))
    if peak <= ceiling:
        return waveform, 0.0
    reach = 2 * max(1, round(REACH * sample_rate / 2))
    needed = np.minimum(1.0, ceiling / np.maximum(np.abs(waveform, dtype=np.float64), ceiling))
    least = minimum_filter1d(needed, 2 * reach + 1, mode="nearest")
    # Two running means make a triangle, and cost the same for any width.
    gain = uniform_filter1d(uniform_filter1d(least, reach + 1, mode="nearest"), reach + 1, mode="nearest")
    # What rounding adds, at most the last bit.
    found = np.clip(waveform * gain, -ceiling, ceiling).astype(np.float32)
    return found, -20 * math.log10(float(gain.min()))
