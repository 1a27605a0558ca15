"""Parakeet's sampler of positions by similar length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader.randomness import check_seed, digest, permutation
from tts_prep.loader.samplers.base import Sampler, check_batch_size
from tts_prep.loader.samplers.ranks import Rank

_BATCHES = 0
_GROUPS = 1
_BATCHES_A_GROUP = 32


class PartiallyRandomizedSimilarTimeLengthSampler(Sampler[int]):
    """Visit utterances of similar length one after another, for a `BatchSampler` of the same batch size.

    Utterances are sorted by length, shuffled within groups of several batches, and then the batches are put into
    random order; a last, smaller batch stays last. `LengthBucketBatchSampler` gives less padding.

    With several ranks, neighbouring utterances go to different ranks, so that each rank's batches are of similar length
    too. The units of the random order are then ``world_size`` batches, so a state cannot be loaded with another world
    size.

    Args:
        lengths: [n] the length of each utterance.
        batch_size: utterances per batch.
        batch_group_size: the number of neighbouring utterances that are shuffled among each other, a multiple of the
            batch size; defaults to 32 batches.
        permutate: put the batches into random order; False keeps the shortest first.
        seed: a non-negative integer.
        rank: see `Sampler`.
        world_size: see `Sampler`.

    Raises:
        ConfigurationError: a setting is out of range, or the lengths are not a vector of numbers.
    """

    def __init__(
        self,
        lengths: npt.ArrayLike,
        batch_size: int = 4,
        batch_group_size: int | None = None,
        permutate: bool = True,
        *,
        seed: int = 0,
        rank: Rank = 0,
        world_size: int = 1,
    ) -> None:
        super().__init__(rank=rank, world_size=world_size)
        self._lengths = np.asarray(lengths)
        self._batch_size = check_batch_size(batch_size)
        self._group_size = _BATCHES_A_GROUP * batch_size if batch_group_size is None else batch_group_size
        self._permutate = permutate
        self._seed = check_seed(seed)
        if self._lengths.ndim != 1 or (self._lengths.size and self._lengths.dtype.kind not in "iuf"):
            raise ConfigurationError(f"lengths: expected numbers [n], found {self._lengths.dtype}")
        if self._group_size < 1 or self._group_size % self._batch_size:
            raise ConfigurationError(
                f"batch_group_size: expected a multiple of the batch size {batch_size}, found {batch_group_size}"
            )

    @property
    def size(self) -> int:
        """The number of utterances that positions index into."""
        return len(self._lengths)

    def order(self, epoch: int) -> Iterator[int]:
        """Iterate over the positions of an epoch, for all ranks."""
        order = np.argsort(self._lengths, kind="stable")
        group_size = self._group_size * self._n_ranks
        for number, start in enumerate(range(0, len(order), group_size)):
            group = order[start : start + group_size]
            order[start : start + group_size] = group[permutation(len(group), self._seed, epoch, _GROUPS + number)]
        together = self._batch_size * self._n_ranks
        full = len(order) - len(order) % together
        if self._permutate:
            batches = order[:full].reshape(-1, together)
            order[:full] = batches[permutation(len(batches), self._seed, epoch, _BATCHES)].ravel()
        return map(int, order)

    def _order_size(self, epoch: int) -> int:  # noqa: ARG002
        """Return the number of positions of an epoch, for all ranks."""
        return len(self._lengths)

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        return {
            "lengths": digest(self._lengths),
            "batch_size": self._batch_size,
            "group_size": self._group_size,
            "permutate": self._permutate,
            "seed": self._seed,
            **({"world_size": self._n_ranks} if self._n_ranks > 1 else {}),
        }


PartialyRandomizedSimilarTimeLengthSampler = PartiallyRandomizedSimilarTimeLengthSampler
"""The spelling of Parakeet's first versions."""
