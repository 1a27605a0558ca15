"""Buckets of utterances of similar length, the best lengths to pad them to, and batches cut from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.loader.batch_info import BatchShape
from tts_prep.loader.samplers.batch_plan import BatchPlan
from tts_prep.loader.samplers.budgets import Budget, Limits, padded_lengths

_LARGEST_TABLE = 1 << 20
_MAX_CANDIDATES = 4096

Int64Array = npt.NDArray[np.int64]


def bucket_edges(shortest: int, longest: int, tolerance: float, phase: float) -> list[float]:
    """Return the lower edges of buckets, from about the shortest length to beyond the longest.

    Args:
        shortest: the minimum of all lengths.
        longest: the maximum of all lengths.
        tolerance: the relative width of a bucket, above 0.
        phase: the shift of all edges as a fraction of a bucket's width, 0 to 1.
    """
    # Products only: unlike logarithms, they give the same bits on every processor.
    step = 1 + tolerance
    edges = [max(1, shortest) * (1 + tolerance * phase)]
    while edges[-1] <= longest:
        edges.append(edges[-1] * step)
    return edges


def number_buckets(lengths: Array, edges: Sequence[float]) -> tuple[Int64Array, Int64Array]:
    """Return the bucket of each length, and the longest length of each bucket.

    Args:
        lengths: [n], at least one.
        edges: the lower edges of buckets; if empty, every distinct length is a bucket.

    Returns:
        [n] bucket numbers, ascending with length, and [n_buckets] the longest lengths. No bucket is empty.
    """
    values, _ = histogram(lengths)
    numbers = np.searchsorted(edges, values, side="right") if len(edges) else np.arange(len(values))
    _, first, numbers = np.unique(numbers, return_index=True, return_inverse=True)
    return _look_up(lengths, values, numbers), values[np.append(first[1:], len(values)) - 1]


def number_shapes(lengths: Array, padded: Int64Array) -> Int64Array:
    """Return for each length the index of the smallest padded length that is not below it, [n]. `padded` ascends."""
    values, _ = histogram(lengths)
    return _look_up(lengths, values, np.searchsorted(padded, values, side="left"))


def _look_up(lengths: Array, values: Int64Array, numbers: Int64Array) -> Int64Array:
    longest = int(values[-1])
    if longest < max(len(lengths), _LARGEST_TABLE):
        # A lookup table of all possible lengths: ten times faster than a search on large datasets.
        table = np.zeros(longest + 1, np.int64)
        table[values] = numbers
        return table[lengths]
    return numbers[np.searchsorted(values, lengths)]


def histogram(lengths: Array) -> tuple[Int64Array, Int64Array]:
    """Return the distinct lengths, ascending, and their counts."""
    if int(lengths.max()) < max(len(lengths), _LARGEST_TABLE):
        counts = np.bincount(lengths)
        values = np.flatnonzero(counts)
        return values, counts[values]
    values, counts = np.unique(lengths, return_counts=True)
    return values.astype(np.int64), counts


def histogram_of_blocks(blocks: Iterable[Array]) -> tuple[Int64Array, Int64Array]:
    """Return the distinct lengths of all blocks, ascending, and their counts."""
    values, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    for block in blocks:
        if len(block):
            more_values, more_counts = histogram(block)
            values, numbers = np.unique(np.concatenate([values, more_values]), return_inverse=True)
            total = np.zeros(len(values), np.int64)
            np.add.at(total, numbers, np.concatenate([counts, more_counts]))
            counts = total
    return values, counts


def best_lengths(
    values: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], n_shapes: int
) -> npt.NDArray[np.int64]:
    """Choose the padded lengths that minimize the padded elements of an epoch.

    Dynamic programming over the sorted lengths: the best way to cover the first j values with k shapes ends with one
    shape for the values from some i to j, whose batches, the last one filled up with empty rows, cost
    ``ceil(utterances / rows[j]) · rows[j] · values[j]``. If there are more than 4,096 distinct lengths, the padded
    lengths are chosen among 4,096 of them, evenly spaced.

    Args:
        values: [m] the distinct lengths, ascending, at least one.
        counts: [m] the number of utterances of each length.
        rows: [m] the number of utterances of a batch padded to each length.
        n_shapes: the maximum number of padded lengths.

    Returns:
        The chosen lengths, ascending, at most `n_shapes`; the last one is ``values[-1]``.

    Raises:
        ConfigurationError: `n_shapes` is below 1.
    """
    if n_shapes < 1:
        raise ConfigurationError(f"n_shapes: expected an integer >= 1, found {n_shapes}")
    total = np.concatenate(([0], np.cumsum(counts)))
    ends: Int64Array = np.arange(len(values))
    if len(ends) > _MAX_CANDIDATES:
        ends = np.unique(np.linspace(0, len(values) - 1, _MAX_CANDIDATES).round().astype(np.int64))
    before = np.concatenate(([0], total[ends + 1]))
    costs: npt.NDArray[np.float64] = np.full(len(ends) + 1, np.inf)
    costs[0] = 0
    steps = []
    for _ in range(min(n_shapes, len(ends))):
        costs, came = _with_one_shape_more(costs, values[ends], rows[ends], before)
        steps.append(came)
    chosen: Int64Array = values[ends[_last_of_each_shape(steps)]]
    return chosen


def _last_of_each_shape(steps: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Return the last length that each shape covers, ascending, from where each step's last shape begins."""
    last = []
    j = len(steps[-1]) - 1
    for came in reversed(steps):
        if j == 0:
            break
        last.append(j - 1)
        j = int(came[j])
    return np.array(last[::-1], np.int64)


