"""One epoch of positions, shared among ranks, by the names that torch and Parakeet have for it."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from tts_prep.errors import SamplingError
from tts_prep.loader.randomness import check_seed, permutation
from tts_prep.loader.samplers.base import Sampler


class DistributedSampler(Sampler[int]):
    """Give each rank every ``num_trainers``-th position of one order, the same number to every rank.

    Where the ranks do not divide the positions, the order is continued from its beginning.

    Args:
        dataset_size: how many positions there are.
        num_trainers: the number of ranks.
        rank: this one's, from 0 on.
        shuffle: another random order every epoch; False keeps the dataset's.
        seed: from 0 on, the same on every rank.

    Raises:
        ConfigurationError: there is no such rank, or the seed is negative.
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
        """The number of utterances that positions are drawn from."""
        return self._size

    def order(self, epoch: int) -> Iterator[int]:
        """Return the positions of an epoch, for all ranks."""
        return map(int, permutation(self._size, self._seed, epoch) if self._shuffle else np.arange(self._size))

    def order_size(self, epoch: int) -> int:  # noqa: ARG002
        """Return how many positions an epoch holds, for all ranks."""
        return self._size

    def settings(self) -> dict[str, Any]:
        """Return what decides on an epoch."""
        return {"size": self._size, "shuffle": self._shuffle, "seed": self._seed}
