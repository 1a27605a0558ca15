"""Batches of utterances of about the same length, so that little of them is padding."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.format.datasets import Array
from tts_prep.loader.randomness import check_seed, digest, permutation, random_words, sort_order
from tts_prep.loader.samplers import Progress, Sampler, check_batch_size, check_rank
from tts_prep.loader.shapes import BatchShape, ShapedPositions, best_lengths

_UTTERANCES, _BATCHES, _EDGES, _REMAINDER = range(4)
"""Streams of randomness, one for each thing that an epoch draws."""

_FINEST_TOLERANCE = 1e-4
_LARGEST_TABLE = 1 << 20

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Budget:
    """How large a batch may be: count × longest ** power, of one field, is at most the limit.

    Attributes:
        field: the name that the sampler has the lengths under.
        limit: the largest padded size.
        power: 1 counts padded elements; 2 is what attention costs.
    """

    field: str
    limit: int
    power: Literal[1, 2] = 1

    def most(self, longest: int) -> int:
        """Return how many utterances a batch may have whose longest is so long; 0 where none fits."""
        cost: int = max(1, longest) ** self.power
        return self.limit // cost


@dataclass(frozen=True, eq=False)
class BatchPlan:
    """The batches of an epoch.

    Attributes:
        positions: [n] int64, the utterances of all batches.
        starts: [n_batches] int64, where a batch begins in `positions`, in the order of the epoch.
        sizes: [n_batches] int64, how many utterances it has.
        lengths: [size] of all utterances, as the sampler was given them.
        shapes: the shapes that batches are padded to, where there are fixed ones.
        shape_of: [n_batches] int64, which of the shapes a batch has; empty where there are none.
    """

    positions: Whole
    starts: Whole
    sizes: Whole
    lengths: Array
    shapes: tuple[BatchShape, ...] = ()
    shape_of: Whole = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.starts)

    def batch(self, number: int) -> list[int]:
        """Return the positions of the utterances of a batch."""
        start = int(self.starts[number])
        batch: list[int] = self.positions[start : start + int(self.sizes[number])].tolist()
        return ShapedPositions(batch, self.shapes[self.shape_of[number]]) if self.shapes else batch

    def longest(self) -> Whole:
        """Return the length of the longest utterance of every batch, [n_batches]."""
        return self.longest_of(self.lengths)

    def longest_of(self, lengths: Array) -> Whole:
        """Return the longest of every batch by other lengths [size], [n_batches]."""
        if not len(self):
            return np.empty(0, np.int64)
        # Batches may be a part of all: from each start to the end of its batch, which is not the next start then.
        bounds = np.stack([self.starts, self.starts + self.sizes], axis=1)
        by_start = np.argsort(self.starts)
        values = np.append(lengths[self.positions], 0)
        longest = np.empty(len(self), np.int64)
        longest[by_start] = np.maximum.reduceat(values, bounds[by_start].ravel())[::2]
        return longest

    def padding(self) -> float:
        """Return the share of the padded frames of the epoch that is padding, from 0 to 1."""
        if self.shapes:
            frames = np.array([shape.size * next(iter(shape.lengths.values())) for shape in self.shapes], np.int64)
            padded = int(frames[self.shape_of].sum())
        else:
            padded = int((self.longest() * self.sizes).sum())
        real = np.concatenate(([0], np.cumsum(self.lengths[self.positions], dtype=np.int64)))
        return 1 - int((real[self.starts + self.sizes] - real[self.starts]).sum()) / padded if padded else 0.0

    def evened(self, world_size: int, multiple_of: int = 1) -> BatchPlan:
        """Return the plan with a number of batches that the ranks divide.

        Where some are missing, the largest batches are cut in two, so that every utterance still comes once. Only
        where too few batches can be cut, the first ones are repeated.
        """
        plan = self
        while missing := -len(plan) % world_size:
            cut = np.argsort(-plan.sizes, kind="stable")[:missing]
            cut = cut[plan.sizes[cut] > 1]
            if not len(cut):
                return plan.chosen(np.resize(np.arange(len(plan)), len(plan) + missing))
            halves = plan.sizes[cut] // 2
            wide = plan.sizes[cut] >= 2 * multiple_of
            halves[wide] -= halves[wide] % multiple_of
            grown = plan.chosen(np.concatenate([np.arange(len(plan)), cut]))
            grown.sizes[cut] = halves
            grown.starts[len(plan) :] += halves
            grown.sizes[len(plan) :] -= halves
            plan = grown
        return plan

    def chosen(self, numbers: Whole | slice) -> BatchPlan:
        """Return the plan of some of the batches."""
        return replace(
            self,
            starts=self.starts[numbers],
            sizes=self.sizes[numbers],
            shape_of=self.shape_of[numbers] if self.shapes else self.shape_of,
        )


class LengthBucketBatchSampler(Sampler[list[int]]):
    """Batch utterances of about the same length, in another way every epoch.

    Lengths are grouped into buckets that are a few percent wide and begin elsewhere every epoch. Utterances are in
    random order within a bucket; from the longest bucket to the shortest they are cut into batches as large as the
    limits allow; the batches then come in random order. Padding is about half of the tolerance, and no batch stays
    together from one epoch to the next. An epoch is a pure function of lengths, settings, seed and epoch.

    Ranks take the batches of one list in turn. Every rank gets the same number: where the ranks do not divide the
    batches, the largest ones are cut in two. `state_dict` and `load_state_dict` go on in mid-epoch, also with
    another number of ranks; every utterance that is left still comes once.

    Args:
        lengths: [n] integers, the length of each utterance of the dataset: ``dataset.n_frames``. Or several fields by
            name, of which the first one makes the buckets: ``{"n_frames": …, "n_phonemes": …}``.
        batch_size: utterances a batch, at most.
        max_frames: padded frames a batch, at most: its count times the longest of the first field.
        seed: from 0 on, the same on every rank.
        shuffle: False gives the same batches every epoch, exactly sorted, the longest first.
        drop_last: leave out the one batch of an epoch that is smaller for want of utterances. With `batch_size`
            alone it is a random one; with `max_frames`, where most sizes differ, the one of the shortest utterances.
        tolerance: the width of a bucket as a share of its length; 0 shuffles only utterances of equal length.
        budgets: more limits, all of which every batch keeps: of other fields, or of a quadratic cost.
        over_budget: of an utterance that is over a budget by itself: ``"error"`` refuses it, ``"drop"`` leaves it
            out (`dropped` lists them), ``"alone"`` makes it a batch of its own.
        longest_first: begin each epoch with the batches of the longest utterances, one a rank, so that a
            batch that does not fit into memory is found at once.
        multiple_of: batch sizes are multiples of this wherever a budget allows as many and utterances are left.
        n_shapes: pad every batch to one of at most so many shapes, chosen to have the least padding that is possible
            with so few; buckets and `tolerance` play no part then. A batch with fewer utterances than its shape is
            filled up by `collate` with empty ones. Not with `drop_last` or `over_budget="alone"`.
        rank: which share of the batches this sampler gives, from 0 on.
        world_size: how many shares there are.

    Raises:
        ConfigurationError: a setting is out of range, neither limit is given, or settings exclude each other.
        SamplingError: there are no lengths, they are not integers from 0 on, fields differ in length, or an
            utterance is over a budget.
    """

    def __init__(
        self,
        lengths: npt.ArrayLike | Mapping[str, npt.ArrayLike],
        batch_size: int | None = None,
        max_frames: int | None = None,
        seed: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
        tolerance: float = 0.02,
        *,
        budgets: Sequence[Budget] = (),
        over_budget: Literal["error", "drop", "alone"] = "error",
        longest_first: bool = False,
        multiple_of: int = 1,
        n_shapes: int | None = None,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        super().__init__()
        check_rank(rank, world_size)
        self.rank = rank
        self.world_size = world_size
        if not (tolerance == 0 or _FINEST_TOLERANCE <= tolerance <= 1):
            raise ConfigurationError(f"tolerance: expected 0, or {_FINEST_TOLERANCE} to 1, found {tolerance}")
        if over_budget not in ("error", "drop", "alone"):
            raise ConfigurationError(f"over_budget: expected 'error', 'drop' or 'alone', found {over_budget!r}")
        self._fields = _check_fields(lengths)
        self._main = next(iter(self._fields))
        self._lengths = self._fields[self._main]
        self._budgets = _check_budgets(budgets, max_frames, self._main, self._fields)
        if batch_size is None and not self._budgets:
            raise ConfigurationError("LengthBucketBatchSampler: expected batch_size, max_frames or both, found neither")
        self._batch_size = None if batch_size is None else check_batch_size(batch_size)
        self._multiple_of = multiple_of
        if multiple_of < 1 or (batch_size or 0) % multiple_of:
            raise ConfigurationError(
                f"multiple_of: expected a number from 1 on that divides the batch size {batch_size}, "
                f"found {multiple_of}"
            )
        self._seed = check_seed(seed)
        self._shuffle = shuffle
        self._drop_last = drop_last
        self._tolerance = tolerance if shuffle else 0.0
        self._over_budget = over_budget
        self._longest_first = longest_first
        self._n_shapes = n_shapes
        if n_shapes is not None and (drop_last or over_budget == "alone"):
            raise ConfigurationError("n_shapes: not with drop_last or over_budget='alone', which make other shapes")
        self.dropped = self._find_over_budget(max_frames)
        if len(self.dropped) == self.size:
            raise SamplingError(f"all {self.size:,} utterances are over the budget, so nothing is left; allow more")
        # The common case works on the lengths themselves; where some are dropped, on a copy without them.
        self._kept = np.delete(np.arange(self.size), self.dropped) if len(self.dropped) else None
        self._used = self._lengths if self._kept is None else self._lengths[self._kept]
        self._planned: tuple[tuple[int, Progress], BatchPlan] | None = None

    @property
    def size(self) -> int:
        """The number of utterances that positions are drawn from."""
        return len(self._lengths)

    @cached_property
    def shapes(self) -> tuple[BatchShape, ...]:
        """The fixed shapes, from the shortest to the longest; none without `n_shapes`."""
        if self._n_shapes is None:
            return ()
        values, counts = _histogram(self._used)
        fields = {name: array if self._kept is None else array[self._kept] for name, array in self._fields.items()}
        # The longest of every field so far: a bound for any bucket that ends there.
        by_length = np.searchsorted(values, self._used)
        longest = {self._main: values}
        for name, array in fields.items():
            if name != self._main:
                found = np.zeros(len(values), np.int64)
                np.maximum.at(found, by_length, array)
                longest[name] = np.maximum.accumulate(found)
        rows = np.array(
            [self._most({name: int(found[i]) for name, found in longest.items()}) for i in range(len(values))], np.int64
        )
        chosen = np.searchsorted(values, best_lengths(values, counts, rows, self._n_shapes))
        return tuple(
            BatchShape(int(rows[i]), {name: max(1, int(found[i])) for name, found in longest.items()}) for i in chosen
        )

    def draw(self, epoch: int) -> Iterator[list[int]]:
        """Return this rank's batches of an epoch."""
        return self.rest(epoch, ())

    def rest(self, epoch: int, done: Progress) -> Iterator[list[int]]:
        """Return this rank's batches that are left of an epoch after steps that were made in it."""
        plan = self.plan(epoch, done)
        return (plan.batch(number) for number in range(self.rank, len(plan), self.world_size))

    def count(self, epoch: int) -> int:
        """Return how many batches an epoch holds for this rank; with `max_frames`, epochs differ by a few."""
        return self.count_rest(epoch, ())

    def count_rest(self, epoch: int, done: Progress) -> int:
        """Return how many batches are left of an epoch for this rank after steps that were made in it."""
        return len(self.plan(epoch, done)) // self.world_size

    def settings(self) -> dict[str, Any]:
        """Return what decides on an epoch."""
        return {
            "lengths": {name: digest(lengths) for name, lengths in self._fields.items()},
            "first": self._main,
            "batch_size": self._batch_size,
            "budgets": [[budget.field, budget.limit, budget.power] for budget in self._budgets],
            "seed": self._seed,
            "shuffle": self._shuffle,
            "drop_last": self._drop_last,
            "tolerance": self._tolerance,
            "over_budget": self._over_budget,
            "longest_first": self._longest_first,
            "multiple_of": self._multiple_of,
            "n_shapes": self._n_shapes,
        }

    def plan(self, epoch: int, done: Progress = ()) -> BatchPlan:
        """Return the batches of an epoch, of all ranks in turn, all at once. The last plan is kept."""
        drawn = epoch if self._shuffle else 0
        if self._planned is None or self._planned[0] != (drawn, done):
            plan = self._plan(drawn)
            for world_size, steps in done:
                plan = plan.evened(world_size, self._multiple_of).chosen(slice(world_size * steps, None))
            self._planned = (drawn, done), plan.evened(self.world_size, self._multiple_of)
        return self._planned[1]

    def _plan(self, epoch: int) -> BatchPlan:
        buckets, limits = self._buckets(epoch)
        # From the longest to the shortest, so that the first utterance of a batch bounds all of it.
        keys = np.subtract(len(limits) - 1, buckets, out=buckets).view(np.uint64)
        counts = np.bincount(buckets, minlength=len(limits))
        if self._shuffle:
            words = random_words(len(buckets), self._seed, epoch, _UTTERANCES)
        else:
            words = np.zeros(len(buckets), np.uint64)
        positions = sort_order(keys, (len(limits) - 1).bit_length(), words)
        del keys, buckets, words
        if self._kept is not None:
            positions = self._kept[positions]
        if self.shapes:
            plan = self._cut_to_shapes(positions, counts)
        else:
            plan = self._cut(positions, counts, limits[::-1], epoch)
        return self._ordered(plan, epoch)

    def _ordered(self, plan: BatchPlan, epoch: int) -> BatchPlan:
        order = permutation(len(plan), self._seed, epoch, _BATCHES) if self._shuffle else np.arange(len(plan))
        if self._longest_first:
            longest = plan.longest()[order]
            first = np.argsort(-longest, kind="stable")[: self.world_size]
            order = np.concatenate([order[first], np.delete(order, first)])
        return plan.chosen(order)

    def _buckets(self, epoch: int) -> tuple[Whole, Whole]:
        """Return the number of each utterance's bucket, ascending with length, and the longest of every bucket."""
        lengths = self._used
        values, _ = _histogram(lengths)
        if self.shapes:
            edges = np.array([shape.lengths[self._main] for shape in self.shapes], np.int64)
            numbers = np.searchsorted(edges, values, side="left")
        elif self._tolerance:
            numbers = np.searchsorted(self._edges(epoch), values, side="right")
        else:
            numbers = np.arange(len(values))
        _, first, numbers = np.unique(numbers, return_index=True, return_inverse=True)
        limits = values[np.append(first[1:], len(values)) - 1]
        longest = int(values[-1])
        if longest < max(len(lengths), _LARGEST_TABLE):
            # A look into a table of all possible lengths: ten times faster than a search for a large dataset.
            table = np.zeros(longest + 1, np.int64)
            table[values] = numbers
            return table[lengths], limits
        return numbers[np.searchsorted(values, lengths)], limits

    def _edges(self, epoch: int) -> list[float]:
        """Return where buckets begin."""
        # Products only: unlike logarithms, they have the same bits on every processor.
        step = 1 + self._tolerance
        phase = (self._random_word(epoch, _EDGES) >> 11) / 2**53
        edges = [max(1, int(self._used.min())) * (1 + self._tolerance * phase)]
        longest = int(self._used.max())
        while edges[-1] <= longest:
            edges.append(edges[-1] * step)
        return edges

    def _cut(self, positions: Whole, counts: Whole, limits: Whole, epoch: int) -> BatchPlan:
        """Cut utterances in order into batches.

        Args:
            positions: [n] the longest bucket first.
            counts: how many utterances each bucket has, in that order.
            limits: the longest length of each bucket, in that order.
        """
        if not self._budgets:
            bounds, short = self._cut_by_count(len(positions), self._batch_size or len(positions), epoch)
        elif any(budget.field != self._main for budget in self._budgets):
            bounds, short = self._cut_by_all(positions, counts, limits)
        else:
            bounds, short = self._cut_by_frames(counts, limits)
        sizes = np.diff(bounds)
        plan = BatchPlan(positions, bounds[:-1], sizes, self._lengths)
        if self._drop_last and short is not None:
            plan = plan.chosen(np.delete(np.arange(len(plan)), short))
        return plan

    def _cut_by_count(self, n: int, size: int, epoch: int) -> tuple[Whole, int | None]:
        """Return the bounds of batches, and which one is small for want of utterances."""
        bounds = np.append(np.arange(0, n, size), n)
        missing = -n % size
        if not missing:
            return bounds, None
        short = len(bounds) - 2
        if self._shuffle:
            # Anywhere, lest it is always the shortest utterances that come in a small batch or in none.
            short = self._random_word(epoch, _REMAINDER) % (short + 1)
        bounds[short + 1 : -1] -= missing
        return bounds, short

    def _cut_by_frames(self, counts: Whole, limits: Whole) -> tuple[Whole, int | None]:
        """Return the bounds of batches, and which one is small for want of utterances."""
        parts: list[Whole] = []
        start = end = size = 0
        for count, limit in zip(counts.tolist(), limits.tolist(), strict=True):
            end += count
            if start < end:
                size = self._most({self._main: limit})
                parts.append(np.arange(start, end, size))
                start += len(parts[-1]) * size
        return np.concatenate([*parts, [end]]), len(np.concatenate(parts)) - 1 if start > end else None

    def _cut_by_all(self, positions: Whole, counts: Whole, limits: Whole) -> tuple[Whole, int | None]:
        """Return the bounds of batches that keep the budgets of several fields, and which one is small."""
        ends = np.cumsum(counts)
        n = len(positions)
        others = [budget for budget in self._budgets if budget.field != self._main]
        bounds, size = [0], 0
        while bounds[-1] < n:
            start = bounds[-1]
            limit = int(limits[np.searchsorted(ends, start, side="right")])
            size = self._most({self._main: limit}, n)
            window = positions[start : start + size]
            numbers = np.arange(1, len(window) + 1)
            for budget in others:
                longest = np.maximum.accumulate(self._fields[budget.field][window]).astype(np.int64)
                over = numbers * np.maximum(longest, 1) ** budget.power > budget.limit
                size = min(size, max(1, int(over.argmax()))) if over.any() else size
            bounds.append(start + self._rounded(size))
        short = len(bounds) - 2 if bounds[-1] > n else None
        bounds[-1] = n
        return np.array(bounds, np.int64), short

    def _cut_to_shapes(self, positions: Whole, counts: Whole) -> BatchPlan:
        starts: list[Whole] = []
        sizes: list[Whole] = []
        shape_of: list[Whole] = []
        begin = 0
        for number, count in zip(range(len(counts) - 1, -1, -1), counts.tolist(), strict=True):
            size = self.shapes[number].size
            starts.append(np.arange(begin, begin + count, size))
            sizes.append(np.minimum(size, begin + count - starts[-1]))
            shape_of.append(np.full(len(starts[-1]), number))
            begin += count
        return BatchPlan(
            positions,
            np.concatenate(starts),
            np.concatenate(sizes),
            self._lengths,
            self.shapes,
            np.concatenate(shape_of),
        )

    def _most(self, longest: Mapping[str, int], n: int | None = None) -> int:
        """Return how many utterances a batch may have whose longest are so long, at least one."""
        most = self._batch_size or (self.size if n is None else n)
        for budget in self._budgets:
            if budget.field in longest:
                most = min(most, budget.most(longest[budget.field]))
        return self._rounded(max(1, most))

    def _rounded(self, size: int) -> int:
        return size - size % self._multiple_of if size >= self._multiple_of else size

    def _find_over_budget(self, max_frames: int | None) -> Whole:
        """Return the positions of utterances that no batch can hold, and that are to be left out.

        Raises:
            SamplingError: there are some, and they are not to be left out or put alone.
        """
        over = np.empty(0, np.int64)
        for budget in self._budgets if self._over_budget != "alone" else ():
            lengths = self._fields[budget.field]
            most = budget.limit if budget.power == 1 else math.isqrt(budget.limit)
            if int(lengths.max()) <= max(most, 0):
                continue
            found = np.flatnonzero(lengths > most)
            if self._over_budget == "error":
                i = int(found[np.argmax(lengths[found])])
                name = "frames" if budget.field == "n_frames" else budget.field
                limit = "max_frames" if budget.limit == max_frames and budget.field == self._main else "its budget"
                what = f"{limit} = {budget.limit:,}" if budget.power == 1 else f"the {most:,} that {limit} allows"
                raise SamplingError(
                    f"utterance {i} alone has {lengths[i]:,} {name}, more than {what}"
                    f"{f', and {len(found) - 1:,} more are over it' if len(found) > 1 else ''}; filter them out or "
                    "allow more"
                )
            over = np.union1d(over, found)
        return over

    def _random_word(self, epoch: int, stream: int) -> int:
        return int(random_words(1, self._seed, epoch, stream)[0])


