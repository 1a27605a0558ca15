"""DataLoader: epochs of batches, prefetched by a thread that always ends."""

import itertools
import shutil
import threading
import time

import numpy as np
import pytest
from stores import make_rows, write_store

import tts_prep.loader
from tts_prep.errors import ConfigurationError, CorruptStoreError, ExactlyOnceWarning, SamplingError, StoreError
from tts_prep.loader import (
    BatchSampler,
    Collator,
    DataLoader,
    LengthBucketBatchSampler,
    RandomSampler,
    SequentialSampler,
    UtteranceDataset,
    collate,
)

N_FRAMES = [7, 3, 9, 4, 5, 11, 2, 6, 8, 1]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return write_store(tmp_path_factory.mktemp("store") / "s", make_rows(N_FRAMES), n_shards=3)


@pytest.fixture(params=[0, 1, 3])
def prefetch(request):
    return request.param


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("tts-prep-loader")]


def identity(examples):
    return list(examples)


def test_an_epoch_gives_every_utterance_once_padded(dataset, prefetch):
    sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=20)
    loader = DataLoader(dataset, batch_sampler=sampler, prefetch=prefetch)
    batches = list(loader)
    assert sorted(id for batch in batches for id in batch.ids) == sorted(dataset.id)
    assert len(loader) == len(batches)
    for batch in batches:
        assert batch.mel.shape[0] * batch.mel.shape[1] <= 20
        expected = collate(dataset[[list(dataset.id).index(id) for id in batch.ids]])
        np.testing.assert_array_equal(batch.mel, expected.mel)
        np.testing.assert_array_equal(batch.phonemes, expected.phonemes)


def test_batches_come_in_the_order_of_the_batch_sampler(dataset, prefetch):
    wanted = [[3], [9, 0], [1, 2, 1], [8]]
    loader = DataLoader(dataset, batch_sampler=wanted, prefetch=prefetch)
    for _ in range(2):
        assert [batch.indices.tolist() for batch in loader] == wanted
    assert len(loader) == 4


def test_each_iteration_is_the_next_epoch(dataset, prefetch):
    sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=20, tolerance=1.0, seed=3)
    loader = DataLoader(dataset, batch_sampler=sampler, prefetch=prefetch)
    epochs = [[batch.indices.tolist() for batch in loader] for _ in range(3)]
    assert epochs == [list(sampler.draw(epoch)) for epoch in range(3)]
    assert epochs[0] != epochs[1]
    assert loader.epoch == 2
    loader.set_epoch(1)
    assert [batch.indices.tolist() for batch in loader] == epochs[1]


def test_batch_size_shuffle_and_drop_last_make_their_own_sampler(dataset, prefetch):
    plain = DataLoader(dataset, 4, prefetch=prefetch)
    assert [batch.indices.tolist() for batch in plain] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(plain) == 3
    shuffled = DataLoader(dataset, 4, True, seed=5, drop_last=True, prefetch=prefetch)
    order = list(RandomSampler(range(10), seed=5).draw(0))
    assert [batch.indices.tolist() for batch in shuffled] == [order[:4], order[4:8]]
    assert len(shuffled) == 2
    given = DataLoader(dataset, 5, sampler=[9, 8, 7], prefetch=prefetch)
    assert [batch.indices.tolist() for batch in given] == [[9, 8, 7]]


def test_any_dataset_and_collate_function_will_do(prefetch):
    loader = DataLoader(list("abcde"), 2, collate_fn="".join, prefetch=prefetch)
    assert list(loader) == ["ab", "cd", "e"]


def test_a_collate_function_can_iterate_over_utterances(dataset, prefetch):
    loader = DataLoader(dataset[::3], 3, collate_fn=identity, prefetch=prefetch)
    assert [[utterance.index for utterance in batch] for batch in loader] == [[0, 3, 6], [9]]


def test_positions_are_those_of_the_selection(dataset):
    chosen = dataset.filter(lambda m: m.n_frames > 5)
    batches = list(DataLoader(chosen, batch_sampler=LengthBucketBatchSampler(chosen.n_frames, 2)))
    assert sorted(i for batch in batches for i in batch.indices.tolist()) == [0, 2, 5, 7, 8]


def test_the_thread_ends_with_the_epoch(dataset):
    for _ in DataLoader(dataset):
        assert threads()
    assert not threads()


def test_the_thread_ends_with_a_break(dataset):
    for _ in DataLoader(dataset):
        break
    assert not threads()


def test_the_thread_ends_with_an_exception_of_the_caller(dataset):
    def train():
        for _ in DataLoader(dataset):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train()
    assert not threads()


def test_no_thread_starts_before_the_first_batch_is_wanted(dataset):
    iterator = iter(DataLoader(dataset))
    assert not threads()
    next(iterator)
    assert threads()
    del iterator
    assert not threads()


