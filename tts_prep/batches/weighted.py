"""Samplers with a weight per utterance, of a subset, and of a common order."""

import math
import operator
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader.randomness import check_seed, digest, permutation, random_words
from tts_prep.loader.samplers.base import PositionSampler
from tts_prep.loader.samplers.ranks import Rank


class WeightedRandomSampler(PositionSampler):
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
        self._size = len(self._weights)
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

    def order(self, epoch: int) -> Iterator[int]:
        """Iterate over the positions of an epoch, for all ranks."""
        return map(int, self._drawn(epoch))

    @cached_property
    def _scaled(self) -> npt.NDArray[np.float64]:
        """The weights by a power of two, which rounds nothing, so that neither their sum nor a quotient overflows."""
        exponent = int(np.frexp(self._weights.max(initial=0.0))[1])
        return np.ldexp(self._weights, -exponent)

    def _drawn(self, epoch: int) -> npt.NDArray[Any]:
        if self._replacement:
            uniform = (random_words(self._count, self._seed, epoch) >> np.uint64(11)) / 2**53
            bounds = np.cumsum(self._scaled)
            # A position of weight 0 has an empty interval; rounding must not draw one beyond the last interval.
            last = int(np.flatnonzero(self._weights)[-1]) if self._count else 0
            drawn: npt.NDArray[Any] = np.minimum(np.searchsorted(bounds, uniform * bounds[-1], side="right"), last)
            return drawn
        uniform = ((random_words(self._size, self._seed, epoch) >> np.uint64(11)) + 0.5) / 2**53
        with np.errstate(divide="ignore", over="ignore"):
            keys = np.log(uniform) / self._scaled
            # Where even the quotient overflows, of weights 10^300 below the largest, its logarithm does not.
            logarithms = np.log(-np.log(uniform)) - np.log(self._weights)
        first: npt.NDArray[Any] = np.lexsort((logarithms, -keys))[: self._count]
        return first

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        return {
            "weights": digest(self._weights),
            "count": self._count,
            "replacement": self._replacement,
            "seed": self._seed,
        }


class SubsetRandomSampler(PositionSampler):
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
        self._count = len(self._indices)

    def order(self, epoch: int) -> Iterator[int]:
        """Iterate over the positions of an epoch, for all ranks."""
        return map(int, self._indices[permutation(len(self._indices), self._seed, epoch)])

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        return {"indices": digest(self._indices), "seed": self._seed}


_ORDER, _FIRST_PASS = range(2)
_MAX_GROUPS = 1 << 20
"""The memory of a sampler grows with the largest number of a group."""


