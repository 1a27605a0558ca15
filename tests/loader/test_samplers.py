"""Sequential, random and batch samplers: orders, epochs, seeds."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader import BatchSampler, LengthBucketBatchSampler, RandomSampler, SequentialSampler
from tts_prep.loader.batch_info import BatchInfo, BatchItems, BatchShape
from tts_prep.loader.randomness import permutation, random_words, sort_order

SEEDS = st.integers(0, 2**70)


def test_sequential_goes_in_order_every_epoch():
    sampler = SequentialSampler("abc")
    assert [list(sampler), list(sampler)] == [[0, 1, 2], [0, 1, 2]]
    assert len(sampler) == 3
    assert sampler.epoch == 1


@given(n=st.integers(0, 300), seed=SEEDS, epoch=st.integers(0, 2**40))
def test_random_without_replacement_gives_each_position_once(n, seed, epoch):
    sampler = RandomSampler(range(n), seed=seed)
    sampler.set_epoch(epoch)
    assert sorted(sampler) == list(range(n))
    assert len(sampler) == n


def test_random_draws_another_order_every_epoch_and_seed():
    sampler = RandomSampler(range(50), seed=1)
    first, second = list(sampler), list(sampler)
    assert first != second
    assert list(RandomSampler(range(50), seed=2)) not in (first, second)
    again = RandomSampler(range(50), seed=1)
    again.set_epoch(1)
    assert list(again) == second
    assert list(again.draw(0)) == first
    again.set_epoch(0)
    assert list(again) == first


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda batch: pickle.loads(pickle.dumps(batch))])
def test_a_copy_of_a_batch_has_its_positions_epoch_and_shape(copied):
    shape = BatchShape(4, {"n_frames": 100})
    batch = copied(BatchItems(iter([3, 1, 2]), BatchInfo(7, shape)))
    assert (type(batch), batch.batch_info) == (BatchItems, BatchInfo(epoch=7, shape=shape))
    assert batch == [3, 1, 2] == batch
    assert batch == BatchItems([3, 1, 2], BatchInfo())
    assert batch != [3, 1]
    # A batch has no dictionary, which would take a third of the time to make one.
    with pytest.raises(AttributeError):
        batch.length = 3


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("outer", ["batches", "buckets"])
def test_the_epoch_of_a_sampler_is_that_of_the_batches_made_from_it(outer, copied):
    def make():
        sampler = RandomSampler(range(40), num_samples=30, seed=1)
        if outer == "batches":
            return sampler, BatchSampler(sampler, 4)
        return sampler, LengthBucketBatchSampler([10] * 40, 4, sampler=sampler)

    _, expected = make()
    expected.set_epoch(5)
    sampler, batches = pickle.loads(pickle.dumps(make())) if copied else make()
    # As in training scripts: the loader has the batches, and the loop the sampler.
    sampler.set_epoch(5)
    assert batches.epoch == 5
    first, second = list(batches), list(batches)
    assert first == list(expected)
    assert sorted(position for batch in first for position in batch) == sorted(sampler.draw(5))
    assert sorted(position for batch in second for position in batch) == sorted(sampler.draw(6))

    sampler.set_epoch(5)
    iterator = iter(batches)
    next(iterator)
    _, resumed = pair = make()
    resumed.load_state_dict(batches.state_dict())
    pair[0].set_epoch(5)  # the loaded epoch keeps its position
    assert list(resumed) == list(iterator)


def test_random_is_fair():
    counts = np.zeros((4, 4), int)
    sampler = RandomSampler(range(4))
    for _ in range(4000):
        for place, position in enumerate(sampler):
            counts[place, position] += 1
    # 1,000 each expected, with a standard deviation of 27.
    assert abs(counts - 1000).max() < 140


def test_random_with_replacement_draws_independently():
    drawn = list(RandomSampler(range(10), replacement=True, num_samples=10_000))
    counts = np.bincount(drawn, minlength=10)
    assert len(drawn) == 10_000
    assert abs(counts - 1000).max() < 150
    assert len(set(RandomSampler(range(1000), replacement=True))) < 700  # 632 expected


def test_random_without_replacement_can_give_fewer_or_more_than_there_are():
    assert len(set(RandomSampler(range(10), num_samples=4))) == 4
    drawn = list(RandomSampler(range(10), num_samples=25))
    assert sorted(drawn[:10]) == sorted(drawn[10:20]) == list(range(10))
    assert drawn[:10] != drawn[10:20]
    assert len(drawn) == 25


def test_random_ignores_and_leaves_the_global_state():
    np.random.seed(0)
    before = np.random.get_state()[1].tolist()
    first = list(RandomSampler(range(20)))
    assert np.random.get_state()[1].tolist() == before
    np.random.seed(1)
    assert list(RandomSampler(range(20))) == first


def test_orders_are_those_of_the_documented_generator():
    # By hand: the raw words of PCG64 with the low 3 bits replaced by the position, sorted.
    words = np.random.PCG64(np.random.SeedSequence(7, spawn_key=(2, 0))).random_raw(6)
    expected = sorted(range(6), key=lambda i: ((int(words[i]) >> 3), i))
    assert permutation(6, 7, 2).tolist() == expected
    code = "from tts_prep.loader.randomness import permutation; print(*permutation(6, 7, 2))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert [int(word) for word in other.split()] == expected


def test_orders_do_not_change_between_releases():
    assert permutation(10, 0, 0).tolist() == [9, 7, 2, 0, 4, 3, 5, 6, 1, 8]


@given(keys=st.lists(st.integers(0, 7), max_size=50), seed=SEEDS)
def test_sort_order_sorts_by_key_and_gives_each_position_once(keys, seed):
    order = sort_order(np.array(keys, np.uint64), 3, random_words(len(keys), seed, 0))
    assert sorted(order.tolist()) == list(range(len(keys)))
    assert [keys[i] for i in order] == sorted(keys)


@given(n=st.integers(0, 40), batch_size=st.integers(1, 12), drop_last=st.booleans())
def test_batches_are_the_order_cut(n, batch_size, drop_last):
    sampler = BatchSampler(SequentialSampler(range(n)), batch_size, drop_last)
    batches = list(sampler)
    whole = n - n % batch_size if drop_last else n
    assert [i for batch in batches for i in batch] == list(range(whole))
    assert all(len(batch) == batch_size for batch in batches[:-1])
    assert len(sampler) == len(batches)


def test_the_epoch_of_a_batch_sampler_is_that_of_its_sampler():
    batches = BatchSampler(RandomSampler(range(20), seed=3), 6)
    epochs = [[i for batch in batches for i in batch] for _ in range(3)]
    assert epochs == [list(RandomSampler(range(20), seed=3).draw(epoch)) for epoch in range(3)]
    batches.set_epoch(1)
    assert [i for batch in batches for i in batch] == epochs[1]


def test_a_batch_sampler_takes_any_iterable():
    batches = BatchSampler([5, 3, 8], 2)
    assert [list(batches), list(batches)] == [[[5, 3], [8]]] * 2


def test_an_iteration_that_ends_early_was_an_epoch():
    sampler = RandomSampler(range(9))
    next(iter(sampler))
    assert sampler.epoch == 0
    assert list(sampler) == list(sampler.draw(1))


def test_an_iterator_that_is_never_used_is_no_epoch():
    sampler = RandomSampler(range(9))
    for epoch in range(3):
        iter(sampler)
        assert list(sampler) == list(sampler.draw(epoch))


def test_two_iterations_at_once_do_not_disturb_each_other():
    sampler = RandomSampler(range(9))
    one, two = iter(sampler), iter(sampler)
    mixed = [(next(one), next(two)) for _ in range(9)]
    assert [a for a, _ in mixed] == list(sampler.draw(0))
    assert [b for _, b in mixed] == list(sampler.draw(1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomSampler(range(3), seed=-1), "seed: expected an integer >= 0, found -1"),
        (lambda: RandomSampler(range(3), num_samples=-1), "num_samples: expected an integer >= 0, found -1"),
        (lambda: BatchSampler([1], 0), "batch_size: expected an integer >= 1, found 0"),
        (lambda: SequentialSampler("a").set_epoch(-1), "epoch: expected an integer >= 0, found -1"),
    ],
)
def test_settings_out_of_range_are_refused(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_samples_of_nothing_are_refused():
    with pytest.raises(SamplingError, match="5 samples of an empty dataset"):
        RandomSampler([], num_samples=5)


@given(n=st.integers(0, 200), samples=st.integers(0, 500), seed=SEEDS)
def test_an_order_in_parts_has_every_position_once_and_resumes(n, samples, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tts_prep.loader.samplers.positions._BLOCK", 16)
        sampler = RandomSampler(range(n), num_samples=samples if n else 0, seed=seed)
        drawn = list(sampler)
        assert [sorted(drawn[k : k + n]) for k in range(0, len(drawn) - n + 1, n or 1) if n] == [
            list(range(n)) for _ in range(len(drawn) // max(1, n))
        ]
        sampler.load_state_dict({**sampler.state_dict(), "epoch": 0, "done": [[1, 30]]})
        assert list(sampler) == drawn[30:]
        other = RandomSampler(range(n), num_samples=samples if n else 0, seed=seed)
        assert sampler.fingerprint == other.fingerprint
    plain = RandomSampler(range(n), num_samples=samples if n else 0, seed=seed)
    assert (plain.fingerprint == other.fingerprint) == (n <= 16)


def test_large_orders_are_those_of_one_plain_sort():
    n = (1 << 20) + 7
    words = random_words(n, 5, 3)
    mask = np.uint64((1 << 21) - 1)
    expected = np.sort((words & ~mask) | np.arange(n, dtype=np.uint64)) & mask
    np.testing.assert_array_equal(permutation(n, 5, 3), expected.astype(np.int64))
