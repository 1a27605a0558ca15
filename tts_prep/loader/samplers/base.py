"""The base class of all samplers, and what they share: epochs, ranks, resuming."""

from __future__ import annotations

import operator
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, cycle, islice
from typing import Any, Generic, TypeAlias, TypeVar, get_args, get_origin
from weakref import WeakSet

import numpy as np

from tts_prep.errors import ConfigurationError, ExactlyOnceWarning, SamplingError
from tts_prep.format.files.checksums import json_sha256
from tts_prep.loader.samplers.ranks import Rank, is_sharded, process_group, resolve_rank

T = TypeVar("T")
SamplerT = TypeVar("SamplerT")
LookAhead: TypeAlias = "Callable[[Iterable[Any], Sequence[Any]], Iterable[Any]]"
EpochProgress: TypeAlias = "tuple[tuple[int, int], ...]"
"""The steps made in an epoch: pairs (world size, number of steps), in order."""


class Sampler(ABC, Generic[T]):
    """Base class: an iterable of the positions of an epoch, or of batches of positions.

    Each iteration is one epoch. The first iteration is epoch 0, the next epoch 1, and so on, unless `set_epoch` sets
    another. The content of an epoch is a pure function of the sampler's settings and the epoch number.

    An epoch is one list, `order`, the same on every rank. Each rank gets every ``world_size``-th element of it. All
    ranks get the same number of elements, so the state of a run is its number of steps, and a run can resume with
    another number of ranks. The batch samplers make some batches smaller for that, and every utterance comes once.
    Batches of one cannot be smaller, and samplers of positions have no batches: if their number is not divisible by
    ``world_size``, the list is repeated from its beginning, with an `ExactlyOnceWarning`.

    Args:
        rank: the rank of this process, 0 to world_size - 1. ``"auto"`` takes rank and world size from
            ``torch.distributed``, or 0 and 1 if no process group is initialized. ``"all"`` gives the elements of all
            ranks in turn, to a framework that distributes them, such as accelerate with torch's DataLoader.
        world_size: the number of ranks. With ``"all"``, 1 stands for the number of ``torch.distributed``.

    Raises:
        ConfigurationError: the rank is out of range.
    """

    def __init__(self, *, rank: Rank = 0, world_size: int = 1) -> None:
        self.rank, self.world_size, self._n_ranks = resolve_rank(rank, world_size)
        self._warned = False
        self._epoch = 0
        self._begun = False
        self._done: EpochProgress = ()
        self._given = 0
        self._turn = 0
        self._inner: Sampler[Any] | None = None
        self._outer: WeakSet[Sampler[Any]] = WeakSet()
        # Yields the elements of an epoch, and does something for later ones meanwhile.
        self._look_ahead: LookAhead | None = None

    def _draw_from(self, inner: Sampler[Any]) -> None:
        """Draw positions from another sampler: its `set_epoch` sets the epoch of this one too."""
        self._inner = inner
        inner._outer.add(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_outer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _outer=WeakSet())
        if self._inner is not None:
            self._draw_from(self._inner)

    def __repr__(self) -> str:
        of = "" if self.size is None else f" of {self.size:,} utterances"
        rank = f", rank {self.rank} of {self.world_size}" if self.world_size > 1 else ""
        return f"<{type(self).__name__}{of}: epoch {self._epoch}{rank}>"

    @property
    def epoch(self) -> int:
        """The epoch of the last iteration that yielded an element, or the one set by `set_epoch` since."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration, also of the samplers that draw from this one.

        Setting the epoch that `load_state_dict` has just loaded keeps the loaded position within it.
        """
        if operator.index(epoch) < 0:
            raise ConfigurationError(f"epoch: expected an integer >= 0, found {epoch}")
        if self._begun or self._epoch != epoch:
            self._begin(operator.index(epoch), ())
        # Training loops keep the sampler that they pass to a loader, and call its `set_epoch`.
        for sampler in self._outer:
            sampler.set_epoch(epoch)

    def _begin(self, epoch: int, done: EpochProgress) -> None:
        self._epoch = epoch
        self._done = done
        self._begun = False
        self._given = 0
        self._turn += 1

    def __iter__(self) -> Iterator[T]:
        self._check_distributed()
        return self._iterate()

    def _iterate(self, look_ahead: LookAhead | None = None) -> Iterator[T]:
        # A generator, so that an epoch begins with its first element: torch's DataLoader with workers makes two
        # iterators per epoch and uses one of them.
        if self._begun:
            self._begin(self._epoch + 1, ())
        self._begun = True
        self._turn += 1
        turn = self._turn
        elements: Iterable[T] = self._rest(self._epoch, self._done)
        if look_ahead := look_ahead or self._look_ahead:
            epochs = self._epoch, self._epoch + 1
            elements = look_ahead(elements, [window for epoch in epochs for window in self._windows_of(epoch)])
        for element in elements:
            # If two iterators exist, the state follows the newer one.
            if turn == self._turn:
                self._given += 1
            yield element

    def state_dict(self, steps: int | None = None) -> dict[str, Any]:
        """Return the position in the epoch, as plain numbers and strings.

        Args:
            steps: the number of elements used since the epoch began, or since a state was loaded in it. Defaults to
                the number yielded, which is too large if the consumer prefetches, as torch's DataLoader with workers
                does. `tts_prep.loader.DataLoader.state_dict` passes the right number.
        """
        count = self._given if steps is None else operator.index(steps)
        if count and self._ends_after(count):
            return {"sampler": type(self).__name__, "settings": self.fingerprint, "epoch": self._epoch + 1, "done": []}
        count, rest = divmod(count, self._per_step)
        if rest:
            raise ConfigurationError(
                f"state_dict: {rest} of the {self._per_step} elements of a step are used; save the state when all "
                "ranks have made the same number of steps"
            )
        done = [list(steps_of_ranks) for steps_of_ranks in self._done]
        if count and done and done[-1][0] == self._n_ranks:
            done[-1][1] += count
        elif count:
            done.append([self._n_ranks, count])
        return {"sampler": type(self).__name__, "settings": self.fingerprint, "epoch": self._epoch, "done": done}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a state. The number of ranks may differ from that of the saved run.

        Raises:
            ConfigurationError: the state is malformed, or belongs to a sampler with other settings or another dataset.
        """
        try:
            name, settings, epoch = str(state["sampler"]), str(state["settings"]), operator.index(state["epoch"])
            done = tuple((operator.index(world), operator.index(steps)) for world, steps in state["done"])
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(
                f"load_state_dict: expected the result of state_dict(), found {error!r}"
            ) from error
        if name != type(self).__name__:
            raise ConfigurationError(f"load_state_dict: the state is of a {name}, this is a {type(self).__name__}")
        if settings != self.fingerprint:
            raise ConfigurationError(
                f"load_state_dict: the state is of a {name} with other settings or another dataset; "
                "create the sampler with the settings of the saved run"
            )
        if epoch < 0 or any(world < 1 or steps < 0 for world, steps in done):
            raise ConfigurationError(f"load_state_dict: epoch {epoch} and steps {list(done)} are impossible")
        self._begin(epoch, done)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all settings that determine an epoch. Rank and world size are not included."""
        return json_sha256({"sampler": type(self).__name__, **_plain(self.settings())})

    def draw(self, epoch: int) -> Iterator[T]:
        """Iterate over this rank's elements of an epoch, without changing the current epoch."""
        return self._rest(epoch, ())

    def _rest(self, epoch: int, done: EpochProgress) -> Iterator[T]:
        """Iterate over this rank's remaining elements of an epoch after the steps in `done`."""
        start = steps_made(done)
        left = islice(self.order(epoch), start, None)
        if self.world_size == 1:
            return left
        count = max(0, self._order_size(epoch) - start)
        if not count:
            # Not an empty slice of what is repeated below: to find its start, Python would look for an element forever.
            return iter(())
        missing = -count % self.world_size
        if missing:
            self._warn(
                f"elements repeated in an epoch: {missing:,} of {count:,}, because {self.world_size} ranks do not "
                "divide them; BatchSampler and LengthBucketBatchSampler divide utterances without repeating any"
            )
        count += missing
        again = chain.from_iterable(self.order(epoch) for _ in cycle([None]))
        return islice(chain(left, again), self.rank, count, self.world_size)

    def count(self, epoch: int) -> int:
        """Return the number of elements of an epoch for this rank."""
        return self._count_rest(epoch, ())

    def _count_rest(self, epoch: int, done: EpochProgress) -> int:
        """Return the number of this rank's remaining elements of an epoch after the steps in `done`."""
        return -(-max(0, self._order_size(epoch) - steps_made(done)) // self.world_size)

    def __len__(self) -> int:
        """Return the number of elements of the current epoch for this rank, including those already yielded."""
        return self._per_step * sum(steps for _, steps in self._done) + self.remaining

    @property
    def remaining(self) -> int:
        """The number of elements that follow the loaded state in the current epoch; all of them if none was loaded."""
        return self._count_rest(self._epoch, self._done)

    def _ends_after(self, steps: int) -> bool:
        """Return whether the current epoch ends within this number of further steps."""
        return steps >= self.remaining

    def _after(self, steps: int) -> Iterator[T]:
        """Iterate over the elements of the current epoch that follow a number of further steps."""
        return islice(self._rest(self._epoch, self._done), steps, None)

    @property
    def _per_step(self) -> int:
        """The number of elements that this object gives per step of all ranks."""
        return self._n_ranks // self.world_size

    @property
    def _sharded(self) -> bool:
        """Whether every rank gets its own share of an epoch."""
        return is_sharded(self)

    def _check_distributed(self) -> None:
        """Warn if a process group is running, and nothing says that the elements are distributed."""
        group = process_group()
        if group is None or group[1] == 1 or self._n_ranks > 1 or self._sharded:
            return
        ranks, count = group[1], self.count(self._epoch)
        text = f"torch.distributed runs {ranks} ranks, and each gets all {count:,} elements of an epoch; "
        if missing := -count % ranks:
            text += f"a framework that distributes them, such as accelerate, repeats at least {missing} of them; "
        self._warn(text + "pass rank='all' if a framework distributes them, or rank='auto' if none does")

    def _warn(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(f"{type(self).__name__}: {text}", ExactlyOnceWarning, stacklevel=4)

    def _windows_of(self, epoch: int) -> Sequence[Any]:
        """Return one position in each shard of each window of an epoch; nothing if it has no windows of shards."""
        return self._inner._windows_of(epoch) if self._inner else ()

    @property
    def sampler(self) -> Sampler[T]:
        """The sampler itself: Lightning calls ``batch_sampler.sampler.set_epoch``."""
        return self

    @property
    def batch_size(self) -> int | None:
        """The number of utterances per batch if it is constant, else None.

        accelerate and Lightning read it when they shard a batch sampler.

        Raises:
            ConfigurationError: the sampler is sharded already; sharding it again would lose batches.
        """
        if self.world_size > 1:
            raise ConfigurationError(
                f"this {type(self).__name__} is already sharded: rank {self.rank} of {self.world_size}; either create "
                "it with rank='all', or do not let the framework shard it again (accelerate: do not prepare the "
                "loader; Lightning: use_distributed_sampler=False)"
            )
        return None

    @property
    @abstractmethod
    def size(self) -> int | None:
        """The number of utterances that positions index into; None if unknown."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch, as plain numbers and strings."""

    @abstractmethod
    def order(self, epoch: int) -> Iterator[T]:
        """Iterate over the elements of an epoch, for all ranks."""

    @abstractmethod
    def _order_size(self, epoch: int) -> int:
        """Return the number of elements of an epoch, for all ranks."""


class PositionSampler(Sampler[int]):
    """Base class of samplers of positions of `_size` utterances, -1 if that is unknown; an epoch has `_count`."""

    _size, _count = -1, 0

    @property
    def size(self) -> int | None:
        """The number of utterances that positions index into; None if unknown."""
        return self._size if self._size >= 0 else None

    def _order_size(self, epoch: int) -> int:  # noqa: ARG002
        return self._count


def gives_batches(sampler: object) -> bool | None:
    """Return whether the elements of a sampler are batches, and not positions; None if that is unknown.

    Known are samplers of tts-prep and of torch, by their classes, and sequences, by their first element.
    """
    if isinstance(sampler, Sampler):
        declared = [base for kind in type(sampler).__mro__ for base in getattr(kind, "__orig_bases__", ())]
        elements = [get_args(base) for base in declared if get_origin(base) is Sampler]
        known = [of[0] for of in elements if not isinstance(of[0], TypeVar)]
        return known[0] is not int if known else None
    if isinstance(sampler, list | tuple | range | np.ndarray):
        return not isinstance(sampler[0], int | np.integer) if len(sampler) else None
    torch: Any = getattr(getattr(sys.modules.get("torch"), "utils", None), "data", None)
    if torch is None:
        return None
    if isinstance(sampler, torch.BatchSampler):
        return True
    positions = (torch.SequentialSampler, torch.RandomSampler, torch.SubsetRandomSampler, torch.WeightedRandomSampler)
    return False if isinstance(sampler, positions) else None


def _plain(value: Any) -> Any:
    """Return settings with Python's numbers instead of numpy's, such as a limit computed from lengths."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def steps_made(done: EpochProgress) -> int:
    """Return the number of elements of an epoch used by all ranks together."""
    return sum(world_size * steps for world_size, steps in done)


def looking_ahead(sampler: SamplerT, look_ahead: LookAhead) -> SamplerT:
    """Have a batch sampler do something for its next batches, and return it.

    Raises:
        ConfigurationError: it is another package's, or gives positions.
    """
    if not isinstance(sampler, Sampler) or gives_batches(sampler) is False:
        raise ConfigurationError(
            f"ahead: expected a batch sampler of tts_prep.loader, found a {type(sampler).__name__}"
        )
    sampler._look_ahead = look_ahead
    return sampler


def iterate_epoch(sampler: Iterable[T], look_ahead: LookAhead | None = None) -> Iterator[T]:
    """Iterate over a sampler, which can be another package's or a list, without a check of how ranks share it.

    Args:
        look_ahead: yields the elements, and does something for later ones meanwhile.

    Raises:
        SamplingError: the sampler is an exhausted iterator, such as a generator in its second epoch.
    """
    if isinstance(sampler, Sampler):
        return sampler._iterate(look_ahead)
    if look_ahead is not None:
        return iter(look_ahead(iterate_epoch(sampler), ()))
    if not isinstance(sampler, Iterator):
        return iter(sampler)
    first = list(islice(sampler, 1))
    if not first:
        raise SamplingError(
            f"the sampler, a {type(sampler).__name__}, is exhausted: an iterator lasts for one epoch; pass a list, or "
            "an object whose __iter__ returns a new iterator"
        )
    return chain(first, sampler)


def check_batch_size(batch_size: int) -> int:
    """Return a batch size as an int.

    Raises:
        ConfigurationError: it is below 1.
    """
    value = operator.index(batch_size)
    if value < 1:
        raise ConfigurationError(f"batch_size: expected an integer >= 1, found {value}")
    return value
