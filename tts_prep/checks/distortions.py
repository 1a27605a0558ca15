"""Measures of what a recording chain does to a voice: hum of the mains, and soft clipping."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.threads import product
from tts_prep.compiler import Compiled

NO_HUM: Final = -100.0
"""The level of hum, in dB, where there is none."""

_MAINS: Final = (50, 60)
"""The frequencies of the mains in Hz."""

_LINES: Final = 6
"""The number of harmonics, the fundamental included."""

_LEAST_LINES: Final = 2
"""The minimum number of harmonics of hum; one alone may be the pitch of a voice."""

_RATE: Final = 2400
"""The least sample rate at which hum is measured, in Hz; recordings are averaged down to it."""

_WINDOW: Final = 0.2
"""The duration of a frame in seconds, so that lines and the middles between them are 5 Hz apart at least."""

_QUIET: Final = 0.1
"""The share of frames that count: the quietest, where nobody speaks. Hum is in all frames."""

_LEAST_QUIET: Final = 3

_PROMINENCE: Final = 4.0
"""The least ratio of the powers of a line of hum and of the middles beside it."""

_VARIATION: Final = 2.5
"""The largest ratio of the powers of a line in the quiet frames: hum is constant, and a voice begins or ends there."""

_BLOCK: Final = 0.01
"""The duration in seconds of which a peak is taken for `saturation`: a period of a low voice."""

_LOUD, _TOP = 10 ** (-20 / 20), 10 ** (-1 / 20)
"""The peaks that count as speech, and those that count as the highest, relative to the highest."""

_LEAST_BLOCKS: Final = 50

_ROWS: Final = 8
"""The number of frames that are transformed at a time."""

Floats = npt.NDArray[np.float32]


def hum(samples: npt.NDArray[Any], sample_rate: int, full_scale: float, power: float) -> float:
    """Return the power of lines at multiples of 50 or of 60 Hz in pauses, relative to the recording, in dB.

    A line counts if its power exceeds those in the middles between it and the next lines in all of the quietest
    frames, and varies little there. Hum has two lines at least: a voice passes, hum stays.

    Args:
        samples: [n_samples], integers or float.
        full_scale: the sample value of full scale.
        power: the mean square of the recording, relative to full scale.

    Returns:
        NO_HUM if there is none; NaN for silence, and for recordings shorter than three frames.
    """
    step = max(1, sample_rate // _RATE)
    n = len(samples) // step
    length = int(_WINDOW * sample_rate / step)
    if n < 3 * length or power <= 0:
        return math.nan
    slow = np.empty(n, np.float32)
    _average(samples, step, 1 / (step * full_scale), slow)
    # A copy, because products of views take ten times as long.
    frames = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(slow, length)[:: length // 2])
    parts = product(frames, _transform(length, sample_rate / step), _ROWS)
    n_quiet = min(len(frames), max(_LEAST_QUIET, int(_QUIET * len(frames))))
    powers = np.empty((len(_MAINS), len(frames), 2 * _LINES + 1), np.float32)
    middles = np.empty((len(_MAINS), len(frames)), np.float32)
    _add_parts(parts, powers, middles)
    most = np.partition(middles, n_quiet - 1, axis=1)[:, n_quiet - 1]
    loudest = max(map(_lines_of_pauses, powers, middles, most.tolist()))
    return max(NO_HUM, 10 * math.log10(loudest / power)) if loudest > 0 else NO_HUM


@Compiled
def _average(samples: Any, step: int, scale: float, means: Any) -> None:
    """Fill means, [n], with the means of every ``step`` samples."""
    in_fours = len(means) // 4 * 4
    # Four sums at a time, because an addition waits for the one before it.
    for number in range(0, in_fours, 4):
        part = samples[number * step : (number + 4) * step]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for i in range(step):
            a, b, c, d = a + part[i], b + part[step + i], c + part[2 * step + i], d + part[3 * step + i]
        means[number], means[number + 1], means[number + 2], means[number + 3] = (
            a * scale,
            b * scale,
            c * scale,
            d * scale,
        )
    for number in range(in_fours, len(means)):
        total = 0.0
        for i in range(number * step, (number + 1) * step):
            total += samples[i]
        means[number] = total * scale


@Compiled
def _add_parts(parts: Any, powers: Any, middles: Any) -> None:
    """Fill powers, [n_mains, n_frames, n_lines], from cosine and sine parts, and the sums of those of the middles."""
    for mains in range(powers.shape[0]):
        first = mains * powers.shape[2]
        for frame in range(powers.shape[1]):
            total = np.float32(0)
            for i in range(powers.shape[2]):
                one, two = parts[frame, 2 * (first + i)], parts[frame, 2 * (first + i) + 1]
                powers[mains, frame, i] = one * one + two * two
                if i >= _LINES:
                    total += powers[mains, frame, i]
            middles[mains, frame] = total


@Compiled
def _lines_of_pauses(powers: Any, middles: Any, most: float) -> float:
    """Return the power of the lines of hum; 0 if there are too few.

    Args:
        powers: [n_frames, 2 * _LINES + 1], those of the lines, then those of the middles before, between and behind.
        middles: [n_frames], the sums of those of the middles.
        most: the largest sum of a frame that is a pause.
    """
    n_quiet, sums = 0, np.zeros(powers.shape[1])
    lowest, highest = np.full(_LINES, np.inf), np.zeros(_LINES)
    for frame in range(len(powers)):
        if middles[frame] <= most:
            n_quiet += 1
            for i in range(len(sums)):
                sums[i] += powers[frame, i]
            for i in range(_LINES):
                lowest[i], highest[i] = min(lowest[i], powers[frame, i]), max(highest[i], powers[frame, i])
    total, n_lines = 0.0, 0
    for i in range(_LINES):
        beside = max(sums[_LINES + i], sums[_LINES + i + 1]) / n_quiet
        if lowest[i] > _PROMINENCE * beside and highest[i] < _VARIATION * lowest[i]:
            total, n_lines = total + (lowest[i] - beside), n_lines + 1
    return total if n_lines >= _LEAST_LINES else 0.0


@lru_cache(maxsize=8)
def _transform(length: int, sample_rate: float) -> Floats:
    """Return cosines and sines in a Hann window, [length, n], whose products have the powers of sinusoids."""
    window = np.hanning(length + 1)[:-1]
    of_lines, of_middles = np.arange(1, _LINES + 1), np.arange(_LINES + 1) + 0.5
    frequencies = np.concatenate([mains * np.concatenate([of_lines, of_middles]) for mains in _MAINS])
    phases = 2 * np.pi * np.arange(length)[:, None] * frequencies / sample_rate
    # The square of a product is that of an amplitude; the power of a sinusoid is half of it.
    waves = (
        np.stack([np.cos(phases), np.sin(phases)], axis=2) * (window * 2 / window.sum() / math.sqrt(2))[:, None, None]
    )
    return np.ascontiguousarray(waves.reshape(length, -1), np.float32)


def saturation(samples: npt.NDArray[Any], sample_rate: int) -> float:
    """Return the share of the peaks of speech that are within 1 dB of the highest, for the polarity with more of them.

    A peak is that of 10 ms, of one polarity; it is speech if it is within 20 dB of the highest. In a voice, few peaks
    are nearly as high as the highest. An amplifier that saturates makes many of them equal. Twice the square root of
    their number is subtracted, the standard deviation of a count, because short recordings have few peaks.

    Returns:
        NaN for recordings with less than half a second of speech.
    """
    length = max(1, int(_BLOCK * sample_rate))
    blocks = samples[: len(samples) // length * length].reshape(-1, length)
    shares = [math.nan]
    for peaks in (blocks.max(axis=1, initial=0), -blocks.min(axis=1, initial=0).astype(np.float32)):
        highest = float(peaks.max(initial=0))
        loud = int((peaks > _LOUD * highest).sum())
        if highest > 0 and loud >= _LEAST_BLOCKS:
            top = float((peaks > _TOP * highest).sum())
            shares.append(max(0.0, top - 2 * math.sqrt(top)) / loud)
    return float(np.fmax.reduce(shares))
