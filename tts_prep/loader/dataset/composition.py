"""Datasets made of other datasets: side by side, a selection of one, transformed, cached.

All of them are lazy, take any dataset with ``__len__`` and ``__getitem__``, and nest in each other. Over an
`UtteranceDataset` what only selects stays a selection of rows, and index columns follow: ``chained.n_frames``.
"""

from __future__ import annotations

import inspect
import os
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tts_prep.errors import ConfigurationError
from tts_prep.format.checksums import json_sha256
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.selection import Positions, Rows, as_slice, row_at, select_rows
from tts_prep.loader.dataset.splitting import split_positions
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.randomness import digest
from tts_prep.loader.samplers.shapes import carry, moved


class DatasetMixin(ABC):
    """Indexing and iteration for a class that has ``get_example`` and ``__len__``.

    An integer, also a negative one, gives an example; a slice, positions or a mask give a lazy `SubsetDataset`.
    """

    @abstractmethod
    def get_example(self, i: int) -> Any:
        """Return the example at a position from 0 on."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of examples."""

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, int | np.integer):
            return self.get_example(row_at(range(len(self)), int(position)))
        return SubsetDataset(self, position)

    def __iter__(self) -> Iterator[Any]:
        return (self.get_example(i) for i in range(len(self)))

    def __getitems__(self, positions: Positions) -> Any:
        """Return the examples at positions, as a loader asks for a batch."""
        rows = select_rows(range(len(self)), positions)
        return carry((self.get_example(int(row)) for row in rows), positions)

    @property
    def fingerprint(self) -> str:
        """Of what it is made of and of its indices, hexadecimal; functions do not count."""
        return json_sha256([type(self).__name__, len(self), *map(fingerprint_of, self._bases())])

    def column(self, name: str) -> Any:
        """Return an index column of the store underneath, one value an example.

        Raises:
            ConfigurationError: there is none of this name underneath.
        """
        for dataset in self._bases():
            with suppress(ConfigurationError):
                return column_of(dataset, name)
        raise ConfigurationError(f"{type(self).__name__}: no column '{name}' in what it is made of")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("dataset", "datasets", "indices"):
            raise AttributeError(name)
        if inspect.getattr_static(type(self), name, None) is not None:
            # A property of a subclass raised AttributeError: let that one through.
            return object.__getattribute__(self, name)
        try:
            return self.column(name)
        except ConfigurationError as error:
            raise AttributeError(str(error)) from None

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of the stores whose utterances are the examples; none where those are something else."""
        return []

    def _bases(self) -> Sequence[Any]:
        """Return the datasets whose example ``i`` goes into this one's example ``i``."""
        return ()


def column_of(dataset: Any, name: str) -> Any:
    """Return a column of a dataset.

    Raises:
        ConfigurationError: the dataset has no such column, or no columns.
    """
    if not hasattr(dataset, "column"):
        raise ConfigurationError(f"a {type(dataset).__name__} has no columns")
    return dataset.column(name)


def fingerprint_of(dataset: Any) -> str:
    """Return what tells a dataset from another one, also one of torch's ``Subset``."""
    if hasattr(type(dataset), "fingerprint"):
        return str(dataset.fingerprint)
    if hasattr(dataset, "dataset") and hasattr(dataset, "indices"):
        return json_sha256([fingerprint_of(dataset.dataset), digest(np.asarray(dataset.indices))])
    return f"{len(dataset)} examples"


def stores_of(dataset: Any) -> list[StoreMetadata]:
    """Return the metadata of the stores whose utterances are the examples of a dataset, as the examples have it.

    Empty where the examples are something else, or it cannot be known what they are.
    """
    if isinstance(dataset, UtteranceDataset):
        return [dataset.metadata]
    if isinstance(dataset, DatasetMixin):
        return dataset.stores()
    if hasattr(dataset, "dataset") and hasattr(dataset, "indices"):  # torch's Subset
        return stores_of(dataset.dataset)
    return []


