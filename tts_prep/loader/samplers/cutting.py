"""Cut utterances sorted by length into batches as large as the limits allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.format.hdf5.datasets import Array
from tts_prep.loader.batch_info import BatchShape
from tts_prep.loader.samplers.batch_plan import BatchPlan
from tts_prep.loader.samplers.budgets import Budget, Limits, padded_lengths

Int64Array = npt.NDArray[np.int64]


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
