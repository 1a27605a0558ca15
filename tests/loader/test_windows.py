"""Epochs in windows: the first batch needs one window, and batches are as random as without windows."""

import itertools
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts_prep.loader import Budget, LengthBucketBatchSampler
from tts_prep.loader.randomness import BlockedPermutation


@given(n=st.integers(1, 3_000), n_blocks=st.integers(1, 9), seed=st.integers(0, 2**40), epoch=st.integers(0, 9))
def test_random_blocks_have_every_number_once(n, n_blocks, seed, epoch):
    permuted = BlockedPermutation(n, n_blocks, seed, epoch, 0)
    dealt = np.concatenate([permuted.block(number) for number in range(n_blocks)])
    assert sorted(dealt.tolist()) == list(range(n))


def test_random_blocks_are_those_of_a_feistel_network():
    # Written out for 5 bits, 2 high and 3 low ones: six rounds, whose tables are raw words one after another.
    words = iter(np.random.PCG64(np.random.SeedSequence(5, spawn_key=(1, 4))).random_raw(36).tolist())
    rounds = [([next(words) % 8 for _ in range(4)], [next(words) % 4 for _ in range(8)]) for _ in range(3)]
    mapped = []
    for number in range(32):
        high, low = divmod(number, 8)
        for by_high, by_low in rounds:
            low ^= by_high[high]
            high ^= by_low[low]
        mapped.append(8 * high + low)
    permuted = BlockedPermutation(20, 2, seed=5, epoch=1, stream=4)
    assert permuted.block(0).tolist() == [number for number in mapped[:16] if number < 20]
    assert permuted.block(1).tolist() == [number for number in mapped[16:] if number < 20]


def test_a_block_is_a_random_draw():
    n, n_blocks = 100_000, 5
    found, neighbours, order = [], [], []
    for seed in range(40):
        block = BlockedPermutation(n, n_blocks, seed, 0, 0).block(2)
        p = len(block) / n
        counts = np.bincount(block // 1_000, minlength=100)
        # Of numbers drawn without putting any back, a thousand's share has this variance.
        found.append(((counts - 1_000 * p) ** 2).sum() / (1_000 * p * (1 - p)) / 99)
        drawn = np.zeros(n, np.bool_)
        drawn[block] = True
        neighbours.append((drawn[1:] & drawn[:-1]).sum() / (p * p * n))
        order.append(np.corrcoef(np.arange(len(block)), block)[0, 1] * len(block) ** 0.5)
    assert abs(np.mean(found) - 1) < 0.1
    assert abs(np.mean(neighbours) - 1) < 0.02
    assert abs(np.mean(order)) < 0.6
    assert np.std(order) < 1.6


class Counting(BlockedPermutation):
    made: ClassVar[list[int]] = []

    def block(self, number):
        self.made.append(number)
        return super().block(number)


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setattr("tts_prep.loader.samplers.length_buckets.BlockedPermutation", Counting)
    monkeypatch.setattr(Counting, "made", [])
    return Counting.made


@pytest.mark.parametrize(
    "settings",
    [{}, {"longest_first": True}, {"n_shapes": 4}, {"drop_last": True, "over_budget": "drop"}, {"batch_size": 7},
     {"budgets": [Budget("n_phonemes", 200)]}, {"world_size": 3, "rank": 1, "multiple_of": 2}],
)  # fmt: skip
def test_the_first_batch_and_a_state_wait_for_one_window(made, settings):
    rng = np.random.default_rng(0)
    fields = {"n_frames": rng.integers(50, 900, 2_000), "n_phonemes": rng.integers(5, 90, 2_000)}
    sampler = LengthBucketBatchSampler(fields, max_frames=5_000, window=500, **settings)
    iterator = iter(sampler)
    taken = [next(iterator), next(iterator)]
    next(sampler.draw(1))
    assert sampler.state_dict()["done"] == [[sampler.world_size, 2]]
    assert made in ([0, 0], [])
    taken += iterator
    once = list(made)
    assert sampler.state_dict()["epoch"] == 1
    assert made == once
    assert taken == list(sampler.draw(0))


def test_an_epoch_in_windows_does_not_change_between_releases():
    sampler = LengthBucketBatchSampler([100, 101, 102, 99, 50, 51, 49, 52], max_frames=300, window=4)
    assert list(sampler) == [[3, 5, 4], [0, 7, 6], [2, 1]]


def test_windows_hold_utterances_from_everywhere_and_of_every_length():
    lengths = np.sort(np.random.default_rng(0).integers(100, 800, 20_000))
    batches = list(LengthBucketBatchSampler(lengths, max_frames=8_000, window=2_000))
    for start in range(0, len(batches), len(batches) // 10):
        tenth = np.concatenate(batches[start : start + len(batches) // 10])
        if len(tenth) > 1_000:
            # In the order of the corpus, the first tenth would be of the length 135 and the last of 765.
            assert abs(lengths[tenth].mean() - lengths.mean()) < 80


def test_batches_in_windows_are_drawn_again_every_epoch():
    lengths = np.random.default_rng(0).integers(100, 800, 5_000)
    sampler = LengthBucketBatchSampler(lengths, max_frames=8_000, window=1_000)
    pairs = [{pair for b in sampler for pair in itertools.combinations(sorted(b), 2)} for _ in range(2)]
    # Buckets of 2 % hold about 150 utterances: few of the pairs meet again by chance.
    assert len(pairs[0] & pairs[1]) < 0.3 * len(pairs[0])


def test_smaller_windows_have_little_more_padding():
    lengths = 1 + ((1.1 + 9 * np.random.default_rng(0).beta(2.2, 1.42, 60_000)) * 22_050 // 256).astype(np.int64)
    whole, windows = (
        LengthBucketBatchSampler(lengths, max_frames=20_000, window=window).plan(0).padding()
        for window in (60_000, 15_000)
    )
    assert windows < whole + 0.005


@pytest.mark.parametrize(
    "settings", [{}, {"n_shapes": 5}, {"over_budget": "drop", "max_frames": 980}, {"batch_size": 3}]
)
def test_the_longest_of_all_windows_come_first(settings):
    lengths = np.random.default_rng(1).integers(10, 1_000, 600)
    firsts = []
    for rank in range(3):
        sampler = LengthBucketBatchSampler(
            lengths, **{"max_frames": 5_000, "window": 60, "longest_first": True, **settings}, rank=rank, world_size=3
        )
        firsts.append(lengths[next(iter(sampler))].max())
    plan = sampler.plan(0)
    assert firsts == sorted(plan.longest().tolist(), reverse=True)[:3]
    assert firsts[0] == np.delete(lengths, sampler.dropped).max()
    assert plan.longest()[:3].tolist() == firsts
