"""In which order an epoch visits the utterances."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sized
from functools import cached_property
from itertools import chain, cycle, islice
from typing import Any, Generic, TypeAlias, TypeVar

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.format.checksums import json_sha256
from tts_prep.loader.randomness import check_seed, permutation_parts, random_words
from tts_prep.loader.samplers.ranks import Rank, resolve_rank
from tts_prep.loader.samplers.shapes import BatchPositions

T = TypeVar("T")
Progress: TypeAlias = "tuple[tuple[int, int], ...]"
"""Steps made in an epoch: pairs of a number of ranks and how many steps it made, in order."""

_BLOCK = 1 << 20
"""How many utterances are put into order at once, so that an epoch of more begins without a wait."""


class Sampler(ABC, Generic[T]):
    """What an epoch is made of: positions in a dataset, or lists of them.

    Every iteration is one epoch. The first is epoch 0, and each one after that the next, unless `set_epoch` says
    otherwise. What an epoch holds is a pure function of the sampler's settings and the epoch's number.

    An epoch is one list, `order`, the same on every rank. Each rank gets every ``world_size``-th element of it, and all
    ranks the same number: where they do not divide the list, it is continued from its beginning. So the state of a run
    is the number of steps that it has made, and any other number of ranks can go on from there.

    Args:
        rank: which share of an epoch this sampler gives, from 0 on; ``"auto"`` takes rank and number of ranks from
            ``torch.distributed``, or 0 of 1 where no process group runs.
        world_size: how many shares there are.

    Raises:
        ConfigurationError: there is no such rank.
    """

    def __init__(self, *, rank: Rank = 0, world_size: int = 1) -> None:
        self.rank, self.world_size = resolve_rank(rank, world_size)
        self._epoch = 0
        self._begun = False
        self._done: Progress = ()
        self._given = 0
        self._turn = 0

    @property
    def epoch(self) -> int:
        """The epoch of the last iteration that gave anything, or what `set_epoch` said since."""
        return self._epoch

    @property
    def begun(self) -> bool:
        """Whether the current epoch has given anything since it was set or loaded."""
        return self._begun

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration that of an epoch.

        Right after `load_state_dict`, the epoch that was loaded is still continued where it stopped.
        """
        if operator.index(epoch) < 0:
            raise ConfigurationError(f"epoch: expected a number from 0 on, found {epoch}")
        if self._begun or self._epoch != epoch:
            self._begin(operator.index(epoch), ())

    def _begin(self, epoch: int, done: Progress) -> None:
        self._epoch = epoch
        self._done = done
        self._begun = False
        self._given = 0
        self._turn += 1

    def __iter__(self) -> Iterator[T]:
        # A generator: an epoch begins with its first element. torch's DataLoader with workers makes two iterators an
        # epoch and uses one of them.
        if self._begun:
            self._begin(self._epoch + 1, ())
        self._begun = True
        self._turn += 1
        turn = self._turn
        for element in self.rest(self._epoch, self._done):
            # Of two iterations at once, the later one is the state's.
            if turn == self._turn:
                self._given += 1
            yield element

    def state_dict(self, steps: int | None = None) -> dict[str, Any]:
        """Return where the epoch stands, as plain numbers and strings.

        Args:
            steps: how many elements have been used since the epoch began, or since a state was loaded in it. By
                default as many as were given out, which is more where something like torch's DataLoader with
                workers takes some ahead. Ours has a ``state_dict`` of its own that knows.
        """
        count = self._given if steps is None else steps
        if count and self.ends_after(count):
            return {"sampler": type(self).__name__, "settings": self.fingerprint, "epoch": self._epoch + 1, "done": []}
        done = [list(part) for part in self._done]
        if count and done and done[-1][0] == self.world_size:
            done[-1][1] += count
        elif count:
            done.append([self.world_size, count])
        return {"sampler": type(self).__name__, "settings": self.fingerprint, "epoch": self._epoch, "done": done}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; rank and number of ranks may be others than those that it was made with.

        Raises:
            ConfigurationError: it is no state, or one of a sampler with other settings or of another dataset.
        """
        try:
            name, settings, epoch = str(state["sampler"]), str(state["settings"]), operator.index(state["epoch"])
            done = tuple((operator.index(world), operator.index(steps)) for world, steps in state["done"])
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(f"load_state_dict: expected what state_dict gave, found {error!r}") from error
        if name != type(self).__name__:
            raise ConfigurationError(f"load_state_dict: the state is of a {name}, this is a {type(self).__name__}")
        if settings != self.fingerprint:
            raise ConfigurationError(
                f"load_state_dict: the state is of a {name} with other settings or another dataset; "
                "make the sampler as it was made then"
            )
        if epoch < 0 or any(world < 1 or steps < 0 for world, steps in done):
            raise ConfigurationError(f"load_state_dict: epoch {epoch} and steps {list(done)} cannot be")
        self._begin(epoch, done)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all settings that decide what an epoch holds; rank and number of ranks are not among them."""
        return json_sha256({"sampler": type(self).__name__, **self.settings()})

    def draw(self, epoch: int) -> Iterator[T]:
        """Return what an epoch holds for this rank, without making it the current one."""
        return self.rest(epoch, ())

    def rest(self, epoch: int, done: Progress) -> Iterator[T]:
        """Return what is left of an epoch for this rank after steps that were made in it."""
        start = steps_made(done)
        left = islice(self.order(epoch), start, None)
        if self.world_size == 1:
            return left
        count = max(0, self.order_size(epoch) - start)
        count += -count % self.world_size
        again = chain.from_iterable(self.order(epoch) for _ in cycle([None]))
        return islice(chain(left, again), self.rank, count, self.world_size)

    def count(self, epoch: int) -> int:
        """Return how much an epoch holds for this rank."""
        return self.count_rest(epoch, ())

    def count_rest(self, epoch: int, done: Progress) -> int:
        """Return how much is left of an epoch for this rank after steps that were made in it."""
        return -(-max(0, self.order_size(epoch) - steps_made(done)) // self.world_size)

    def __len__(self) -> int:
        """Return how much the current epoch holds for this rank, however much of it has been given out."""
        return sum(steps for _, steps in self._done) + self.remaining

    @property
    def remaining(self) -> int:
        """How much of the current epoch is left after the state that was loaded; all of it where none was."""
        return self.count_rest(self._epoch, self._done)

    def ends_after(self, steps: int) -> bool:
        """Return whether nothing is left of the current epoch after so many more steps."""
        return steps >= self.remaining

    @property
    def sampler(self) -> Sampler[T]:
        """The sampler itself: Lightning calls ``set_epoch`` of the sampler of a batch sampler."""
        return self

    @property
    def batch_size(self) -> int | None:
        """Utterances a batch, where all batches have as many; else None.

        accelerate and Lightning ask for it when they share a batch sampler among ranks.

        Raises:
            ConfigurationError: the sampler is shared among ranks already, so that doing it again would lose batches.
        """
        if self.world_size > 1:
            raise ConfigurationError(
                f"this {type(self).__name__} already gives rank {self.rank} of {self.world_size} its share; either "
                "make it without rank and world_size, or let nothing else share its batches (accelerate: do not "
                "prepare the loader; Lightning: use_distributed_sampler=False)"
            )
        return None

    @property
    @abstractmethod
    def size(self) -> int | None:
        """The number of utterances that positions are drawn from; None where that is not known."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return what decides on an epoch besides its number, as plain numbers and strings."""

    @abstractmethod
    def order(self, epoch: int) -> Iterator[T]:
        """Return everything that an epoch holds, for all ranks."""

    @abstractmethod
    def order_size(self, epoch: int) -> int:
        """Return how much an epoch holds, for all ranks."""


class SequentialSampler(Sampler[int]):
    """Visit every utterance in order.

    Args:
        data_source: the dataset, or anything as long.
        rank: see `Sampler`.
        world_size: see `Sampler`.
    """

    def __init__(self, data_source: Sized, *, rank: Rank = 0, world_size: int = 1) -> None:
        super().__init__(rank=rank, world_size=world_size)
        self._size = len(data_source)

    @property
    def size(self) -> int:
        """The number of utterances that positions are drawn from."""
        return self._size

    def order(self, epoch: int) -> Iterator[int]:  # noqa: ARG002
        """Return the positions in order, whatever the epoch."""
        return iter(range(self._size))

    def order_size(self, epoch: int) -> int:  # noqa: ARG002
        """Return how many positions an epoch holds."""
        return self._size

    def settings(self) -> dict[str, Any]:
        """Return what decides on an epoch."""
        return {"size": self._size}


class RandomSampler(Sampler[int]):
    """Visit utterances in random order, another one every epoch.

    Args:
        data_source: the dataset, or anything as long.
        replacement: draw each one independently, so that some come twice and some not at all.
        num_samples: how many an epoch; by default as many as there are. Without replacement, more than there are
            means another order after the first, and so on.
        seed: from 0 on.
        rank: see `Sampler`.
        world_size: see `Sampler`.

    Raises:
        ConfigurationError: a setting is out of range.
        SamplingError: samples are wanted of an empty dataset.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        *,
        seed: int = 0,
        rank: Rank = 0,
        world_size: int = 1,
    ) -> None:
        super().__init__(rank=rank, world_size=world_size)
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

    def order(self, epoch: int) -> Iterator[int]:
        """Return the positions of an epoch, for all ranks."""
        if self._replacement:
            # 64 random bits: the modulo prefers no position by more than size / 2**64.
            words = random_words(self._count, self._seed, epoch)
            return (int(word) % self._size for word in words)
        return islice(self._orders(epoch), self._count)

    def _orders(self, epoch: int) -> Iterator[int]:
        turn = 0
        while True:
            for block in permutation_parts(self._size, _BLOCK, self._seed, epoch, turn):
                yield from map(int, block)
            turn += 1

    def order_size(self, epoch: int) -> int:  # noqa: ARG002
        """Return how many positions an epoch holds, for all ranks."""
        return self._count

    def settings(self) -> dict[str, Any]:
        """Return what decides on an epoch."""
        settings = {"size": self._size, "replacement": self._replacement, "count": self._count, "seed": self._seed}
        # Of one block, whatever its size, an order is the same.
        return settings | ({"part": _BLOCK} if self._size > _BLOCK and not self._replacement else {})


class BatchSampler(Sampler[list[int]]):
    """Cut what a sampler gives into batches of equal count.

    Rank and number of ranks are those of the sampler.

    Args:
        sampler: of positions; its epoch follows this one's. Anything that can be iterated over again will do.
        batch_size: utterances a batch.
        drop_last: leave out a last batch that is smaller.

    Raises:
        ConfigurationError: the batch size is below 1.
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool = False) -> None:
        if isinstance(sampler, Sampler):
            super().__init__(rank=sampler.rank, world_size=sampler.world_size)
        else:
            super().__init__()
        self._sampler = sampler
        self._batch_size = check_batch_size(batch_size)
        self.drop_last = drop_last

    @property
    def batch_size(self) -> int | None:
        """Utterances a batch; see `Sampler.batch_size`."""
        return super().batch_size or self._batch_size

    @property
    def size(self) -> int | None:
        """The number of utterances that positions are drawn from; None where that is not known."""
        return self._sampler.size if isinstance(self._sampler, Sampler) else None

    def order(self, epoch: int) -> Iterator[list[int]]:
        """Return the batches of an epoch. Of more than one rank, this rank's: each cuts its own positions."""
        return self.rest(epoch, ())

    def order_size(self, epoch: int) -> int:
        """Return how many batches `order` gives."""
        return self.count_rest(epoch, ())

    def rest(self, epoch: int, done: Progress) -> Iterator[list[int]]:
        """Return this rank's batches that are left of an epoch after steps that were made in it."""
        if isinstance(self._sampler, Sampler):
            return self._cut(self._sampler.rest(epoch, self._in_positions(done)), epoch)
        return self._cut(islice(iter(self._sampler), steps_made(done) * self._batch_size, None), epoch)

    def _in_positions(self, done: Progress) -> Progress:
        return tuple((world_size, steps * self._batch_size) for world_size, steps in done)

    def _cut(self, positions: Iterator[int], epoch: int) -> Iterator[list[int]]:
        while batch := BatchPositions(islice(positions, self._batch_size), epoch):
            if len(batch) == self._batch_size or not self.drop_last:
                yield batch

    def count_rest(self, epoch: int, done: Progress) -> int:
        """Return how many batches are left of an epoch for this rank after steps that were made in it."""
        if isinstance(self._sampler, Sampler):
            return self._batches(self._sampler.count_rest(epoch, self._in_positions(done)))
        return max(0, self._batches(self._length()) - steps_made(done))

    def _batches(self, count: int) -> int:
        return count // self._batch_size if self.drop_last else -(-count // self._batch_size)

    def _length(self) -> int:
        if not isinstance(self._sampler, Sized):
            raise TypeError("the sampler under this batch sampler has no length")
        return len(self._sampler)

    def settings(self) -> dict[str, Any]:
        """Return what decides on an epoch."""
        inner = self._sampler.fingerprint if isinstance(self._sampler, Sampler) else type(self._sampler).__name__
        return {"sampler": inner, "batch_size": self._batch_size, "drop_last": self.drop_last}


def steps_made(done: Progress) -> int:
    """Return how many elements of the common list of an epoch have been used."""
    return sum(world_size * steps for world_size, steps in done)


def check_batch_size(batch_size: int) -> int:
    """Return a batch size that can be used.

    Raises:
        ConfigurationError: it is below 1.
    """
    value = operator.index(batch_size)
    if value < 1:
        raise ConfigurationError(f"batch_size: expected a number from 1 on, found {value}")
    return value
