"""The cost of an epoch under batching policies: batches, padding, memory, steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader import BatchPlan, BatchSampler, LengthBucketBatchSampler, RandomSampler, UtteranceDataset
from tts_prep.loader.samplers.base import Sampler
from tts_prep.loader.samplers.batch_plan import joined

_ID_BYTES = 8
"""The size of a phoneme id or length in a batch (int64)."""

_VALUE_BYTES = 4
"""The size of a mel value or sample in a batch (float32)."""


@dataclass(frozen=True)
class Policy:
    """A batching policy: a displayed name, and a function (rank, world_size) → sampler."""

    name: str
    make: Callable[[int, int], Sampler[list[int]]]

    @property
    def sampler(self) -> Sampler[list[int]]:
        """The sampler of a single rank."""
        return self.make(0, 1)


@dataclass(frozen=True)
class PolicyCost:
    """The cost of an epoch.

    Attributes:
        policy: the name of the policy.
        epoch: the number of the epoch.
        world_size: the number of ranks.
        batches: the number of batches of all ranks.
        steps: the number of batches per rank.
        utterances: the number of utterances in the batches.
        left_out: the number of utterances of the dataset that are not in a batch.
        smallest, mean, largest: the number of utterances per batch.
        frame_padding: the share of padding in the mel frames, 0 to 1.
        phoneme_padding: the same for phonemes.
        largest_frames: the maximum number of mel frames of a batch, including padding.
        largest_bytes: the memory of the largest batch: mel, phonemes, lengths and, if the store has them, waveforms.
        shapes: the number of different mel shapes [B, T], for which a compiling framework compiles.
    """

    policy: str
    epoch: int
    world_size: int
    batches: int
    steps: int
    utterances: int
    left_out: int
    smallest: int
    mean: float
    largest: int
    frame_padding: float
    phoneme_padding: float
    largest_frames: int
    largest_bytes: int
    shapes: int


def make_policies(
    dataset: UtteranceDataset, batch_sizes: Sequence[int], budgets: Sequence[int], *, seed: int = 0
) -> list[Policy]:
    """Return policies to compare: random and bucketed batches of each size, and buckets with each budget.

    Args:
        batch_sizes: numbers of utterances per batch.
        budgets: numbers of frames per batch, including padding.

    Raises:
        ConfigurationError: a number is less than 1.
        SamplingError: the dataset is empty, or an utterance exceeds a budget.
    """
    lengths = dataset.n_frames
    policies = []
    for size in batch_sizes:
        policies.append(Policy(f"random, {size:,} per batch", partial(_random, dataset, size, seed)))
        policies.append(Policy(f"buckets, {size:,} per batch", partial(_buckets, lengths, size, None, seed)))
    for budget in budgets:
        policy = Policy(f"buckets, {budget:,} frames", partial(_buckets, lengths, None, budget, seed))
        policy.make(0, 1)  # raises an error if an utterance exceeds the budget
        policies.append(policy)
    return policies


def _random(dataset: UtteranceDataset, size: int, seed: int, rank: int, world_size: int) -> Sampler[list[int]]:
    return BatchSampler(RandomSampler(dataset, seed=seed, rank=rank, world_size=world_size), size)


def _buckets(
    lengths: npt.ArrayLike, size: int | None, budget: int | None, seed: int, rank: int, world_size: int
) -> Sampler[list[int]]:
    return LengthBucketBatchSampler(lengths, size, budget, seed, rank=rank, world_size=world_size)


def default_budget(dataset: UtteranceDataset, batch_size: int) -> int:
    """Return a budget of frames for batch_size utterances on average, but at least for the longest one."""
    frames = np.asarray(dataset.n_frames)
    return max(int(frames.max(initial=1)), int(batch_size * frames.mean())) if len(frames) else 1


def policy_cost(dataset: UtteranceDataset, policy: Policy, *, epoch: int = 0, world_size: int = 1) -> PolicyCost:
    """Return the cost of an epoch, without reading arrays.

    Raises:
        ConfigurationError: the world size is less than 1.
    """
    if world_size < 1:
        raise ConfigurationError(f"world size: expected an integer >= 1, found {world_size}")
    plan = joined([epoch_plan(sampler, dataset.n_frames, epoch) for sampler in _samplers(policy, world_size)])
    frames = plan.longest()
    phonemes = BatchPlan(plan.positions, plan.starts, plan.sizes, dataset.n_phonemes)
    # The size of one padded utterance of each batch, with its two int64 lengths.
    each = frames * (dataset.n_mels * _VALUE_BYTES) + phonemes.longest() * _ID_BYTES + 2 * _ID_BYTES
    if dataset.has_waveform:
        each += (
            BatchPlan(plan.positions, plan.starts, plan.sizes, dataset.n_samples).longest() * _VALUE_BYTES + _ID_BYTES
        )
    shapes = {(int(size), int(longest)) for size, longest in zip(plan.sizes, frames, strict=True)}
    count = int(plan.sizes.sum())
    utterances = plan.utterances(slice(None))
    return PolicyCost(
        policy=policy.name,
        epoch=epoch,
        world_size=world_size,
        batches=len(plan),
        steps=-(-len(plan) // world_size),
        utterances=count,
        left_out=len(dataset) - len(np.unique(utterances)),
        smallest=int(plan.sizes.min()) if len(plan) else 0,
        mean=count / max(1, len(plan)),
        largest=int(plan.sizes.max(initial=0)),
        frame_padding=plan.padding(),
        phoneme_padding=phonemes.padding(),
        largest_frames=int((frames * plan.sizes).max(initial=0)),
        largest_bytes=int((each * plan.sizes).max(initial=0)),
        shapes=len(shapes),
    )


def _samplers(policy: Policy, world_size: int) -> list[Sampler[list[int]]]:
    """Return samplers whose combined epochs are the epoch of all ranks."""
    first = policy.make(0, world_size)
    if isinstance(first, LengthBucketBatchSampler):
        return [first]  # the plan includes the batches of all ranks
    return [first, *(policy.make(rank, world_size) for rank in range(1, world_size))]


def epoch_plan(sampler: Sampler[list[int]], lengths: npt.ArrayLike, epoch: int) -> BatchPlan:
    """Return the batches of an epoch of any batch sampler."""
    if isinstance(sampler, LengthBucketBatchSampler):
        return sampler.plan(epoch)
    batches = list(sampler.draw(epoch))
    sizes = np.array([len(batch) for batch in batches], np.int64)
    positions = np.array([position for batch in batches for position in batch], np.int64)
    return BatchPlan(positions, np.cumsum(sizes) - sizes, sizes, np.asarray(lengths))
