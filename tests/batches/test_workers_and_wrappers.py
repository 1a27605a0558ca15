"""Workers, forks, wrappers, and states of other datasets."""

import os
import threading
import time
from types import SimpleNamespace

import pytest
from stores import make_rows, write_store

from tts_prep.batches.wrappers import split_positions
from tts_prep.errors import ConfigurationError
from tts_prep.loader import (
    CacheDataset,
    ChainDataset,
    DataLoader,
    DatasetMixin,
    LengthBucketBatchSampler,
    SliceDataset,
    SubsetDataset,
    TransformDataset,
    UtteranceDataset,
    collate,
    split,
)

N_FRAMES = [7, 3, 9, 4, 5, 11, 20, 6, 8, 12]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "s"
    return UtteranceDataset(write_store(path, make_rows(N_FRAMES), n_shards=2, waveform=True))


def identity(example):
    return example


@pytest.mark.parametrize(
    "wrap",
    [
        lambda d: ChainDataset(d[:4], d[4:]),
        lambda d: ChainDataset(SubsetDataset(d, range(4)), CacheDataset(d[4:])),
        lambda d: TransformDataset(d, identity),
        CacheDataset,
        lambda d: SubsetDataset(SubsetDataset(SubsetDataset(d, range(10)), range(10)), range(10)),
        lambda d: SliceDataset(ChainDataset(d, d), 0, 10),
        lambda d: split(TransformDataset(d, identity), 10)[0],
    ],
)
def test_fixed_shapes_and_epochs_go_through_every_wrapper(dataset, wrap):
    wrapped = wrap(dataset)
    lengths = {name: dataset.column(name) for name in ("n_frames", "n_phonemes", "n_samples")}
    sampler = LengthBucketBatchSampler(lengths, max_frames=40, n_shapes=2)
    shapes = {(*shape.lengths.values(), shape.size) for shape in sampler.shapes}
    for positions in sampler:
        examples = wrapped.__getitems__(positions)
        assert examples.batch_info.epoch == 0
        batch = collate(examples)
        assert (batch.mel.shape[1], batch.phonemes.shape[1], batch.waveform.shape[1], len(batch)) in shapes


def test_a_state_of_other_indices_is_refused(dataset):
    def make(indices):
        renamed = TransformDataset(SubsetDataset(dataset, indices), lambda utterance: utterance.id)
        return DataLoader(ChainDataset(renamed), 2, collate_fn=list)

    state = make([0, 1, 2, 3]).state_dict()
    make([0, 1, 2, 3]).load_state_dict(state)
    with pytest.raises(ConfigurationError, match="of another dataset"):
        make([0, 1, 3, 2]).load_state_dict(state)


def test_an_attribute_error_of_a_users_property_is_let_through():
    class Mine(DatasetMixin):
        def get_example(self, i):
            return i

        def __len__(self):
            return 3

        @property
        def broken(self):
            return SimpleNamespace().missing

    with pytest.raises(AttributeError, match="has no attribute 'missing'"):
        _ = Mine().broken
    with pytest.raises(AttributeError, match="has a column 'n_frames'"):
        _ = Mine().n_frames


def test_stop_iteration_in_a_collate_function_is_an_error(dataset):
    for prefetch in (0, 2):
        with pytest.raises(RuntimeError, match="raised StopIteration"):
            list(DataLoader(dataset, 2, collate_fn=lambda _: next(iter([])), prefetch=prefetch))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_fork_while_a_thread_fills_a_cache_does_not_hang():
    entered, go = threading.Event(), threading.Event()

    class Slow(DatasetMixin):
        def get_example(self, i):
            if i == 0 and threading.current_thread() is not threading.main_thread():
                entered.set()
                go.wait(30)
            return i

        def __len__(self):
            return 2

    cache = CacheDataset(Slow())
    thread = threading.Thread(target=cache.__getitem__, args=(0,))
    thread.start()
    assert entered.wait(30)
    child = os.fork()
    if child == 0:
        os._exit(0 if cache[1] == 1 else 1)
    deadline = time.monotonic() + 30
    done = (0, 0)
    while done == (0, 0) and time.monotonic() < deadline:
        done = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    go.set()
    thread.join()
    if done == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert done == (child, 0)