def _with_one_shape_more(
    costs: npt.NDArray[np.float64],
    values: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    before: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the cost of covering the first j lengths with one shape more, and where its last shape begins.

    Args:
        costs: [m + 1] the cost of covering the first j lengths with the shapes so far.
        values: [m] the lengths.
        rows: [m] the number of utterances of a batch padded to each length.
        before: [m + 1] the number of utterances of the first j lengths.
    """
    best, came = np.full(len(costs), np.inf), np.zeros(len(costs), np.int64)
    best[0] = 0
    for j in range(1, len(costs)):
        utterances = before[j] - before[:j]
        batches = -(-utterances // rows[j - 1])
        candidates = costs[:j] + batches * (rows[j - 1] * values[j - 1])
        came[j] = np.argmin(candidates)
        best[j] = candidates[came[j]]
    return best, came


@dataclass(frozen=True)
class Cutter:
    """Cuts sorted utterances into batches.

    Attributes:
        fields: the lengths of all utterances by name, [n], or [n, k] of parts that are padded one by one; utterances
            are sorted by the first, the sum of its parts.
        limits: the limits on a batch.
        shapes: the fixed shapes that batches are padded to, each of which is a bucket; empty if shapes are not fixed.
    """

    fields: Mapping[str, Array]
    limits: Limits
    shapes: tuple[BatchShape, ...] = ()

    @property
    def main(self) -> str:
        """The name of the field that utterances are sorted by."""
        return next(iter(self.fields))

    @property
    def _beside_main(self) -> list[Budget]:
        """The budgets that the longest of the first field does not decide: of other fields, and of parts."""
        return [of for of in self.limits.budgets if of.field != self.main or self.fields[of.field].ndim > 1]

    def cut(
        self, positions: Int64Array, counts: Int64Array, longest: Int64Array, word: int | None = None
    ) -> tuple[BatchPlan, Int64Array]:
        """Cut sorted utterances into batches.

        Args:
            positions: [n] the positions of utterances, the longest bucket first.
            counts: [n_buckets] the number of utterances of each bucket, in that order.
            longest: [n_buckets] the longest length of each bucket, in that order.
            word: a random number that selects the small batch if all others have the same size; None selects
                the last one.

        Returns:
            The batches, and the numbers of those that are small because utterances ran out.
        """
        if self.shapes:
            return self._cut_to_shapes(positions, counts)
        if not self.limits.budgets:
            bounds, short = self._cut_by_count(len(positions), word)
        elif self._beside_main:
            bounds, short = self._cut_by_all(positions, counts, longest)
        else:
            bounds, short = self._cut_by_frames(counts, longest)
        plan = BatchPlan(positions, bounds[:-1], np.diff(bounds), self.fields[self.main])
        return plan, np.array([] if short is None else [short], np.int64)

    def _cut_by_count(self, n: int, word: int | None) -> tuple[Int64Array, int | None]:
        """Return the bounds of batches, and the number of the small one, if any."""
        size = self.limits.count
        bounds = np.append(np.arange(0, n, size), n)
        missing = -n % size
        if not missing:
            return bounds, None
        short = len(bounds) - 2
        if word is not None:
            # At a random place: otherwise the small batch would always have the shortest utterances.
            short = word % (short + 1)
        bounds[short + 1 : -1] -= missing
        return bounds, short

    def _cut_by_frames(self, counts: Int64Array, longest: Int64Array) -> tuple[Int64Array, int | None]:
        """Return the bounds of batches, and the number of the small one, if any."""
        starts: list[Int64Array] = [np.empty(0, np.int64)]
        start = end = 0
        for count, limit in zip(counts.tolist(), longest.tolist(), strict=True):
            end += count
            if start < end:
                size = self.limits.max_utterances({self.main: limit})
                starts.append(np.arange(start, end, size))
                start += len(starts[-1]) * size
        bounds = np.concatenate([*starts, [end]])
        return bounds, len(bounds) - 2 if start > end else None

    def _cut_by_all(
        self, positions: Int64Array, counts: Int64Array, longest: Int64Array
    ) -> tuple[Int64Array, int | None]:
        """Return the bounds of batches that respect budgets of several fields, and the number of the small one."""
        ends = np.cumsum(counts)
        n = len(positions)
        others = self._beside_main
        bounds = [0]
        while bounds[-1] < n:
            start = bounds[-1]
            limit = int(longest[np.searchsorted(ends, start, side="right")])
            size = self.limits.max_utterances({self.main: limit})
            window = positions[start : start + size]
            numbers = np.arange(1, len(window) + 1)
            for budget in others:
                over = numbers * padded_lengths(self.fields[budget.field][window]) ** budget.power > budget.limit
                size = min(size, max(1, int(over.argmax()))) if over.any() else size
            bounds.append(start + self.limits.rounded(size))
        short = len(bounds) - 2 if bounds[-1] > n else None
        bounds[-1] = n
        return np.array(bounds, np.int64), short

    def _cut_to_shapes(self, positions: Int64Array, counts: Int64Array) -> tuple[BatchPlan, Int64Array]:
        starts: list[Int64Array] = []
        sizes: list[Int64Array] = []
        shape_of: list[Int64Array] = []
        begin = 0
        for number, count in zip(range(len(self.shapes) - 1, -1, -1), counts.tolist(), strict=True):
            size = self.shapes[number].size
            starts.append(np.arange(begin, begin + count, size))
            sizes.append(np.minimum(size, begin + count - starts[-1]))
            shape_of.append(np.full(len(starts[-1]), number))
            begin += count
        shapes = np.concatenate(shape_of)
        plan = BatchPlan(
            positions, np.concatenate(starts), np.concatenate(sizes), self.fields[self.main], self.shapes, shapes
        )
        full = np.array([shape.size for shape in self.shapes], np.int64)
        return plan, np.flatnonzero(plan.sizes < full[shapes])