class MixingSampler(PositionSampler):
    """Visit groups of utterances in given proportions.

    A group is a corpus of a `ChainDataset`, or a speaker. An epoch has each group's share of utterances, rounded, in
    random order. Within a group, every utterance is visited once before any is visited again, across epochs: if an
    epoch visits 30 of a group of 100, every utterance has been visited after four epochs.

    As the ``sampler`` of `LengthBucketBatchSampler` it mixes within batches of similar length.

    Example:
        >>> from tts_prep.loader import ChainDataset, MixingSampler, UtteranceDataset, groups_of
        >>> datasets = [UtteranceDataset("store"), UtteranceDataset("other")]
        >>> chain = ChainDataset(*datasets)
        >>> sampler = MixingSampler(groups_of(datasets), weights=[0.5, 0.5], num_samples=10)
        >>> sum(position < len(datasets[0]) for position in sampler)
        5
        >>> speakers = MixingSampler(chain.speaker.codes, temperature=3)

    Args:
        groups: [n] non-negative integers, the group of each utterance; see `groups_of` for datasets.
        weights: [n_groups] non-negative numbers, which need not sum to 1; defaults to the sizes of the groups.
        temperature: shares are proportional to weight ** (1 / temperature); above 1 they become more even.
        num_samples: utterances per epoch; defaults to the number of all utterances.
        seed: a non-negative integer.
        rank: see `Sampler`.
        world_size: see `Sampler`.

    Raises:
        ConfigurationError: a setting is out of range, or the number of weights is not that of the groups.
        SamplingError: there are no utterances, or a group with a weight above 0 has none.
    """

    def __init__(
        self,
        groups: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        temperature: float = 1.0,
        num_samples: int | None = None,
        *,
        seed: int = 0,
        rank: Rank = 0,
        world_size: int = 1,
    ) -> None:
        super().__init__(rank=rank, world_size=world_size)
        self._groups = np.asarray(groups)
        if self._groups.ndim != 1 or self._groups.dtype.kind not in "iu" or not len(self._groups):
            raise SamplingError("groups: expected the group of each utterance, integers [n]; is the dataset empty?")
        if int(self._groups.min()) < 0:
            raise ConfigurationError(f"groups: expected non-negative integers, found {int(self._groups.min())}")
        if int(self._groups.max()) >= _MAX_GROUPS:
            raise ConfigurationError(
                f"groups: expected numbers below {_MAX_GROUPS:,}, found {int(self._groups.max())}; number the groups "
                "from 0: np.unique(groups, return_inverse=True)[1]"
            )
        if not temperature > 0:
            raise ConfigurationError(f"temperature: expected a number above 0, found {temperature}")
        self._size = len(self._groups)
        self._count = self._size if num_samples is None else operator.index(num_samples)
        if self._count < 0:
            raise ConfigurationError(f"num_samples: expected an integer >= 0, found {num_samples}")
        self._seed = check_seed(seed)
        sizes = np.bincount(self._groups)
        self._shares = _shares(sizes, weights, temperature)
        order = np.argsort(self._groups, kind="stable")
        self._members = np.split(order, np.cumsum(sizes)[:-1])

    def order(self, epoch: int) -> Iterator[int]:
        """Iterate over the positions of an epoch, for all ranks."""
        visits = []
        for group, members in enumerate(self._members):
            first, last = self._visited(group, epoch), self._visited(group, epoch + 1)
            visits.append(self._visits(members, group, first, last))
        drawn = np.concatenate(visits)
        return map(int, drawn[permutation(len(drawn), self._seed, epoch, _ORDER)])

    def _visited(self, group: int, epoch: int) -> int:
        """Return the number of visits to a group before an epoch."""
        return math.floor(float(self._shares[group]) * epoch * self._count + 0.5)

    def _visits(self, members: npt.NDArray[Any], group: int, first: int, last: int) -> npt.NDArray[Any]:
        """Return visits `first` to `last` of the endless sequence of random permutations of the members."""
        if last == first:
            return members[:0]
        passes = range(first // len(members), -(-last // len(members)))
        orders = [members[permutation(len(members), self._seed, turn, _FIRST_PASS + group)] for turn in passes]
        start = first - passes[0] * len(members)
        visits: npt.NDArray[Any] = np.concatenate(orders)[start : start + last - first]
        return visits

    def _order_size(self, epoch: int) -> int:
        """Return the number of positions of an epoch, for all ranks; epochs differ by at most one per group."""
        n = len(self._members)
        return sum(self._visited(group, epoch + 1) - self._visited(group, epoch) for group in range(n))

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        return {
            "groups": digest(self._groups),
            "shares": self._shares.tolist(),
            "count": self._count,
            "seed": self._seed,
        }


def groups_of(datasets: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return for each example of a `ChainDataset` of these datasets the index of its dataset, [n]."""
    return np.repeat(np.arange(len(datasets)), [len(dataset) for dataset in datasets])


def _shares(sizes: npt.NDArray[Any], weights: npt.ArrayLike | None, temperature: float) -> npt.NDArray[np.float64]:
    given = np.asarray(sizes if weights is None else weights, np.float64)
    if given.shape != sizes.shape:
        raise ConfigurationError(f"weights: expected one for each of {len(sizes)} groups, found {list(given.shape)}")
    if not (np.isfinite(given).all() and (given >= 0).all() and given.any()):
        raise ConfigurationError(
            f"weights: expected non-negative numbers, at least one above 0, found {given.tolist()}"
        )
    for group in np.flatnonzero((given > 0) & (sizes == 0)).tolist():
        raise SamplingError(f"group {group} has the weight {given[group]} but no utterances")
    # Relative to the largest, so that no power overflows.
    tempered = (given / given.max()) ** (1 / temperature) * (given > 0)
    shares: npt.NDArray[np.float64] = tempered / tempered.sum()
    return shares


class DistributedSampler(PositionSampler):
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
        self._size = self._count = operator.index(dataset_size)
        self._shuffle = shuffle
        self._seed = check_seed(seed)
        if self._size < 1:
            raise SamplingError("there are no positions to share among ranks; is the dataset empty?")

    def order(self, epoch: int) -> Iterator[int]:
        """Iterate over the positions of an epoch, for all ranks."""
        return map(int, permutation(self._size, self._seed, epoch) if self._shuffle else np.arange(self._size))

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        return {"size": self._size, "shuffle": self._shuffle, "seed": self._seed}
