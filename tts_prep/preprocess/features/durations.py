"""From boundaries in seconds to frames: the rounding of four systems, and a sum that is always the mel's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import AlignmentError

Frames = npt.NDArray[np.int64]

MAX_DIFFERENCE: Final = 2
"""Frames by which durations may differ from the mel and are settled; what differs by more is an error."""


def _ming024(bounds: npt.NDArray[np.float64], sample_rate: int, hop_length: int, n_frames: int) -> Frames:  # noqa: ARG001
    """Round each boundary to the nearest frame, halves to even (ming024/FastSpeech2, SpeechBrain)."""
    return np.diff(np.round(bounds * sample_rate / hop_length)).astype(np.int64)


def _paddlespeech(bounds: npt.NDArray[np.float64], sample_rate: int, hop_length: int, n_frames: int) -> Frames:  # noqa: ARG001
    """Round each boundary down to a sample, and that down to a frame (PaddleSpeech, by librosa.time_to_frames)."""
    frames: Frames = np.diff((bounds * sample_rate).astype(np.int64) // hop_length)
    return frames


def _espnet(bounds: npt.NDArray[np.float64], sample_rate: int, hop_length: int, n_frames: int) -> Frames:  # noqa: ARG001
    """Round each boundary down to a frame; the last phone gets the one frame that centred framing has more (ESPnet)."""
    return np.diff(np.floor(bounds * sample_rate / hop_length)).astype(np.int64)


def _speechain(bounds: npt.NDArray[np.float64], sample_rate: int, hop_length: int, n_frames: int) -> Frames:  # noqa: ARG001
    """Round durations to hundredths of a second, and their shares of the mel to frames, halves to even (SpeeChain)."""
    seconds = np.array([round(length, 2) for length in np.diff(bounds).tolist()], np.float32)
    total = seconds.sum()
    if not total > 0:
        return np.zeros(len(seconds), np.int64)
    frames: Frames = np.round(seconds / total * np.float32(n_frames)).astype(np.int64)
    return frames


ROUNDINGS: Final[Mapping[str, Callable[[npt.NDArray[np.float64], int, int, int], Frames]]] = MappingProxyType(
    {"ming024": _ming024, "paddlespeech": _paddlespeech, "espnet": _espnet, "speechain": _speechain}
)


def frames_of(
    bounds: Sequence[float] | npt.NDArray[np.float64], rounding: str, sample_rate: int, hop_length: int, n_frames: int
) -> Frames:
    """Return the frames of each phone, [n_phones], before they are settled with the mel's.

    Args:
        bounds: [n_phones + 1] seconds, where phones begin, and where the last one ends.
        rounding: one of `ROUNDINGS`.
        n_frames: of the mel; only ``speechain`` uses it.
    """
    return ROUNDINGS[rounding](np.asarray(bounds, np.float64), sample_rate, hop_length, n_frames)


SURPLUS: Final = ("last_phone", "cut")
"""What happens to frames of the mel that the durations do not cover."""


def settle(
    frames: Frames, n_frames: int, where: str, surplus: str = "last_phone", limit: int = MAX_DIFFERENCE
) -> tuple[Frames, int]:
    """Return durations whose sum is n_frames, and by how many frames they were changed.

    ``last_phone`` is PaddleSpeech's rule: the last phone takes the difference; where it is too short for that, the
    first one does. Where both are, PaddleSpeech leaves the utterance out; here the longest phone takes it.
    ``cut`` is ming024's: the durations stay where the mel has more frames, and the mel is cut. Where it has fewer, the
    rule is the other one.

    Args:
        limit: frames by which the sum may differ.

    Raises:
        AlignmentError: the sum differs by more than the limit, or no phone can take the difference.
    """
    difference = n_frames - int(frames.sum())
    if difference == 0:
        return frames, 0
    if abs(difference) > limit:
        raise AlignmentError(
            f"{where}: the durations are {frames.sum():,} frames, the mel has {n_frames:,}; a difference of up to "
            f"{limit} is settled, this one is more than rounding: is it the alignment of another recording?"
        )
    if surplus == "cut" and difference > 0:
        return frames, difference
    settled = frames.copy()
    for phone in (-1, 0, int(np.argmax(settled))):
        if settled[phone] + difference > 0:
            settled[phone] += difference
            return settled, difference
    raise AlignmentError(
        f"{where}: the durations are {frames.sum():,} frames, the mel has {n_frames:,}, and no phone can take "
        "the difference"
    )
