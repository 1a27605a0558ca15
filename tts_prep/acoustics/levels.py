"""Levels of frames, the silences of a recording, and its signal-to-noise ratio from the distribution of samples."""

import importlib.resources
import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.compiler import Compiled

FRAME, HOP = 2048, 512
"""Frame length and hop in samples, as in ``librosa.effects.trim``."""

SILENCE_DB = 40.0
"""The level below the loudest frame of a recording at which a frame is silent.

With 60 dB, the default of ``librosa.effects.trim``, the noise of many recordings is not silent.
"""


LOWEST_DB, HIGHEST_DB = -20, 100
"""The range of signal-to-noise ratios; results are clipped to it."""

LEAST = 1e-10
"""The minimum magnitude of a sample relative to the peak, for the signal-to-noise ratio."""

_CURVE = np.array(importlib.resources.files(__package__).joinpath("wada.txt").read_text("ascii").split(), np.float64)
"""ln E|x| − E ln|x| at −20, −19, …, 100 dB, for speech with a gamma distribution of shape 0.4 and Gaussian noise.

The table of WADA-SNR: Kim and Stern, Robust Signal-to-Noise Ratio Estimation Based on Waveform Amplitude Distribution
Analysis, Interspeech 2008.
"""


@dataclass(frozen=True)
class Silences:
    """The silences of a recording in seconds.

    Attributes:
        start, end: the silence before the first, and after the last frame that is not silent.
        inside: the longest run of silent frames between these two.
    """

    start: float
    end: float
    inside: float


@dataclass(frozen=True, eq=False)
class SampleSums:
    """Sums over the samples of a recording, from `sum_samples`.

    Attributes:
        squares: Σx² of every HOP samples, [⌈n_samples / HOP⌉].
        magnitudes: Σ|x|.
        logarithms: Σ ln|x|.
        n_samples: the number of samples.
    """

    squares: npt.NDArray[np.float64]
    magnitudes: float
    logarithms: float
    n_samples: int


LEAST_MAGNITUDE = 1e-15
"""The least |x| of which `sum_samples` can compute a logarithm. The product of 16 of these is a float64."""

_COLUMNS, _ROWS = 32, 16
"""Every HOP samples are summed as rows of columns, which are processed side by side in vector registers."""

_MANTISSA, _EXPONENT_OF_ONE = (1 << 52) - 1, 1023
"""The bits of a float64 that are its fraction, and the value of those above them in a number from 1 to 2."""


