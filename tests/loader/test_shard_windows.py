"""Epochs that use a window of shards at a time."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
import pytest

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader import BatchSampler, LengthBucketBatchSampler, RandomSampler

N, SHARDS = 3000, 40
RNG = np.random.default_rng(5)
LENGTHS = RNG.integers(50, 900, N)
SHARD_OF = np.sort(RNG.integers(0, SHARDS, N))


def buckets(**options: Any) -> LengthBucketBatchSampler:
    return LengthBucketBatchSampler(LENGTHS, max_frames=9000, seed=3, shards=SHARD_OF, shard_window=8, **options)


def random_batches(**options: Any) -> BatchSampler:
    return BatchSampler(RandomSampler(range(N), seed=3, shards=SHARD_OF, shard_window=8, **options), 20)


@pytest.mark.parametrize("make", [buckets, random_batches])
def test_an_epoch_has_every_utterance_once(make: Any) -> None:
    for epoch in range(3):
        assert sorted(chain.from_iterable(make().draw(epoch))) == list(range(N))


@pytest.mark.parametrize("make", [buckets, random_batches])
def test_few_shards_are_used_at_a_time(make: Any) -> None:
    # At any time those of a window, with what did not fill a batch of the one before.
    batches = [set(SHARD_OF[batch].tolist()) for batch in make().draw(0)]
    uses: dict[int, list[int]] = {}
    for number, shards in enumerate(batches):
        for shard in shards:
            uses.setdefault(shard, []).append(number)
    in_use = [sum(numbers[0] <= number <= numbers[-1] for numbers in uses.values()) for number in range(len(batches))]
    assert max(in_use) <= 2 * 8
    assert np.mean(in_use) < 1.5 * 8
    # Without windows, all of them are in use most of the time.
    plain = [set(SHARD_OF[batch].tolist()) for batch in LengthBucketBatchSampler(LENGTHS, max_frames=9000).draw(0)]
    assert len(set.union(*plain[: len(plain) // 5])) == SHARDS


@pytest.mark.parametrize("make", [buckets, random_batches])
def test_other_epochs_have_other_windows(make: Any) -> None:
    first = [set(SHARD_OF[list(chain.from_iterable(list(make().draw(epoch))[:10]))].tolist()) for epoch in range(4)]
    assert len({frozenset(shards) for shards in first}) == 4


@pytest.mark.parametrize("make", [buckets, random_batches])
@pytest.mark.parametrize("world_size", [2, 4])
def test_ranks_share_an_epoch_exactly(make: Any, world_size: int) -> None:
    ranks = [list(make(rank=rank, world_size=world_size).draw(1)) for rank in range(world_size)]
    assert len({len(batches) for batches in ranks}) == 1
    assert sorted(chain.from_iterable(chain.from_iterable(ranks))) == list(range(N))


@pytest.mark.parametrize("make", [buckets, random_batches])
def test_an_epoch_resumes_with_another_number_of_ranks(make: Any) -> None:
    used: list[int] = []
    samplers = [make(rank=rank, world_size=2) for rank in range(2)]
    for sampler in samplers:
        iterator = iter(sampler)
        for _ in range(17):
            used += next(iterator)
    state = samplers[0].state_dict()
    for rank in range(4):
        sampler = make(rank=rank, world_size=4)
        sampler.load_state_dict(state)
        used += chain.from_iterable(sampler)
    assert Counter(used) == Counter(range(N))


def test_a_window_of_all_shards_changes_nothing() -> None:
    plain = LengthBucketBatchSampler(LENGTHS, max_frames=9000, seed=3)
    windowed = LengthBucketBatchSampler(LENGTHS, max_frames=9000, seed=3, shards=SHARD_OF, shard_window=SHARDS)
    assert list(plain.draw(2)) == list(windowed.draw(2))
    assert plain.fingerprint == windowed.fingerprint
    assert RandomSampler(range(N)).fingerprint == RandomSampler(range(N), shards=SHARD_OF, shard_window=99).fingerprint


def test_a_state_of_other_windows_is_refused() -> None:
    state = buckets().state_dict()
    other = LengthBucketBatchSampler(LENGTHS, max_frames=9000, seed=3, shards=SHARD_OF, shard_window=4)
    with pytest.raises(ConfigurationError, match="other settings"):
        other.load_state_dict(state)


def test_padding_is_that_of_a_smaller_sample() -> None:
    # Utterances of a window, sorted by length, are cut into batches: each pads half of the lengths that it spans.
    whole = LengthBucketBatchSampler(LENGTHS, max_frames=9000).plan(0)
    windowed = buckets().plan(0)
    spanned = (LENGTHS.max() - LENGTHS.min()) / (len(whole) / 5)
    assert windowed.padding() < whole.padding() + 0.5 * spanned / LENGTHS.mean()


def test_wrong_shards_are_refused() -> None:
    with pytest.raises(SamplingError, match=r"shards: expected 3,000 integers, such as dataset.shard, found int64"):
        LengthBucketBatchSampler(LENGTHS, 8, shards=SHARD_OF[:5])
    with pytest.raises(ConfigurationError, match="shard_window: expected an integer >= 1, found 0"):
        LengthBucketBatchSampler(LENGTHS, 8, shards=SHARD_OF, shard_window=0)
    with pytest.raises(ConfigurationError, match="shards: cannot be combined"):
        LengthBucketBatchSampler(LENGTHS, 8, shards=SHARD_OF, shuffle=False)
    with pytest.raises(ConfigurationError, match="shards: cannot be combined with replacement"):
        RandomSampler(range(N), True, shards=SHARD_OF)
