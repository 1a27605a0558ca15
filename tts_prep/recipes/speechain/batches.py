"""Which examples make a batch, and in which order batches come."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader.batch_info import BatchInfo, BatchItems
from tts_prep.loader.randomness import check_seed, digest, permutation
from tts_prep.loader.samplers.base import Sampler, check_batch_size


class FixedBatches(Sampler[list[int]]):
    """The same batches in every epoch, in another order each time.

    Args:
        batches: lists of positions.
        shuffle: put the batches into another order in each pass over all of them.
        seed: a non-negative integer.
        batches_per_epoch: the number of batches of an epoch, for all ranks. An epoch continues where the one before it
            stopped. None takes all.
        rank: the rank of this process.
        world_size: the number of ranks; if it does not divide the number of batches, the first ones are repeated.

    Raises:
        ConfigurationError: a number is out of range.
    """

    def __init__(
        self,
        batches: Sequence[list[int]],
        shuffle: bool = True,
        seed: int = 0,
        batches_per_epoch: int | None = None,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        super().__init__(rank=rank, world_size=world_size)
        self._batches = batches
        self._shuffle = shuffle
        self._seed = check_seed(seed)
        self._per_epoch = len(batches) if batches_per_epoch is None else check_batch_size(batches_per_epoch)

    @property
    def size(self) -> None:
        """None: a selection may leave positions out."""
        return

    def order(self, epoch: int) -> Iterator[list[int]]:
        """Iterate over the batches of an epoch, for all ranks."""
        n = len(self._batches)
        first = epoch * self._per_epoch
        turns = range(first // n, -(-(first + self._per_epoch) // n))
        orders = [permutation(n, self._seed, turn) if self._shuffle else np.arange(n) for turn in turns]
        start = first - turns[0] * n
        numbers = np.concatenate(orders)[start : start + self._per_epoch]
        info = BatchInfo(epoch)
        return (BatchItems(self._batches[number], info) for number in numbers.tolist())

    def _order_size(self, epoch: int) -> int:  # noqa: ARG002
        """Return the number of batches of an epoch, for all ranks."""
        return self._per_epoch

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        flat = [position for batch in self._batches for position in [*batch, len(self._batches)]]
        return {
            "batches": digest(np.array(flat, np.int64)),
            "shuffle": self._shuffle,
            "seed": self._seed,
            "per_epoch": self._per_epoch,
        }


def select_positions(n: int, mode: str, number: float | int, seed: int) -> npt.NDArray[np.int64]:
    """Return the selected positions, ascending.

    Args:
        n: number of positions.
        mode: ``order`` takes the first ones, ``rev_order`` the last ones, ``random`` random ones, each at most once.
        number: a share from 0 to 1 (rounded down, at least one), or a count as a negative integer.
        seed: for ``random``.

    Raises:
        ConfigurationError: the mode is unknown, or the number out of range.
    """
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ConfigurationError(f"selection_num: expected a share or a negative count, found {number!r}")
    if number < 0 and number == int(number):
        count = -int(number)
    elif 0 < number <= 1:
        count = max(1, int(n * number))
    else:
        raise ConfigurationError(f"selection_num: expected a share from 0 to 1, or a negative integer, found {number}")
    if count > n:
        raise ConfigurationError(f"selection_num: {count:,} are wanted, there are {n:,}")
    if mode == "order":
        return np.arange(count)
    if mode == "rev_order":
        return np.arange(n - count, n)
    if mode == "random":
        return np.sort(permutation(n, check_seed(seed), 0)[:count])
    raise ConfigurationError(f"selection_mode: expected order, rev_order or random, found {mode!r}")


def cut_blocks(positions: Sequence[int], lengths: npt.NDArray[np.int64], max_frames: int) -> list[list[int]]:
    """Cut positions, in their order, into batches of at most `max_frames` padded frames.

    Raises:
        SamplingError: an example alone is larger.
    """
    batches: list[list[int]] = [[]]
    longest = 0
    for position in positions:
        length = int(lengths[position])
        if length > max_frames:
            raise SamplingError(f"example {position} alone has {length:,} frames, more than batch_len = {max_frames:,}")
        if (len(batches[-1]) + 1) * max(longest, length) > max_frames:
            batches.append([])
            longest = 0
        batches[-1].append(position)
        longest = max(longest, length)
    return [batch for batch in batches if batch]
