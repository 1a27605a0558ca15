"""Samplers of positions: in order, at random, and shared among ranks; and of batches of equal size of them."""

import operator
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader.batch_info import BatchInfo, BatchItems
from tts_prep.loader.randomness import check_seed, permutation_blocks, random_words
from tts_prep.loader.samplers import base
from tts_prep.loader.samplers.ranks import Rank, is_sharded
from tts_prep.loader.samplers.shard_windows import ShardWindows
from tts_prep.quantities import count_text

_BLOCK = 1 << 20
"""The number of utterances shuffled at a time; larger epochs start without waiting for a full permutation."""


def length_of(data_source: Sized | int) -> int:
    """Return the length of a dataset, or a length itself.

    Raises:
        ConfigurationError: it is negative, or has no length.
    """
    if isinstance(data_source, Sized):
        return len(data_source)
    if not isinstance(data_source, int | np.integer) or isinstance(data_source, bool) or data_source < 0:
        raise ConfigurationError(f"data_source: expected a dataset or its length, found {data_source!r}")
    return int(data_source)


class SequentialSampler(base.PositionSampler):
    """Visit every utterance in order.

    Args:
        data_source: the dataset, anything of the same length, or the length.
        rank: see `Sampler`.
        world_size: see `Sampler`.
    """

    def __init__(self, data_source: Sized | int, *, rank: Rank = 0, world_size: int = 1) -> None:
        super().__init__(rank=rank, world_size=world_size)
        self._size = self._count = length_of(data_source)

    def order(self, epoch: int) -> Iterator[int]:  # noqa: ARG002
        """Iterate over the positions in ascending order; all epochs are equal."""
        return iter(range(self._size))

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        return {"size": self._size}


class RandomSampler(base.PositionSampler):
    """Visit utterances in random order, a new one every epoch.

    Example:
        >>> from tts_prep.loader import RandomSampler
        >>> sampler = RandomSampler(range(5), seed=1)
        >>> sorted(sampler)
        [0, 1, 2, 3, 4]
        >>> list(sampler.draw(epoch=7)) == list(sampler.draw(epoch=7))
        True

    Args:
        data_source: the dataset, anything of the same length, or the length.
        replacement: draw each position independently, so that some come twice and some not at all.
        num_samples: positions per epoch; defaults to the length of the dataset. If it is larger and `replacement` is
            False, one permutation follows another.
        seed: a non-negative integer.
        shards: [n] integers, the shard of each utterance: ``dataset.shard``. The order then uses `shard_window` shards
            at a time, drawn at random every epoch; see `LengthBucketBatchSampler`. Excludes `replacement`.
        shard_window: the number of shards of a window, with `shards`.
        rank: see `Sampler`.
        world_size: see `Sampler`.

    Raises:
        ConfigurationError: a setting is out of range.
        SamplingError: the dataset is empty, and `num_samples` is above 0.
    """

    def __init__(
        self,
        data_source: Sized | int,
        replacement: bool = False,
        num_samples: int | None = None,
        *,
        seed: int = 0,
        shards: npt.ArrayLike | None = None,
        shard_window: int = 32,
        rank: Rank = 0,
        world_size: int = 1,
    ) -> None:
        super().__init__(rank=rank, world_size=world_size)
        self._size = length_of(data_source)
        if shards is not None and replacement:
            raise ConfigurationError("shards: cannot be combined with replacement")
        self._shard_windows = None if shards is None else ShardWindows(shards, shard_window, self._size)
        self._replacement = replacement
        self._count = self._size if num_samples is None else operator.index(num_samples)
        self._seed = check_seed(seed)
        if self._count < 0:
            raise ConfigurationError(f"num_samples: expected an integer >= 0, found {num_samples}")
        if self._count and not self._size:
            raise SamplingError(f"cannot draw {self._count:,} samples of an empty dataset")

    def order(self, epoch: int) -> Iterator[int]:
        """Iterate over the positions of an epoch, for all ranks."""
        if self._replacement:
            # The bias of the modulo is at most size / 2**64.
            words = random_words(self._count, self._seed, epoch)
            return (int(word) % self._size for word in words)
        return islice(self._orders(epoch), self._count)

    def _orders(self, epoch: int) -> Iterator[int]:
        turn = 0
        while True:
            for block in self._blocks(epoch, turn):
                yield from map(int, block)
            turn += 1

    def _blocks(self, epoch: int, turn: int) -> Iterator[npt.NDArray[np.int64]]:
        windows = self._shard_windows
        if windows is None or len(windows) == 1:
            yield from permutation_blocks(self._size, _BLOCK, self._seed, epoch, turn)
            return
        # A stream for the order of shards, and one for each window.
        first = turn * (len(windows) + 1)
        for number in range(len(windows)):
            yield windows.block(number, self._seed, epoch, first, first + 1 + number)

    def _windows_of(self, epoch: int) -> Sequence[Any]:
        """Return one position in each shard of each window of an epoch."""
        windows = self._shard_windows
        return windows.firsts(self._seed, epoch, 0) if windows is not None and len(windows) > 1 else ()

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        settings = {"size": self._size, "replacement": self._replacement, "count": self._count, "seed": self._seed}
        # The block size matters only if there is more than one block.
        if self._shard_windows is not None and len(self._shard_windows) > 1:
            return settings | dict(self._shard_windows.settings())
        return settings | ({"part": _BLOCK} if self._size > _BLOCK and not self._replacement else {})


