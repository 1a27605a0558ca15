"""Weighted, subset and distributed samplers: fair, deterministic, with clear errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader import DistributedSampler, MixingSampler, SubsetRandomSampler, WeightedRandomSampler

DRAWS = {
    "weighted": lambda seed, epoch: WeightedRandomSampler(np.ones(40), 40, seed=seed).draw(epoch),
    "weighted, each once": lambda seed, epoch: WeightedRandomSampler(np.ones(40), 40, False, seed=seed).draw(epoch),
    "subset": lambda seed, epoch: SubsetRandomSampler(range(40), seed=seed).draw(epoch),
    "distributed": lambda seed, epoch: DistributedSampler(40, 1, 0, seed=seed).draw(epoch),
    "mixing": lambda seed, epoch: MixingSampler([0] * 40, seed=seed).draw(epoch),
    "mixing, half a pass": lambda seed, epoch: sorted(MixingSampler([0] * 40, num_samples=20, seed=seed).draw(epoch)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_seed_and_epoch_give_other_draws(name):
    draw = DRAWS[name]
    first = list(draw(1, 0))
    assert first == list(draw(1, 0))
    assert first not in (list(draw(2, 0)), list(draw(1, 1)))


def test_weights_are_proportions_and_need_not_sum_to_1():
    drawn = list(WeightedRandomSampler([0, 30, 10, 0], 8_000))
    counts = np.bincount(drawn, minlength=4)
    assert counts[0] == counts[3] == 0
    # 6,000 expected with a standard deviation of 39.
    assert abs(counts[1] - 6_000) < 200


def test_weighted_without_replacement_draws_nobody_twice():
    drawn = list(WeightedRandomSampler([1, 0, 3, 2, 5], 4, replacement=False))
    assert sorted(drawn) == [0, 2, 3, 4]


def test_weighted_without_replacement_draws_the_first_in_proportion():
    sampler = WeightedRandomSampler([1, 3], 1, replacement=False)
    firsts = [next(sampler.draw(epoch)) for epoch in range(2_000)]
    # 1,500 expected with a standard deviation of 19.
    assert abs(sum(firsts) - 1_500) < 100


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, -2], 3), ConfigurationError, "found -2.0 at position 1"),
        (([1, float("nan")], 3), ConfigurationError, "found nan at position 1"),
        (([[1, 2]], 3), ConfigurationError, r"expected \[n\]"),
        (([1, 2], -1), ConfigurationError, "num_samples"),
        (([0, 0], 1), SamplingError, "at least one above 0"),
        (([0, 1, 1], 3, False), SamplingError, "only 2 have a weight above 0"),
    ],
)
def test_weights_that_cannot_be_drawn_by_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        WeightedRandomSampler(*arguments)


def test_a_subset_is_visited_once_in_another_order_every_epoch():
    sampler = SubsetRandomSampler(range(100, 150))
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(100, 150))
    assert first != second
    assert list(SubsetRandomSampler([])) == []
    with pytest.raises(ConfigurationError, match="non-negative integers"):
        SubsetRandomSampler([1, -1])


@pytest.mark.filterwarnings("ignore::tts_prep.errors.ExactlyOnceWarning")
@given(n=st.integers(1, 50), world_size=st.integers(1, 9), shuffle=st.booleans(), epoch=st.integers(0, 9))
def test_ranks_share_all_positions_evenly(n, world_size, shuffle, epoch):
    parts = [list(DistributedSampler(n, world_size, rank, shuffle).draw(epoch)) for rank in range(world_size)]
    assert {len(part) for part in parts} == {-(-n // world_size)}
    order = [parts[i % world_size][i // world_size] for i in range(len(parts[0]) * world_size)]
    assert sorted(order[:n]) == list(range(n))
    # Continued from its beginning, as often as it takes.
    assert order[n:] == (order[:n] * world_size)[: len(order) - n]
    if not shuffle:
        assert order[:n] == list(range(n))


@pytest.mark.parametrize(("world_size", "rank"), [(2, 2), (2, -1), (0, 0)])
def test_a_rank_that_cannot_be_is_refused(world_size, rank):
    with pytest.raises(ConfigurationError, match=f"rank {rank} of {world_size}"):
        DistributedSampler(10, world_size, rank)
    with pytest.raises(SamplingError, match="is the dataset empty"):
        DistributedSampler(0, 1, 0)


@pytest.mark.parametrize("rank", [0, 1])
def test_an_empty_epoch_ends_on_every_rank(rank: int) -> None:
    assert list(SubsetRandomSampler([], rank=rank, world_size=2)) == []
    assert list(WeightedRandomSampler([1.0], 0, rank=rank, world_size=2)) == []
