"""LengthBucketBatchSampler: no row is repeated, no budget exceeded, little padding, random in every epoch."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader import LengthBucketBatchSampler

LENGTHS = st.lists(st.one_of(st.integers(0, 60), st.integers(0, 100_000)), min_size=1, max_size=120)
SETTINGS = {
    "seed": st.integers(0, 2**40),
    "epoch": st.integers(0, 50),
    "shuffle": st.booleans(),
    "tolerance": st.sampled_from([0, 0.001, 0.02, 0.3, 1]),
    "window": st.sampled_from([1, 4, 15, 60, 1 << 20]),
}


def ljspeech_like(n=13_100):
    """Lengths in frames with the range, mean and skew of LJ Speech: 1.1 to 10.1 s, 6.57 s on average."""
    seconds = 1.1 + 9 * np.random.default_rng(0).beta(2.2, 1.42, n)
    return (1 + seconds * 22_050 // 256).astype(np.int32)


@given(lengths=LENGTHS, factor=st.floats(1, 30), **SETTINGS)
def test_every_utterance_appears_once_an_epoch_and_no_batch_is_over_budget(lengths, factor, epoch, **settings):
    budget = int(max(1, max(lengths)) * factor)
    sampler = LengthBucketBatchSampler(lengths, max_frames=budget, **settings)
    batches = list(sampler.draw(epoch))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(len(batch) * max(lengths[i] for i in batch) <= budget for batch in batches)


@given(lengths=LENGTHS, batch_size=st.integers(1, 20), drop_last=st.booleans(), **SETTINGS)
def test_batches_by_count_have_that_count_but_for_one(lengths, batch_size, drop_last, epoch, **settings):
    sampler = LengthBucketBatchSampler(lengths, batch_size, drop_last=drop_last, **settings)
    batches = list(sampler.draw(epoch))
    seen = [i for batch in batches for i in batch]
    assert len(set(seen)) == len(seen)
    sizes = sorted(map(len, batches))
    rest = len(lengths) % batch_size
    assert sizes == [rest] * bool(rest and not drop_last) + [batch_size] * (len(lengths) // batch_size)


@given(lengths=LENGTHS, batch_size=st.integers(1, 8), factor=st.floats(1, 30), **SETTINGS)
def test_both_limits_hold_together(lengths, batch_size, factor, epoch, **settings):
    budget = int(max(1, max(lengths)) * factor)
    sampler = LengthBucketBatchSampler(lengths, batch_size, budget, **settings)
    batches = list(sampler.draw(epoch))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= batch_size
        assert len(batch) * max(lengths[i] for i in batch) <= budget


@given(lengths=LENGTHS, factor=st.floats(1, 30), **SETTINGS)
def test_drop_last_drops_at_most_one_batch_by_frames(lengths, factor, epoch, **settings):
    settings["max_frames"] = int(max(1, max(lengths)) * factor)
    everything = {tuple(b) for b in LengthBucketBatchSampler(lengths, **settings).draw(epoch)}
    kept = {tuple(b) for b in LengthBucketBatchSampler(lengths, drop_last=True, **settings).draw(epoch)}
    assert kept <= everything
    assert len(everything - kept) <= 1


@given(lengths=LENGTHS, batch_size=st.integers(1, 20), drop_last=st.booleans(), **SETTINGS)
def test_a_plan_says_what_its_batches_are(lengths, batch_size, drop_last, epoch, **settings):
    sampler = LengthBucketBatchSampler(lengths, batch_size, drop_last=drop_last, **settings)
    plan, batches = sampler.plan(epoch), list(sampler.draw(epoch))
    assert len(plan) == len(batches) == sampler.count(epoch)
    assert plan.longest().tolist() == [max(lengths[i] for i in batch) for batch in batches]
    padded = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
    real = sum(lengths[i] for batch in batches for i in batch)
    assert plan.padding() == pytest.approx(1 - real / padded if padded else 0)


def test_without_shuffling_batches_are_exactly_sorted_the_longest_first():
    sampler = LengthBucketBatchSampler([3, 9, 5, 9, 1, 5], max_frames=18, shuffle=False)
    # 9 + 9; then 18 // 5 = 3 of 5, 5, 3; then 1.
    assert [list(sampler), list(sampler)] == [[[1, 3], [2, 5, 0], [4]]] * 2


def test_padding_of_ljspeech_like_lengths_is_below_two_percent():
    lengths = ljspeech_like()
    sampler = LengthBucketBatchSampler(lengths, max_frames=20_000)
    for epoch in range(5):
        batches = list(sampler.draw(epoch))
        padded = sum(len(batch) * int(lengths[batch].max()) for batch in batches)
        assert 1 - int(lengths.sum()) / padded < 0.015
        # The budget is used: at most 5 % more batches than if utterances were sand.
        assert len(batches) < 1.05 * lengths.sum() / 20_000


def test_batches_are_drawn_again_every_epoch():
    lengths = ljspeech_like()
    sampler = LengthBucketBatchSampler(lengths, max_frames=20_000)
    pairs = []
    for _ in range(2):
        epoch = list(sampler)
        assert len({frozenset(batch) for batch in epoch}) == len(epoch)
        pairs.append({pair for batch in epoch for pair in combinations(sorted(batch), 2)})
    # With 376 batches of about 35, buckets hold about three batches: a third of the pairs meet again by chance.
    assert len(pairs[0] & pairs[1]) < 0.4 * len(pairs[0])


def test_lengths_come_in_no_order():
    lengths = ljspeech_like()
    longest = LengthBucketBatchSampler(lengths, max_frames=20_000).plan(0).longest()
    assert abs(np.corrcoef(np.arange(len(longest)), longest)[0, 1]) < 0.2


def test_an_epoch_is_a_function_of_lengths_settings_seed_and_epoch():
    lengths = ljspeech_like(500)
    sampler = LengthBucketBatchSampler(lengths, max_frames=5_000, seed=4)
    epochs = [list(sampler) for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    again = LengthBucketBatchSampler(lengths.tolist(), max_frames=5_000, seed=4)
    again.set_epoch(2)
    assert list(again) == epochs[2]
    assert list(again.draw(0)) == epochs[0]
    assert list(LengthBucketBatchSampler(lengths, max_frames=5_000, seed=5)) != epochs[0]


def other_draws(make):
    """Return the plans of two seeds and of two epochs of the same sampler."""
    return [(make(1).plan(0), make(2).plan(0)), (make(1).plan(0), make(1).plan(1))]


def composition(plan):
    return set(map(frozenset, plan.batches(range(len(plan)))))


@pytest.mark.parametrize("window", [200, 1 << 20])
def test_seed_and_epoch_change_which_utterances_of_equal_length_are_together(window):
    for one, other in other_draws(lambda seed: LengthBucketBatchSampler([7] * 1_000, 4, seed=seed, window=window)):
        # Of 250 batches, two chance draws share a batch of four with a probability below one in 100,000.
        assert not composition(one) & composition(other)


def test_seed_and_epoch_change_the_order_of_the_batches():
    lengths = np.repeat(np.arange(1, 51), 4)
    for one, other in other_draws(lambda seed: LengthBucketBatchSampler(lengths, 4, seed=seed, tolerance=0)):
        # Each length is a batch.
        assert composition(one) == composition(other)
        orders = one.longest(), other.longest()
        assert sorted(orders[0]) == sorted(orders[1]) == list(range(1, 51))
        assert abs(np.corrcoef(*orders)[0, 1]) < 0.6


def test_seed_epoch_and_window_change_the_order_of_the_batches_of_a_window():
    # Four windows of exactly 1,024 utterances, since their number is a power of two; 128 batches each.
    lengths = np.arange(100, 4_196)

    def orders(seed, epoch):
        sampler = LengthBucketBatchSampler(lengths, 8, seed=seed, window=1_024, tolerance=0)
        longest = sampler.plan(epoch).longest().reshape(4, 128)
        # The places of the batches of a window, from the one of the longest utterances to that of the shortest.
        return [np.argsort(-window).tolist() for window in longest]

    first, second, *_ = orders(1, 0)
    assert first not in (second, orders(2, 0)[0], orders(1, 1)[0])


def test_epochs_do_not_change_between_releases():
    sampler = LengthBucketBatchSampler([100, 101, 102, 99, 50, 51, 49, 52], max_frames=300)
    assert list(sampler) == [[2, 1], [5, 4, 6], [0, 3, 7]]


def test_length_is_that_of_the_current_epoch():
    sampler = LengthBucketBatchSampler(ljspeech_like(300), max_frames=3_000, tolerance=0.1)
    for _ in range(4):
        assert len(list(sampler)) == len(sampler)


def test_the_small_batch_is_not_always_of_the_shortest():
    lengths = np.arange(1, 102)
    left_out = set()
    for seed in range(30):
        batches = LengthBucketBatchSampler(lengths, 10, seed=seed, drop_last=True)
        left_out |= set(range(101)) - {i for batch in batches for i in batch}
    assert min(left_out) < 20
    assert max(left_out) > 80


def test_an_utterance_over_the_budget_is_named():
    with pytest.raises(
        SamplingError, match="utterance 2 alone has 1,500 frames, more than max_frames = 1,000"
    ) as error:
        LengthBucketBatchSampler([10, 1_000, 1_500], max_frames=1_000)
    assert "more are over it" not in str(error.value)
    with pytest.raises(SamplingError, match="utterance 1 alone has 9 frames.* and 2 more are over it"):
        LengthBucketBatchSampler([8, 9, 7], max_frames=6)
    list(LengthBucketBatchSampler([8, 9, 7], max_frames=9))


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([], "there are no lengths"),
        (np.zeros(0, np.int32), "there are no lengths"),
        ([1.5, 2.0], "expected integers"),
        ([[1], [2]], "expected integers"),
        ([4, -2], "utterance 1 has the length -2"),
    ],
)
def test_lengths_that_are_none_are_refused(lengths, message):
    with pytest.raises(SamplingError, match=message):
        LengthBucketBatchSampler(lengths, max_frames=100)


@pytest.mark.parametrize(
    "settings",
    [{}, {"batch_size": 0}, {"batch_size": 2, "seed": -1}, {"batch_size": 2, "tolerance": -0.1},
     {"batch_size": 2, "tolerance": 1e-9}, {"batch_size": 2, "tolerance": float("nan")},
     {"batch_size": 2, "window": 0}],
)  # fmt: skip
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ConfigurationError, match="expected"):
        LengthBucketBatchSampler([1, 2, 3], **settings)
