"""An utterance of a store: its texts, its arrays, and the data of its plot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.layout import ALIGNMENT_SCORE
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.loader.dataset.metadata import StoreMetadata

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tts_prep.pictures.clip import Clip, Phone
    from tts_prep.pictures.scales import MelAxis


class _HasArrays(Protocol):
    """A dataset, of which this module knows only its arrays."""

    @property
    def arrays(self) -> Mapping[str, ArraySpec]: ...

    def views(self, name: str) -> list[Array]: ...


@dataclass(frozen=True, eq=False, repr=False)
class Utterance:
    """One utterance. Its arrays are read-only views of the store; copy them before modifying.

    Example:
        >>> from tts_prep.loader import UtteranceDataset
        >>> utterance = UtteranceDataset("store")[0]
        >>> utterance
        <Utterance 'utterance-0' of 'anna': 0.45 s, 40 frames, 14 phonemes>
        >>> utterance.mel.shape, utterance.audio.dtype
        ((40, 5), dtype('float32'))

    Attributes:
        index: the row in the store, independent of filtering, sorting and splitting.
        id: unique in the store.
        text: the text before normalization and phonemization.
        phoneme_text: the text form of the phonemes.
        speaker: the name of the speaker.
        speaker_code: the index of the speaker in ``store.speakers``.
        seconds: the duration of the audio from which the mel was computed.
        mel: [n_frames, n_mels] float32, scaled as the preset defines.
        phonemes: [n_phonemes] int32, ids into the vocabulary.
        waveform: [n_samples] int16 (the sample × 32,768, +1.0 as 32,767) or float32; None if the store has none.
        arrays: all arrays of the store by name, mapped on first access; ``utterance.pitch`` is
            ``utterance.arrays["pitch"]``.
        meta: the further columns of the corpus: gender, language, accent, …
        store: the metadata of the store; in a `ChainDataset`, with the common speaker table.
    """

    index: int
    id: str
    text: str
    phoneme_text: str
    speaker: str
    speaker_code: int
    seconds: float
    mel: Array = field(repr=False)
    phonemes: Array = field(repr=False)
    waveform: Array | None = field(repr=False)
    meta: Mapping[str, str | float]
    store: StoreMetadata = field(repr=False)
    arrays: UtteranceArrays = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"<Utterance {self.id!r} of {self.speaker!r}: {self.seconds:.2f} s, {len(self.mel):,} frames, "
            f"{len(self.phonemes):,} phonemes>"
        )

    def __getattr__(self, name: str) -> Array:
        # Called only for names that are no fields; while a copy is made, there are no fields yet.
        arrays = self.__dict__.get("arrays", {})
        if name in arrays:
            return arrays[name]  # type: ignore[no-any-return]
        raise AttributeError(f"the utterance has no '{name}'; its arrays are {', '.join(arrays)}")

    @property
    def audio(self) -> npt.NDArray[np.float32]:
        """A copy of the waveform as float32, -1 to 1, [n_samples].

        Raises:
            ConfigurationError: the store has no waveforms.
        """
        if self.waveform is None:
            raise ConfigurationError(
                f"utterance '{self.id}': the store has no waveforms; prepare it with --waveform int16"
            )
        samples = self.waveform.astype(np.float32)
        if self.waveform.dtype == np.int16:
            samples *= np.float32(1 / 32768)
        return samples

    def plot(self) -> Figure:
        """Return a matplotlib figure of waveform, mel, pitch, energy and phones, if the store has them.

        Raises:
            MissingPackageError: matplotlib is not installed.
        """
        from tts_prep.pictures.figure import plot_clip

        return plot_clip(clip_of(self))

    def _repr_html_(self) -> str | None:
        """Return HTML for notebooks; None, which shows plain text, if Jinja2 or Pillow is not installed."""
        try:
            from tts_prep.pictures.notebook import clip_html
        except ModuleNotFoundError:
            return None
        return clip_html(clip_of(self))


class UtteranceArrays(Mapping[str, Array]):
    """The arrays of one utterance by name; see `UtteranceDataset.views`."""

    def __init__(self, dataset: _HasArrays) -> None:
        self._dataset = dataset

    @property
    def specs(self) -> Mapping[str, ArraySpec]:
        """Dtype, shape and axis of each array."""
        return self._dataset.arrays

    def __getitem__(self, name: str) -> Array:
        if name not in self._dataset.arrays:
            raise KeyError(name)
        return self._dataset.views(name)[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._dataset.arrays)

    def __len__(self) -> int:
        return len(self._dataset.arrays)

    def __repr__(self) -> str:
        return f"<UtteranceArrays: {', '.join(self)}>"


def clip_of(utterance: Utterance) -> Clip:
    """Return an utterance in seconds and Hz, with pitch, energy and durations if the store has them."""
    from tts_prep.pictures.clip import Clip

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
        ),
        mel_axis=mel_axis(store),
        waveform=utterance.waveform,
        phones=_phones(utterance, first_frame - hop / 2, hop),
        pitch=_pitch(utterance),
        energy=_frames(utterance, "energy"),
        alignment_score=float(utterance.meta.get(ALIGNMENT_SCORE, math.nan)),
    )


def mel_axis(store: StoreMetadata) -> MelAxis | None:
    """Return the mapping of frequencies to mel bins, or None if the manifest does not specify it."""
    from tts_prep.pictures.scales import MelAxis

    settings = store.audio_settings
    scale, fmin, fmax = settings.get("mel_scale"), settings.get("fmin"), settings.get("fmax")
    # Kaldi's scale is HTK's; its triangles have another shape.
    scale = "htk" if scale == "kaldi" else scale
    if scale not in ("slaney", "htk") or not isinstance(fmin, int | float) or not isinstance(fmax, int | float):
        return None
    return MelAxis(scale, float(fmin), float(fmax), store.n_mels) if 0 <= fmin < fmax < 1e6 else None


def _pitch(utterance: Utterance) -> npt.NDArray[np.float64] | None:
    from tts_prep.preprocess.features.pitch_units import hertz

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
    from tts_prep.pictures.clip import Phone

    spec = utterance.arrays.specs.get("durations")
    if spec is None or spec.axis != "phoneme" or spec.row_shape:
        return ()
    durations: Any = utterance.arrays["durations"]
    edges = first_edge + hop * np.concatenate(([0.0], np.cumsum(durations, dtype=np.float64)))
    symbols = utterance.store.symbols
    names = [symbols[i] if 0 <= i < len(symbols) else "?" for i in utterance.phonemes.tolist()]
    return tuple(map(Phone, names, edges[:-1].tolist(), edges[1:].tolist()))
