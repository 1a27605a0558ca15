"""What a recording chain and a room do to a voice: hum, clipping hard and soft, and how fast sound decays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.mels import Mels
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
"""The duration of a block of `Peaks` in seconds: a period of a low voice."""

CLIP_RUN: Final = 3
"""The minimum run of samples at the highest or lowest value that is a flat peak."""

CLIP_LEAST: Final = 0.05
"""The minimum level of a flat peak relative to full scale. Below it, flat peaks are caused by rounding."""

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


@dataclass(frozen=True, eq=False)
class Peaks:
    """The peaks of a recording, found by reading it once.

    Attributes:
        samples: [n_samples], integers or float.
        length: the number of samples of a block; the last one can have fewer.
        highest, lowest: [n_blocks], the largest and the smallest sample of each block.
    """

    samples: npt.NDArray[Any]
    length: int
    highest: npt.NDArray[Any]
    lowest: npt.NDArray[Any]

    @classmethod
    def of(cls, samples: npt.NDArray[Any], sample_rate: int) -> Peaks:
        """Return the peaks of every _BLOCK seconds."""
        length = max(1, int(_BLOCK * sample_rate))
        highest, lowest = np.empty((2, -(-len(samples) // length)), samples.dtype)
        _find_peaks(samples, length, highest, lowest)
        return cls(samples, length, highest, lowest)

    def largest(self) -> float:
        """Return the largest magnitude of a sample."""
        return max(float(self.highest.max(initial=0)), -float(self.lowest.min(initial=0)))


@partial(Compiled, any_order=True)
def _find_peaks(samples: Any, length: int, highest: Any, lowest: Any) -> None:
    """Fill in the largest and the smallest sample of every block of a length."""
    for number in range(len(highest)):
        block = samples[number * length : (number + 1) * length]
        high = low = block[0]
        for i in range(len(block)):
            high, low = max(high, block[i]), min(low, block[i])
        highest[number], lowest[number] = high, low


def saturation(peaks: Peaks) -> float:
    """Return the share of the peaks of speech that are within 1 dB of the highest, for the polarity with more of them.

    A peak is that of a block of 10 ms, of one polarity; it is speech if it is within 20 dB of the highest. In a voice,
    few peaks are nearly as high as the highest. An amplifier that saturates makes many of them equal. Twice the square
    root of their number is subtracted, the standard deviation of a count, because short recordings have few peaks.

    Returns:
        NaN for recordings with less than half a second of speech.
    """
    shares = [math.nan]
    n = len(peaks.samples) // peaks.length
    for of_blocks in (peaks.highest[:n], -peaks.lowest[:n].astype(np.float32)):
        highest = float(of_blocks.max(initial=0))
        loud = int((of_blocks > _LOUD * highest).sum())
        if highest > 0 and loud >= _LEAST_BLOCKS:
            top = float((of_blocks > _TOP * highest).sum())
            shares.append(max(0.0, top - 2 * math.sqrt(top)) / loud)
    return float(np.fmax.reduce(shares))


def clipped_samples(peaks: Peaks, full_scale: float = 1.0) -> int:
    """Return the number of samples in runs of at least CLIP_RUN at the highest or the lowest value.

    Flat peaks are detected at any level, because a recording may have been scaled after clipping.
    """
    count = 0
    for of_blocks, peak in ((peaks.highest, np.max), (peaks.lowest, np.min)):
        if len(of_blocks) and abs(float(peak(of_blocks))) >= CLIP_LEAST * full_scale:
            count += int(_flat_samples(peaks.samples, peaks.length, of_blocks, peak(of_blocks), CLIP_RUN))
    return count


@partial(Compiled, keeps_gil=True)
def _flat_samples(samples: Any, length: int, of_blocks: Any, peak: Any, least: int) -> int:
    """Return the number of samples in runs of at least so many at a peak; most blocks do not reach it."""
    count, run = 0, 0
    for number in range(len(of_blocks)):
        if of_blocks[number] != peak:
            count, run = count + (run if run >= least else 0), 0
            continue
        for value in samples[number * length : (number + 1) * length]:
            if value == peak:
                run += 1
            else:
                count, run = count + (run if run >= least else 0), 0
    return count + (run if run >= least else 0)


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

Doubles = npt.NDArray[np.float64]


def decay_seconds(mels: Mels, powers: npt.NDArray[np.float32], hop_seconds: float) -> Doubles:
    """Return the time in which each recording decays by 60 dB, [n]; NaN if there is too much noise, or no decay.

    Speech ends more quickly than the sound of a room. Of the slopes of the levels of a band, those that begin near
    its loudest frame and end above its noise are taken; the steepest 5 % of them end there. The result is 60 dB
    divided by the median of the slopes of the bands. It is the reverberation time of long ones, but that of a recording
    without reverberation is 0.15 to 0.25 s, because of the frames.

    Args:
        powers: [n_frames, n_mels], from `mel_powers`.
        hop_seconds: the hop length.
    """
    length = max(3, round(_SECONDS / hop_seconds))
    positions = np.arange(length) - (length - 1) / 2
    slope = positions / np.square(positions).sum() / hop_seconds
    levels = _band_levels(powers)
    # The places of each recording in each band, [_BANDS, n].
    starts = mels.starts[:-1] + np.arange(_BANDS)[:, None] * levels.shape[1]
    stops = starts + np.diff(mels.starts)
    floors, slopes, n_slopes = np.empty(starts.shape), np.empty(levels.size), np.zeros(starts.shape, np.int64)
    find_quantiles(levels.ravel().copy(), starts, stops, _FLOOR, floors)
    _find_decays(levels.ravel(), starts, stops, slope, floors, slopes, n_slopes)
    steepest = np.empty(starts.shape)
    find_quantiles(slopes, starts, starts + np.where(n_slopes >= _LEAST_DECAYS, n_slopes, 0), _STEEPEST, steepest)
    times = np.full(len(mels.loudest), np.nan)
    enough = np.isfinite(steepest).sum(axis=0) >= _LEAST_BANDS
    times[enough] = -60 / np.nanmedian(steepest[:, enough], axis=0)
    return times


def _band_levels(powers: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the levels of bands in dB, up to a constant per recording, [_BANDS, n_frames]."""
    n_mels = powers.shape[1]
    edges = np.arange(_BANDS) * n_mels // _BANDS
    members = np.zeros((n_mels, _BANDS), np.float32)
    members[np.arange(n_mels), np.searchsorted(edges, np.arange(n_mels), side="right") - 1] = 1
    levels = product(powers, members)
    # 120 dB below the loudest value is less than any noise.
    np.maximum(levels, 1e-12, out=levels)
    np.log10(levels, out=levels)
    return np.ascontiguousarray(10 * levels.T)


