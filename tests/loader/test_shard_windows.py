"""Epochs that use a window of shards at a time."""

from __future__ import annotations

from collections import Counter
from itertools import chain, islice
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


def of_nodes(nodes: int, world_size: int) -> list[LengthBucketBatchSampler]:
    return [buckets(rank=rank, world_size=world_size, nodes=nodes) for rank in range(world_size)]


@pytest.mark.parametrize(("nodes", "world_size"), [(2, 4), (3, 6), (4, 4)])
def test_each_node_uses_its_own_shards_in_every_epoch(nodes: int, world_size: int) -> None:
    used: list[set[int]] = [set() for _ in range(nodes)]
    for epoch in range(3):
        ranks = [list(sampler.draw(epoch)) for sampler in of_nodes(nodes, world_size)]
        assert len({len(batches) for batches in ranks}) == 1
        assert sorted(chain.from_iterable(chain.from_iterable(ranks))) == list(range(N))
        for rank, batches in enumerate(ranks):
            used[rank * nodes // world_size] |= {int(SHARD_OF[row]) for batch in batches for row in batch}
    assert sorted(chain.from_iterable(used)) == list(range(SHARDS))
    assert max(map(len, used)) - min(map(len, used)) <= 1
    # What a cache is told is what is used: each node's windows, in order.
    sampler = of_nodes(nodes, world_size)[-1]
    windows = [set(SHARD_OF[window].tolist()) for window in sampler._windows_of(0)]
    in_order = list(dict.fromkeys(int(SHARD_OF[row]) for batch in sampler.draw(0) for row in batch))
    assert set.union(*windows) == used[-1]
    assert set(in_order[: len(windows[0])]) == windows[0]


@pytest.mark.parametrize(("before", "after"), [((2, 4), (2, 4)), ((2, 4), (3, 6)), ((2, 4), (1, 1)), ((1, 2), (2, 2))])
def test_an_epoch_resumes_with_another_number_of_nodes(before: tuple[int, int], after: tuple[int, int]) -> None:
    used: list[int] = []
    samplers = of_nodes(*before)
    for sampler in samplers:
        used += chain.from_iterable(islice(sampler, 7))
    state = samplers[0].state_dict()
    for sampler in of_nodes(*after):
        sampler.load_state_dict(state)
        used += chain.from_iterable(sampler)
        assert sampler.epoch == 0
        # The next epoch has shares again.
        assert list(sampler) == list(of_nodes(*after)[sampler.rank].draw(1))
    assert Counter(used) == Counter(range(N))


def test_numbers_of_nodes_that_cannot_be_are_refused() -> None:
    for options in ({"nodes": 2}, {"nodes": 0}, {"nodes": 2, "world_size": 2, "longest_first": True}):
        with pytest.raises(ConfigurationError, match="nodes: expected a divisor of the"):
            buckets(**options)
    with pytest.raises(SamplingError, match="nodes: expected at least 50 shards"):
        buckets(nodes=50, world_size=50)
    state = of_nodes(2, 2)[0].state_dict() | {"done": [[3, 1]], "nodes": 2}
    with pytest.raises(ConfigurationError, match="2 nodes are impossible"):
        buckets().load_state_dict(state)
