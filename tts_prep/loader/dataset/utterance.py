"""An utterance of a store: its texts and its arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from tts_prep import doors
from tts_prep.errors import NO_WAVEFORMS, ConfigurationError
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.loader.dataset.metadata import StoreMetadata

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _HasArrays(Protocol):
    """A dataset, of which this module knows only what is made of a row."""

    @property
    def arrays(self) -> Mapping[str, ArraySpec]: ...
    def _field(self, name: str, row: int) -> Any: ...
    def _array(self, name: str, row: int) -> npt.NDArray[Any]: ...
    def _selected(self, rows: range) -> Any: ...


@dataclass(frozen=True, eq=False, repr=False)
class Utterance:
    """One utterance. Its arrays are read-only views of the store; copy them before modifying.

    Of an utterance of a dataset, most attributes are made when they are asked for.

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
    mel: npt.NDArray[Any] = field(repr=False)
    phonemes: npt.NDArray[Any] = field(repr=False)
    waveform: npt.NDArray[Any] | None = field(repr=False)
    meta: Mapping[str, str | float]
    store: StoreMetadata = field(repr=False)
    arrays: UtteranceArrays = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"<Utterance {self.id!r} of {self.speaker!r}: {self.seconds:.2f} s, {len(self.mel):,} frames, "
            f"{len(self.phonemes):,} phonemes>"
        )

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        # Called for fields that are not made yet, and for names that are no fields.
        made = self.__dict__
        if "_dataset" in made and name in self.__dataclass_fields__:
            made[name] = made["_dataset"]._field(name, made["index"])
            return made[name]  # type: ignore[no-any-return]
        # While a copy is made, there are no fields yet.
        arrays = self.arrays if "_dataset" in made else made.get("arrays", {})
        if name in arrays:
            return arrays[name]
        raise AttributeError(f"the utterance has no '{name}'; its arrays are {', '.join(arrays)}")

    def __getstate__(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @property
    def _stored_mel(self) -> npt.NDArray[Any]:
        """The mel as the store has it: float16 without the offset of the store."""
        stored: npt.NDArray[Any] | None = self.__dict__.get("_mel")
        return self.mel if stored is None else stored

    @property
    def audio(self) -> npt.NDArray[np.float32]:
        """A copy of the waveform as float32, -1 to 1, [n_samples].

        Raises:
            ConfigurationError: the store has no waveforms.
        """
        if self.waveform is None:
            raise ConfigurationError(f"utterance '{self.id}': {NO_WAVEFORMS}")
        samples = self.waveform.astype(np.float32)
        if self.waveform.dtype == np.int16:
            samples *= np.float32(1 / 32768)
        return samples

    def plot(self) -> Figure:
        """Return a matplotlib figure of waveform, mel, pitch, energy and phones, if the store has them.

        Raises:
            MissingPackageError: matplotlib is not installed.
        """
        figure: Figure = doors.need("views", "plot")(self)
        return figure

    def _repr_html_(self) -> str | None:
        """Return HTML for notebooks; None, which shows plain text, if Jinja2 or Pillow is not installed."""
        row = doors.row("views", "html")
        html: str | None = doors.load("views", row)(self) if row else None
        return html


class UtteranceArrays(Mapping[str, npt.NDArray[Any]]):
    """The arrays of one utterance by name; see `UtteranceDataset.views`."""

    def __init__(self, dataset: _HasArrays, row: int) -> None:
        self._dataset = dataset
        self._row = row

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the other rows that are selected.
        return UtteranceArrays, (self._dataset._selected(range(self._row, self._row + 1)), self._row)

    @property
    def specs(self) -> Mapping[str, ArraySpec]:
        """Dtype, shape and axis of each array."""
        return self._dataset.arrays

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._dataset.arrays:
            raise KeyError(name)
        return self._dataset._array(name, self._row)

    def __iter__(self) -> Iterator[str]:
        return iter(self._dataset.arrays)

    def __len__(self) -> int:
        return len(self._dataset.arrays)

    def __repr__(self) -> str:
        return f"<UtteranceArrays: {', '.join(self)}>"
