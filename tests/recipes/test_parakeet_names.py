"""What Parakeet's scripts import by its names: zipped datasets, the sampler by similar length, and DataCargo."""

import json
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts_prep.errors import ConfigurationError
from tts_prep.loader import (
    BatchSampler,
    CacheDataset,
    ChainDataset,
    DatasetMixin,
    FilterDataset,
    RandomSampler,
    SliceDataset,
)
from tts_prep.recipes import (
    DataCargo,
    DictDataset,
    PartiallyRandomizedSimilarTimeLengthSampler,
    PartialyRandomizedSimilarTimeLengthSampler,
    TupleDataset,
    batch_spec,
    batch_text_id,
    batch_wav,
)

N_FRAMES = (7, 5, 9, 11, 3, 8)


class Squares(DatasetMixin):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def get_example(self, i):
        return i * i


def test_tuples_and_dicts_put_datasets_side_by_side():
    pairs = TupleDataset("abc", Squares(3))
    assert list(pairs) == [("a", 0), ("b", 1), ("c", 4)]
    named = DictDataset(letter="abc", number=Squares(3))
    assert named[-1] == {"letter": "c", "number": 4}
    assert [example["letter"] for example in named[1:]] == ["b", "c"]


@pytest.mark.parametrize("make", [lambda: TupleDataset("ab", "abc"), lambda: DictDataset(one="ab", two="abc")])
def test_lengths_that_disagree_are_a_value_error_that_names_them(make):
    with pytest.raises(ValueError, match=": 2, .*: 3"):
        make()


@pytest.mark.parametrize("make", [TupleDataset, DictDataset])
def test_no_dataset_is_refused(make):
    with pytest.raises(ConfigurationError, match="at least one dataset"):
        make()


def test_columns_are_those_of_the_stores_in_a_tuple(dataset):
    chain = ChainDataset(dataset[:2], dataset[4:])
    pairs = TupleDataset(range(4), chain)
    assert pairs.seconds.tolist() == [utterance.seconds for utterance in chain]
    assert not hasattr(pairs, "nothing")
    with pytest.raises(ConfigurationError, match="has a column 'nothing'"):
        pairs.column("nothing")


def test_everything_nests_in_everything(dataset):
    nested = FilterDataset(
        DictDataset(both=TupleDataset(CacheDataset(Squares(6)), SliceDataset(dataset, 0, 6, order=[5, 4, 3, 2, 1, 0]))),
        lambda example: example["both"][1].mel.shape[0] > 4,
    )
    assert [(e["both"][0], len(e["both"][1].mel)) for e in nested] == [(0, 8), (4, 11), (9, 9), (16, 5), (25, 7)]
    assert nested.n_frames.tolist() == [8, 11, 9, 5, 7]


def batches_of_similar_length(seed, epoch):
    order = PartiallyRandomizedSimilarTimeLengthSampler(range(80), 4, 4, seed=seed).draw(epoch)
    return [position // 4 for position in order][::4]


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed, epoch: list(
            PartiallyRandomizedSimilarTimeLengthSampler(range(40), 4, 40, False, seed=seed).draw(epoch)
        ),
        batches_of_similar_length,
    ],
    ids=["within a group", "order of batches"],
)
def test_seed_and_epoch_give_other_draws(draw):
    first = draw(1, 0)
    assert first == draw(1, 0)
    assert first not in (draw(2, 0), draw(1, 1))


