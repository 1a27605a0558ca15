"""The mels of several recordings, one after another, and the levels of their frames."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.levels import Silences, edge_levels, silences
from tts_prep.compiler import Compiled

_DECIBELS = {("ln", 1): 20 / np.log(10), ("ln", 2): 10 / np.log(10), ("log10", 1): 20.0, ("log10", 2): 10.0}
"""Decibels per unit of a mel, by logarithm and exponent of the magnitudes."""

_LEAST_EXCESS = 1e-3
"""The difference from digital silence that is not due to rounding, in units of the mel."""


@dataclass(frozen=True, eq=False)
class Mels:
    """The mels of several recordings, one after another.

    Compiled functions take many recordings at a time, because threads wait for the interpreter's lock after each call.

    Attributes:
        frames: [n_frames, n_mels] float32.
        starts: [n + 1] int64, the first frame of each recording, and the number of frames.
        highest: [n_frames] float32, the maximum of each frame.
        loudest: [n] float32, the maximum of each recording; −∞ if it has no frames, NaN if a value is not finite.
    """

    frames: npt.NDArray[np.float32]
    starts: npt.NDArray[np.int64]
    highest: npt.NDArray[np.float32]
    loudest: npt.NDArray[np.float32]

    @classmethod
    def of(cls, mels: Sequence[npt.NDArray[Any]], n_mels: int) -> Mels:
        """Return a copy of mels, [n_frames, n_mels] each."""
        frames = np.concatenate([*mels, np.empty((0, n_mels), np.float32)], dtype=np.float32)
        frames = frames if n_mels else np.zeros((len(frames), 1), np.float32)
        starts = np.cumsum([0, *map(len, mels)], dtype=np.int64)
        highest, loudest = np.empty(len(frames), np.float32), np.empty(len(mels), np.float32)
        damaged = np.empty(len(mels), np.bool_)
        _find_loudest(frames, frames.view(np.int32), starts, highest, loudest, damaged)
        loudest[damaged] = np.nan
        return cls(frames, starts, highest, loudest)


_EXPONENT: Final = np.int32(0x7F800000)
"""The bits of the exponent of a float32, which are all ones in a number that is not finite."""


@partial(Compiled, any_order=True)
def _find_loudest(frames: Any, bits: Any, starts: Any, highest: Any, loudest: Any, damaged: Any) -> None:
    """Fill `Mels.highest` and `Mels.loudest`, and whether a value of each recording is not finite.

    Args:
        bits: the frames as int32, because the compiler vectorizes maxima only if it may assume that none is NaN.
    """
    for number in range(len(loudest)):
        most, not_finite = np.float32(-np.inf), np.int32(0)
        for k in range(starts[number], starts[number + 1]):
            frame, bits_of_frame, high, n_not_finite = frames[k], bits[k], frames[k, 0], np.int32(0)
            for i in range(len(frame)):
                high = max(high, frame[i])
                n_not_finite |= np.int32((bits_of_frame[i] & _EXPONENT) == _EXPONENT)
            highest[k], most, not_finite = high, max(most, high), not_finite | n_not_finite
        loudest[number], damaged[number] = most, not_finite != 0


def mel_powers(mels: Mels, decibels: float) -> npt.NDArray[np.float32]:
    """Return the powers of mels, relative to the largest of each recording, [n_frames, n_mels].

    Only differences matter, so the maximum is scaled to 1 to avoid overflow.

    Args:
        decibels: decibels per unit of the mel, from `decibels_of_unit`.
    """
    powers = np.empty(mels.frames.shape, np.float32)
    _scale_differences(mels.frames, mels.starts, mels.loudest, np.float32(decibels / 10 * math.log(10)), powers)
    return np.exp(powers, out=powers)


_CONTRAST: Final = np.float32(0.4)
"""How much of the difference from the powers before and after is added."""

_CONTRAST_SECONDS: Final = 0.0116
"""How far before and after: a quarter of a window of 46 ms, whose neighbours it mixes with its middle."""

_LEAST_SHARE, _LEAST_POWER = np.float32(0.01), np.float32(1e-12)
"""The minimum of a power with contrast, as a share of it and of the largest of the recording."""


def with_contrast(mels: Mels, decibels: float, hop_seconds: float) -> Mels:
    """Return mels whose powers change more suddenly; `loudest` and `highest` are those before.

    A window mixes a sound with its neighbours. In decibels, the louder of two is then heard for up to half a window
    longer than it lasts. To each power is added what it is above the mean of those shortly before and after.

    Args:
        decibels: decibels per unit of the mel, from `decibels_of_unit`.
    """
    frames = np.empty(mels.frames.shape, np.float32)
    distance = max(1, round(_CONTRAST_SECONDS / hop_seconds))
    _add_contrast(mel_powers(mels, decibels), mels.starts, distance, frames)
    loudest = np.repeat(mels.loudest, np.diff(mels.starts))[:, None]
    return replace(mels, frames=np.log(frames) * np.float32(10 / math.log(10) / decibels) + loudest)


@partial(Compiled, any_order=True)
def _add_contrast(powers: Any, starts: Any, distance: int, changed: Any) -> None:
    """Fill ``changed``, [n_frames, n_mels]; the first and the last frame of a recording are repeated outside of it."""
    for number in range(len(starts) - 1):
        first, last = starts[number], starts[number + 1] - 1
        for k in range(first, last + 1):
            frame, row = powers[k], changed[k]
            before, after = powers[max(k - distance, first)], powers[min(k + distance, last)]
            for i in range(len(frame)):
                value = frame[i] + _CONTRAST * (np.float32(2) * frame[i] - before[i] - after[i])
                row[i] = max(value, max(_LEAST_SHARE * frame[i], _LEAST_POWER))


def mel_levels(
    mels: Mels, powers: npt.NDArray[np.float32], silence: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """Return the power of every frame, up to a constant factor per recording, [n_frames].

    Args:
        powers: [n_frames, n_mels], from `mel_powers`.
        silence: [n_mels], the mel of digital silence, the minimum of the logarithm. A frame that exceeds it nowhere has
            the power 0.
    """
    levels = np.empty(len(mels.frames))
    _sum_frames(mels.frames, silence, powers, levels)
    return levels


@Compiled
def _scale_differences(frames: Any, starts: Any, loudest: Any, scale: float, values: Any) -> None:
    for number in range(len(loudest)):
        highest = loudest[number]
        for k in range(starts[number], starts[number + 1]):
            frame, scaled = frames[k], values[k]
            for i in range(len(frame)):
                scaled[i] = (frame[i] - highest) * scale


@partial(Compiled, any_order=True)
def _sum_frames(frames: Any, silence: Any, values: Any, sums: Any) -> None:
    """Fill ``sums``, [n_frames], with the sums of the values of the frames that exceed silence."""
    for number in range(len(frames)):
        frame, summands, total, excess = frames[number], values[number], 0.0, np.float32(0)
        for i in range(len(frame)):
            total += summands[i]
            excess = max(excess, frame[i] - silence[i])
        sums[number] = total if excess > _LEAST_EXCESS else 0


@dataclass(frozen=True, eq=False)
class MelSound:
    """The levels of one utterance without a waveform, from its mel.

    Attributes:
        levels: the power of every frame up to a constant factor, [n_frames], from `mel_levels`.
        hop_seconds: the hop length.
    """

    levels: npt.NDArray[np.float64]
    hop_seconds: float

    @cached_property
    def silence(self) -> Silences:
        """The silences."""
        return silences(self.levels, self.hop_seconds, len(self.levels) * self.hop_seconds)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The levels of the first and the last frame in dB; NaN if there are no frames."""
        levels = self.levels
        return edge_levels((levels[0], levels[-1]), levels) if len(levels) else (math.nan, math.nan)


def decibels_of_unit(audio_settings: Mapping[str, Any]) -> float | None:
    """Return the decibels per unit of the mel, or None if the settings do not specify it, or there are no mels."""
    compression = audio_settings.get("compression")
    no_mels = audio_settings.get("n_mels") == 0
    if no_mels or not isinstance(compression, Mapping) or "bin_norms" in compression:
        return None
    unit = _DECIBELS.get((str(compression.get("log")), audio_settings.get("power", 0)))
    scale = compression.get("scale")
    return unit / scale if unit and isinstance(scale, int | float) and scale > 0 else None
