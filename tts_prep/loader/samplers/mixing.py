"""One epoch out of several corpora, or of speakers who have more to say than others, in given proportions."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.format.datasets import Array
from tts_prep.loader.randomness import check_seed, digest, permutation
from tts_prep.loader.samplers.base import Sampler
from tts_prep.loader.samplers.ranks import Rank

_ORDER, _FIRST_PASS = range(2)


class MixingSampler(Sampler[int]):
    """Visit groups of utterances in proportions, each group through all of its utterances before one comes again.

    A group is a corpus of a `ChainDataset`, or a speaker. How many utterances of each group an epoch has is its
    share, rounded; they come in random order. Each epoch continues where the one before it stopped: of a group of 100
    of which an epoch visits 30, every utterance has come after four epochs.

    ``MixingSampler(groups_of([a, b]), weights=[0.7, 0.3])`` over ``ChainDataset(a, b)``;
    ``MixingSampler(dataset.speaker.codes, temperature=3)``. As `LengthBucketBatchSampler`'s ``sampler`` it mixes within
    batches of like lengths.

    Args:
        groups: [n] integers from 0 on, the group of each utterance; see `groups_of` for datasets.
        weights: [n_groups] numbers from 0 on, need not sum to 1; None takes the sizes of the groups.
        temperature: shares are in proportion to weight ** (1 / temperature): 1 keeps them, more evens them out.
        num_samples: how many utterances an epoch; by default as many as there are.
        seed: from 0 on.
        rank: see `Sampler`.
        world_size: see `Sampler`.

    Raises:
        ConfigurationError: a setting is out of range, or there are fewer weights than groups.
        SamplingError: there is no utterance, or one with a weight has none.
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
            raise ConfigurationError(f"groups: expected numbers from 0 on, found {int(self._groups.min())}")
        if not temperature > 0:
            raise ConfigurationError(f"temperature: expected a number above 0, found {temperature}")
        self._count = len(self._groups) if num_samples is None else operator.index(num_samples)
        if self._count < 0:
            raise ConfigurationError(f"num_samples: expected a number from 0 on, found {num_samples}")
        self._seed = check_seed(seed)
        sizes = np.bincount(self._groups)
        self._shares = _shares(sizes, weights, temperature)
        order = np.argsort(self._groups, kind="stable")
        self._members = np.split(order, np.cumsum(sizes)[:-1])

    @property
    def size(self) -> int:
        """The number of utterances that positions are drawn from."""
        return len(self._groups)

    def order(self, epoch: int) -> Iterator[int]:
        """Return the positions of an epoch, for all ranks."""
        stretches = []
        for group, members in enumerate(self._members):
            first, last = self._visited(group, epoch), self._visited(group, epoch + 1)
            stretches.append(self._stretch(members, group, first, last))
        drawn = np.concatenate(stretches)
        return map(int, drawn[permutation(len(drawn), self._seed, epoch, _ORDER)])

    def _visited(self, group: int, epoch: int) -> int:
        """Return how many of a group come before an epoch."""
        return math.floor(float(self._shares[group]) * epoch * self._count + 0.5)

    def _stretch(self, members: Array, group: int, first: int, last: int) -> Array:
        """Return what lies from one place to another in one random order of the members after another."""
        if last == first:
            return members[:0]
        passes = range(first // len(members), -(-last // len(members)))
        orders = [members[permutation(len(members), self._seed, turn, _FIRST_PASS + group)] for turn in passes]
        start = first - passes[0] * len(members)
        found: Array = np.concatenate(orders)[start : start + last - first]
        return found

    def order_size(self, epoch: int) -> int:
        """Return how many positions an epoch holds, for all ranks; epochs differ by at most one a group."""
        n = len(self._members)
        return sum(self._visited(group, epoch + 1) - self._visited(group, epoch) for group in range(n))

    def settings(self) -> dict[str, Any]:
        """Return what decides on an epoch."""
        return {
            "groups": digest(self._groups),
            "shares": self._shares.tolist(),
            "count": self._count,
            "seed": self._seed,
        }


def groups_of(datasets: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return [n]: of each example of a `ChainDataset` of these, which of the datasets it is from."""
    return np.repeat(np.arange(len(datasets)), [len(dataset) for dataset in datasets])


def _shares(sizes: Array, weights: npt.ArrayLike | None, temperature: float) -> npt.NDArray[np.float64]:
    given = np.asarray(sizes if weights is None else weights, np.float64)
    if given.shape != sizes.shape:
        raise ConfigurationError(f"weights: expected one for each of {len(sizes)} groups, found {list(given.shape)}")
    if not (np.isfinite(given).all() and (given >= 0).all() and given.any()):
        raise ConfigurationError(f"weights: expected numbers from 0 on, at least one above, found {given.tolist()}")
    for group in np.flatnonzero((given > 0) & (sizes == 0)).tolist():
        raise SamplingError(f"group {group} has the weight {given[group]} and no utterance")
    tempered = np.where(given > 0, given, 1) ** (1 / temperature) * (given > 0)
    shares: npt.NDArray[np.float64] = tempered / tempered.sum()
    return shares
