"""Datasets made of another one: subsets, slices, filters, transforms, caches, and splits."""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import partial
from itertools import accumulate
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from tts_prep.batches import composition
from tts_prep.batches.composition import DatasetMixin, Examples, Slot, SpeakerNames, SubsetDataset, T_co, Wrapper
from tts_prep.errors import ConfigurationError
from tts_prep.format.files.checksums import json_sha256
from tts_prep.loader.batch_info import info_of, with_info_of
from tts_prep.loader.dataset.columns import CategoryValues, TextValues
from tts_prep.loader.dataset.identity import fingerprint_of, stores_of
from tts_prep.loader.dataset.metadata import StoreMetadata, check_agreement
from tts_prep.loader.dataset.selection import Positions, select_rows
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import RowsOfStores, UtteranceDataset, Within
from tts_prep.loader.randomness import check_seed, permutation
from tts_prep.loader.samplers.base import SamplerT, looking_ahead

S = TypeVar("S")


class SliceDataset(SubsetDataset[T_co]):
    """The examples from `start` up to but not including `finish`.

    Args:
        dataset: the dataset to slice.
        start: may be negative, as in Python; None is the start.
        finish: may be negative, as in Python; None is the end.
        order: a permutation of all positions of the dataset, which is applied before slicing.

    Raises:
        ConfigurationError: `order` is not a permutation.
    """

    def __init__(
        self, dataset: Examples[T_co], start: int | None, finish: int | None, order: Positions | None = None
    ) -> None:
        if order is None:
            super().__init__(dataset, slice(start, finish))
            return
        permuted = np.asarray(order)
        if permuted.shape != (len(dataset),) or not np.array_equal(np.sort(permuted), np.arange(len(dataset))):
            raise ConfigurationError(f"SliceDataset: order: expected a permutation of the {len(dataset):,} positions")
        super().__init__(dataset, permuted[start:finish])


class FilterDataset(SubsetDataset[T_co]):
    """The examples for which a function returns true. The constructor calls it once per example.

    For an `UtteranceDataset`, its method ``filter`` is faster: it uses columns only and loads no example.

    Args:
        dataset: the dataset to filter.
        filter_fn: returns whether to keep an example.
    """

    def __init__(self, dataset: Examples[T_co], filter_fn: Callable[[T_co], Any]) -> None:
        kept = [i for i in range(len(dataset)) if filter_fn(dataset[i])]
        super().__init__(dataset, kept)


class TransformDataset(Wrapper[T_co]):
    """A dataset that applies a function to the examples of another on access.

    Example:
        >>> from tts_prep.loader import TransformDataset, UtteranceDataset
        >>> TransformDataset(UtteranceDataset("store"), lambda utterance: len(utterance.mel))[3]
        55

    Args:
        dataset: the underlying dataset.
        transform: returns the transformed example.
    """

    def __init__(self, dataset: Examples[S], transform: Callable[[S], T_co]) -> None:
        self.dataset = dataset
        self.transform = transform

    def __len__(self) -> int:
        return len(self.dataset)

    def get_example(self, i: int) -> T_co:
        """Return the transformed example at a position."""
        return self.transform(self.dataset[i])

    def _bases(self) -> Sequence[Any]:
        return (self.dataset,)


