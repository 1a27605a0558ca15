"""The metadata of a store that training needs, and whether several stores can be in one batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, broken
from tts_prep.format.contents.index import Index
from tts_prep.format.decoding import Record
from tts_prep.format.hdf5.datasets import dataset_at
from tts_prep.format.layout import MANIFEST
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import Manifest

_OF_RECORDINGS = ("channel", "trim_db")
"""Settings that affect how a corpus is read, not how a mel is computed: stores may differ in them."""

_MAX_INT32 = (1 << 31) - 1
_MAX_FLOAT32 = 3e38


@dataclass(frozen=True, eq=False, repr=False)
class StoreMetadata:
    """The metadata common to all utterances of a store.

    Attributes:
        sample_rate: the sample rate of the audio from which mels were computed, Hz.
        hop_length: the number of samples between successive frames.
        n_mels: the number of mel bins.
        silence: [n_mels] float32, the mel frame of digital silence.
        mel_mean: [n_mels] float64, over all frames of the store.
        mel_std: [n_mels] float64, population standard deviation over all frames.
        symbols: the vocabulary: the symbol for each id.
        pad_id: the id with which phonemes are padded.
        blank_id: the id of the blank that `Collator` can insert between phonemes; the pad id if the table has no blank.
        speakers: the speaker table: the name for each code.
        mel_offset: the number to add to stored mel values; 0 unless they are float16.
        has_waveform: whether the store has waveforms.
        speaker_frames: [n_speakers] int64, the number of frames of each speaker.
        speaker_mel_mean: [n_speakers, n_mels] float64, over the frames of each speaker.
        speaker_mel_std: [n_speakers, n_mels] float64, population standard deviation over the frames of each speaker.
        audio_settings: the settings of audio and mels: the manifest's ``configuration.audio``.
        blanks: whether the ids of utterances have blanks ``"between"`` symbols, or ``"around"``, also at both ends;
            None if they have none.
        ends: whether the ids of utterances have the start and end symbols of the vocabulary.
        licence: the licence of recordings and texts; empty if none was named. That of every store of a chain:
            ``[store.licence for store in chain.stores()]``.
        origin: where recordings and texts come from, and how they were made; empty if it was not said.
        path: the folder of the store, or of its copy.
        arrays: the specifications of all arrays by name.
        cleaning: how recordings were cut and cleaned: the manifest's ``configuration.cleaning``, and as ``alignments``
            the settings of those that define what is cut.
    """

    sample_rate: int
    hop_length: int
    n_mels: int
    silence: npt.NDArray[np.float32]
    mel_mean: npt.NDArray[np.float64]
    mel_std: npt.NDArray[np.float64]
    symbols: tuple[str, ...]
    pad_id: int
    blank_id: int
    speakers: tuple[str, ...]
    mel_offset: float
    has_waveform: bool
    speaker_frames: npt.NDArray[np.int64]
    speaker_mel_mean: npt.NDArray[np.float64]
    speaker_mel_std: npt.NDArray[np.float64]
    audio_settings: Mapping[str, Any] = field(default_factory=dict)
    blanks: str | None = None
    ends: bool = False
    licence: str = ""
    origin: str = ""
    path: Path = Path()
    arrays: Mapping[str, ArraySpec] = field(default_factory=dict)
    cleaning: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def agreement(self) -> str:
        """What is equal in stores whose utterances can be in one batch: mel settings and vocabulary, as a text."""
        audio = {name: value for name, value in self.audio_settings.items() if name not in _OF_RECORDINGS}
        numbers = self.sample_rate, self.hop_length, self.n_mels, self.pad_id, self.silence.tolist()
        return repr((audio, numbers, self.symbols))

    def __repr__(self) -> str:
        return (
            f"<StoreMetadata: {self.sample_rate:,} Hz, {self.n_mels} mel bins, {len(self.symbols):,} symbols, "
            f"{len(self.speakers):,} speakers>"
        )


def parse_metadata(store: Path, manifest: Manifest, index: Index) -> StoreMetadata:
    """Return the metadata of a store from its manifest and the statistics by speaker of its index.

    Raises:
        CorruptStoreError: a key is missing or has the wrong type or length.
    """
    where = store / MANIFEST
    mel = Record(f"{where}: array 'mel'", manifest.arrays["mel"])
    vocabulary = Record(f"{where}: vocabulary", manifest.vocabulary)
    statistics = Record(f"{where}: mel_statistics", manifest.mel_statistics)
    configuration = Record(f"{where}: configuration", manifest.configuration)
    n_mels = manifest.specs["mel"].row_shape[0]
    n_speakers = len(manifest.speakers)
    symbols = tuple(vocabulary.texts("symbols"))
    pad_id = vocabulary.integer("pad", 0, len(symbols) - 1)
    return StoreMetadata(
        sample_rate=mel.integer("sample_rate", 1, _MAX_INT32),
        hop_length=mel.integer("hop_length", 1, _MAX_INT32),
        n_mels=n_mels,
        silence=_vector(mel.numbers("silence", n_mels, -_MAX_FLOAT32, _MAX_FLOAT32), np.float32),
        mel_mean=_vector(statistics.numbers("mean", n_mels), np.float64),
        mel_std=_vector(statistics.numbers("std", n_mels), np.float64),
        symbols=symbols,
        pad_id=pad_id,
        blank_id=vocabulary.integer("blank", 0, len(symbols) - 1) if "blank" in vocabulary else pad_id,
        speakers=tuple(manifest.speakers),
        mel_offset=mel.number("offset") if "offset" in mel else 0.0,
        has_waveform="waveform" in manifest.arrays,
        speaker_frames=speaker_values(index, "frames", (n_speakers,), "i"),
        speaker_mel_mean=speaker_values(index, "mel_mean", (n_speakers, n_mels), "f"),
        speaker_mel_std=speaker_values(index, "mel_std", (n_speakers, n_mels), "f"),
        audio_settings=configuration.mapping("audio") if "audio" in configuration else {},
        blanks=vocabulary.text("blanks") if "blanks" in vocabulary else None,
        ends="ends" in vocabulary and manifest.vocabulary["ends"] is True,
        licence=manifest.provenance.get("license", ""),
        origin=manifest.provenance.get("origin", ""),
        path=store,
        arrays=manifest.specs,
        cleaning={
            **(configuration.mapping("cleaning") if "cleaning" in configuration else {}),
            **({"alignments": configuration.mapping("alignments")} if "alignments" in configuration else {}),
        },
    )


def speaker_values(index: Index, name: str, shape: tuple[int, ...], kind: str) -> npt.NDArray[Any]:
    """Return statistics by speaker of the index, [n_speakers, …].

    Raises:
        CorruptStoreError: they have another shape or kind.
    """
    place = dataset_at(index.path, index.speaker_statistics, name)
    # Without speakers, the number of mel bins is not stored.
    if (place.shape != shape and shape[0]) or place.dtype.kind != kind:
        raise broken(
            f"{index.path}: '{name}' by speaker: expected the shape {list(shape)}, found {list(place.shape)} of "
            f"{place.dtype}"
        )
    return index.file.dataset(place)


def _vector(values: list[float], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    vector = np.array(values, dtype)
    vector.flags.writeable = False
    return vector


_OF_VALUES = ("of", "unit", "unvoiced")
"""Settings of added arrays that affect what a value means, not how it is found: stores must not differ in them."""


def check_agreement(stores: Sequence[StoreMetadata], names: Sequence[str]) -> None:
    """Check that utterances of several stores can be batched together: equal mel settings and vocabulary.

    Args:
        stores: at least one.
        names: the name of each store in error messages.

    Raises:
        ConfigurationError: the stores differ; the message lists the differences.
    """
    for store, name in zip(stores[1:], names[1:], strict=True):
        if differences := _differences(stores[0], store):
            raise ConfigurationError(f"{names[0]} and {name} cannot be mixed: {'; '.join(differences)}")


def _differences(a: StoreMetadata, b: StoreMetadata) -> list[str]:
    if a is b or a.agreement == b.agreement:
        return []
    differences = [
        f"{name} is {getattr(a, name)} in one and {getattr(b, name)} in the other"
        for name in ("sample_rate", "hop_length", "n_mels", "pad_id")
        if getattr(a, name) != getattr(b, name)
    ]
    for name in sorted({*a.audio_settings, *b.audio_settings}.difference(_OF_RECORDINGS)):
        one, other = a.audio_settings.get(name), b.audio_settings.get(name)
        if one != other and name not in ("sample_rate", "hop_length", "n_mels"):
            differences.append(f"audio.{name} is {one} in one and {other} in the other")
    if not differences and not np.array_equal(a.silence, b.silence):
        differences.append("their mel frames of silence differ")
    if a.symbols != b.symbols:
        differences.append(f"their vocabularies of {len(a.symbols)} and {len(b.symbols)} symbols differ")
    return differences


def _of_model(spec: ArraySpec, key: str) -> Any:
    """Return what an array was made with, if a model has made it."""
    model = spec.settings.get("model")
    return model.get(key) if isinstance(model, Mapping) else None


def check_array_agreement(name: str, specs: Sequence[ArraySpec], names: Sequence[str]) -> None:
    """Check that an array of several stores can be batched together: equal axis, rows and kind of values.

    Args:
        name: the name of the array.
        specs: the specification in each store, at least one.
        names: the name of each store in error messages.

    Raises:
        ConfigurationError: the stores differ; the message lists the differences.
    """
    first = specs[0]
    for spec, other in zip(specs[1:], names[1:], strict=True):
        if spec is first:
            continue
        pairs = {
            "axis": (first.axis, spec.axis),
            "row_shape": (list(first.row_shape), list(spec.row_shape)),
            "dtype": (first.dtype, spec.dtype),
            **{key: (first.settings.get(key), spec.settings.get(key)) for key in _OF_VALUES},
            **{key: (_of_model(first, key), _of_model(spec, key)) for key in ("function", "settings", "weights")},
        }
        if first.numpy_dtype.kind == spec.numpy_dtype.kind:
            del pairs["dtype"]
        differences = [f"{key} is {a} in one and {b} in the other" for key, (a, b) in pairs.items() if a != b]
        if differences:
            raise ConfigurationError(
                f"array '{name}' of {names[0]} and {other} cannot be mixed: {'; '.join(differences)}"
            )
