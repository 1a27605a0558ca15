"""Datasets composed of other datasets: tuples, subsets, transforms, caches, and one speaker table for several stores.

All of them are lazy, accept any dataset with ``__len__`` and ``__getitem__``, and can be nested. Over an
`UtteranceDataset`, index columns remain available: ``subset.n_frames``.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.files.checksums import json_sha256
from tts_prep.loader.batch_info import with_info_of
from tts_prep.loader.dataset.columns import CategoryValues
from tts_prep.loader.dataset.identity import MadeOfStores, fingerprint_of, is_subset, stores_of
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.selection import Positions, Rows, as_slice, row_at, select_rows
from tts_prep.loader.dataset.statistics import RowStatistics
from tts_prep.loader.dataset.store import Store
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.randomness import digest

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # A default, so that a subclass need not say what its examples are.
    T_co = TypeVar("T_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)

Slot: TypeAlias = tuple[str, StoreMetadata]
"""The place of utterances in an example, and their store."""


class Examples(Protocol[T_co]):
    """Any dataset: a length, and an example at each position."""

    def __len__(self) -> int: ...
    def __getitem__(self, position: int, /) -> T_co: ...


class DatasetMixin(MadeOfStores, ABC, Generic[T_co]):
    """Indexing and iteration for a class with ``get_example`` and ``__len__``.

    An integer, which may be negative, selects an example; a slice, positions or a mask give a lazy `SubsetDataset`.
    """

    @abstractmethod
    def get_example(self, i: int) -> T_co:
        """Return the example at a position, 0 to len - 1."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of examples."""

    @overload
    def __getitem__(self, position: int | np.integer[Any]) -> T_co: ...
    @overload
    def __getitem__(self, position: slice | Positions) -> SubsetDataset[T_co]: ...
    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, int | np.integer):
            return self.get_example(row_at(range(len(self)), int(position)))
        return SubsetDataset(self, position)

    def __iter__(self) -> Iterator[T_co]:
        return (self.get_example(i) for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self):,} examples>"

    def __getitems__(self, positions: Positions) -> Any:
        """Return the examples at positions: a loader calls this for a batch."""
        rows = select_rows(range(len(self)), positions)
        return with_info_of(positions, (self.get_example(int(row)) for row in rows))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the type, the length, the settings and the underlying datasets, hexadecimal; not of functions."""
        settings = self._fingerprint_settings()
        parts = [type(self).__name__, len(self), *map(fingerprint_of, self._bases()), *([settings] if settings else [])]
        return json_sha256(parts)

    def _fingerprint_settings(self) -> dict[str, Any]:
        """Return the settings that determine the examples, as plain numbers and strings; {} if there are none."""
        return {}

    def column(self, name: str) -> Any:
        """Return an index column of the underlying store, one value per example.

        Raises:
            ConfigurationError: no underlying dataset has such a column.
        """
        for dataset in self._bases():
            with suppress(ConfigurationError):
                return column_of(dataset, name)
        raise ConfigurationError(f"{type(self).__name__}: no underlying dataset has a column '{name}'")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("dataset", "datasets", "indices"):
            raise AttributeError(name)
        if inspect.getattr_static(type(self), name, None) is not None:
            # A property of a subclass raised AttributeError: raise it again.
            return object.__getattribute__(self, name)
        try:
            return self.column(name)
        except ConfigurationError as error:
            raise AttributeError(str(error)) from None

    def _bases(self) -> Sequence[Any]:
        """Return the datasets from whose example ``i`` example ``i`` of this one is made."""
        return ()

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of the stores from which the examples are made; [] if there are none."""
        return [store for base in self._bases() for store in stores_of(base)]

    def _slots(self) -> list[Slot]:
        """Return the stores from which the examples are made, each with its place in an example."""
        return [("", store) for store in self.stores()]

    def _over(self, change: Callable[[Any], Any]) -> DatasetMixin:  # noqa: ARG002
        """Return this dataset over changed underlying datasets; itself if it cannot be made over others."""
        return self


def column_of(dataset: Any, name: str) -> Any:
    """Return a column of a dataset.

    Raises:
        ConfigurationError: the dataset has no such column, or no columns.
    """
    if not hasattr(dataset, "column"):
        raise ConfigurationError(f"a {type(dataset).__name__} has no columns")
    return dataset.column(name)


def slots_of(dataset: Any) -> list[Slot]:
    """Return the stores from which the examples of a dataset are made, each with its place in an example.

    The place is ``""`` for an example that is an utterance, ``[0]`` for the first of a tuple, ``['x']`` in a dict.
    """
    if isinstance(dataset, DatasetMixin):
        return dataset._slots()
    return slots_of(dataset.dataset) if is_subset(dataset) else [("", store) for store in stores_of(dataset)]


def with_speakers(dataset: Any, names: tuple[str, ...], codes: Mapping[str, int]) -> Any:
    """Return a dataset whose stores have the given speaker table, below all subsets, transforms, caches and tuples.

    Args:
        dataset: any dataset; another package's is returned as it is.
        names: the name for each code.
        codes: the code of each speaker of the dataset.
    """

    def change(inner: Any) -> Any:
        if isinstance(inner, UtteranceDataset):
            return inner._with_speakers(names, codes)
        if isinstance(inner, DatasetMixin):
            return inner._over(change)
        if is_subset(inner):
            subset = copy(inner)
            subset.dataset = change(inner.dataset)
            return subset
        return inner

    return change(dataset)