def _histogram(lengths: Array) -> tuple[Whole, Whole]:
    """Return the different lengths, ascending, and how many utterances have each."""
    if int(lengths.max()) < max(len(lengths), _LARGEST_TABLE):
        counts = np.bincount(lengths)
        values = np.flatnonzero(counts)
        return values, counts[values]
    values, counts = np.unique(lengths, return_counts=True)
    return values.astype(np.int64), counts


def _check_fields(lengths: npt.ArrayLike | Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
    fields = lengths if isinstance(lengths, Mapping) else {"n_frames": lengths}
    if not fields:
        raise ConfigurationError("lengths: expected at least one field, found none")
    checked = {name: _check_lengths(name, values) for name, values in fields.items()}
    sizes = {name: len(values) for name, values in checked.items()}
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"{name} has {size:,}" for name, size in sizes.items())
        raise SamplingError(f"lengths: expected fields of one length; {found}")
    return checked


def _check_budgets(
    budgets: Sequence[Budget], max_frames: int | None, main: str, fields: Mapping[str, Array]
) -> tuple[Budget, ...]:
    found = (*(() if max_frames is None else (Budget(main, max_frames),)), *budgets)
    for budget in found:
        if budget.field not in fields:
            raise ConfigurationError(
                f"budgets: no lengths are given for '{budget.field}'; there are {', '.join(fields)}"
            )
        if budget.power not in (1, 2):
            raise ConfigurationError(f"budgets: expected the power 1 or 2, found {budget.power}")
    return found


def _check_lengths(name: str, lengths: npt.ArrayLike) -> Array:
    array = np.asarray(lengths)
    if array.size == 0:
        raise SamplingError("there are no lengths to make batches of; did a filter leave an empty dataset?")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise SamplingError(f"lengths: expected integers [n], found {array.dtype} of shape {list(array.shape)}")
    if int(array.min()) < 0:
        i = int(array.argmin())
        raise SamplingError(f"utterance {i} has the length {array[i]} as {name}; expected numbers from 0 on")
    return array
