"""Batches of utterances of about the same length, so that little of them is padding."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.format.datasets import Array
from tts_prep.loader.randomness import check_seed, permutation, random_words, sort_order
from tts_prep.loader.samplers import Sampler, check_batch_size

_UTTERANCES, _BATCHES, _EDGES, _REMAINDER = range(4)
"""Streams of randomness, one for each thing that an epoch draws."""

_FINEST_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class BatchPlan:
    """The batches of an epoch.

    Attributes:
        positions: [n] int64, the utterances of all batches.
        starts: [n_batches] int64, where a batch begins in `positions`, in the order of the epoch.
        sizes: [n_batches] int64, how many utterances it has.
        lengths: [size] of all utterances, as the sampler was given them.
    """

    positions: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    lengths: Array

    def __len__(self) -> int:
        return len(self.starts)

    def batch(self, number: int) -> list[int]:
        """Return the positions of the utterances of a batch."""
        start = int(self.starts[number])
        batch: list[int] = self.positions[start : start + int(self.sizes[number])].tolist()
        return batch

    def longest(self) -> npt.NDArray[np.int64]:
        """Return the length of the longest utterance of every batch, [n_batches]."""
        if not len(self):
            return np.empty(0, np.int64)
        by_start = np.argsort(self.starts)
        longest = np.empty(len(self), np.int64)
        longest[by_start] = np.maximum.reduceat(self.lengths[self.positions], self.starts[by_start])
        return longest

    def padding(self) -> float:
        """Return the share of the padded frames of the epoch that is padding, from 0 to 1."""
        padded = int((self.longest() * self.sizes).sum())
        return 1 - int(self.lengths[self.positions].sum(dtype=np.int64)) / padded if padded else 0.0


class LengthBucketBatchSampler(Sampler[list[int]]):
    """Batch utterances of about the same length, in another way every epoch.

    Lengths are grouped into buckets that are a few percent wide and begin elsewhere every epoch. Utterances are in
    random order within a bucket; from the longest bucket to the shortest they are cut into batches as large as the
    limits allow; the batches then come in random order. Padding is about half of the tolerance, and no batch stays
    together from one epoch to the next. An epoch is a pure function of lengths, settings, seed and epoch.

    Args:
        lengths: [n] integers, the length of each utterance of the dataset: ``dataset.n_frames``.
        batch_size: utterances a batch, at most.
        max_frames: padded frames a batch, at most: its count times the length of its longest.
        seed: from 0 on.
        shuffle: False gives the same batches every epoch, exactly sorted, the longest first.
        drop_last: leave out the one batch of an epoch that is smaller for want of utterances. With `batch_size`
            alone it is a random one; with `max_frames`, where most sizes differ, the one of the shortest utterances.
        tolerance: the width of a bucket as a share of its length; 0 shuffles only utterances of equal length.

    Raises:
        ConfigurationError: a setting is out of range, or neither limit is given.
        SamplingError: there are no lengths, they are not integers from 0 on, or one is over the budget.
    """

    def __init__(
        self,
        lengths: npt.ArrayLike,
        batch_size: int | None = None,
        max_frames: int | None = None,
        seed: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
        tolerance: float = 0.02,
    ) -> None:
        super().__init__()
        if batch_size is None and max_frames is None:
            raise ConfigurationError("LengthBucketBatchSampler: expected batch_size, max_frames or both, found neither")
        if not (tolerance == 0 or _FINEST_TOLERANCE <= tolerance <= 1):
            raise ConfigurationError(f"tolerance: expected 0, or {_FINEST_TOLERANCE} to 1, found {tolerance}")
        self._batch_size = None if batch_size is None else check_batch_size(batch_size)
        self._max_frames = max_frames
        self._seed = check_seed(seed)
        self._shuffle = shuffle
        self._drop_last = drop_last
        self._tolerance = tolerance if shuffle else 0.0
        self._lengths = _check_lengths(lengths, max_frames)
        self._planned: tuple[int, BatchPlan] | None = None

    @property
    def size(self) -> int:
        """The number of utterances that positions are drawn from."""
        return len(self._lengths)

    def __len__(self) -> int:
        """Return the number of batches of the current epoch; with `max_frames`, epochs differ by a few."""
        return len(self.plan(self.epoch))

    def draw(self, epoch: int) -> Iterator[list[int]]:
        """Return the batches of an epoch."""
        plan = self.plan(epoch)
        return (plan.batch(number) for number in range(len(plan)))

    def plan(self, epoch: int) -> BatchPlan:
        """Return the batches of an epoch all at once. The last plan is kept."""
        drawn = epoch if self._shuffle else 0
        if self._planned is None or self._planned[0] != drawn:
            self._planned = drawn, self._plan(drawn)
        return self._planned[1]

    def _plan(self, epoch: int) -> BatchPlan:
        edges = self._edges(epoch)
        buckets = self._buckets(edges)
        last = int(buckets.max())
        # From the longest to the shortest, so that the first utterance of a batch bounds all of it.
        keys = np.subtract(last, buckets, out=buckets).view(np.uint64)
        if self._shuffle:
            words = random_words(self.size, self._seed, epoch, _UTTERANCES)
        else:
            words = np.zeros(self.size, np.uint64)
        positions = sort_order(keys, last.bit_length(), words)
        starts, sizes, short = self._cut(positions, edges, epoch)
        if self._drop_last and short is not None:
            left_out = np.arange(starts[short], starts[short] + sizes[short])
            positions = np.delete(positions, left_out)
            starts[short + 1 :] -= sizes[short]
            starts, sizes = np.delete(starts, short), np.delete(sizes, short)
        if self._shuffle:
            order = permutation(len(starts), self._seed, epoch, _BATCHES)
            starts, sizes = starts[order], sizes[order]
        return BatchPlan(positions, starts, sizes, self._lengths)

    def _edges(self, epoch: int) -> list[float]:
        """Return where buckets begin; nothing where every length is a bucket of its own."""
        if not self._tolerance:
            return []
        # Products only: unlike logarithms, they have the same bits on every processor.
        step = 1 + self._tolerance
        phase = (self._random_word(epoch, _EDGES) >> 11) / 2**53
        edges = [max(1, int(self._lengths.min())) * (1 + self._tolerance * phase)]
        longest = int(self._lengths.max())
        while edges[-1] <= longest:
            edges.append(edges[-1] * step)
        return edges

    def _buckets(self, edges: list[float]) -> npt.NDArray[np.int64]:
        """Return the number of each utterance's bucket, [size], ascending with length."""
        if not edges:
            return self._lengths.astype(np.int64) - int(self._lengths.min())
        longest = int(self._lengths.max())
        if longest < self.size:
            # One search for each possible length and a look into that table: ten times faster for a large dataset.
            return np.searchsorted(edges, np.arange(longest + 1), side="right")[self._lengths]
        return np.searchsorted(edges, self._lengths, side="right")

    def _cut(
        self, positions: npt.NDArray[np.int64], edges: list[float], epoch: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int | None]:
        """Return where batches begin, how many utterances they have, and which one is small for want of utterances."""
        if self._max_frames is None:
            bounds, short = self._cut_by_count(self._batch_size or self.size, epoch)
        else:
            bounds, short = self._cut_by_frames(self._max_frames, positions, edges)
        starts = np.array(bounds[:-1], np.int64)
        sizes = np.array(bounds[1:], np.int64) - starts
        return starts, sizes, short

    def _cut_by_count(self, size: int, epoch: int) -> tuple[list[int], int | None]:
        """Return the bounds of batches, and which one is small for want of utterances."""
        bounds = [*range(0, self.size, size), self.size]
        missing = -self.size % size
        if not missing:
            return bounds, None
        short = len(bounds) - 2
        if self._shuffle:
            # Anywhere, lest it is always the shortest utterances that come in a small batch or in none.
            short = self._random_word(epoch, _REMAINDER) % (short + 1)
        return [*bounds[: short + 1], *(bound - missing for bound in bounds[short + 1 : -1]), self.size], short

    def _cut_by_frames(
        self, budget: int, positions: npt.NDArray[np.int64], edges: list[float]
    ) -> tuple[list[int], int | None]:
        """Return the bounds of batches, and which one is small for want of utterances."""
        longest = int(self._lengths.max())
        most = self._batch_size or self.size
        bounds = [0]
        while bounds[-1] < self.size:
            length = int(self._lengths[positions[bounds[-1]]])
            if edges:
                # What follows may be longer than the first utterance, but not than anything in the first one's bucket.
                length = min(longest, math.ceil(edges[bisect_right(edges, length)]) - 1)
            bounds.append(bounds[-1] + min(most, max(1, budget // max(1, length))))
        short = len(bounds) - 2 if bounds[-1] > self.size else None
        bounds[-1] = self.size
        return bounds, short

    def _random_word(self, epoch: int, stream: int) -> int:
        return int(random_words(1, self._seed, epoch, stream)[0])


def _check_lengths(lengths: npt.ArrayLike, max_frames: int | None) -> Array:
    array = np.asarray(lengths)
    if array.size == 0:
        raise SamplingError("there are no lengths to make batches of; did a filter leave an empty dataset?")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise SamplingError(f"lengths: expected integers [n], found {array.dtype} of shape {list(array.shape)}")
    if int(array.min()) < 0:
        i = int(array.argmin())
        raise SamplingError(f"utterance {i} has the length {array[i]}; expected numbers from 0 on")
    if max_frames is not None and int(array.max()) > max_frames:
        i = int(array.argmax())
        count = int((array > max_frames).sum())
        raise SamplingError(
            f"utterance {i} alone has {array[i]:,} frames, more than max_frames = {max_frames:,}"
            f"{f', and {count - 1:,} more are over it' if count > 1 else ''}; filter them out or allow more"
        )
    return array