class Wrapper(DatasetMixin[T_co]):
    """Base class of datasets whose examples are made from those of one other dataset."""

    dataset: Any

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of the underlying stores."""
        return stores_of(self.dataset)

    def _slots(self) -> list[Slot]:
        return slots_of(self.dataset)

    def _over(self, change: Callable[[Any], Any]) -> DatasetMixin:
        changed = copy(self)
        changed.dataset = change(self.dataset)
        return changed


class SubsetDataset(Wrapper[T_co]):
    """The examples of a dataset at given positions, in that order.

    Args:
        dataset: the dataset to select from.
        indices: integers (may be negative or repeated), a slice, or a boolean mask.

    Raises:
        IndexError: a position is out of range.
        ConfigurationError: the indices are neither integers nor a mask with one value per example.
    """

    def __init__(self, dataset: Examples[T_co], indices: slice | Positions) -> None:
        self.dataset = dataset
        self.indices: Rows = select_rows(range(len(dataset)), indices)

    def __len__(self) -> int:
        return len(self.indices)

    def get_example(self, i: int) -> T_co:
        """Return the example at a position."""
        return self.dataset[int(self.indices[i])]  # type: ignore[no-any-return]

    def __getitems__(self, positions: Positions) -> Any:
        """Return the examples at positions; over an `UtteranceDataset`, as an `UtteranceDataset` for `collate`."""
        wanted = np.asarray(select_rows(self.indices, positions))
        if hasattr(self.dataset, "__getitems__"):
            return self.dataset.__getitems__(with_info_of(positions, wanted.tolist()))
        return with_info_of(positions, (self.dataset[position] for position in wanted.tolist()))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the underlying dataset and the indices, hexadecimal."""
        return json_sha256(["SubsetDataset", fingerprint_of(self.dataset), digest(np.asarray(self.indices))])

    def column(self, name: str) -> Any:
        """Return a column of the underlying dataset, restricted to this one's examples."""
        values = column_of(self.dataset, name)
        rows = self.indices
        return values[as_slice(rows) if isinstance(rows, range) else rows]


SpeakerNames: TypeAlias = Literal["name", "dataset"]


def common_codes(tables: Sequence[Sequence[str]], by: SpeakerNames) -> tuple[tuple[str, ...], list[dict[str, int]]]:
    """Return a common speaker table, and for each given table the common code of each name.

    Args:
        tables: the speaker tables, without repeated names.
        by: ``"name"``: equal names are one speaker, and codes index into the sorted names. ``"dataset"``: speakers of
            different tables are different speakers, named ``0/p225``, ``1/p225``; codes follow the first table, then
            the second, and so on.

    Raises:
        ConfigurationError: `by` is neither.
    """
    if by == "name":
        names = tuple(sorted({name for table in tables for name in table}))
        codes = {name: number for number, name in enumerate(names)}
        return names, [{name: codes[name] for name in table} for table in tables]
    if by == "dataset":
        names = tuple(f"{number}/{name}" for number, table in enumerate(tables) for name in table)
        starts = np.cumsum([0, *map(len, tables)]).tolist()
        of_tables = [
            {name: start + i for i, name in enumerate(table)} for table, start in zip(tables, starts, strict=False)
        ]
        return names, of_tables
    raise ConfigurationError(f"speakers: expected 'name' or 'dataset', found {by!r}")


@dataclass(frozen=True, eq=False)
class CommonSpeakers:
    """The speakers of a store in a table that it shares with other stores.

    Attributes:
        store: the store.
        names: the common table: the name for each common code.
        codes: [n_own_speakers] int32, the common code of each code of the store.
    """

    store: Store
    names: tuple[str, ...]
    codes: npt.NDArray[np.int32]

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self.store, "names": self.names, "codes": self.codes}

    @cached_property
    def metadata(self) -> StoreMetadata:
        """The metadata of the store with the common table; speakers of other stores have no frames."""
        store = self.store.metadata
        return replace(
            store,
            speakers=self.names,
            speaker_frames=self._scattered(store.speaker_frames, 0),
            speaker_mel_mean=self._scattered(store.speaker_mel_mean, 0),
            speaker_mel_std=self._scattered(store.speaker_mel_std, 1),
        )

    def statistics(self, own: RowStatistics) -> RowStatistics:
        """Return the statistics of an array with the common table; speakers of other stores have no rows."""
        by_speaker: dict[str, Any] = {
            f"speaker_{name}": self._scattered(getattr(own, f"speaker_{name}"), 0)
            for name in ("count", "mean", "std", "min", "max")
        }
        return replace(own, **by_speaker)

    def values(self, own: CategoryValues) -> CategoryValues:
        """Return the values of the column of speakers with the common table."""
        return CategoryValues(self.codes[own.checked_codes()], self.names)

    def _scattered(self, values: npt.NDArray[Any], missing: int) -> npt.NDArray[Any]:
        scattered = np.full((len(self.names), *values.shape[1:]), missing, values.dtype)
        scattered[self.codes] = values
        scattered.flags.writeable = False
        return scattered
