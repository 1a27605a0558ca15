"""The batches of an epoch, or of a window of it, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from tts_prep.format.hdf5.datasets import Array
from tts_prep.loader.batch_info import BatchInfo, BatchItems, BatchShape
from tts_prep.loader.samplers.base import EpochProgress, steps_made
from tts_prep.loader.samplers.budgets import whole_lengths

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class BatchPlan:
    """The batches of an epoch, or of a window of it.

    Attributes:
        positions: [n] int64, the positions of all utterances, batch by batch.
        starts: [n_batches] int64, the index in `positions` at which each batch begins, in the order of the epoch.
        sizes: [n_batches] int64, the number of utterances of each batch.
        lengths: [size], or [size, k] of parts, the lengths of all utterances, as passed to the sampler.
        shapes: the fixed shapes that batches are padded to; empty if shapes are not fixed.
        shape_of: [n_batches] int64, the index in `shapes` of each batch; empty if shapes are not fixed.
        repeats: the number of batches at the end that repeat others, because the ranks do not divide their number.
    """

    positions: Int64Array
    starts: Int64Array
    sizes: Int64Array
    lengths: Array
    shapes: tuple[BatchShape, ...] = ()
    shape_of: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    repeats: int = 0

    def __len__(self) -> int:
        return len(self.starts)

    def __repr__(self) -> str:
        return f"<BatchPlan: {len(self):,} batches, {int(self.sizes.sum()):,} utterances>"

    def batches(self, numbers: Iterable[int], epoch: int | None = None) -> Iterator[BatchItems[int]]:
        """Yield the positions of the batches with these numbers, with their epoch and shape."""
        infos = [BatchInfo(epoch, shape) for shape in self.shapes or (None,)]
        for number in numbers:
            start = int(self.starts[number])
            batch: list[int] = self.positions[start : start + int(self.sizes[number])].tolist()
            yield BatchItems(batch, infos[self.shape_of[number] if self.shapes else 0])

    def longest(self) -> Int64Array:
        """Return the length of each batch's longest utterance, or the sum of its longest parts, [n_batches]."""
        return self.longest_of(self.lengths)

    def longest_of(self, lengths: Array) -> Int64Array:
        """Return each batch's maximum of the given lengths [size], or the sum of those of parts, [n_batches]."""
        if not len(self):
            return np.empty(0, np.int64)
        # Batches may have been removed, so a batch need not end where the next one starts.
        bounds = np.stack([self.starts, self.starts + self.sizes], axis=1)
        by_start = np.argsort(self.starts)
        values = np.concatenate([lengths[self.positions], np.zeros_like(lengths[:1])])
        longest = np.empty(len(self), np.int64)
        longest[by_start] = whole_lengths(np.maximum.reduceat(values, bounds[by_start].ravel())[::2])
        return longest

    def padding(self) -> float:
        """Return the fraction of padded frames that is padding, 0 to 1."""
        if self.shapes:
            frames = np.array([shape.size * next(iter(shape.lengths.values())) for shape in self.shapes], np.int64)
            padded = int(frames[self.shape_of].sum())
        else:
            padded = int((self.longest() * self.sizes).sum())
        real = np.concatenate(([0], np.cumsum(whole_lengths(self.lengths)[self.positions], dtype=np.int64)))
        return 1 - int((real[self.starts + self.sizes] - real[self.starts]).sum()) / padded if padded else 0.0

    def evened(self, world_size: int, multiple_of: int = 1, before: int = 0) -> BatchPlan:
        """Return a plan whose number of batches, together with those before it, is divisible by the world size.

        The largest batches are split in two, so that every utterance still comes once. If too few batches can be
        split, the first ones are repeated.

        Args:
            world_size: the number of ranks.
            multiple_of: sizes of at least this are multiples of it.
            before: the number of batches of the epoch before this plan.
        """
        plan = self
        while missing := -(before + len(plan)) % world_size:
            cut = np.argsort(-plan.sizes, kind="stable")[:missing]
            cut = cut[plan.sizes[cut] > 1]
            if not len(cut):
                repeated = plan.chosen(np.resize(np.arange(len(plan)), len(plan) + missing))
                return replace(repeated, repeats=plan.repeats + missing)
            halves = plan.sizes[cut] // 2
            wide = plan.sizes[cut] >= 2 * multiple_of
            halves[wide] -= halves[wide] % multiple_of
            grown = plan.chosen(np.concatenate([np.arange(len(plan)), cut]))
            grown.sizes[cut] = halves
            grown.starts[len(plan) :] += halves
            grown.sizes[len(plan) :] -= halves
            plan = grown
        return plan

    def chosen(self, numbers: Int64Array | slice) -> BatchPlan:
        """Return a plan of the batches with these numbers."""
        return replace(
            self,
            starts=self.starts[numbers],
            sizes=self.sizes[numbers],
            shape_of=self.shape_of[numbers] if self.shapes else self.shape_of,
        )

    def without(self, numbers: Int64Array) -> BatchPlan:
        """Return a plan without the batches with these numbers."""
        return self.chosen(np.delete(np.arange(len(self)), numbers)) if len(numbers) else self

    def utterances(self, numbers: Int64Array | slice) -> Int64Array:
        """Return the positions of the batches with these numbers, batch by batch."""
        bounds = zip(self.starts[numbers].tolist(), self.sizes[numbers].tolist(), strict=True)
        batches = [self.positions[start : start + size] for start, size in bounds]
        return np.concatenate([np.empty(0, np.int64), *batches])

    def split_last(self) -> tuple[BatchPlan, BatchPlan]:
        """Return all batches but the last, and the last with its own copy of its positions."""
        last = self.chosen(slice(-1, None))
        last = replace(last, positions=self.utterances(slice(-1, None)), starts=np.zeros(len(last), np.int64))
        return self.chosen(slice(-1)), last


def joined(plans: Sequence[BatchPlan]) -> BatchPlan:
    """Concatenate batch plans."""
    if len(plans) == 1:
        return plans[0]
    shifts = np.cumsum([0, *(len(plan.positions) for plan in plans)]).tolist()
    return replace(
        plans[0],
        positions=np.concatenate([plan.positions for plan in plans]),
        starts=np.concatenate([plan.starts + shift for plan, shift in zip(plans, shifts, strict=False)]),
        sizes=np.concatenate([plan.sizes for plan in plans]),
        shape_of=np.concatenate([plan.shape_of for plan in plans]),
    )


def shared(
    windows: Iterable[tuple[BatchPlan, bool]], done: EpochProgress, world_size: int, multiple_of: int
) -> Iterator[tuple[BatchPlan, bool]]:
    """Yield the remaining batches of an epoch after the steps in `done`, the same number for every rank.

    Only the last window is changed to make the numbers equal, so that earlier windows can be used before it is
    planned. The last window has at least one batch if the epoch has any: each window's last batch is moved to the
    next window.

    Args:
        windows: pairs (batches of a window, whether it is the last), in order.
        done: the steps made so far.
        world_size: the number of ranks that continue.
        multiple_of: sizes of at least this are multiples of it.

    Yields:
        Pairs (batches of a window, whether it is the last).
    """
    before, held = 0, None
    for window, last in windows:
        plan = window if held is None else joined([held, window])
        if not last:
            plan, held = plan.split_last()
            yield plan.chosen(slice(max(0, steps_made(done) - before), None)), False
            before += len(plan)
            continue
        for ranks, steps in (*done, (world_size, 0)):
            plan = plan.evened(ranks, multiple_of, before)
            plan = plan.chosen(slice(max(0, ranks * steps - before), None))
            before = max(0, before - ranks * steps)
        yield plan, True
