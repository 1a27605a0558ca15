"""Utterances of several stores in one batch: checks that the stores match, and a common speaker table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.loader.batch_info import BatchInfo
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset

_OF_RECORDINGS = ("channel", "trim_db")
"""Settings that affect how a corpus is read, not how a mel is computed: stores may differ in them."""

_OF_VALUES = ("of", "unit", "unvoiced")
"""Settings of added arrays that affect what a value means, not how it is found: stores must not differ in them."""

SpeakerNames: TypeAlias = Literal["name", "dataset"]

T = TypeVar("T")


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
    if a is b:
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
        }
        if first.numpy_dtype.kind == spec.numpy_dtype.kind:
            del pairs["dtype"]
        differences = [f"{key} is {a} in one and {b} in the other" for key, (a, b) in pairs.items() if a != b]
        if differences:
            raise ConfigurationError(
                f"array '{name}' of {names[0]} and {other} cannot be mixed: {'; '.join(differences)}"
            )


class SpeakerTable:
    """A common speaker table for several stores.

    Args:
        tables: the speaker table of each store.
        by: ``"name"``: equal names are one speaker, and codes index into the sorted names. ``"dataset"``: speakers of
            different datasets are different speakers, named ``0/p225``, ``1/p225``; codes follow the first table, then
            the second, and so on.

    Attributes:
        names: the name for each common code.
        codes: for each store, [n_own_speakers] int64, the common code of each code of the store.

    Raises:
        ConfigurationError: `by` is neither.
    """

    def __init__(self, tables: Sequence[Sequence[str]], by: SpeakerNames = "name") -> None:
        if by == "name":
            self.names = tuple(sorted({name for table in tables for name in table}))
            code = {name: number for number, name in enumerate(self.names)}
            self.codes = [np.array([code[name] for name in table], np.int64) for table in tables]
        elif by == "dataset":
            self.names = tuple(f"{number}/{name}" for number, table in enumerate(tables) for name in table)
            starts = np.cumsum([0, *map(len, tables)]).tolist()
            self.codes = [np.arange(len(table)) + start for table, start in zip(tables, starts, strict=False)]
        else:
            raise ConfigurationError(f"speakers: expected 'name' or 'dataset', found {by!r}")

    def adopt(self, store: StoreMetadata, codes: Array) -> StoreMetadata:
        """Return the metadata of a store with the common speaker table; speakers of other stores have no frames.

        Args:
            store: the metadata with the store's own table.
            codes: [n_own_speakers] the common code of each code of the store.
        """
        if store.speakers == self.names:
            return store
        return replace(
            store,
            speakers=self.names,
            speaker_frames=_scattered(store.speaker_frames, codes, len(self.names), 0),
            speaker_mel_mean=_scattered(store.speaker_mel_mean, codes, len(self.names), 0),
            speaker_mel_std=_scattered(store.speaker_mel_std, codes, len(self.names), 1),
        )


def _scattered(values: Array, codes: Array, n: int, missing: int) -> Array:
    scattered = np.full((n, *values.shape[1:]), missing, values.dtype)
    scattered[codes] = values
    scattered.flags.writeable = False
    return scattered


@dataclass(frozen=True, eq=False)
class Source:
    """The utterances of a batch that come from one store.

    Attributes:
        dataset: the utterances.
        places: [n] int64, the position of each utterance in the batch.
        speakers: [n] int64, indices into ``store.speakers``.
        store: the metadata of the store with the common speaker table.
    """

    dataset: UtteranceDataset
    places: npt.NDArray[np.int64]
    speakers: npt.NDArray[np.int64]
    store: StoreMetadata


class MixedUtterances(Sequence[Utterance]):
    """The utterances of a batch from several stores, not loaded yet: `collate` pads them from the memory maps.

    Attributes:
        sources: the utterances by store.
        batch_info: what the batch sampler knows of the batch.
    """

    def __init__(self, sources: Sequence[Source], batch_info: BatchInfo = BatchInfo()) -> None:
        self.sources = tuple(sources)
        self.batch_info = batch_info
        self._count = sum(len(source.places) for source in self.sources)

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<MixedUtterances: {len(self):,} of {len(self.sources)} datasets>"

    def __getitem__(self, position: Any) -> Any:
        """Return the utterance at a position of the batch, or a list of utterances at a slice."""
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        place = range(len(self))[position]
        for source in self.sources:
            for i in np.flatnonzero(source.places == place).tolist():
                return self._utterance(source, i)
        raise IndexError(position)

    def __iter__(self) -> Iterator[Utterance]:
        return iter(
            self.in_order([self._utterance(source, i) for i in range(len(source.places))] for source in self.sources)
        )

    def in_order(self, values: Iterable[Iterable[T]]) -> list[T]:
        """Return the values of each source's utterances in the order of the batch."""
        ordered: list[Any] = [None] * len(self)
        for source, of_source in zip(self.sources, values, strict=True):
            for place, value in zip(source.places.tolist(), of_source, strict=True):
                ordered[place] = value
        return ordered

    def _utterance(self, source: Source, i: int) -> Utterance:
        return adopted(source.dataset[i], int(source.speakers[i]), source.store)


def adopted(utterance: Utterance, speaker_code: int, store: StoreMetadata) -> Utterance:
    """Return an utterance with the speaker and the metadata of a common speaker table."""
    name = store.speakers[speaker_code]
    return replace(utterance, speaker=name, speaker_code=speaker_code, store=store)