def test_an_exception_in_the_background_comes_where_its_batch_would(dataset, prefetch):
    def fail_on_the_third(utterances):
        if utterances.indices[0] == 2:
            raise CorruptStoreError("the third")
        return utterances.indices[0]

    seen = []
    with pytest.raises(CorruptStoreError, match="the third"):
        seen.extend(DataLoader(dataset, collate_fn=fail_on_the_third, prefetch=prefetch))
    assert not threads()
    iterator = iter(DataLoader(dataset, collate_fn=fail_on_the_third, prefetch=prefetch))
    assert [next(iterator), next(iterator)] == [0, 1]
    with pytest.raises(CorruptStoreError):
        next(iterator)


def test_no_more_is_made_ahead_than_was_asked_for(dataset):
    made, count = [], threading.Semaphore(0)

    def make(utterances):
        made.append(utterances)
        count.release()

    iterator = iter(DataLoader(dataset, collate_fn=make, prefetch=3))
    next(iterator)
    for _ in range(4):
        assert count.acquire(timeout=60)
    time.sleep(0.05)  # in which more could be made
    assert len(made) == 4  # the one that was taken, and three
    iterator.close()


def test_two_iterations_at_once_are_two_epochs(dataset):
    loader = DataLoader(dataset, 4, shuffle=True)
    pairs = list(zip(loader, loader, strict=True))
    for epoch in (0, 1):
        indices = [i for pair in pairs for i in pair[epoch].indices.tolist()]
        assert indices == list(RandomSampler(range(10)).draw(epoch))


@pytest.mark.parametrize(
    "settings", [{"batch_size": 2}, {"shuffle": True}, {"sampler": [0]}, {"drop_last": True}, {"seed": 1}]
)
def test_a_batch_sampler_excludes_what_it_decides_on(dataset, settings):
    with pytest.raises(ConfigurationError, match=f"batch_sampler cannot be combined with {next(iter(settings))}"):
        DataLoader(dataset, batch_sampler=[[0]], **settings)


def test_other_settings_that_cannot_be_used_are_refused(dataset):
    with pytest.raises(ConfigurationError, match="sampler cannot be combined with shuffle"):
        DataLoader(dataset, sampler=[0], shuffle=True)
    with pytest.raises(ConfigurationError, match="prefetch: expected an integer >= 0"):
        DataLoader(dataset, prefetch=-1)
    with pytest.raises(ConfigurationError, match="a list, has no epochs"):
        DataLoader(dataset, batch_sampler=[[0]]).set_epoch(1)


@pytest.mark.parametrize("settings", [{"batch_sampler": [[0, 1], [2]]}, {"sampler": [0, 1, 2], "batch_size": 2}])
def test_an_iterator_as_a_sampler_raises_in_its_second_epoch(dataset, settings, prefetch):
    name = next(iter(settings))
    loader = DataLoader(dataset, **{**settings, name: iter(settings[name])}, prefetch=prefetch)
    assert [batch.indices.tolist() for batch in loader] == [[0, 1], [2]]
    with pytest.raises(SamplingError, match="a list_iterator, is exhausted: .* pass a list"):
        next(iter(loader))


def test_an_endless_iterator_as_a_sampler_can_be_continued(dataset):
    loader = DataLoader(dataset, batch_sampler=itertools.cycle([[0, 1], [2]]), prefetch=0)
    assert [next(iter(loader)).indices.tolist() for _ in range(3)] == [[0, 1], [2], [0, 1]]


def test_an_empty_dataset_is_refused(dataset):
    with pytest.raises(SamplingError, match="the dataset is empty"):
        DataLoader(dataset.filter(lambda m: m.n_frames > 100), shuffle=True)


@pytest.mark.whole
def test_a_sampler_of_another_dataset_is_refused(dataset):
    train, _ = dataset.split(6)
    with pytest.raises(SamplingError, match="made for 10 utterances, the dataset has 6"):
        DataLoader(train, batch_sampler=LengthBucketBatchSampler(dataset.n_frames, max_frames=30))
    with pytest.raises(SamplingError, match="made for 10 utterances, the dataset has 6"):
        DataLoader(train, sampler=SequentialSampler(dataset))


def test_a_store_that_vanished_or_was_made_again_stops_the_epoch(tmp_path, prefetch):
    path = write_store(tmp_path / "s", make_rows(N_FRAMES), n_shards=5)
    iterator = iter(DataLoader(UtteranceDataset(path), prefetch=prefetch))
    next(iterator)
    shutil.rmtree(path)
    with pytest.raises(
        StoreError, match="removed since the store was opened|cannot be opened|was the store moved|no such"
    ):
        list(iterator)
    assert not threads()
    write_store(path, make_rows(N_FRAMES), n_shards=5)
    dataset = UtteranceDataset(path)
    assert dataset[0].index == 0
    shutil.rmtree(path)
    write_store(path, make_rows([3, *N_FRAMES[1:]]), n_shards=5)
    with pytest.raises(StoreError, match="was replaced since it was opened"):
        list(DataLoader(dataset, prefetch=prefetch))