class CacheDataset(Wrapper[T_co]):
    """A dataset that caches the examples of another.

    The cache is not pickled: every process has its own.

    Example:
        >>> from tts_prep.loader import CacheDataset, UtteranceDataset
        >>> cached = CacheDataset(UtteranceDataset("store"), max_examples=1000)
        >>> cached[2] is cached[2]
        True

    Args:
        dataset: the underlying dataset.
        max_examples: the maximum number of cached examples; the least recently used is dropped first. None keeps all.

    Raises:
        ConfigurationError: `max_examples` is below 1.
    """

    def __init__(self, dataset: Examples[T_co], max_examples: int | None = None) -> None:
        if max_examples is not None and max_examples < 1:
            raise ConfigurationError(f"max_examples: expected an integer >= 1, found {max_examples}")
        self.dataset = dataset
        self.max_examples = max_examples
        self._forget()

    def _forget(self) -> None:
        self._cached: OrderedDict[int, Any] = OrderedDict()
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

    def get_example(self, i: int) -> T_co:
        """Return the example at a position, the same object while it is cached."""
        if self._process != os.getpid():
            # Forked, possibly while another thread held the lock; that thread does not exist in this process.
            self._new_lock()
        with self._lock:
            if i not in self._cached:
                self._cached[i] = self.dataset[i]
            self._cached.move_to_end(i)
            if self.max_examples is not None and len(self._cached) > self.max_examples:
                self._cached.popitem(last=False)
            return self._cached[i]  # type: ignore[no-any-return]

    def _bases(self) -> Sequence[Any]:
        return (self.dataset,)


@overload
def split(  # type: ignore[overload-overlap]
    dataset: UtteranceDataset,
    first_size: int | float,
    *,
    seed: int | None = None,
    stratify: str | None = None,
    apart: str | None = None,
) -> tuple[UtteranceDataset, UtteranceDataset]: ...
@overload
def split(
    dataset: Examples[S],
    first_size: int | float,
    *,
    seed: int | None = None,
    stratify: str | None = None,
    apart: str | None = None,
) -> tuple[SubsetDataset[S], SubsetDataset[S]]: ...
def split(
    dataset: Any,
    first_size: int | float,
    *,
    seed: int | None = None,
    stratify: str | None = None,
    apart: str | None = None,
) -> tuple[Any, Any]:
    """Split a dataset into its first examples and the rest, or into a random choice and the rest.

    Example:
        >>> from tts_prep.loader import ChainDataset, UtteranceDataset, split
        >>> chain = ChainDataset(UtteranceDataset("store"), UtteranceDataset("other"))
        >>> validation, training = split(chain, 3, seed=0)
        >>> validation, training
        (<SubsetDataset: 3 examples>, <SubsetDataset: 9 examples>)

    Args:
        dataset: any dataset; `stratify` and `apart` require columns.
        first_size: the number of examples of the first dataset, or its share, such as 0.05; with `apart`, the maximum.
        seed: the seed of a random choice; None takes the first examples, or seed 0 with `stratify` or `apart`.
        stratify: a column whose values have the same proportions in both datasets, rounded.
        apart: a column of which no value occurs in both datasets.

    Raises:
        ConfigurationError: `first_size` exceeds the dataset, a column does not exist, or no value of `apart` fits.
    """
    if isinstance(dataset, UtteranceDataset):
        return dataset.split(first_size, seed=seed, stratify=stratify, apart=apart)
    strata, groups = (None if name is None else composition.column_of(dataset, name) for name in (stratify, apart))
    first, rest = split_positions(len(dataset), first_size, seed, strata=strata, groups=groups)
    return SubsetDataset(dataset, first), SubsetDataset(dataset, rest)