@pytest.mark.whole
@pytest.mark.parametrize("persistent", [False, True])
def test_references_and_clips_change_every_epoch_in_torchs_workers(dataset, persistent):
    from tts_prep.recipes import DataCollector
    from tts_prep.recipes.styletts2 import Collater, FilePathDataset

    data = pytest.importorskip("torch.utils.data")
    long = dataset.filter(lambda m: m.n_frames > 6)
    collector = DataCollector(0, dataset.sample_rate, dataset.hop_length, 2 / 86, settings="any")
    clips = data.DataLoader(long, 3, shuffle=True, collate_fn=collector, num_workers=1, persistent_workers=persistent)
    starts = [sorted(int(start) for _, _, batch in clips for start in batch) for _ in range(3)]
    assert len({tuple(epoch) for epoch in starts}) > 1
    files = FilePathDataset(None, dataset, OOD_data=["abc" * 20], min_length=1, settings="any")
    loader = data.DataLoader(
        files, 4, collate_fn=Collater(output="numpy"), num_workers=1, persistent_workers=persistent
    )
    references = [[mel.tobytes() for batch in loader for mel in batch[7]] for _ in range(3)]
    assert references[0] != references[1] != references[2]


@pytest.mark.parametrize("column", ["speaker", "gender"])
def test_a_stratified_split_keeps_the_shares(dataset, column):
    first, rest = split(ChainDataset(dataset, dataset), 7, stratify=column, seed=3)
    assert (len(first), len(rest)) == (7, 13)
    values = [*dataset.column(column), *dataset.column(column)]
    for value in set(values):
        share = values.count(value) * 7 / 20
        assert abs(list(first.column(column)).count(value) - share) < 1
    own = dataset.split(4, stratify=column)
    assert sorted([*own[0].indices, *own[1].indices]) == list(range(10))


def test_shares_that_are_no_integers_are_rounded_by_their_remainders():
    # Half of 4, 3 and 3 are 2, 1.5 and 1.5.
    first, rest = split_positions(10, 5, strata=list("aaaabbbccc"))
    counts = ["aaaabbbccc"[i] for i in first]
    assert [counts.count(value) for value in "abc"] == [2, 2, 1]
    assert sorted([*first, *rest]) == list(range(10))


def test_a_split_by_another_seed_is_another_one():
    values = [i // 2 for i in range(40)]
    for options in ({}, {"strata": values}, {"groups": values}):
        first, second = (split_positions(40, 20, seed, **options)[0].tolist() for seed in (1, 2))
        assert len(first) == len(second) == 20
        assert first != second


@pytest.mark.parametrize("size", [3, 6, 8])
def test_groups_that_still_fit_exactly_are_taken_and_no_more(size):
    first, _ = split_positions(9, size, groups=list("aaabbbccc"))
    assert len(first) == size - size % 3


def test_a_split_apart_has_no_value_on_both_sides(dataset):
    first, rest = dataset.split(4, apart="speaker", seed=1)
    assert 0 < len(first) <= 4
    assert set(first.speaker).isdisjoint(rest.speaker)
    random, _ = dataset.split(5, seed=1)
    assert random.indices.tolist() != list(range(5))
    assert random.indices.tolist() == dataset.split(5, seed=1)[0].indices.tolist()
    with pytest.raises(ConfigurationError, match="none of the 3 groups fits into .*; the smallest has 3"):
        dataset.split(2, apart="speaker")
    with pytest.raises(ConfigurationError, match="stratify or apart"):
        dataset.split(2, apart="speaker", stratify="speaker")


@pytest.mark.whole
def test_the_arguments_of_styletts2_are_taken_by_their_names(dataset):
    from tts_prep.recipes.styletts2 import FilePathDataset

    files = FilePathDataset(
        None,
        dataset,
        OOD_data=["abc" * 20],
        min_length=1,
        sr=24_000,
        data_augmentation=False,
        validation=True,
        settings="any",
    )
    assert len(files[0]) == 8
