"""Samplers with a weight per utterance, and of a subset."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.loader.randomness import check_seed, digest, permutation, random_words
from tts_prep.loader.samplers.base import Sampler
from tts_prep.loader.samplers.ranks import Rank


class WeightedRandomSampler(Sampler[int]):
    """Draw positions with probabilities proportional to weights.

    Args:
        weights: [n] non-negative numbers, one per position; they need not sum to 1.
        num_samples: positions per epoch.
        replacement: False draws no position twice: each draw is proportional to the weights of the remaining positions
            (Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006).
        seed: a non-negative integer.
        rank: see `Sampler`.
        world_size: see `Sampler`.

    Raises:
        ConfigurationError: a weight is negative or not a number, or a setting is out of range.
        SamplingError: no weight is above 0; or, without replacement, fewer weights than `num_samples` are.
    """

    def __init__(
        self,
        weights: npt.ArrayLike,
        num_samples: int,
        replacement: bool = True,
        *,
        seed: int = 0,
        rank: Rank = 0,
        world_size: int = 1,
    ) -> None:
        super().__init__(rank=rank, world_size=world_size)
        self._weights = np.asarray(weights, np.float64)
        self._count = operator.index(num_samples)
        self._replacement = replacement
        self._seed = check_seed(seed)
        if self._weights.ndim != 1:
            raise ConfigurationError(f"weights: expected [n], found the shape {list(self._weights.shape)}")
        bad = ~((self._weights >= 0) & np.isfinite(self._weights))
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            raise ConfigurationError(
                f"weights: expected non-negative numbers, found {self._weights[i]} at position {i}"
            )
        if self._count < 0:
            raise ConfigurationError(f"num_samples: expected an integer >= 0, found {num_samples}")
        positive = int(np.count_nonzero(self._weights))
        if self._count and not positive:
            raise SamplingError("weights: expected at least one above 0, found none")
        if not replacement and self._count > positive:
            raise SamplingError(
                f"cannot draw {self._count:,} different positions: only {positive:,} have a weight above 0"
            )

    @property
    def size(self) -> int:
        """The number of utterances that positions index into."""
        return len(self._weights)

    def order(self, epoch: int) -> Iterator[int]:
        """Iterate over the positions of an epoch, for all ranks."""
        return map(int, self._drawn(epoch))

    @cached_property
    def _scaled(self) -> npt.NDArray[np.float64]:
        """The weights by a power of two, which rounds nothing, so that neither their sum nor a quotient overflows."""
        exponent = int(np.frexp(self._weights.max(initial=0.0))[1])
        return np.ldexp(self._weights, -exponent)

    def _drawn(self, epoch: int) -> Array:
        if self._replacement:
            uniform = (random_words(self._count, self._seed, epoch) >> np.uint64(11)) / 2**53
            bounds = np.cumsum(self._scaled)
            # A position of weight 0 has an empty interval; rounding must not draw one beyond the last interval.
            last = int(np.flatnonzero(self._weights)[-1]) if self._count else 0
            drawn: Array = np.minimum(np.searchsorted(bounds, uniform * bounds[-1], side="right"), last)
            return drawn
        uniform = ((random_words(self.size, self._seed, epoch) >> np.uint64(11)) + 0.5) / 2**53
        with np.errstate(divide="ignore", over="ignore"):
            keys = np.log(uniform) / self._scaled
            # Where even the quotient overflows, of weights 10^300 below the largest, its logarithm does not.
            logarithms = np.log(-np.log(uniform)) - np.log(self._weights)
        first: Array = np.lexsort((logarithms, -keys))[: self._count]
        return first

    def _order_size(self, epoch: int) -> int:  # noqa: ARG002
        """Return the number of positions of an epoch, for all ranks."""
        return self._count

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        return {
            "weights": digest(self._weights),
            "count": self._count,
            "replacement": self._replacement,
            "seed": self._seed,
        }


class SubsetRandomSampler(Sampler[int]):
    """Visit a subset of positions, each once per epoch, in random order.

    Args:
        indices: [n] the positions.
        seed: a non-negative integer.
        rank: see `Sampler`.
        world_size: see `Sampler`.

    Raises:
        ConfigurationError: `indices` are not non-negative integers, or the seed is negative.
    """

    def __init__(self, indices: npt.ArrayLike, *, seed: int = 0, rank: Rank = 0, world_size: int = 1) -> None:
        super().__init__(rank=rank, world_size=world_size)
        self._indices = np.asarray(indices) if np.size(indices) else np.empty(0, np.int64)
        self._seed = check_seed(seed)
        if self._indices.ndim != 1 or self._indices.dtype.kind not in "iu" or (self._indices < 0).any():
            raise ConfigurationError("indices: expected non-negative integers, [n]")

    @property
    def size(self) -> int | None:
        """None: the size of the dataset is unknown."""
        return None

    def order(self, epoch: int) -> Iterator[int]:
        """Iterate over the positions of an epoch, for all ranks."""
        return map(int, self._indices[permutation(len(self._indices), self._seed, epoch)])

    def _order_size(self, epoch: int) -> int:  # noqa: ARG002
        """Return the number of positions of an epoch, for all ranks."""
        return len(self._indices)

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        return {"indices": digest(self._indices), "seed": self._seed}
