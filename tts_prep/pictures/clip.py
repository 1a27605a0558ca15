"""The data of a plot of one utterance, and what shows it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tts_prep.format.layout import ALIGNMENT_SCORE
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.pictures.drawing import MelAxis
from tts_prep.preprocess.features.kinds import hertz

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


def plot(utterance: Utterance) -> Figure:
    """Return a matplotlib figure of an utterance.

    Raises:
        MissingPackageError: matplotlib is not installed.
    """
    from tts_prep.pictures.figure import plot_clip

    return plot_clip(clip_of(utterance))


def html(utterance: Utterance) -> str | None:
    """Return HTML of an utterance for notebooks; None if Jinja2 or Pillow is not installed."""
    try:
        from tts_prep.pictures.spectrogram import clip_html
    except ModuleNotFoundError:
        return None
    return clip_html(clip_of(utterance))


def clip_of(utterance: Utterance) -> Clip:
    """Return an utterance in seconds and Hz, with pitch, energy and durations if the store has them."""
    store = utterance.store
    hop = store.hop_length / store.sample_rate
    # With framings other than 'center', the centre of a frame is the middle of its hop.
    first_frame = 0.0 if store.audio_settings.get("framing", "center") == "center" else hop / 2
    return Clip(
        id=utterance.id,
        speaker=utterance.speaker,
        text=utterance.text,
        phoneme_text=utterance.phoneme_text,
        language=str(utterance.meta.get("language", "")),
        seconds=utterance.seconds,
        sample_rate=store.sample_rate,
        hop=hop,
        first_frame=first_frame,
        mel=utterance.mel,
        # The same colours for all utterances of a store, so that they are comparable.
        mel_range=(
            float((store.mel_mean - 2 * store.mel_std).min()),
            float((store.mel_mean + 2.5 * store.mel_std).max()),
        )
        if store.n_mels
        else (0.0, 1.0),
        mel_axis=mel_axis(store) if store.n_mels else None,
        waveform=utterance.waveform,
        phones=_phones(utterance, first_frame - hop / 2, hop),
        pitch=_pitch(utterance),
        energy=_frames(utterance, "energy"),
        alignment_score=float(utterance.meta.get(ALIGNMENT_SCORE, math.nan)),
    )


def mel_axis(store: StoreMetadata) -> MelAxis | None:
    """Return the mapping of frequencies to mel bins, or None if the manifest does not specify it."""
    settings = store.audio_settings
    scale, fmin, fmax = settings.get("mel_scale"), settings.get("fmin"), settings.get("fmax")
    # Kaldi's scale is HTK's; its triangles have another shape.
    scale = "htk" if scale == "kaldi" else scale
    if scale not in ("slaney", "htk") or not isinstance(fmin, int | float) or not isinstance(fmax, int | float):
        return None
    return MelAxis(scale, float(fmin), float(fmax), store.n_mels) if 0 <= fmin < fmax < 1e6 else None


def _pitch(utterance: Utterance) -> npt.NDArray[np.float64] | None:
    values = _frames(utterance, "pitch")
    if values is None:
        return None
    return hertz(utterance.arrays.specs["pitch"].settings.get("unit"), values, _frames(utterance, "voiced"))


def _frames(utterance: Utterance, name: str) -> npt.NDArray[np.float64] | None:
    """Return an array with one number per frame, or None if the store does not have it."""
    spec: ArraySpec | None = utterance.arrays.specs.get(name)
    if spec is None or spec.axis != "frame" or spec.row_shape:
        return None
    values: Any = utterance.arrays[name]
    return np.asarray(values, np.float64)


def _phones(utterance: Utterance, first_edge: float, hop: float) -> tuple[Phone, ...]:
    """Return the symbols with their times, or () if the store has no durations."""
    spec = utterance.arrays.specs.get("durations")
    if spec is None or spec.axis != "phoneme" or spec.row_shape:
        return ()
    durations: Any = utterance.arrays["durations"]
    edges = first_edge + hop * np.concatenate(([0.0], np.cumsum(durations, dtype=np.float64)))
    symbols = utterance.store.symbols
    names = [symbols[i] if 0 <= i < len(symbols) else "?" for i in utterance.phonemes.tolist()]
    return tuple(map(Phone, names, edges[:-1].tolist(), edges[1:].tolist()))
