"""Convert boundaries in seconds to durations in frames whose sum is the length of the mel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import AlignmentError

Frames = npt.NDArray[np.int64]

MAX_DIFFERENCE: Final = 2
"""The maximum difference in frames between durations and mel that is corrected; a larger one is an error."""


def _ming024(bounds: npt.NDArray[np.float64], sample_rate: int, hop_length: int, n_frames: int) -> Frames:  # noqa: ARG001
    """Round each boundary to the nearest frame, halves to even (ming024/FastSpeech2, SpeechBrain)."""
    return np.diff(np.round(bounds * sample_rate / hop_length)).astype(np.int64)


def _paddlespeech(bounds: npt.NDArray[np.float64], sample_rate: int, hop_length: int, n_frames: int) -> Frames:  # noqa: ARG001
    """Round each boundary down to a sample, then down to a frame (PaddleSpeech, by librosa.time_to_frames)."""
    frames: Frames = np.diff((bounds * sample_rate).astype(np.int64) // hop_length)
    return frames


def _espnet(bounds: npt.NDArray[np.float64], sample_rate: int, hop_length: int, n_frames: int) -> Frames:  # noqa: ARG001
    """Round each boundary down to a frame; the last phone gets the extra frame of centred framing (ESPnet)."""
    return np.diff(np.floor(bounds * sample_rate / hop_length)).astype(np.int64)


def speechain_seconds(bounds: npt.NDArray[np.float64]) -> list[float]:
    """Return the lengths of phones as SpeeChain stores them, rounded to 0.01 s.

    The package textgrid, with which it reads alignments, rounds boundaries to 0.00001 s.
    """
    return [round(length, 2) for length in np.diff([round(time, 5) for time in bounds.tolist()]).tolist()]


def _speechain(bounds: npt.NDArray[np.float64], sample_rate: int, hop_length: int, n_frames: int) -> Frames:  # noqa: ARG001
    """Round durations to 0.01 s, then their shares of the mel to frames, halves to even (SpeeChain)."""
    seconds = np.array(speechain_seconds(bounds), np.float32)
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
    """Return the frames of each phone, [n_phones], before `settle`.

    Args:
        bounds: [n_phones + 1] the starts of phones and the end of the last one, seconds.
        rounding: one of `ROUNDINGS`.
        n_frames: the number of frames of the mel; used by ``speechain`` only.
    """
    return ROUNDINGS[rounding](np.asarray(bounds, np.float64), sample_rate, hop_length, n_frames)


SURPLUS: Final = ("last_phone", "cut")
"""The treatment of mel frames that the durations do not cover."""


def settle(
    frames: Frames, n_frames: int, where: str, surplus: str = "last_phone", limit: int = MAX_DIFFERENCE
) -> tuple[Frames, int]:
    """Return durations whose sum is n_frames, and the number of frames by which they were changed.

    ``last_phone`` is PaddleSpeech's rule: the difference is added to the last phone, or to the first one if the last is
    too short. If both are too short, PaddleSpeech drops the utterance; this function uses the longest phone. ``cut`` is
    ming024's rule: if the mel has more frames, the durations are unchanged and the mel is cut; if it has fewer, the
    other rule applies.

    Args:
        limit: the maximum difference of the sum in frames.

    Raises:
        AlignmentError: the difference exceeds the limit, or no phone is long enough.
    """
    difference = n_frames - int(frames.sum())
    if difference == 0:
        return frames, 0
    if abs(difference) > limit:
        raise AlignmentError(
            f"{where}: the durations sum to {frames.sum():,} frames, the mel has {n_frames:,}; expected a difference "
            f"of at most {limit}; is it the alignment of another recording?"
        )
    if surplus == "cut" and difference > 0:
        return frames, difference
    settled = frames.copy()
    for phone in (-1, 0, int(np.argmax(settled))):
        if settled[phone] + difference > 0:
            settled[phone] += difference
            return settled, difference
    raise AlignmentError(
        f"{where}: the durations sum to {frames.sum():,} frames, the mel has {n_frames:,}, and no phone is long "
        "enough to correct the difference"
    )
