"""Orders of an epoch that use a few shards at a time, for stores behind URLs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader.randomness import digest, permutation

Int64Array = npt.NDArray[np.int64]


class ShardWindows:
    """The utterances of an epoch in windows of whole shards, which are drawn in a new order every epoch.

    With several nodes, each has its own shards in every epoch, and its own windows.

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

    def count(self, nodes: int) -> int:
        """Return the number of windows of each node."""
        if nodes == 1:
            return len(self)
        # Of some shards each: no node has more shards than another but for one.
        return max(1, min(-(-len(self._counts) // (nodes * self._size)), len(self._counts) // nodes))

    def of_node(self, node: int, nodes: int, seed: int, epoch: int, stream: int) -> list[Int64Array]:
        """Return the shards of each window of a node; see `block`."""
        order = permutation(len(self._counts), seed, epoch, stream)
        if nodes == 1:
            return [order[start : start + self._size] for start in range(0, len(order), self._size)]
        owner = np.empty(len(order), np.int64)
        owner[permutation(len(order), seed, 0, stream)] = np.arange(len(order)) % nodes
        return np.array_split(order[owner[order] == node], self.count(nodes))

    def block(
        self, number: int, seed: int, epoch: int, stream: int, order_stream: int, node: int = 0, nodes: int = 1
    ) -> Int64Array:
        """Return the positions of a window in random order.

        Args:
            number: the number of the window.
            seed: a non-negative integer.
            epoch: a non-negative integer.
            stream: the random stream of the order of shards, the same for all windows of an epoch.
            order_stream: the random stream of the order in this window.
            node: whose window it is.
            nodes: the number of nodes.
        """
        chosen = self.of_node(node, nodes, seed, epoch, stream)[number]
        parts = [self._positions[self._ends[shard] - self._counts[shard] : self._ends[shard]] for shard in chosen]
        together = np.concatenate([np.empty(0, np.int64), *parts])
        return together[permutation(len(together), seed, epoch, order_stream)]

    def firsts(self, seed: int, epoch: int, stream: int, node: int | None = 0, nodes: int = 1) -> list[Int64Array]:
        """Return the first position of each shard of each window, of a node or of all of them; see `block`."""
        chosen = range(nodes) if node is None else [node]
        windows = zip(*(self.of_node(one, nodes, seed, epoch, stream) for one in chosen), strict=True)
        return [self._positions[(self._ends - self._counts)[np.concatenate(parts)]] for parts in windows]

    def settings(self) -> Mapping[str, Any]:
        """Return what determines the order, for the fingerprint of a sampler; nothing if one window has all shards."""
        return {"shards": self._digest, "shard_window": self._size} if len(self) > 1 else {}