@given(n=st.integers(0, 90), batch_size=st.integers(1, 7), groups=st.integers(1, 4), permutate=st.booleans())
def test_similar_lengths_stay_within_their_group(n, batch_size, groups, permutate):
    lengths = np.random.default_rng(n).permutation(n) * 10
    group = groups * batch_size
    sampler = PartiallyRandomizedSimilarTimeLengthSampler(lengths, batch_size, group, permutate)
    order = list(sampler)
    assert sorted(order) == list(range(n))
    whole = n - n % batch_size
    for start in range(0, whole, batch_size):
        ranks = lengths[order[start : start + batch_size]] // 10
        assert len(set(ranks // group)) == 1
    assert set(lengths[order[whole:]] // 10) <= set(range(max(0, (whole // group) * group), n))
    if not permutate:
        assert np.array_equal(lengths[order] // 10 // group, np.arange(n) // group)


def test_similar_lengths_are_shuffled_below_one_group_and_below_one_batch():
    sampler = PartiallyRandomizedSimilarTimeLengthSampler(range(20), batch_size=4)
    assert list(sampler) != list(sampler)
    assert sorted(PartiallyRandomizedSimilarTimeLengthSampler([3, 1], batch_size=4)) == [0, 1]
    with pytest.raises(ConfigurationError, match="a multiple of the batch size 4, found 6"):
        PartiallyRandomizedSimilarTimeLengthSampler(range(20), 4, 6)


def test_ranks_share_the_positions_of_an_epoch_in_batches_of_similar_length():
    lengths = np.random.default_rng(0).integers(20, 90, 191)
    ranks = [
        list(BatchSampler(PartiallyRandomizedSimilarTimeLengthSampler(lengths, 8, rank=rank, world_size=3), 8))
        for rank in range(3)
    ]
    assert len({len(batches) for batches in ranks}) == 1
    assert sorted(position for batches in ranks for batch in batches for position in batch) == list(range(191))


def test_an_epoch_that_was_resumed_at_any_step_equals_one_that_never_stopped():
    def make(number=int, rank=0):
        lengths = np.arange(24)
        return PartiallyRandomizedSimilarTimeLengthSampler(
            lengths, number(2), number(4), rank=number(rank), world_size=number(2)
        )

    whole = list(make())
    for stop in range(len(whole) + 1):
        first = make(np.int64)
        seen = list(islice(iter(first), stop))
        second = make()
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        if stop < len(whole):
            assert seen + list(second) == whole


def test_a_cargo_is_called_and_has_a_length(dataset):
    cargo = DataCargo(dataset, list, 3)
    iterator = cargo()
    assert len(iterator) == 2
    assert [len(batch) for batch in iterator] == [3, 3]
    assert np.shape(next(iter(cargo))[0].mel) == (7, 5)


def test_a_data_cargo_is_iterated_over_many_times_and_its_iterator_once():
    cargo = DataCargo(list("abcde"), "".join, 2, sampler=RandomSampler("abcde"))
    assert len(cargo) == 3
    iterator = iter(cargo)
    assert iter(iterator) is iterator
    assert sorted("".join(iterator)) == list("abcde")
    assert list(iterator) == []
    assert len(list(cargo)) == 3
    with pytest.raises(ConfigurationError, match="batch_sampler cannot be combined with batch_size, shuffle, sampler"):
        DataCargo("abc", "".join, 2, [0], True, [[0]])


def test_old_spellings_and_orders_of_arguments_work(dataset):
    sampler = PartialyRandomizedSimilarTimeLengthSampler(dataset.n_frames, 2)
    assert sorted(sampler) == list(range(6))
    specs = [np.ones((2, 3)), np.ones((2, 5))]
    old = batch_spec(specs, 0.0, np.float64)
    assert (old.shape, old.dtype) == ((2, 2, 5), np.float64)
    assert batch_spec(specs, 0.0, "float16").dtype == np.float16
    assert batch_spec([spec.T for spec in specs], 0.0, True).shape == (2, 5, 2)


def test_batches_are_padded_to_a_multiple():
    assert batch_text_id([[1, 2, 3]], pad_to_multiple=4).tolist() == [[1, 2, 3, 0]]
    assert batch_wav([np.ones(5)], pad_to_multiple=4).shape == (1, 8)
    assert batch_spec([np.ones((2, 5))], pad_to_multiple=5).shape == (1, 2, 5)
    with pytest.raises(ConfigurationError, match="pad_to_multiple: expected an integer >= 1, found 0"):
        batch_text_id([[1]], pad_to_multiple=0)