def sum_samples(samples: npt.NDArray[Any], full_scale: float = 1.0, least: float = LEAST_MAGNITUDE) -> SampleSums:
    """Return the sums over the samples of a recording.

    Args:
        samples: [n_samples], integers or float.
        full_scale: the sample value of full scale; x is relative to it.
        least: the minimum of |x| in the last two sums, at least LEAST_MAGNITUDE; smaller values are replaced by it.
    """
    n = len(samples)
    squares, totals = np.empty(-(-n // HOP)), np.empty(2)
    _add_blocks(samples, 1 / full_scale, least, HOP, _COLUMNS, squares, totals)
    # The last block is padded with zeros.
    padding = -n % HOP
    magnitudes, logarithms = float(totals[0]) - padding * least, float(totals[1]) - padding * math.log(least)
    return SampleSums(squares, magnitudes, logarithms, n)


@Compiled
def _add_blocks(samples: Any, scale: float, least: float, hop: int, columns: int, squares: Any, totals: Any) -> None:
    """Fill the sums of squares of blocks of ``hop`` samples, and of the magnitudes and logarithms of all.

    A logarithm takes as long as twenty products. Therefore, only those of ``columns`` products are computed, whose
    binary exponents are summed apart after each block.

    Args:
        least: the minimum magnitude.
        columns: hop / 16; an argument, because the compiler does not vectorize a loop of known length.
    """
    magnitudes, products, exponents = np.zeros(columns), np.ones(columns), np.zeros(columns, np.int64)
    of_block = np.empty(columns)
    bits = products.view(np.int64)
    padded = np.zeros(hop, samples.dtype)
    for block in range(len(squares)):
        rows = samples[block * hop : (block + 1) * hop]
        if len(rows) < hop:
            for i in range(len(rows)):
                padded[i] = rows[i]
            rows = padded
        for i in range(columns):
            magnitude, square, product = magnitudes[i], 0.0, products[i]
            for row in range(_ROWS):
                value = abs(rows[row * columns + i] * scale)
                square += value * value
                value = max(value, least)
                magnitude += value
                product *= value
            magnitudes[i], of_block[i], products[i] = magnitude, square, product
        for i in range(columns):
            exponents[i] += (bits[i] >> 52) - _EXPONENT_OF_ONE
            bits[i] = (bits[i] & _MANTISSA) | (_EXPONENT_OF_ONE << 52)
        squares[block] = of_block.sum()
    totals[0] = magnitudes.sum()
    totals[1] = np.log(products).sum() + exponents.sum() * np.log(2.0)


def frame_levels(sums: SampleSums) -> npt.NDArray[np.float64]:
    """Return the mean square of every frame, [1 + n_samples // HOP], as ``librosa.feature.rms(...) ** 2``.

    Frames are centred on multiples of HOP; the recording is padded with zeros.
    """
    n_frames, per_frame = 1 + sums.n_samples // HOP, FRAME // HOP
    padded = np.zeros(n_frames + per_frame - 1)
    # The first frame is centred on sample 0, so half of it is padding.
    inside = padded[per_frame // 2 :][: len(sums.squares)]
    inside[:] = sums.squares[: len(inside)]
    total = np.concatenate(([0.0], np.cumsum(padded)))
    levels: npt.NDArray[np.float64] = np.maximum(total[per_frame:] - total[:-per_frame], 0) / FRAME
    return levels


def silences(levels: npt.NDArray[np.float64], hop_seconds: float, seconds: float) -> Silences:
    """Return the silences of a recording from the power of its frames, [n_frames].

    The silences at the ends are those that ``librosa.effects.trim(top_db=SILENCE_DB)`` removes. A recording of zeros is
    silent from its start to its end.
    """
    first, last, inside = _loud_frames(levels, levels.max(initial=0) * 10 ** (-SILENCE_DB / 10))
    if first < 0:
        return Silences(seconds, seconds, 0.0)
    end = seconds - (last + 1) * hop_seconds
    return Silences(first * hop_seconds, max(0.0, end), inside * hop_seconds)


@partial(Compiled, keeps_gil=True)
def _loud_frames(levels: Any, threshold: float) -> tuple[int, int, int]:
    """Return the first and the last frame above a threshold, or -1, and the longest run of others between them."""
    first, last, inside = -1, -1, 0
    for number in range(len(levels)):
        if levels[number] > threshold:
            if first < 0:
                first = number
            else:
                inside = max(inside, number - last - 1)
            last = number
    return first, last, inside


def edge_levels(powers: tuple[float, float], levels: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the levels of both ends of a recording relative to its loudest frame in dB; -inf for noise only.

    Twice the power of the quietest frame is subtracted first, to compensate for noise.

    Args:
        powers: the mean square of each end.
        levels: the power of the frames, [n_frames].
    """
    loudest = float(levels.max(initial=0))
    if loudest <= 0:
        return -math.inf, -math.inf
    # The outer frames include padding.
    quietest = float((levels[2:-2] if len(levels) > 4 else levels).min())
    first, last = (decibels((power - 2 * quietest) / loudest) for power in powers)
    return first, last


def decibels(power: float) -> float:
    """Convert a power to dB; -inf for 0."""
    return 10 * math.log10(power) if power > 0 else -math.inf


def wada_snr(sums: SampleSums) -> float:
    """Return the signal-to-noise ratio of a recording by WADA-SNR in dB, LOWEST_DB to HIGHEST_DB.

    The method assumes speech with pauses and Gaussian noise.

    Args:
        sums: the sums of a recording that is not all zeros, with LEAST times its peak as ``least``.
    """
    statistic = math.log(sums.magnitudes / sums.n_samples) - sums.logarithms / sums.n_samples
    below = np.flatnonzero(statistic > _CURVE)
    if not len(below):
        return float(LOWEST_DB)
    at = int(below[-1])
    if at == len(_CURVE) - 1:
        return float(HIGHEST_DB)
    return LOWEST_DB + at + float((statistic - _CURVE[at]) / (_CURVE[at + 1] - _CURVE[at]))