def test_batches_given_as_positions_are_refused_when_the_loader_is_made(dataset):
    buckets = LengthBucketBatchSampler(dataset.n_frames, batch_size=2)
    for sampler in (buckets, BatchSampler(SequentialSampler(dataset), 2), [[0, 1], [2]], ([0], [1])):
        kind = type(sampler).__name__
        with pytest.raises(ConfigurationError, match=f"expected positions, found batches of a {kind}; pass it as"):
            DataLoader(dataset, sampler=sampler)
    for sampler in (SequentialSampler(dataset), RandomSampler(dataset), [0, 1], range(3), np.arange(3)):
        kind = type(sampler).__name__
        with pytest.raises(ConfigurationError, match=f"batch_sampler: expected batches, found positions of a {kind};"):
            DataLoader(dataset, batch_sampler=sampler)
    torch = pytest.importorskip("torch")
    positions = torch.utils.data.SequentialSampler(dataset)
    with pytest.raises(ConfigurationError, match="expected batches, found positions of a SequentialSampler"):
        DataLoader(dataset, batch_sampler=positions)
    with pytest.raises(ConfigurationError, match="expected positions, found batches of a BatchSampler"):
        DataLoader(dataset, sampler=torch.utils.data.BatchSampler(positions, 2, False))


def test_samplers_of_unknown_kind_are_refused_with_the_first_batch(dataset):
    with pytest.raises(ConfigurationError, match="sampler gave batches; pass it as batch_sampler"):
        next(iter(DataLoader(dataset, sampler=iter([[0, 1], [2]]))))
    with pytest.raises(ConfigurationError, match="batch_sampler gave a position; pass it as sampler"):
        next(iter(DataLoader(dataset, batch_sampler=iter([0, 1]))))
    # What gives what it is asked for is used as it is.
    assert [len(batch) for batch in DataLoader(dataset, sampler=iter([0, 1, 2]), batch_size=2)] == [2, 1]
    assert [len(batch) for batch in DataLoader(dataset, batch_sampler=iter([[0, 1], [2]]))] == [2, 1]


def test_worker_processes_are_refused_when_the_loader_is_made(dataset):
    with pytest.raises(ConfigurationError, match="num_workers=4: this loader makes batches in threads"):
        DataLoader(dataset, num_workers=4)
    assert len(DataLoader(dataset, num_workers=0)) == len(dataset)


@pytest.mark.whole
def test_waveforms_that_a_store_does_not_have_are_refused_when_the_loader_is_made(tmp_path):
    silent = UtteranceDataset(write_store(tmp_path / "silent", make_rows([4, 5])))
    for collate_fn in (Collator(waveform=True), tts_prep.loader.SegmentCollator(2, waveform=True)):
        for examples in (
            silent,
            tts_prep.loader.SubsetDataset(silent, [0]),
            tts_prep.loader.ChainDataset(silent, silent),
        ):
            with pytest.raises(ConfigurationError, match="waveform=True: the store has no waveforms; repeat"):
                DataLoader(examples, collate_fn=collate_fn)
        with pytest.raises(ConfigurationError, match="waveform=True: the store has no waveforms"):
            collate_fn([silent[0]])
    assert collate(silent).waveform is None
    assert collate(silent, waveform=False).waveform is None


def lengths_of_epochs(**settings):
    """Return a sampler of 60 utterances, and an epoch that has more batches than epoch 0."""
    lengths = np.random.default_rng(0).integers(20, 90, 60)
    sampler = LengthBucketBatchSampler(lengths, max_frames=300, tolerance=0.3, **settings)
    counts = [sampler.count(epoch) for epoch in range(20)]
    return sampler, next((epoch for epoch, count in enumerate(counts) if count > counts[0]), None)


@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_loop_that_stops_after_the_length_of_another_epoch_is_warned_once_of_what_it_loses(prefetch):
    sampler, longer = lengths_of_epochs()
    loader = DataLoader(range(60), batch_sampler=sampler, collate_fn=list, prefetch=prefetch)
    count = len(loader)
    lost = sum(map(len, list(sampler.draw(longer))[count:]))
    loader.set_epoch(longer)
    with pytest.warns(ExactlyOnceWarning, match=rf"{sampler.count(longer)} batches, {lost} utterances: .* {count},"):
        list(itertools.islice(loader, count))
    # Once, and not for a loop that stops elsewhere, or never asked.
    loader.set_epoch(longer)
    list(itertools.islice(loader, count))
    for asked, stop in ((True, count - 1), (False, count)):
        loader = DataLoader(range(60), batch_sampler=sampler, collate_fn=list, prefetch=prefetch)
        assert not asked or len(loader)
        loader.set_epoch(longer)
        list(itertools.islice(loader, stop))


def test_equal_epochs_lose_nothing_in_a_loop_that_asks_once():
    sampler, longer = lengths_of_epochs(equal_epochs=True)
    assert longer is None
    loader = DataLoader(range(60), batch_sampler=sampler, collate_fn=list)
    count = len(loader)
    for _ in range(5):
        assert sorted(itertools.chain(*itertools.islice(loader, count))) == list(range(60))