@Compiled
def _find_decays(levels: Any, starts: Any, stops: Any, slope: Any, floors: Any, slopes: Any, n_slopes: Any) -> None:
    """Put the slopes of the decays of each recording in each band one after another, from its start on.

    Args:
        levels: float32, in dB.
        starts, stops: [n_bands, n] int64, the places of each recording in each band.
        slope: [length], weights whose sum of products with levels is a slope in dB/s.
        floors: [n_bands, n], the levels of noise.
        slopes: as many as levels, filled.
        n_slopes: [n_bands, n], zeros; filled with the number of decays.
    """
    length = len(slope)
    for place in np.ndindex(starts.shape):
        band = levels[starts[place] : stops[place]]
        n, found, n_found = len(band) - length + 1, slopes[starts[place] : stops[place]], 0
        top = band.max() if n >= _LEAST_DECAYS else -np.inf
        if not top > floors[place] + _RANGE:
            continue
        found[:n] = 0
        for j in range(length):
            for k in range(n):
                found[k] += band[k + j] * slope[j]
        for k in range(n):
            value = found[k]
            is_decay = value < 0 and band[k + length - 1] > floors[place] + _ABOVE_FLOOR and band[k] > top - _BELOW_TOP
            # The next slope replaces it if it is none.
            found[n_found] = value
            n_found += 1 if is_decay else 0
        n_slopes[place] = n_found


@Compiled
def find_quantiles(values: Any, starts: Any, stops: Any, share: float, quantiles: Any) -> None:
    """Fill in a quantile of the values from each start to each stop, which are put into another order; NaN for none.

    Values are interpolated between the two nearest, which Hoare's quickselect finds.
    """
    for place in np.ndindex(starts.shape):
        part = values[starts[place] : stops[place]]
        exact = share * (len(part) - 1)
        at, low, high = int(exact), 0, len(part) - 1
        while low < high:
            pivot, i, j = part[at], low, high
            while i <= j:
                while part[i] < pivot:
                    i += 1
                while pivot < part[j]:
                    j -= 1
                if i <= j:
                    part[i], part[j] = part[j], part[i]
                    i, j = i + 1, j - 1
            # All values up to j are at most the pivot, and those from i on are at least the pivot.
            low, high = (low, j) if at <= j else (i, high) if at >= i else (at, at)
        quantiles[place] = np.nan
        if len(part):
            above = part[at] if at + 1 == len(part) else part[at + 1]
            for i in range(at + 2, len(part)):
                above = min(above, part[i])
            quantiles[place] = part[at] + (above - part[at]) * (exact - at)
