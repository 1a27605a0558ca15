"""A limiter, which attenuates peaks instead of clipping them."""

from __future__ import annotations

import math

import numpy as np

from tts_prep.preprocess.audio.framing import Waveform

REACH = 0.01
"""The attack and release time in seconds, a period of a low voice."""


def limited(waveform: Waveform, sample_rate: int, ceiling: float) -> tuple[Waveform, float]:
    """Limit the samples of a recording to a ceiling; return the result and the largest reduction in dB.

    The gain that a sample needs is the ceiling divided by its magnitude, at most 1. The applied gain is the minimum
    within REACH, smoothed by a triangular window of the same width. Each averaged gain is sufficient, so nothing is
    clipped, and samples further than two REACH from all peaks are unchanged. Sample peaks are limited, not true peaks.

    Args:
        waveform: [n_samples] float32.
        sample_rate: Hz.
        ceiling: the maximum magnitude, relative to full scale.
    """
    from scipy.ndimage import minimum_filter1d, uniform_filter1d

    peak = float(max(waveform.max(), -waveform.min()))
    if peak <= ceiling:
        return waveform, 0.0
    reach = 2 * max(1, round(REACH * sample_rate / 2))
    needed = np.minimum(1.0, ceiling / np.maximum(np.abs(waveform, dtype=np.float64), ceiling))
    least = minimum_filter1d(needed, 2 * reach + 1, mode="nearest")
    # Two moving averages form a triangular window, at a cost independent of its width.
    gain = uniform_filter1d(uniform_filter1d(least, reach + 1, mode="nearest"), reach + 1, mode="nearest")
    # Rounding may exceed the ceiling by the last bit.
    result = np.clip(waveform * gain, -ceiling, ceiling).astype(np.float32)
    return result, -20 * math.log10(float(gain.min()))
