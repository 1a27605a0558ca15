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


def block_sums(samples: npt.NDArray[Any], full_scale: float = 1.0, least: float = 0.0) -> npt.NDArray[np.float64]:
    """Return Σ|x|, Σx² and Σ ln|x| of every HOP samples, [⌈n_samples / HOP⌉, 3].

    Args:
        samples: [n_samples], integers or float.
        full_scale: the sample value of full scale; x is relative to it.
        least: the minimum |x|, if greater than 0. Otherwise, the third sum is not computed.
    """
    sums = np.zeros((-(-len(samples) // HOP), 3))
    _add_blocks(samples, 1 / full_scale, least, HOP, _COLUMNS, sums)
    return sums


_COLUMNS = 32
"""The number of samples that `_add_blocks` processes side by side, in vector registers."""


@Compiled
def _add_blocks(samples: Any, scale: float, least: float, hop: int, width: int, sums: Any) -> None:
    """Fill the sums of blocks of ``hop`` samples, see `block_sums`.

    A logarithm takes as long as twenty products. Therefore, it is computed of products of up to hop / width magnitudes,
    here 16: the product of 16 magnitudes of at least 1e-15 is a float64.

    Args:
        width: a divisor of hop; an argument, because the compiler does not vectorize a loop of known length.
    """
    magnitudes, squares, products = np.empty(width), np.empty(width), np.empty(width)
    for block in range(len(sums)):
        magnitudes[:] = 0.0
        squares[:] = 0.0
        products[:] = 1.0
        stop = min((block + 1) * hop, len(samples))
        for start in range(block * hop, stop, width):
            row = samples[start : min(start + width, stop)]
            for i in range(len(row)):
                value = max(abs(row[i] * scale), least)
                magnitudes[i] += value
                squares[i] += value * value
                products[i] *= value
        sums[block, 0] = magnitudes.sum()
        sums[block, 1] = squares.sum()
        if least > 0:
            for i in range(width):
                sums[block, 2] += np.log(products[i])


def frame_levels(power: npt.NDArray[np.float64], n_samples: int) -> npt.NDArray[np.float64]:
    """Return the mean square of every frame, [1 + n_samples // HOP], as ``librosa.feature.rms(...) ** 2``.

    Frames are centred on multiples of HOP; the recording is padded with zeros.

    Args:
        power: Σx² of every HOP samples, from `block_sums`, [⌈n_samples / HOP⌉].
    """
    n_frames, per_frame = 1 + n_samples // HOP, FRAME // HOP
    padded = np.zeros(n_frames + per_frame - 1)
    # The first frame is centred on sample 0, so half of it is padding.
    inside = padded[per_frame // 2 :][: len(power)]
    inside[:] = power[: len(inside)]
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
    values = np.minimum((mel - mel.max()) * np.float32(decibels / 10), 0) if decibels > 0 else np.zeros_like(mel)
    power: npt.NDArray[np.float64] = np.power(np.float32(10), values).sum(axis=1, dtype=np.float64)
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