class TupleDataset(DatasetMixin):
    """Each example is the tuple of the datasets' examples.

    Raises:
        ConfigurationError: a ``ValueError``: there is no dataset, or their lengths differ.
    """

    def __init__(self, *datasets: Any) -> None:
        _check_lengths("TupleDataset", {str(i): dataset for i, dataset in enumerate(datasets)})
        self.datasets = datasets

    def __len__(self) -> int:
        return len(self.datasets[0])

    def get_example(self, i: int) -> tuple[Any, ...]:
        """Return the tuple at a position."""
        return tuple(dataset[i] for dataset in self.datasets)

    def _bases(self) -> Sequence[Any]:
        return self.datasets


class DictDataset(DatasetMixin):
    """Each example is a dict of the datasets' examples, by the names they are given under.

    Raises:
        ConfigurationError: a ``ValueError``: there is no dataset, or their lengths differ.
    """

    def __init__(self, **datasets: Any) -> None:
        _check_lengths("DictDataset", datasets)
        self.datasets = datasets

    def __len__(self) -> int:
        return len(next(iter(self.datasets.values())))

    def get_example(self, i: int) -> dict[str, Any]:
        """Return the dict at a position."""
        return {name: dataset[i] for name, dataset in self.datasets.items()}

    def _bases(self) -> Sequence[Any]:
        return tuple(self.datasets.values())


class SubsetDataset(DatasetMixin):
    """The examples at some positions of a dataset, in their order.

    Args:
        dataset: the one that positions are of.
        indices: integers (negative ones from the end, repeats allowed), a slice, or a mask of booleans.

    Raises:
        IndexError: a position does not exist.
        ConfigurationError: the indices are neither integers nor as many booleans as there are examples.
    """

    def __init__(self, dataset: Any, indices: slice | Positions) -> None:
        self.dataset = dataset
        self.indices: Rows = select_rows(range(len(dataset)), indices)

    def __len__(self) -> int:
        return len(self.indices)

    def get_example(self, i: int) -> Any:
        """Return the example at a position."""
        return self.dataset[int(self.indices[i])]

    def __getitems__(self, positions: Positions) -> Any:
        """Return the examples at positions; over an `UtteranceDataset` they come as one, for `collate`."""
        wanted = np.asarray(select_rows(self.indices, positions))
        if hasattr(self.dataset, "__getitems__"):
            return self.dataset.__getitems__(moved(positions, wanted.tolist()))
        return carry((self.dataset[position] for position in wanted.tolist()), positions)

    @property
    def fingerprint(self) -> str:
        """Of the dataset underneath and of the indices, hexadecimal."""
        return json_sha256(["SubsetDataset", fingerprint_of(self.dataset), digest(np.asarray(self.indices))])

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of the stores underneath."""
        return stores_of(self.dataset)

    def column(self, name: str) -> Any:
        """Return a column of the dataset underneath, for the examples of this one."""
        values = column_of(self.dataset, name)
        rows = self.indices
        return values[as_slice(rows) if isinstance(rows, range) else rows]


class SliceDataset(SubsetDataset):
    """The examples from a start up to, not including, a finish.

    Args:
        dataset: the one to take a part of.
        start: negative ones count from the end, as in Python; None is the start.
        finish: likewise; None is the end.
        order: a permutation of all positions of the dataset, of which the slice is then taken.

    Raises:
        ConfigurationError: the order is not a permutation.
    """

    def __init__(self, dataset: Any, start: int | None, finish: int | None, order: Positions | None = None) -> None:
        if order is None:
            super().__init__(dataset, slice(start, finish))
            return
        permuted = np.asarray(order)
        if permuted.shape != (len(dataset),) or not np.array_equal(np.sort(permuted), np.arange(len(dataset))):
            raise ConfigurationError(
                f"SliceDataset: order should hold each of the {len(dataset):,} positions once, and does not"
            )
        super().__init__(dataset, permuted[start:finish])


class FilterDataset(SubsetDataset):
    """The examples that a predicate accepts; it sees each of them once, when this is made.

    For an `UtteranceDataset`, its method ``filter`` decides by columns and makes no example.

    Args:
        dataset: the one to choose from.
        filter_fn: from an example to whether it stays.
    """

    def __init__(self, dataset: Any, filter_fn: Callable[[Any], Any]) -> None:
        kept = [i for i in range(len(dataset)) if filter_fn(dataset[i])]
        super().__init__(dataset, kept)


class TransformDataset(DatasetMixin):
    """Each example is what a function makes of the dataset's, when it is asked for.

    Args:
        dataset: the one underneath.
        transform: from an example to an example.
    """

    def __init__(self, dataset: Any, transform: Callable[[Any], Any]) -> None:
        self.dataset = dataset
        self.transform = transform

    def __len__(self) -> int:
        return len(self.dataset)

    def get_example(self, i: int) -> Any:
        """Return the transformed example at a position."""
        return self.transform(self.dataset[i])

    def _bases(self) -> Sequence[Any]:
        return (self.dataset,)


class CacheDataset(DatasetMixin):
    """Each example of a dataset, made once and then kept.

    Pickling leaves what is kept behind: every process has a cache of its own.

    Args:
        dataset: the one underneath.
        max_examples: how many are kept; the one that was asked for longest ago goes first. None keeps all.

    Raises:
        ConfigurationError: the bound is below 1.
    """

    def __init__(self, dataset: Any, max_examples: int | None = None) -> None:
        if max_examples is not None and max_examples < 1:
            raise ConfigurationError(f"max_examples: expected a number from 1 on, found {max_examples}")
        self.dataset = dataset
        self.max_examples = max_examples
        self._forget()

    def _forget(self) -> None:
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._new_lock()

    def _new_lock(self) -> None:
        self._process = os.getpid()
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {"dataset": self.dataset, "max_examples": self.max_examples}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def __len__(self) -> int:
        return len(self.dataset)

    def get_example(self, i: int) -> Any:
        """Return the example at a position, the same object as long as it is kept."""
        if self._process != os.getpid():
            # Forked, perhaps while a thread held the lock, which does not exist here to release it.
            self._new_lock()
        with self._lock:
            if i not in self._kept:
                self._kept[i] = self.dataset[i]
            self._kept.move_to_end(i)
            if self.max_examples is not None and len(self._kept) > self.max_examples:
                self._kept.popitem(last=False)
            return self._kept[i]

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of the stores underneath."""
        return stores_of(self.dataset)

    def _bases(self) -> Sequence[Any]:
        return (self.dataset,)


