"""Concatenation of datasets; stores get a common speaker table."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from tts_prep.errors import ConfigurationError
from tts_prep.format.files.checksums import json_sha256
from tts_prep.loader.batch_info import info_of, with_info_of
from tts_prep.loader.dataset.columns import CategoryValues, TextValues
from tts_prep.loader.dataset.composition import DatasetMixin, column_of, fingerprint_of, stores_of
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.mixture import (
    MixedUtterances,
    Source,
    SpeakerNames,
    SpeakerTable,
    adopted,
    check_agreement,
)
from tts_prep.loader.dataset.selection import Positions, select_rows
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset


class ChainDataset(DatasetMixin):
    """Concatenate datasets.

    Example:
        >>> from tts_prep.loader import ChainDataset, UtteranceDataset
        >>> chain = ChainDataset(UtteranceDataset("store"), UtteranceDataset("other"))
        >>> chain
        <ChainDataset: 12 examples>
        >>> chain.speakers
        ('anna', 'ben', 'cleo')

    Utterances of several stores get a common speaker table, `speakers`: ``speaker_code`` of an utterance and
    ``speakers`` of a batch index into it. Each utterance keeps its row and the statistics of its own store, which
    ``normalize`` in `collate` uses.

    Args:
        datasets: at least one. All stores, including those in nested datasets, must have equal mel settings and
            vocabularies.
        speakers: ``"name"``: equal names are one speaker, and codes index into the sorted names. ``"dataset"``:
            speakers of different datasets are different speakers, named ``0/p225``, ``1/p225``; codes follow the table
            of the first dataset, then of the second, and so on.

    Raises:
        ConfigurationError: there are no datasets, or their stores do not match; the message lists the differences.
    """

    def __init__(self, *datasets: Any, speakers: SpeakerNames = "name") -> None:
        if not datasets:
            raise ConfigurationError("ChainDataset: expected at least one dataset, found none")
        self.datasets = datasets
        self._starts = list(accumulate((len(dataset) for dataset in datasets), initial=0))
        stores_by_dataset = [stores_of(dataset) for dataset in datasets]
        stores = [(number, store) for number, members in enumerate(stores_by_dataset) for store in members]
        if stores:
            check_agreement([store for _, store in stores], [f"dataset {number}" for number, _ in stores])
        tables = [
            tuple(dict.fromkeys(name for store in members for name in store.speakers)) for members in stores_by_dataset
        ]
        self._tables = tables
        self._speakers = SpeakerTable(tables, speakers)
        self._by_name = speakers == "name"
        self._adopted: dict[tuple[int, int], tuple[StoreMetadata, StoreMetadata]] = {}

    def __getstate__(self) -> dict[str, Any]:
        # The keys contain object identities, which are meaningless in another process.
        return {**self.__dict__, "_adopted": {}}

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def speakers(self) -> tuple[str, ...]:
        """The common speaker table: the name for each code."""
        return self._speakers.names

    def get_example(self, i: int) -> Any:
        """Return the example at a position."""
        number = bisect_right(self._starts, i) - 1
        return self._adopt(self.datasets[number][i - self._starts[number]], number)

    def __getitems__(self, positions: Positions) -> Any:
        """Return the examples at positions; for utterances of stores, as `MixedUtterances` for `collate`."""
        wanted = np.asarray(select_rows(range(len(self)), positions))
        numbers = np.searchsorted(self._starts, wanted, side="right") - 1
        sources: list[Source] = []
        examples: list[Any] = [None] * len(wanted)
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            inner = with_info_of(positions, (wanted[places] - self._starts[number]).tolist())
            dataset = self.datasets[number]
            selected = dataset.__getitems__(inner) if hasattr(dataset, "__getitems__") else [dataset[i] for i in inner]
            if isinstance(selected, UtteranceDataset | MixedUtterances):
                sources += self._sources(selected, number, places)
            else:
                for place, example in zip(places.tolist(), selected, strict=True):
                    examples[place] = self._adopt(example, number)
        if sum(len(source.places) for source in sources) == len(wanted):
            return MixedUtterances(sources, info_of(positions))
        for source in sources:
            for i, place in enumerate(source.places.tolist()):
                examples[place] = adopted(source.dataset[i], int(source.speakers[i]), source.store)
        return with_info_of(positions, examples)

    def _sources(self, selected: UtteranceDataset | MixedUtterances, number: int, places: Any) -> Sequence[Source]:
        """Return the utterances that one dataset contributes to a batch, with common speaker codes."""
        if isinstance(selected, UtteranceDataset):
            codes = selected.columns.speaker.checked_codes().astype(np.int64)
            inner = [Source(selected, np.arange(len(selected)), codes, selected.metadata)]
        else:
            inner = list(selected.sources)
        sources = []
        for source in inner:
            in_batch = places[source.places]
            common = self._codes(source.store, number)[source.speakers]
            store = self._common_store(source.store, number)
            sources.append(Source(source.dataset, in_batch, common, store))
        return sources

    def _adopt(self, example: Any, number: int) -> Any:
        if not isinstance(example, Utterance) or not self._tables[number]:
            return example
        code = int(self._codes(example.store, number)[example.speaker_code])
        return adopted(example, code, self._common_store(example.store, number))

    def _codes(self, store: StoreMetadata, number: int) -> Any:
        """Return the common code of each code of a store, [n_own_speakers]."""
        table, codes = self._tables[number], self._speakers.codes[number]
        if store.speakers == table:
            return codes
        position = {name: place for place, name in enumerate(table)}
        return codes[[position[name] for name in store.speakers]]

    def _common_store(self, store: StoreMetadata, number: int) -> StoreMetadata:
        """Return the metadata of a store with the common speaker table, the same object every time."""
        known = self._adopted.get((number, id(store)))
        if known is None or known[0] is not store:
            known = store, self._speakers.adopt(store, self._codes(store, number))
            self._adopted[number, id(store)] = known
        return known[1]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the fingerprints of all datasets in order, hexadecimal."""
        return json_sha256(["ChainDataset", *map(fingerprint_of, self.datasets), self._by_name])

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of all stores, with the common speaker table."""
        return [
            self._common_store(store, number)
            for number, dataset in enumerate(self.datasets)
            for store in stores_of(dataset)
        ]

    def column(self, name: str) -> Any:
        """Return a column, concatenated over all datasets.

        Numbers are returned as one array, texts as an array of objects, categories with a common table.

        Raises:
            ConfigurationError: a dataset has no such column, or the kinds of column differ.
        """
        columns = [column_of(dataset, name) for dataset in self.datasets]
        if all(isinstance(column, CategoryValues) for column in columns):
            if name == "speaker" and all(
                column.table == table for column, table in zip(columns, self._tables, strict=True)
            ):
                codes = [
                    common[column.checked_codes()] for column, common in zip(columns, self._speakers.codes, strict=True)
                ]
                return CategoryValues(np.concatenate(codes).astype(np.int32), self.speakers)
            return _chain_categories(columns)
        if any(isinstance(column, CategoryValues) for column in columns):
            raise ConfigurationError(f"column '{name}' is a category in one dataset but not in another")
        return np.concatenate(
            [
                np.array(list(column), object) if isinstance(column, TextValues) else np.asarray(column)
                for column in columns
            ]
        )


def _chain_categories(columns: Sequence[CategoryValues]) -> CategoryValues:
    table = sorted({value for column in columns for value in column.table})
    code = {value: number for number, value in enumerate(table)}
    codes = [
        np.array([code[value] for value in column.table] or [0], np.int32)[column.checked_codes()] for column in columns
    ]
    return CategoryValues(np.concatenate(codes), table)
