"""What is drawn of one utterance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.pictures.scales import MelAxis


@dataclass(frozen=True)
class Phone:
    """A symbol and the time that it takes, seconds."""

    symbol: str
    start: float
    end: float


@dataclass(frozen=True, eq=False)
class Clip:
    """One utterance, in seconds and Hz.

    Attributes:
        id, speaker, text, phoneme_text: as the store has them.
        language: a language tag; empty where none is known.
        seconds: length of the recording.
        sample_rate: Hz.
        hop: seconds between two frames.
        first_frame: the instant at which the first frame is centred, seconds.
        mel: [n_frames, n_mels].
        mel_range: the mel values that are darkest and brightest.
        mel_axis: where frequencies lie on the bins; None where the store does not say.
        waveform: [n_samples] int16, or float32 within ±1; None where the store keeps none.
        phones: with their times; empty where the store has no durations.
        pitch: [n_frames] Hz, NaN where unvoiced; None where the store has none.
        energy: [n_frames], in the unit of the store; None where it has none.
    """

    id: str
    speaker: str
    text: str
    phoneme_text: str
    language: str
    seconds: float
    sample_rate: int
    hop: float
    first_frame: float
    mel: npt.NDArray[Any]
    mel_range: tuple[float, float]
    mel_axis: MelAxis | None
    waveform: npt.NDArray[Any] | None
    phones: tuple[Phone, ...]
    pitch: npt.NDArray[np.float64] | None
    energy: npt.NDArray[np.float64] | None

    @property
    def first_edge(self) -> float:
        """Where the first frame begins in a picture: half a hop before its centre, seconds."""
        return self.first_frame - self.hop / 2

    @property
    def last_edge(self) -> float:
        """Where the last frame ends in a picture, seconds."""
        return self.first_edge + len(self.mel) * self.hop

    def frame_times(self) -> npt.NDArray[np.float64]:
        """Return the instants at which the frames are centred, [n_frames] seconds."""
        times: npt.NDArray[np.float64] = self.first_frame + self.hop * np.arange(len(self.mel), dtype=np.float64)
        return times
