"""The data of a plot of one utterance."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.pictures.drawing import MelAxis


@dataclass(frozen=True)
class Phone:
    """A phone with its start and end in seconds."""

    symbol: str
    start: float
    end: float


@dataclass(frozen=True, eq=False)
class Clip:
    """The data of one utterance, in seconds and Hz.

    Attributes:
        id, speaker, text, phoneme_text: columns of the index.
        language: a language tag, or an empty string if unknown.
        seconds: the duration of the recording.
        sample_rate: the sample rate in Hz.
        hop: the frame shift in seconds.
        first_frame: the time of the centre of the first frame in seconds.
        mel: [n_frames, n_mels].
        mel_range: the mel values of the darkest and the brightest colour.
        mel_axis: the mapping of frequencies to mel bins, or None if unknown.
        waveform: [n_samples] int16, or float32 within ±1; None if the store has no waveforms.
        phones: the phones; empty if the store has no durations.
        pitch: [n_frames] Hz, NaN where unvoiced; None if the store has no pitch.
        energy: [n_frames], in the unit of the store; None if the store has no energy.
        alignment_score: the score of the durations, if the store has aligned itself; otherwise NaN.
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
    alignment_score: float = math.nan

    @property
    def first_edge(self) -> float:
        """The left edge of the first frame in a plot in seconds: half a hop before its centre."""
        return self.first_frame - self.hop / 2

    @property
    def last_edge(self) -> float:
        """The right edge of the last frame in a plot in seconds."""
        return self.first_edge + len(self.mel) * self.hop

    def frame_times(self) -> npt.NDArray[np.float64]:
        """Return the times of the frame centres, [n_frames] seconds."""
        times: npt.NDArray[np.float64] = self.first_frame + self.hop * np.arange(len(self.mel), dtype=np.float64)
        return times
