"""The utterances of a batch from one or several stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tts_prep.format.hdf5.datasets import Array
from tts_prep.loader.batch_info import BatchInfo
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Source:
    """The utterances of a batch that come from one store.

    Attributes:
        dataset: the utterances, with the common speaker table.
        places: [n] int64, the position of each utterance in the batch.
    """

    dataset: UtteranceDataset
    places: npt.NDArray[np.int64]


class MixedUtterances(Sequence[Utterance]):
    """The utterances of a batch from several stores, not loaded yet: `collate` pads them from the memory maps.

    Rows are looked up one by one, because a batch has few of each store.

    Attributes:
        datasets: [B] the dataset of each utterance, with the common speaker table.
        rows: [B] the row of each utterance in its store.
        batch_info: what the batch sampler knows of the batch.
    """

    def __init__(
        self, datasets: Sequence[UtteranceDataset], rows: Sequence[int], batch_info: BatchInfo = BatchInfo()
    ) -> None:
        self.datasets = datasets
        self.rows = rows
        self.batch_info = batch_info

    @classmethod
    def of(cls, dataset: UtteranceDataset) -> MixedUtterances:
        """Return the utterances of one dataset."""
        return cls([dataset] * len(dataset), dataset.indices.tolist(), dataset.batch_info)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<MixedUtterances: {len(self):,} of {len(self.sources)} datasets>"

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The utterances by dataset."""
        places: dict[UtteranceDataset, list[int]] = {}
        for place, dataset in enumerate(self.datasets):
            places.setdefault(dataset, []).append(place)
        rows = np.array(self.rows, np.int64)
        return tuple(Source(dataset._selected(rows[of]), np.array(of, np.int64)) for dataset, of in places.items())

    def __getitem__(self, position: Any) -> Any:
        """Return the utterance at a position of the batch, or a list of utterances at a slice."""
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        return self.datasets[position]._utterance(self.rows[position])

    def __iter__(self) -> Iterator[Utterance]:
        return (self[place] for place in range(len(self)))

    def values(self) -> tuple[list[StoreMetadata], list[str], list[int]]:
        """Return the metadata of the store, the id and the speaker code of each utterance, [B] each."""
        stores: list[StoreMetadata] = []
        ids: list[str] = []
        codes: list[int] = []
        last = None
        for dataset, row in zip(self.datasets, self.rows, strict=True):
            if dataset is not last:
                last, (store, id_of, code_of) = dataset, dataset._by_row
            stores.append(store)
            ids.append(id_of(row))
            codes.append(code_of(row))
        return stores, ids, codes

    def views(self, name: str) -> list[Array]:
        """Return an array of each utterance as it is stored, [B]; see `UtteranceDataset._stored_views`.

        Raises:
            ConfigurationError: a store has no such array.
            CorruptStoreError: a shard contradicts the manifest or the index.
        """
        views: list[Array] = []
        last = None
        for dataset, row in zip(self.datasets, self.rows, strict=True):
            if dataset is not last:
                places = dataset._places_of(name)
                if places is None:
                    break
                last, (shard_of, start_of, length_of, arrays) = dataset, places
            array = arrays.get(shard_of(row))
            if array is None:
                break
            start, length = start_of(row), length_of(row)
            view = array[start : start + length]
            if start < 0 or len(view) != length:
                break
            views.append(view)
        if len(views) == len(self.rows):
            return views
        # A file is not mapped yet, or an error is to be raised.
        return self.in_order(source.dataset._stored_views(name) for source in self.sources)

    def in_order(self, values: Iterable[Iterable[T]]) -> list[T]:
        """Return the values of each source's utterances in the order of the batch."""
        ordered: list[Any] = [None] * len(self)
        for source, of_source in zip(self.sources, values, strict=True):
            for place, value in zip(source.places.tolist(), of_source, strict=True):
                ordered[place] = value
        return ordered
