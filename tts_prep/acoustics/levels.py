"""Levels of frames, and the silences of a recording."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
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

_DECIBELS = {("ln", 1): 20 / np.log(10), ("ln", 2): 10 / np.log(10), ("log10", 1): 20.0, ("log10", 2): 10.0}
"""Decibels per unit of a mel, by logarithm and exponent of the magnitudes."""


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
            padded[: len(rows)] = rows
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


def mel_levels(mel: npt.NDArray[np.float32], decibels: float) -> npt.NDArray[np.float64]:
    """Return the power of every frame of a mel, up to a constant factor, [n_frames].

    Args:
        mel: [n_frames, n_mels].
        decibels: decibels per unit of the mel, from `decibels_of_unit`.
    """
    if not mel.size:
        return np.zeros(len(mel))
    # Only differences matter, so the maximum is scaled to 1 to avoid overflow.
    values = np.minimum((mel - mel.max()) * np.float32(decibels / 10 * math.log(10)), 0)
    power: npt.NDArray[np.float64] = np.exp(values, out=values).sum(axis=1, dtype=np.float64)
    return power


def decibels_of_unit(audio_settings: Mapping[str, Any]) -> float | None:
    """Return the decibels per unit of the mel, or None if the settings do not specify it."""
    compression = audio_settings.get("compression")
    if not isinstance(compression, Mapping):
        return None
    unit = _DECIBELS.get((str(compression.get("log")), audio_settings.get("power", 0)))
    scale = compression.get("scale")
    return unit / scale if unit and isinstance(scale, int | float) and scale > 0 else None


def silences(levels: npt.NDArray[np.float64], hop_seconds: float, seconds: float) -> Silences:
    """Return the silences of a recording from the power of its frames, [n_frames].

    The silences at the ends are those that ``librosa.effects.trim(top_db=SILENCE_DB)`` removes. A recording of zeros is
    silent from its start to its end.
    """
    loud = np.flatnonzero(levels > levels.max(initial=0) * 10 ** (-SILENCE_DB / 10))
    if not len(loud):
        return Silences(seconds, seconds, 0.0)
    inside = int(np.diff(loud).max(initial=1)) - 1
    end = seconds - (int(loud[-1]) + 1) * hop_seconds
    return Silences(int(loud[0]) * hop_seconds, max(0.0, end), inside * hop_seconds)


def edge_level(power: float, levels: npt.NDArray[np.float64]) -> float:
    """Return the level of an end of a recording relative to its loudest frame in dB; -inf for noise only.

    Twice the power of the quietest frame is subtracted first, to compensate for noise.

    Args:
        power: the mean square of the end.
        levels: the power of the frames, [n_frames].
    """
    loudest = float(levels.max(initial=0))
    # The outer frames include padding.
    inner = levels[2:-2] if len(levels) > 4 else levels
    return decibels((power - 2 * float(inner.min())) / loudest) if loudest > 0 else -math.inf


def decibels(power: float) -> float:
    """Convert a power to dB; -inf for 0."""
    return 10 * math.log10(power) if power > 0 else -math.inf
