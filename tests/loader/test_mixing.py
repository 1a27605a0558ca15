"""MixingSampler: proportions that hold, nobody forgotten, the same for the same seed and epoch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores import make_rows, write_store

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader import BatchSampler, ChainDataset, DataLoader, MixingSampler, UtteranceDataset, groups_of


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    weights=st.lists(st.integers(0, 9), min_size=5, max_size=5),
    epoch=st.integers(0, 20),
)
def test_an_epoch_has_each_group_in_its_share(sizes, weights, epoch):
    weights = weights[: len(sizes)]
    groups = np.repeat(np.arange(len(sizes)), sizes)
    if not any(weights):
        with pytest.raises(ConfigurationError, match="at least one above"):
            MixingSampler(groups, weights)
        return
    sampler = MixingSampler(groups, weights, num_samples=60)
    drawn = list(sampler.draw(epoch))
    assert sampler.count(epoch) == len(drawn)
    counts = np.bincount(groups[drawn], minlength=len(sizes))
    expected = 60 * np.array(weights) / sum(weights)
    assert (abs(counts - expected) < 1).all()


def test_a_group_is_visited_whole_before_one_comes_again():
    sampler = MixingSampler(np.repeat([0, 1], [100, 7]), [0.3, 0.7], num_samples=100)
    seen = [i for _ in range(4) for i in sampler if i < 100]
    assert len(seen) == 120
    assert sorted(seen[:90]) == sorted(set(seen[:90]))
    assert set(seen) == set(range(100))


def test_a_temperature_evens_shares_out():
    groups = np.repeat([0, 1], [900, 100])
    shares = [np.bincount(groups[list(MixingSampler(groups, temperature=t, num_samples=1000))])[1] for t in (1, 2, 1e9)]
    # 100^(1/2) / (900^(1/2) + 100^(1/2)) = 1/4
    assert shares == [100, 250, 500]


def test_an_epoch_is_a_function_of_seed_and_epoch():
    groups = np.repeat([0, 1, 2], [5, 50, 9])
    sampler = MixingSampler(groups, [1, 1, 1], seed=3)
    epochs = [list(sampler) for _ in range(3)]
    assert epochs == [list(MixingSampler(groups, [1, 1, 1], seed=3).draw(epoch)) for epoch in range(3)]
    assert epochs[0] != epochs[1]
    assert list(MixingSampler(groups, [1, 1, 1], seed=4)) != epochs[0]


def test_stores_and_speakers_are_mixed(tmp_path):
    stores = [
        UtteranceDataset(write_store(tmp_path / str(k), make_rows([3 + k] * n), n_shards=1))
        for k, n in ((0, 12), (1, 4))
    ]
    chain = ChainDataset(*stores)
    sampler = MixingSampler(groups_of(stores), [1, 1], num_samples=8)
    lengths = [int(n) for batch in DataLoader(chain, batch_sampler=BatchSampler(sampler, 4)) for n in batch.mel_lengths]
    assert sorted(lengths) == [3] * 4 + [4] * 4
    by_speaker = MixingSampler(chain.speaker.codes, temperature=1e9, num_samples=30)
    counts = np.bincount(chain.speaker.codes[list(by_speaker)])
    assert counts.tolist() == [10, 10, 10]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([],), SamplingError, "is the dataset empty"),
        (([0, -1],), ConfigurationError, "from 0 on, found -1"),
        (([0, 1], [1]), ConfigurationError, "one for each of 2 groups"),
        (([0, 2], [1, 1, 1]), SamplingError, "group 1 has the weight 1.0 and no utterance"),
        (([0], None, 0), ConfigurationError, "temperature"),
        (([0], None, 1, -1), ConfigurationError, "num_samples"),
    ],
)
def test_what_cannot_be_mixed_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        MixingSampler(*arguments)
