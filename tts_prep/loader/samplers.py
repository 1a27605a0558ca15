"""In which order an epoch visits the utterances."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sized
from itertools import islice
from typing import Generic, TypeVar

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader.randomness import check_seed, permutation, random_words

T = TypeVar("T")


class Sampler(ABC, Generic[T]):
    """What an epoch is made of: positions in a dataset, or lists of them.

    Every iteration is one epoch. The first is epoch 0, and each one after that the next, unless `set_epoch` says
    otherwise. What an epoch holds is a pure function of the sampler's settings and the epoch's number.
    """

    def __init__(self) -> None:
        self._epoch = 0
        self._begun = False

    @property
    def epoch(self) -> int:
        """The epoch of the last iteration that gave anything, or what `set_epoch` said since."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration that of an epoch."""
        if operator.index(epoch) < 0:
            raise ConfigurationError(f"epoch: expected a number from 0 on, found {epoch}")
        self._epoch = operator.index(epoch)
        self._begun = False

    def __iter__(self) -> Iterator[T]:
        # A generator: an epoch begins with its first element. torch's DataLoader with workers makes two iterators an
        # epoch and uses one of them.
        if self._begun:
            self._epoch += 1
        self._begun = True
        yield from self.draw(self._epoch)

    @property
    @abstractmethod
    def size(self) -> int | None:
        """The number of utterances that positions are drawn from; None where that is not known."""

    @abstractmethod
    def draw(self, epoch: int) -> Iterator[T]:
        """Return what an epoch holds, without making it the current one."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how much the current epoch holds."""


class SequentialSampler(Sampler[int]):
    """Visit every utterance in order.

    Args:
        data_source: the dataset, or anything as long.
    """

    def __init__(self, data_source: Sized) -> None:
        super().__init__()
        self._size = len(data_source)

    @property
    def size(self) -> int:
        """The number of utterances that positions are drawn from."""
        return self._size

    def draw(self, epoch: int) -> Iterator[int]:  # noqa: ARG002
        """Return the positions in order, whatever the epoch."""
        return iter(range(self._size))

    def __len__(self) -> int:
        return self._size


class RandomSampler(Sampler[int]):
    """Visit utterances in random order, another one every epoch.

    Args:
        data_source: the dataset, or anything as long.
        replacement: draw each one independently, so that some come twice and some not at all.
        num_samples: how many an epoch; by default as many as there are. Without replacement, more than there are
            means another order after the first, and so on.
        seed: from 0 on.

    Raises:
        ConfigurationError: a setting is out of range.
        SamplingError: samples are wanted of an empty dataset.
    """

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, *, seed: int = 0
    ) -> None:
        super().__init__()
        self._size = len(data_source)
        self._replacement = replacement
        self._count = self._size if num_samples is None else operator.index(num_samples)
        self._seed = check_seed(seed)
        if self._count < 0:
            raise ConfigurationError(f"num_samples: expected a number from 0 on, found {num_samples}")
        if self._count and not self._size:
            raise SamplingError(f"cannot draw {self._count:,} samples of an empty dataset")

    @property
    def size(self) -> int:
        """The number of utterances that positions are drawn from."""
        return self._size

    def draw(self, epoch: int) -> Iterator[int]:
        """Return the positions of an epoch."""
        if self._replacement:
            # 64 random bits: the modulo prefers no position by more than size / 2**64.
            words = random_words(self._count, self._seed, epoch)
            return (int(word) % self._size for word in words)
        return islice(self._orders(epoch), self._count)

    def _orders(self, epoch: int) -> Iterator[int]:
        turn = 0
        while True:
            yield from map(int, permutation(self._size, self._seed, epoch, turn))
            turn += 1

    def __len__(self) -> int:
        return self._count


class BatchSampler(Sampler[list[int]]):
    """Cut what a sampler gives into batches of equal count.

    Args:
        sampler: of positions; its epoch follows this one's. Anything that can be iterated over again will do.
        batch_size: utterances a batch.
        drop_last: leave out a last batch that is smaller.

    Raises:
        ConfigurationError: the batch size is below 1.
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool = False) -> None:
        super().__init__()
        self._sampler = sampler
        self._batch_size = check_batch_size(batch_size)
        self._drop_last = drop_last

    @property
    def size(self) -> int | None:
        """The number of utterances that positions are drawn from; None where that is not known."""
        return self._sampler.size if isinstance(self._sampler, Sampler) else None

    def draw(self, epoch: int) -> Iterator[list[int]]:
        """Return the batches of an epoch."""
        positions = self._sampler.draw(epoch) if isinstance(self._sampler, Sampler) else iter(self._sampler)
        return self._cut(positions)

    def _cut(self, positions: Iterator[int]) -> Iterator[list[int]]:
        while batch := list(islice(positions, self._batch_size)):
            if len(batch) == self._batch_size or not self._drop_last:
                yield batch

    def __len__(self) -> int:
        if not isinstance(self._sampler, Sized):
            raise TypeError("the sampler under this batch sampler has no length")
        count = len(self._sampler)
        return count // self._batch_size if self._drop_last else -(-count // self._batch_size)


def check_batch_size(batch_size: int) -> int:
    """Return a batch size that can be used.

    Raises:
        ConfigurationError: it is below 1.
    """
    value = operator.index(batch_size)
    if value < 1:
        raise ConfigurationError(f"batch_size: expected a number from 1 on, found {value}")
    return value