class ChainDataset(DatasetMixin[T_co]):
    """Concatenate datasets.

    Example:
        >>> from tts_prep.loader import ChainDataset, UtteranceDataset
        >>> chain = ChainDataset(UtteranceDataset("store"), UtteranceDataset("other"))
        >>> chain
        <ChainDataset: 12 examples>
        >>> chain.speakers
        ('anna', 'ben', 'cleo')

    Utterances of several stores get a common speaker table, `speakers`: ``speaker_code`` of an utterance and
    ``speakers`` of a batch index into it, also in the functions of transforms below the chain: `datasets` are copies of
    the given datasets with that table. Each utterance keeps its row and the statistics of its own store, which
    ``normalize`` in `collate` uses.

    Args:
        datasets: at least one. All stores, including those below subsets, transforms, caches and chains, must have
            equal mel settings and vocabularies; in tuples and dicts, those at each place.
        speakers: ``"name"``: equal names are one speaker, and codes index into the sorted names. ``"dataset"``:
            speakers of different datasets are different speakers, named ``0/p225``, ``1/p225``; codes follow the table
            of the first dataset, then of the second, and so on.

    Raises:
        ConfigurationError: there are no datasets; their stores do not match (the message lists the differences); or a
            dataset of another class has stores with other speakers, and cannot be copied with the common table.
    """

    def __init__(self, *datasets: Examples[T_co], speakers: SpeakerNames = "name") -> None:
        if not datasets:
            raise ConfigurationError("ChainDataset: expected at least one dataset, found none")
        self._starts = list(accumulate((len(dataset) for dataset in datasets), initial=0))
        stores: dict[str, list[tuple[int, StoreMetadata]]] = {}
        for number, dataset in enumerate(datasets):
            for place, store in composition.slots_of(dataset):
                stores.setdefault(place, []).append((number, store))
        for members in stores.values():
            check_agreement([store for _, store in members], [f"dataset {number}" for number, _ in members])
        tables = [
            dict.fromkeys(name for store in stores_of(dataset) for name in store.speakers) for dataset in datasets
        ]
        self._names, codes = composition.common_codes([*map(tuple, tables)], speakers)
        self._by_name = speakers == "name"
        self.datasets = tuple(
            composition.with_speakers(dataset, self._names, of_dataset)
            for dataset, of_dataset in zip(datasets, codes, strict=True)
        )
        self._find_leaves()
        for number, dataset in enumerate(self.datasets):
            if any(store.speakers != self._names for store in stores_of(dataset)):
                raise ConfigurationError(
                    f"dataset {number}, a {type(dataset).__name__}, makes examples with the speaker table of its own "
                    "store, and the other datasets have other speakers; chain the stores, and make it of the chain"
                )

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def speakers(self) -> tuple[str, ...]:
        """The common speaker table: the name for each code."""
        return self._names

    def get_example(self, i: int) -> T_co:
        """Return the example at a position."""
        number = bisect_right(self._starts, i) - 1
        return self._checked(self.datasets[number][i - self._starts[number]], number)  # type: ignore[no-any-return]

    def __getitems__(self, positions: Positions) -> Any:
        """Return the examples at positions."""
        wanted = np.asarray(select_rows(range(len(self)), positions))
        if self._leaves is not None:
            numbers = np.searchsorted(self._leaf_starts, wanted, side="right") - 1
            leaves = [self._leaves[number] for number in numbers.tolist()]
            within = (wanted - self._leaf_starts[numbers]).tolist()
            rows = [int(leaf._rows[at]) for leaf, at in zip(leaves, within, strict=True)]
            return RowsOfStores(leaves, rows, info_of(positions))
        numbers = np.searchsorted(self._starts, wanted, side="right") - 1
        examples: list[Any] = [None] * len(wanted)
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            inner = with_info_of(positions, (wanted[places] - self._starts[number]).tolist())
            dataset = self.datasets[number]
            selected = dataset.__getitems__(inner) if hasattr(dataset, "__getitems__") else [dataset[i] for i in inner]
            for place, example in zip(places.tolist(), selected, strict=True):
                examples[place] = self._checked(example, number)
        return with_info_of(positions, examples)

    def ahead(self, sampler: SamplerT, arrays: Sequence[str] = ()) -> SamplerT:
        """Have a batch sampler download the files of its next batches; see `UtteranceDataset.ahead`."""
        return looking_ahead(sampler, partial(self.fetched_ahead, arrays=("mel", *arrays)))

    def fetched_ahead(
        self, batches: Iterable[Any], windows: Sequence[Any] = (), within: Within | None = None, **options: Any
    ) -> Iterable[Any]:
        """Yield batches of positions, and download the files of later ones; see `UtteranceDataset.fetched_ahead`."""

        def within_dataset(number: int, batch: Any) -> Positions:
            wanted = np.asarray(select_rows(range(len(self)), within(batch) if within else batch), np.int64)
            start, end = self._starts[number : number + 2]
            return wanted[(start <= wanted) & (wanted < end)] - start

        for number, dataset in enumerate(self.datasets):
            # Every store has its own look ahead, of the batches that those before it have seen.
            if isinstance(dataset, UtteranceDataset | ChainDataset):
                batches = dataset.fetched_ahead(batches, windows, partial(within_dataset, number), **options)
        return batches

    def _find_leaves(self) -> None:
        """Find the datasets whose rows are looked up without those between: all, or none if one is of another class."""
        leaves: list[UtteranceDataset] = []
        for dataset in self.datasets:
            # A subclass may give other examples.
            of_dataset = [dataset] if type(dataset) is UtteranceDataset else getattr(dataset, "_leaves", None)
            if of_dataset is None or type(dataset) not in (UtteranceDataset, ChainDataset):
                self._leaves: list[UtteranceDataset] | None = None
                return
            leaves += of_dataset
        self._leaves = leaves
        self._leaf_starts = np.cumsum([0, *map(len, leaves)])[:-1]

    def _checked(self, example: Any, number: int) -> Any:
        """Return an example; raise if it is an utterance of a store that was not known when the chain was made."""
        if not isinstance(example, Utterance):
            return example
        speakers = example.store.speakers
        if speakers is not self._names and speakers != self._names:
            raise ConfigurationError(
                f"dataset {number}, a {type(self.datasets[number]).__name__}, gave utterance '{example.id}' with "
                "another speaker table than that of the chain; chain the stores, and make the dataset of the chain"
            )
        return example

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the fingerprints of all datasets in order, hexadecimal."""
        return json_sha256(["ChainDataset", *map(fingerprint_of, self.datasets), self._by_name])

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of all stores, with the common speaker table."""
        return [store for dataset in self.datasets for store in stores_of(dataset)]

    def _slots(self) -> list[Slot]:
        return [slot for dataset in self.datasets for slot in composition.slots_of(dataset)]

    def _over(self, change: Callable[[Any], Any]) -> ChainDataset[Any]:
        chain = copy(self)
        chain.datasets = tuple(map(change, self.datasets))
        chain._find_leaves()
        chain._names = next((store.speakers for store in chain.stores()), self._names)
        return chain

    def column(self, name: str) -> Any:
        """Return a column, concatenated over all datasets.

        Numbers are returned as one array, texts as an array of objects, categories with a common table. A column of
        categories in one dataset and of texts in another is one of texts.

        Raises:
            ConfigurationError: a dataset has no such column, or the kinds of column differ.
        """
        columns = [composition.column_of(dataset, name) for dataset in self.datasets]
        if all(isinstance(column, CategoryValues) for column in columns):
            if all(column.table == columns[0].table for column in columns):
                codes = np.concatenate([column.checked_codes() for column in columns])
                return CategoryValues(codes.astype(np.int32), columns[0].table)
            return _chain_categories(columns)
        is_text = [isinstance(column, CategoryValues | TextValues) for column in columns]
        if any(isinstance(column, CategoryValues) for column in columns) and not all(is_text):
            raise ConfigurationError(f"column '{name}' is one of texts in one dataset but not in another")
        return np.concatenate(
            [
                np.array(list(column), object) if text else np.asarray(column)
                for column, text in zip(columns, is_text, strict=True)
            ]
        )