@dataclass(frozen=True)
class _Steps:
    """The steps in which ranks use positions, one after another, in batches of at most `batch_size`.

    Attributes:
        count: the number of positions.
        n_ranks: the number of ranks.
        batch_size: the largest number of positions of a rank in a step.
        drop_last: leave out the positions that do not fill a step.
    """

    count: int
    n_ranks: int
    batch_size: int
    drop_last: bool

    def __len__(self) -> int:
        full = self.n_ranks * self.batch_size
        return self.count // full if self.drop_last else -(-self.count // full)

    @property
    def missing(self) -> int:
        """The number of positions that lack for one per rank and step."""
        return 0 if self.drop_last else max(0, len(self) * self.n_ranks - self.count)

    def end(self, step: int) -> int:
        """Return the number of positions used after a number of steps."""
        left = max(0, len(self) - step)
        if self.drop_last:
            return (len(self) - left) * self.n_ranks * self.batch_size
        # The last step has one position per rank at least, if need be of those that filled the step before.
        last = self.count if self.missing else self.count - left * self.n_ranks
        return min((len(self) - left) * self.n_ranks * self.batch_size, last)


class BatchSampler(base.Sampler[list[int]]):
    """Group the positions of a sampler into batches of equal size.

    Rank and world size are those of the sampler. Every position comes once, and all ranks get the same number of
    batches. If the positions do not divide into full batches, those of the last one or two steps are smaller. Only
    where the positions do not suffice for one per rank and step, which needs batches of one or fewer positions than
    ranks, some are repeated, with an `ExactlyOnceWarning`.

    Example:
        >>> from tts_prep.loader import BatchSampler, SequentialSampler
        >>> list(BatchSampler(SequentialSampler(range(5)), 2))
        [[0, 1], [2, 3], [4]]

    Args:
        sampler: a sampler of positions, or any re-iterable of positions. Positions are those of this object's epoch;
            `set_epoch` of the sampler sets it too.
        batch_size: utterances per batch.
        drop_last: drop the last batch if it is smaller.

    Raises:
        ConfigurationError: the batch size is below 1.
        SamplingError: on iteration, the sampler is an exhausted iterator.
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool = False) -> None:
        if isinstance(sampler, base.Sampler):
            super().__init__(rank=sampler.rank, world_size=sampler.world_size)
            self._n_ranks = sampler._n_ranks
            self._draw_from(sampler)
        else:
            super().__init__()
        self._sampler = sampler
        self._batch_size = base.check_batch_size(batch_size)
        self.drop_last = drop_last

    @property
    def batch_size(self) -> int | None:
        """The number of utterances per batch; None if several last batches can be smaller. See `Sampler`."""
        constant = super().batch_size or self._batch_size
        return constant if self._n_ranks == 1 else None

    @property
    def _sharded(self) -> bool:
        """Whether every rank gets its own share of an epoch; torch's ``DistributedSampler`` shards the positions."""
        return is_sharded(self._sampler)

    @property
    def size(self) -> int | None:
        """The number of utterances that positions index into; None if unknown."""
        return self._sampler.size if isinstance(self._sampler, base.Sampler) else None

    def order(self, epoch: int) -> Iterator[list[int]]:
        """Iterate over this rank's batches of an epoch: each rank groups its own positions."""
        return self._rest(epoch, ())

    def _order_size(self, epoch: int) -> int:
        """Return the number of batches of `order`."""
        return self._count_rest(epoch, ())

    def _rest(self, epoch: int, done: base.EpochProgress) -> Iterator[list[int]]:
        """Iterate over this rank's remaining batches of an epoch after the steps in `done`."""
        if isinstance(self._sampler, base.Sampler):
            return self._shared(self._sampler, epoch, done)
        return self._cut(
            islice(base.iterate_epoch(self._sampler), base.steps_made(done) * self._batch_size, None), epoch
        )

    def _shared(self, sampler: base.Sampler[int], epoch: int, done: base.EpochProgress) -> Iterator[list[int]]:
        used, steps = self._progress(sampler, epoch, done)
        if missing := steps.missing:
            self._warn(
                f"utterances repeated in an epoch: {missing:,} of {steps.count:,}, because there are batches of one, "
                f"and {self._n_ranks} ranks do not divide them"
            )
        positions = islice(sampler.order(epoch), used, None)
        ranks = (self.rank,) if self.world_size > 1 else range(self._n_ranks)
        info = BatchInfo(epoch)
        for step in range(len(steps)):
            together = list(islice(positions, steps.end(step + 1) - steps.end(step)))
            together += islice(cycle(sampler.order(epoch)), max(0, self._n_ranks - len(together)))
            for rank in ranks:
                yield BatchItems(together[rank :: self._n_ranks], info)

    def _progress(self, sampler: base.Sampler[int], epoch: int, done: base.EpochProgress) -> tuple[int, _Steps]:
        """Return how many positions are used, and the steps for the rest."""
        size, used = sampler._order_size(epoch), 0
        for n_ranks, steps in done:
            used += _Steps(size - used, n_ranks, self._batch_size, self.drop_last).end(steps)
        return used, _Steps(size - used, self._n_ranks, self._batch_size, self.drop_last)

    def _cut(self, positions: Iterator[int], epoch: int) -> Iterator[list[int]]:
        info = BatchInfo(epoch)
        while batch := BatchItems(islice(positions, self._batch_size), info):
            if len(batch) == self._batch_size or not self.drop_last:
                yield batch

    def _count_rest(self, epoch: int, done: base.EpochProgress) -> int:
        """Return the number of this rank's remaining batches of an epoch after the steps in `done`."""
        if isinstance(self._sampler, base.Sampler):
            return self._per_step * len(self._progress(self._sampler, epoch, done)[1])
        return max(0, self._batches(self._length()) - base.steps_made(done))

    def _batches(self, count: int) -> int:
        return count // self._batch_size if self.drop_last else -(-count // self._batch_size)

    def _length(self) -> int:
        if not isinstance(self._sampler, Sized):
            raise TypeError("the sampler under this batch sampler has no length")
        return len(self._sampler)

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        inner = self._sampler.fingerprint if isinstance(self._sampler, base.Sampler) else type(self._sampler).__name__
        return {"sampler": inner, "batch_size": self._batch_size, "drop_last": self.drop_last}


def own_batches(
    dataset: Sized,
    sampler: Any,
    batch_size: int,
    drop_last: bool,
    shuffle: bool,
    seed: int,
    rank: Rank,
    world_size: int,
) -> BatchSampler:
    """Return the batches of a loader that is given none.

    Raises:
        SamplingError: `drop_last` drops every batch of an epoch.
    """
    if sampler is None and shuffle:
        sampler = RandomSampler(dataset, seed=seed, rank=rank, world_size=world_size)
    elif sampler is None:
        sampler = SequentialSampler(dataset, rank=rank, world_size=world_size)
    batches = BatchSampler(sampler, batch_size, drop_last)
    if drop_last and isinstance(sampler, Sized) and not len(batches):
        ranks = batches.world_size
        raise SamplingError(
            f"drop_last: an epoch has no batch: {count_text(len(dataset), 'example')}"
            f"{f' shared by {ranks} ranks' if ranks > 1 else ''}, and a batch has more; decrease batch_size"
        )
    return batches