def split(
    dataset: Any, first_size: int, *, seed: int | None = None, stratify: str | None = None, apart: str | None = None
) -> tuple[Any, Any]:
    """Return the dataset of the first examples and that of the rest, or of a random choice and of the rest.

    Args:
        dataset: any dataset; `stratify` and `apart` need one with columns.
        first_size: examples of the first one; with `apart`, at most.
        seed: of a random choice; None takes the first ones, or 0 with `stratify` or `apart`.
        stratify: a column of whose values both datasets have the same shares, rounded.
        apart: a column of which no value is in both datasets.

    Raises:
        ConfigurationError: there are fewer examples than that, no such column, or no value of `apart` fits.
    """
    if isinstance(dataset, UtteranceDataset):
        return dataset.split(first_size, seed=seed, stratify=stratify, apart=apart)
    strata, groups = (None if name is None else column_of(dataset, name) for name in (stratify, apart))
    first, rest = split_positions(len(dataset), first_size, seed, strata=strata, groups=groups)
    return SubsetDataset(dataset, first), SubsetDataset(dataset, rest)


def _check_lengths(kind: str, datasets: dict[str, Any]) -> None:
    if not datasets:
        raise ConfigurationError(f"{kind}: expected at least one dataset, found none")
    lengths = {name: len(dataset) for name, dataset in datasets.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} has {length:,}" for name, length in lengths.items())
        raise ConfigurationError(f"{kind}: expected datasets of one length; {found}")