def _chain_categories(columns: Sequence[CategoryValues]) -> CategoryValues:
    table = sorted({value for column in columns for value in column.table})
    code = {value: number for number, value in enumerate(table)}
    codes = [
        np.array([code[value] for value in column.table] or [0], np.int32)[column.checked_codes()] for column in columns
    ]
    return CategoryValues(np.concatenate(codes), table)


Int64Array = npt.NDArray[np.int64]


def first_count(n: int, first_size: int | float) -> int:
    """Return a size as it is, and a share such as 0.05 as a number out of n, rounded.

    Raises:
        ConfigurationError: it is out of range.
    """
    if isinstance(first_size, float) and 0 < first_size < 1:
        return round(first_size * n)
    if not isinstance(first_size, int | np.integer) or not 0 <= first_size <= n:
        found = f"{first_size:,}" if isinstance(first_size, int | float | np.number) else repr(first_size)
        raise ConfigurationError(
            f"split: expected a size from 0 to {n:,}, or a share between 0.0 and 1.0, found {found}"
        )
    return int(first_size)


def split_positions(
    n: int, first_size: int | float, seed: int | None = None, *, strata: Any = None, groups: Any = None
) -> tuple[Int64Array, Int64Array]:
    """Split range(n) into two ascending arrays.

    Args:
        n: the number of positions.
        first_size: the size of the first array, or its share of all; with `groups`, the maximum.
        seed: the seed of a random choice; None takes the first positions, or seed 0 with `strata` or `groups`.
        strata: [n] values; each value has the same proportion in both arrays, rounded.
        groups: [n] values; all positions of one value go to the same array. In random order, every value whose
            positions still fit goes to the first array.

    Raises:
        ConfigurationError: `first_size` is out of range, both `strata` and `groups` are given, or no group fits.
    """
    first_size = first_count(n, first_size)
    if strata is not None and groups is not None:
        raise ConfigurationError("split: expected stratify or apart, found both")
    if seed is None and strata is None and groups is None:
        return np.arange(first_size), np.arange(first_size, n)
    order = permutation(n, check_seed(seed or 0), 0)
    chosen: npt.NDArray[np.bool_] = np.zeros(n, np.bool_)
    if strata is not None:
        chosen[_of_each_stratum(order, strata, first_size)] = True
    elif groups is not None:
        chosen = _of_whole_groups(order, groups, first_size)
    else:
        chosen[order[:first_size]] = True
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)


