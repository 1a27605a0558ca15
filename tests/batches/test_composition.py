"""Composed datasets: lazy, with any nesting, and with columns."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores import make_rows, write_store

from tts_prep.errors import ConfigurationError
from tts_prep.loader import (
    CacheDataset,
    ChainDataset,
    DataLoader,
    DatasetMixin,
    FilterDataset,
    LengthBucketBatchSampler,
    SliceDataset,
    SubsetDataset,
    TransformDataset,
    UtteranceDataset,
    split,
)

N_FRAMES = [7, 3, 9, 4, 5, 11]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return write_store(tmp_path_factory.mktemp("store") / "s", make_rows(N_FRAMES), n_shards=2)


class Squares(DatasetMixin):
    def __init__(self, n):
        self.n = n
        self.made = []

    def __len__(self):
        return self.n

    def get_example(self, i):
        self.made.append(i)
        return i * i


def double(x):
    return 2 * x


def test_get_example_is_all_that_a_dataset_needs():
    squares = Squares(5)
    assert list(squares) == [0, 1, 4, 9, 16]
    assert squares[-1] == 16
    assert squares[np.int32(2)] == 4
    assert list(squares[1:4]) == [1, 4, 9]
    assert list(squares[::-2]) == [16, 4, 0]
    assert list(squares[np.array([3, -5])]) == [9, 0]
    assert list(squares[[True, False, False, False, True]]) == [0, 16]
    with pytest.raises(IndexError, match="out of range for 5"):
        squares[5]


def test_no_dataset_is_refused():
    with pytest.raises(ConfigurationError, match="at least one dataset"):
        ChainDataset()


@given(n=st.integers(0, 12), start=st.integers(-15, 15), finish=st.one_of(st.none(), st.integers(-15, 15)))
def test_a_slice_is_what_python_slices(n, start, finish):
    assert list(SliceDataset(range(n), start, finish)) == list(range(n))[start:finish]


def test_a_slice_of_an_order():
    assert list(SliceDataset("abcd", 1, 3, order=[3, 1, 0, 2])) == ["b", "a"]
    with pytest.raises(ConfigurationError, match="a permutation of the 4 positions"):
        SliceDataset("abcd", 1, 3, order=[0, 0, 1, 2])


def test_a_subset_takes_negative_positions_and_repeats():
    subset = SubsetDataset("abcd", [-1, 0, 0])
    assert list(subset) == ["d", "a", "a"]
    assert subset[-1] == "a"
    with pytest.raises(IndexError):
        SubsetDataset("abcd", [4])


@given(parts=st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_a_chain_is_one_after_another(parts):
    datasets = [[(k, i) for i in range(n)] for k, n in enumerate(parts)]
    chain = ChainDataset(*datasets)
    everything = [example for dataset in datasets for example in dataset]
    assert list(chain) == everything
    assert [chain[-1 - i] for i in range(len(chain))] == everything[::-1]


def test_a_filter_looks_at_every_example_once_when_it_is_made():
    squares = Squares(5)
    odd = FilterDataset(squares, lambda x: x % 2)
    assert squares.made == [0, 1, 2, 3, 4]
    assert list(odd) == [1, 9]


def test_a_transform_is_made_when_it_is_asked_for():
    squares = Squares(5)
    transformed = TransformDataset(squares, double)
    assert squares.made == []
    assert transformed[3] == 18
    assert squares.made == [3]


def test_a_cache_makes_each_example_once():
    squares = Squares(3)
    cached = CacheDataset(squares)
    assert list(cached) + list(cached) == [0, 1, 4] * 2
    assert squares.made == [0, 1, 2]


def test_a_cache_forgets_the_one_asked_for_longest_ago():
    squares = Squares(4)
    cached = CacheDataset(squares, max_examples=2)
    for i in (0, 1, 0, 2, 0, 1):
        assert cached[i] == i * i
    assert squares.made == [0, 1, 2, 1]
    with pytest.raises(ConfigurationError, match="max_examples"):
        CacheDataset(squares, 0)


def test_a_cache_is_pickled_without_what_it_keeps():
    cached = CacheDataset(TransformDataset("ab", double), 3)
    assert cached[0] == "aa"
    again = pickle.loads(pickle.dumps(cached))
    assert list(again) == ["aa", "bb"]
    assert len(again._cached) == 2


def test_split_gives_the_first_and_the_rest(dataset):
    first, rest = split("abcde", 2)
    assert (list(first), list(rest)) == (["a", "b"], ["c", "d", "e"])
    _, train = split(dataset, 2)
    assert isinstance(train, UtteranceDataset)
    assert train.n_frames.tolist() == N_FRAMES[2:]
    with pytest.raises(ConfigurationError, match="from 0 to 5, or a share .*, found 6"):
        split("abcde", 6)


@pytest.mark.parametrize("stores", [["/a", "/b"], lambda self, more: more, lambda self: ["/a"]])
def test_a_dataset_of_ones_own_may_have_any_attribute_of_the_name_of_ours(stores):
    mine = type("Mine", (), {"stores": stores, "__len__": lambda _: 6, "__getitem__": lambda _, i: 10 * i})
    chain = ChainDataset(mine(), mine())
    assert [chain[i] for i in (0, 5, 6, 11)] == [0, 50, 0, 50]


def test_columns_follow_a_composition_of_utterances(dataset):
    chain = ChainDataset(SliceDataset(dataset, -2, None), SubsetDataset(dataset, [0, 2]))
    wanted = [5, 11, 7, 9]
    assert chain.n_frames.tolist() == wanted
    assert [utterance.mel.shape[0] for utterance in chain] == wanted
    cached = CacheDataset(TransformDataset(chain[1:], lambda utterance: utterance.id))
    assert cached.n_frames.tolist() == wanted[1:]
    assert list(cached) == list(cached.id)
    assert list(chain.speaker) == [utterance.speaker for utterance in chain]
    assert (chain.speaker == "zoë").tolist() == [utterance.speaker == "zoë" for utterance in chain]


def test_categories_of_two_stores_come_under_one_table(store, tmp_path, dataset):
    rows = make_rows([4, 5])
    rows[0].speaker, rows[1].speaker = "anna", "zoë"
    other = UtteranceDataset(write_store(tmp_path / "o", rows, n_shards=1))
    speaker = ChainDataset(other, dataset).speaker
    assert list(speaker) == ["anna", "zoë", *dataset.speaker]
    assert speaker.table == tuple(sorted({"anna", *dataset.speakers}))


def test_batches_of_a_subset_of_utterances_are_padded_from_the_map(dataset):
    subset = SubsetDataset(dataset, [5, 1, 3])
    sampler = LengthBucketBatchSampler(subset.n_frames, max_frames=12)
    batches = list(DataLoader(subset, batch_sampler=sampler))
    assert sorted(i for batch in batches for i in batch.indices.tolist()) == [1, 3, 5]
    assert isinstance(subset.__getitems__([0, 2]), UtteranceDataset)
    shuffled = DataLoader(ChainDataset(dataset, dataset), 4, shuffle=True)
    assert sorted(i for batch in shuffled for i in batch.indices.tolist()) == sorted([*range(6)] * 2)
