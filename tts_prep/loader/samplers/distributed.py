"""Positions of an epoch sharded among ranks, under the names that torch and Parakeet use."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from tts_prep.errors import SamplingError
from tts_prep.loader.randomness import check_seed, permutation
from tts_prep.loader.samplers.base import Sampler


class DistributedSampler(Sampler[int]):
    """Give each rank every ``num_trainers``-th position of a common order, the same number to every rank.

    If the dataset size is not divisible by ``num_trainers``, the order is repeated from its beginning, with an
    `ExactlyOnceWarning`. In a `BatchSampler`, it is not repeated.

    Args:
        dataset_size: the number of positions.
        num_trainers: the number of ranks.
        rank: the rank of this process, 0 to num_trainers - 1.
        shuffle: use a new random order every epoch; False keeps the order of the dataset.
        seed: a non-negative integer, the same on every rank.

    Raises:
        ConfigurationError: the rank is out of range, or the seed is negative.
        SamplingError: the dataset is empty.
    """

    def __init__(self, dataset_size: int, num_trainers: int, rank: int, shuffle: bool = True, *, seed: int = 0) -> None:
        super().__init__(rank=rank, world_size=num_trainers)
        self._size = operator.index(dataset_size)
        self._shuffle = shuffle
        self._seed = check_seed(seed)
        if self._size < 1:
            raise SamplingError("there are no positions to share among ranks; is the dataset empty?")

    @property
    def size(self) -> int:
        """The number of utterances that positions index into."""
        return self._size

    def order(self, epoch: int) -> Iterator[int]:
        """Iterate over the positions of an epoch, for all ranks."""
        return map(int, permutation(self._size, self._seed, epoch) if self._shuffle else np.arange(self._size))

    def _order_size(self, epoch: int) -> int:  # noqa: ARG002
        """Return the number of positions of an epoch, for all ranks."""
        return self._size

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        return {"size": self._size, "shuffle": self._shuffle, "seed": self._seed}