def _of_each_stratum(order: Int64Array, strata: Any, size: int) -> Int64Array:
    """Return `size` positions with the same proportion of every stratum, the first ones of each in an order."""
    codes, sizes = _codes(strata)
    shares = _rounded_shares(sizes, size)
    by_stratum = order[np.argsort(codes[order], kind="stable")]
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    of_each = [by_stratum[start : start + count] for start, count in zip(starts, shares.tolist(), strict=True)]
    return np.concatenate([np.empty(0, np.int64), *of_each])


def _of_whole_groups(order: Int64Array, groups: Any, size: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the groups that fit into `size` positions, taken in an order.

    Raises:
        ConfigurationError: no group fits.
    """
    codes, sizes = _codes(groups)
    chosen, left = np.zeros(len(codes), np.bool_), size
    for code in dict.fromkeys(codes[order].tolist()):
        if sizes[code] <= left:
            chosen |= codes == code
            left -= int(sizes[code])
    if size and not chosen.any():
        raise ConfigurationError(
            f"split: none of the {len(sizes):,} groups fits into {size:,} utterances; the smallest has "
            f"{int(sizes.min()):,} utterances"
        )
    return chosen


def _codes(values: Any) -> tuple[Int64Array, Int64Array]:
    """Return an integer code for each value, [n], and the count of each code."""
    numbers = getattr(values, "codes", None)
    keys = np.asarray(list(values) if numbers is None else numbers)
    _, codes, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return codes, sizes


def _rounded_shares(sizes: Int64Array, total: int) -> Int64Array:
    """Return integers proportional to sizes with the given sum, by the largest-remainder method."""
    n = int(sizes.sum())
    shares = sizes * total // max(n, 1)
    missing = total - int(shares.sum())
    shares[np.argsort(-(sizes * total % max(n, 1)), kind="stable")[:missing]] += 1
    return shares
