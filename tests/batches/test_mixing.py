"""MixingSampler: proportions are exact, all rows occur, and epochs are deterministic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores import make_rows, write_store

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader import (
    BatchSampler,
    CacheDataset,
    ChainDataset,
    DataLoader,
    LengthBucketBatchSampler,
    MixingSampler,
    SubsetDataset,
    UtteranceDataset,
    collate,
    groups_of,
)


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
    # 1e6 ** 100 is more than the largest number of float64.
    assert list(MixingSampler([0, 1], [1, 1e6], temperature=0.01, num_samples=3)) == [1, 1, 1]


def test_an_epoch_is_a_function_of_seed_and_epoch():
    groups = np.repeat([0, 1, 2], [5, 50, 9])
    sampler = MixingSampler(groups, [1, 1, 1], seed=3)
    epochs = [list(sampler) for _ in range(3)]
    assert epochs == [list(MixingSampler(groups, [1, 1, 1], seed=3).draw(epoch)) for epoch in range(3)]
    assert epochs[0] != epochs[1]
    assert list(MixingSampler(groups, [1, 1, 1], seed=4)) != epochs[0]


def test_groups_take_turns_in_another_order_in_every_epoch():
    groups = np.repeat([0, 1], 30)
    sampler = MixingSampler(groups, num_samples=60)
    turns = [tuple(groups[list(sampler)].tolist()) for _ in range(5)]
    assert {turn.count(0) for turn in turns} == {30}
    assert len(set(turns)) == 5


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
        (([0, -1],), ConfigurationError, "non-negative integers, found -1"),
        (([0, 1], [1]), ConfigurationError, "one for each of 2 groups"),
        (([0, 2], [1, 1, 1]), SamplingError, "group 1 has the weight 1.0 but no utterances"),
        (([0], None, 0), ConfigurationError, "temperature"),
        (([0], None, 1, -1), ConfigurationError, "num_samples"),
    ],
)
def test_what_cannot_be_mixed_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        MixingSampler(*arguments)


def write_corpus(path, n_frames, speakers, *, seed=0, configuration=None, waveform=False, mel=None):
    """Write a store with particular mel statistics."""
    rows = make_rows(n_frames)
    for i, row in enumerate(rows):
        row.speaker = speakers[i % len(speakers)]
        row.id = f"{path.name}-{i}"
        if mel is not None:
            row.mel = (row.mel * mel[1] + mel[0]).astype(np.float32)
    return UtteranceDataset(write_store(path, rows, n_shards=2, waveform=waveform, configuration=configuration))


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora")
    a = write_corpus(folder / "a", [5, 9, 4, 7, 6], ["p225", "zoë"], mel=(3.0, 2.0))
    b = write_corpus(folder / "b", [8, 3, 5], ["bob", "p225"], mel=(-7.0, 0.5))
    return a, b


def expected_mel(dataset, row, by):
    """Return a mel that is normalized by numpy over the frames of its store."""
    utterances = [u for u in dataset if by == "corpus" or u.speaker == dataset[row].speaker]
    frames = np.concatenate([u.mel for u in utterances]).astype(np.float64)
    return (dataset[row].mel - frames.mean(0)) / frames.std(0)


@pytest.mark.parametrize("by", ["corpus", "speaker"])
def test_every_utterance_of_a_mix_is_normalized_by_its_own_store(corpora, by):
    chain = ChainDataset(*corpora)
    n_a = len(corpora[0])
    whole = [6, 0, 7, 1, 5]
    for utterances in (chain.__getitems__(whole), [chain[i] for i in whole]):
        batch = collate(utterances, normalize=by)
        for row, i in enumerate(whole):
            dataset, own = (corpora[0], i) if i < n_a else (corpora[1], i - n_a)
            mel = batch.mel[row, : batch.mel_lengths[row]]
            np.testing.assert_allclose(mel, expected_mel(dataset, own, by), atol=2e-5)


def test_a_mix_has_one_table_of_speakers(corpora):
    a, b = corpora
    chain = ChainDataset(a, b)
    assert chain.speakers == ("bob", "p225", "zoë")
    names = [*a.speaker, *b.speaker]
    batch = collate(chain.__getitems__([7, 0, 1, 5]))
    assert [chain.speakers[code] for code in batch.speakers] == [names[i] for i in (7, 0, 1, 5)]
    assert [u.speaker for u in chain] == names == list(chain.speaker)
    assert [chain[i].speaker_code for i in range(8)] == chain.speaker.codes.tolist()
    apart = ChainDataset(a, b, speakers="dataset")
    assert apart.speakers == ("0/p225", "0/zoë", "1/bob", "1/p225")
    assert [apart.speakers[code] for code in collate(apart.__getitems__([0, 6])).speakers] == ["0/p225", "1/p225"]
    assert collate([apart[0], apart[6]]).speakers.tolist() == apart.speaker.codes[[0, 6]].tolist() == [0, 3]
    nested = ChainDataset(ChainDataset(a[2:], b), CacheDataset(SubsetDataset(a, [1, 0])))
    assert [nested.speakers[u.speaker_code] for u in nested] == [*list(a.speaker)[2:], *b.speaker, "zoë", "p225"]
    batch = collate(nested.__getitems__(list(range(len(nested)))), normalize="speaker")
    assert batch.speakers.tolist() == nested.speaker.codes.tolist()


def test_stores_of_another_recipe_are_refused_by_their_settings(tmp_path, corpora):
    def audio(**settings):
        return {"audio": {"framing": "center", "fmax": 8000.0, "channel": "first", **settings}}

    center = write_corpus(tmp_path / "c", [4, 5], ["x"], configuration=audio())
    hifigan = write_corpus(tmp_path / "h", [4, 5], ["x"], configuration=audio(framing="hifigan"))
    other_reading = write_corpus(tmp_path / "r", [4, 5], ["x"], configuration=audio(channel="mean"))
    with pytest.raises(ConfigurationError, match="audio.framing is center in one and hifigan in the other"):
        ChainDataset(center, SubsetDataset(hifigan, [0]))
    with pytest.raises(ConfigurationError, match="audio.framing is center in one and hifigan in the other"):
        collate([center[0], hifigan[0]])
    assert len(collate(ChainDataset(center, other_reading).__getitems__([0, 2]))) == 2


@pytest.mark.filterwarnings("ignore::tts_prep.errors.ExactlyOnceWarning")
@given(data=st.data())
def test_a_mix_in_buckets_keeps_budgets_ranks_and_resume(data):
    sizes = data.draw(st.lists(st.integers(1, 25), min_size=1, max_size=3))
    groups = np.repeat(np.arange(len(sizes)), sizes)
    lengths = np.array(data.draw(st.lists(st.integers(1, 50), min_size=len(groups), max_size=len(groups))))
    weights = data.draw(st.lists(st.integers(1, 5), min_size=len(sizes), max_size=len(sizes)))
    world_size, again = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    n_shapes = data.draw(st.sampled_from([None, 2]))
    epoch, steps = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 4))
    mixing = MixingSampler(groups, weights, num_samples=40, seed=5)

    def make(rank, world_size):
        return LengthBucketBatchSampler(
            lengths, max_frames=100, sampler=mixing, n_shapes=n_shapes, seed=5, rank=rank, world_size=world_size
        )

    drawn = np.bincount(list(mixing.draw(epoch)), minlength=len(groups))
    first = [make(rank, world_size) for rank in range(world_size)]
    seen = []
    for sampler in first:
        sampler.set_epoch(epoch)
        seen += [batch for _, batch in zip(range(steps), sampler, strict=False)]
    state = first[0].state_dict()
    second = [make(rank, again) for rank in range(again)]
    for sampler in second:
        sampler.load_state_dict(state)
        if sampler.epoch == epoch:
            seen += list(sampler)
    assert len({len(sampler) for sampler in second}) == 1
    assert all(len(batch) * max(lengths[i] for i in batch) <= 100 for batch in seen)
    given = np.bincount([i for batch in seen for i in batch], minlength=len(groups))
    # Nobody is left out. Utterances are repeated only where there are too few batches to cut for all ranks.
    assert (given >= drawn).all()
    if world_size == again == 1:
        assert given.tolist() == drawn.tolist()
    with pytest.raises(ConfigurationError, match="other settings"):
        LengthBucketBatchSampler(lengths, max_frames=100, seed=5).load_state_dict(first[0].state_dict())


def test_a_sampler_that_is_shared_already_is_not_shared_again():
    mixing = MixingSampler([0, 0, 1], rank=1, world_size=2)
    with pytest.raises(ConfigurationError, match="sharded already"):
        LengthBucketBatchSampler([1, 2, 3], max_frames=9, sampler=mixing)
