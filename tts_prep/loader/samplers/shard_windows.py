"""Orders of an epoch that use a few shards at a time, for stores behind URLs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader.randomness import digest, permutation

Int64Array = npt.NDArray[np.int64]


class ShardWindows:
    """The utterances of an epoch in windows of whole shards, which are drawn in a new order every epoch.

    Args:
        shards: [n] integers, the shard of each utterance.
        size: the number of shards of a window.
        n: the expected number of utterances.

    Raises:
        ConfigurationError: the size is below 1.
        SamplingError: `shards` are not n non-negative integers.
    """

    def __init__(self, shards: npt.ArrayLike, size: int, n: int) -> None:
        numbers = np.asarray(shards)
        if numbers.shape != (n,) or (n and numbers.dtype.kind not in "iu"):
            raise SamplingError(
                f"shards: expected {n:,} integers, such as dataset.shard, found {numbers.dtype} of shape "
                f"{list(numbers.shape)}"
            )
        if size < 1:
            raise ConfigurationError(f"shard_window: expected an integer >= 1, found {size}")
        self._size = size
        self._digest = digest(numbers)
        _, of_rows, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        # The positions of each shard, one shard after another.
        self._positions = np.argsort(of_rows, kind="stable")
        self._ends = np.cumsum(counts)
        self._counts = counts

    def __len__(self) -> int:
        return max(1, -(-len(self._counts) // self._size))

    def block(self, number: int, seed: int, epoch: int, stream: int, order_stream: int) -> Int64Array:
        """Return the positions of a window in random order.

        Args:
            number: the number of the window.
            seed: a non-negative integer.
            epoch: a non-negative integer.
            stream: the random stream of the order of shards, the same for all windows of an epoch.
            order_stream: the random stream of the order in this window.
        """
        chosen = permutation(len(self._counts), seed, epoch, stream)[number * self._size : (number + 1) * self._size]
        parts = [self._positions[self._ends[shard] - self._counts[shard] : self._ends[shard]] for shard in chosen]
        together = np.concatenate([np.empty(0, np.int64), *parts])
        return together[permutation(len(together), seed, epoch, order_stream)]

    def firsts(self, seed: int, epoch: int, stream: int) -> list[Int64Array]:
        """Return the first position of each shard of each window; see `block`."""
        firsts = (self._ends - self._counts)[permutation(len(self._counts), seed, epoch, stream)]
        return [self._positions[firsts[start : start + self._size]] for start in range(0, len(firsts), self._size)]

    def settings(self) -> Mapping[str, Any]:
        """Return what determines the order, for the fingerprint of a sampler; nothing if one window has all shards."""
        return {"shards": self._digest, "shard_window": self._size} if len(self) > 1 else {}
