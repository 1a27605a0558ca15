"""Where a recording is silent, from the level of its frames."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FRAME, HOP = 2048, 512
"""Samples of a frame and between frames, as in ``librosa.effects.trim``."""

SILENCE_DB = 40.0
"""A frame that is more than so much below the loudest frame of its recording is silent.

The default of ``librosa.effects.trim``, 60 dB, takes the noise of many recordings for speech.
"""

_DECIBELS = {("ln", 1): 20 / np.log(10), ("ln", 2): 10 / np.log(10), ("log10", 1): 20.0, ("log10", 2): 10.0}
"""Decibels in one unit of a mel's logarithm, by logarithm and by the exponent of the magnitudes."""


@dataclass(frozen=True)
class Silences:
    """How long a recording is silent, seconds.

    Attributes:
        start, end: before the first frame that is not silent, and after the last one.
        inside: the longest stretch of silent frames between those two.
    """

    start: float
    end: float
    inside: float


def frame_levels(samples: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the mean square of every frame, [1 + n_samples // HOP], as ``librosa.feature.rms(...) ** 2``.

    Frames are centred on multiples of HOP; there are zeros outside of the recording.
    """
    n_frames = 1 + len(samples) // HOP
    blocks = np.zeros((n_frames + FRAME // HOP - 1, HOP), np.float32)
    # The first frame is centred on sample 0: half of it is zeros.
    blocks.reshape(-1)[FRAME // 2 : FRAME // 2 + len(samples)] = samples
    power = np.einsum("ij,ij->i", blocks, blocks, dtype=np.float64)
    total = np.concatenate(([0.0], np.cumsum(power)))
    levels: npt.NDArray[np.float64] = np.maximum(total[FRAME // HOP :] - total[: -(FRAME // HOP)], 0) / FRAME
    return levels


def mel_levels(mel: npt.NDArray[np.float32], decibels: float) -> npt.NDArray[np.float64]:
    """Return the power of every frame of a mel, up to a constant factor, [n_frames].

    Args:
        mel: [n_frames, n_mels].
        decibels: in one unit of the mel, as `decibels_of_unit` gives it.
    """
    if not mel.size:
        return np.zeros(len(mel))
    # Only differences count; the largest value becomes 1, so that nothing overflows.
    values = np.minimum((mel - mel.max()) * np.float32(decibels / 10), 0) if decibels > 0 else np.zeros_like(mel)
    power: npt.NDArray[np.float64] = np.power(np.float32(10), values).sum(axis=1, dtype=np.float64)
    return power


def decibels_of_unit(audio_settings: Mapping[str, Any]) -> float | None:
    """Return how many decibels one unit of a mel value is; None where the manifest does not say."""
    compression = audio_settings.get("compression")
    if not isinstance(compression, Mapping):
        return None
    unit = _DECIBELS.get((str(compression.get("log")), audio_settings.get("power", 0)))
    scale = compression.get("scale")
    return unit / scale if unit and isinstance(scale, int | float) and scale > 0 else None


def silences(levels: npt.NDArray[np.float64], hop_seconds: float, seconds: float) -> Silences:
    """Return the silences of a recording from the power of its frames, [n_frames].

    The ends are those that ``librosa.effects.trim(top_db=SILENCE_DB)`` cuts off. A recording without power is
    silent from its start to its end.
    """
    loud = np.flatnonzero(levels > levels.max(initial=0) * 10 ** (-SILENCE_DB / 10))
    if not len(loud):
        return Silences(seconds, seconds, 0.0)
    inside = int(np.diff(loud).max(initial=1)) - 1
    end = seconds - (int(loud[-1]) + 1) * hop_seconds
    return Silences(int(loud[0]) * hop_seconds, max(0.0, end), inside * hop_seconds)


def edge_level(power: float, levels: npt.NDArray[np.float64]) -> float:
    """Return how loud an end of a recording is against its loudest frame, dB; -inf where it is only noise.

    Twice the level of the quietest frame is subtracted first: a noisy recording is noisy at its ends too.

    Args:
        power: mean square of the end.
        levels: [n_frames] power of the frames.
    """
    loudest = float(levels.max(initial=0))
    # The outer frames reach beyond the recording, where there are zeros.
    inner = levels[2:-2] if len(levels) > 4 else levels
    return decibels((power - 2 * float(inner.min())) / loudest) if loudest > 0 else -math.inf


def decibels(power: float) -> float:
    """Return a power in dB; -inf where there is none."""
    return 10 * math.log10(power) if power > 0 else -math.inf
