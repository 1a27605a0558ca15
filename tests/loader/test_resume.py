"""state_dict: remaining rows occur once, and a resumed run equals an uninterrupted one."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores import make_rows, write_store

import tts_prep.loader
from tts_prep.errors import ConfigurationError
from tts_prep.loader import (
    BatchSampler,
    Budget,
    DataLoader,
    LengthBucketBatchSampler,
    RandomSampler,
    SequentialSampler,
    UtteranceDataset,
)

LENGTHS = st.lists(st.integers(1, 200), min_size=1, max_size=60)
STOPS = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 8)), max_size=3)


def flat(batches):
    return [i for batch in batches for i in batch]


def run_ranks(make, state, world_size, steps=None):
    """Run a number of steps on every rank; return the rows of each, and the state of rank 0."""
    seen, states = [], []
    for rank in range(world_size):
        sampler = make(rank, world_size)
        if state is not None:
            sampler.load_state_dict(json.loads(json.dumps(state)))
        iterator = iter(sampler)
        given = [] if steps is None else [batch for _, batch in zip(range(steps), iterator, strict=False)]
        seen.append(list(iterator) if steps is None else given)
        states.append(sampler.state_dict())
    assert all(found == states[0] for found in states)
    return seen, states[0]


@pytest.mark.filterwarnings("ignore::tts_prep.errors.ExactlyOnceWarning")
@given(
    lengths=LENGTHS,
    factor=st.floats(1, 8),
    stops=STOPS,
    last=st.integers(1, 5),
    seed=st.integers(0, 99),
    longest_first=st.booleans(),
    window=st.sampled_from([1, 4, 15, 60]),
)
def test_every_utterance_comes_once_for_any_numbers_of_ranks_and_any_stops(
    lengths, factor, stops, last, seed, longest_first, window
):
    budget = int(max(lengths) * factor)

    def make(rank, world_size):
        return LengthBucketBatchSampler(
            lengths,
            max_frames=budget,
            seed=seed,
            longest_first=longest_first,
            window=window,
            rank=rank,
            world_size=world_size,
        )

    state, seen = None, []
    for world_size, steps in stops:
        parts, state = run_ranks(make, state, world_size, steps)
        if state["epoch"] == 1:
            assert len({len(part) for part in parts}) == 1
            seen += [batch for part in parts for batch in part]
            break
        seen += [batch for part in parts for batch in part]
    else:
        parts, _ = run_ranks(make, state, last)
        assert len({len(part) for part in parts}) == 1
        seen += [batch for part in parts for batch in part]
    assert set(flat(seen)) == set(range(len(lengths)))
    assert all(len(batch) * max(lengths[i] for i in batch) <= budget for batch in seen)
    one_window = len(lengths) <= window
    if one_window and all(len(b) > 1 for b in LengthBucketBatchSampler(lengths, max_frames=budget, seed=seed).draw(0)):
        # Enough to cut in two: nobody is repeated, unless there were fewer utterances than ranks in the end.
        repeats = len(flat(seen)) - len(lengths)
        assert repeats < 5


@pytest.mark.parametrize("window", [100, 500])
def test_nobody_is_repeated_while_batches_can_be_cut(window):
    lengths = np.random.default_rng(0).integers(50, 900, 500)
    for world_size in range(1, 9):
        parts = [
            list(LengthBucketBatchSampler(lengths, max_frames=5_000, window=window, rank=rank, world_size=world_size))
            for rank in range(world_size)
        ]
        assert len({len(part) for part in parts}) == 1
        assert sorted(flat(batch for part in parts for batch in part)) == list(range(500))


@pytest.mark.parametrize("window", [100, 500])
def test_the_longest_first_are_those_of_the_ranks_that_began_the_epoch(window):
    lengths = np.random.default_rng(0).integers(50, 900, 500)

    def make(rank, world_size):
        return LengthBucketBatchSampler(
            lengths, max_frames=5_000, longest_first=True, window=window, rank=rank, world_size=world_size
        )

    begun, state = run_ranks(make, None, 2, 3)
    rest, _ = run_ranks(make, state, 3)
    assert sorted(flat(batch for part in begun + rest for batch in part)) == list(range(500))


SAMPLERS = {
    "sequential": lambda: SequentialSampler(range(23)),
    "random": lambda: RandomSampler(range(23), seed=3),
    "replacement": lambda: RandomSampler(range(23), replacement=True, num_samples=31),
    "weighted": lambda: tts_prep.loader.WeightedRandomSampler(np.arange(23.0), 12),
    "subset": lambda: tts_prep.loader.SubsetRandomSampler([3, 5, 11, 2]),
    "distributed": lambda: tts_prep.loader.DistributedSampler(23, 3, 1),
    "batches": lambda: BatchSampler(RandomSampler(range(23)), 4),
    "short batches": lambda: BatchSampler(tts_prep.loader.DistributedSampler(23, 2, 0), 5, drop_last=True),
    "buckets": lambda: LengthBucketBatchSampler(np.arange(1, 24), max_frames=40, rank=1, world_size=3),
    "by count": lambda: LengthBucketBatchSampler(np.arange(1, 24), 3, shuffle=False),
    "shapes": lambda: LengthBucketBatchSampler(np.arange(1, 24), max_frames=40, n_shapes=3),
    "windows": lambda: LengthBucketBatchSampler(np.arange(1, 24), max_frames=40, window=6, rank=1, world_size=3),
    "windows of shapes": lambda: LengthBucketBatchSampler(np.arange(1, 24), max_frames=40, n_shapes=3, window=6),
    "windows, the longest first": lambda: LengthBucketBatchSampler(
        np.arange(1, 70), max_frames=100, longest_first=True, window=20
    ),
    "fields": lambda: LengthBucketBatchSampler(
        {"n_frames": np.arange(1, 24), "n_phonemes": np.arange(23, 0, -1)},
        max_frames=60,
        budgets=[Budget("n_phonemes", 50)],
    ),
}


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore::tts_prep.errors.ExactlyOnceWarning")
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_run_that_was_resumed_at_any_step_equals_one_that_never_stopped(name):
    make = SAMPLERS[name]
    whole = make()
    epochs = [list(whole) for _ in range(3)]
    n = len(epochs[1])
    for stop in range(n + 1):
        first = make()
        first.set_epoch(1)
        assert len(first) == n
        iterator = iter(first)
        seen = [next(iterator) for _ in range(stop)]
        second = make()
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        if stop < n:
            assert second.epoch == 1
            assert (len(second), second.remaining) == (n, n - stop)
            second.set_epoch(1)  # as training loops do
            seen += list(second)
        else:
            assert second.epoch == 2
        assert seen == epochs[1]
        assert list(second) == epochs[2]


def test_a_state_of_steps_that_were_told_ignores_what_was_taken_ahead():
    sampler = RandomSampler(range(10))
    iterator = iter(sampler)
    taken = [next(iterator) for _ in range(7)]
    resumed = RandomSampler(range(10))
    resumed.load_state_dict(sampler.state_dict(steps=3))
    assert taken[:3] + list(resumed) == list(sampler.draw(0))


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore::tts_prep.errors.ExactlyOnceWarning")
def test_a_distributed_sampler_goes_on_with_other_ranks():
    seen = []
    state = None
    for world_size, steps in ((4, 5), (3, 10), (2, None)):
        parts, state = run_ranks(
            lambda rank, world: tts_prep.loader.DistributedSampler(101, world, rank), state, world_size, steps
        )
        assert len({len(part) for part in parts}) == 1
        seen += flat(parts)
    assert sorted(set(seen)) == list(range(101))
    assert len(seen) <= 101 + 1


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({}, "expected the result of state_dict"),
        ({**RandomSampler(range(5)).state_dict(), "done": [[1]]}, "expected the result of state_dict"),
        ({**RandomSampler(range(5)).state_dict(), "done": [[0, 3]]}, "are impossible"),
        (SequentialSampler(range(5)).state_dict(), "of a SequentialSampler, this is a RandomSampler"),
        (RandomSampler(range(5), seed=1).state_dict(), "other settings or another dataset"),
        (RandomSampler(range(6)).state_dict(), "other settings or another dataset"),
    ],
)
def test_a_state_of_something_else_is_refused(state, message):
    with pytest.raises(ConfigurationError, match=message):
        RandomSampler(range(5)).load_state_dict(state)


@pytest.mark.parametrize(
    "make",
    [
        lambda number, rank: LengthBucketBatchSampler(
            [10, 20, 30, 40],
            number(4),
            max_frames=number(100),
            budgets=[Budget("n_frames", number(120))],
            multiple_of=number(2),
            n_shapes=number(2),
            rank=number(rank),
            world_size=number(2),
        ),
        lambda number, rank: LengthBucketBatchSampler(
            [10, 20, 30, 40], number(2), window=number(3), rank=number(rank), world_size=number(2)
        ),
    ],
)
def test_settings_computed_by_numpy_are_those_written_as_numbers(make):
    # A limit such as 32 * n_frames.max() is a number of numpy, which json does not know.
    state = make(np.int64, 0).state_dict(np.int64(1))
    assert json.loads(json.dumps(state)) == json.loads(json.dumps(make(int, 0).state_dict(1)))
    make(int, 1).load_state_dict(state)


def test_a_state_of_other_lengths_is_refused():
    state = LengthBucketBatchSampler([5, 6, 7], max_frames=20).state_dict()
    LengthBucketBatchSampler(np.array([5, 6, 7], np.int32), max_frames=20).load_state_dict(state)
    with pytest.raises(ConfigurationError, match="another dataset"):
        LengthBucketBatchSampler([5, 6, 8], max_frames=20).load_state_dict(state)


@pytest.mark.parametrize(
    "other",
    [{"seed": 1}, {"batch_size": 2}, {"max_frames": 21}, {"shuffle": False}, {"drop_last": True}, {"tolerance": 0.1},
     {"over_budget": "drop"}, {"longest_first": True}, {"multiple_of": 2}, {"n_shapes": 2},
     {"budgets": [Budget("n_frames", 300, power=2)]}, {"sampler": RandomSampler(range(3))}],
)  # fmt: skip
def test_a_state_of_another_setting_of_buckets_is_refused(other):
    def make(**settings):
        return LengthBucketBatchSampler([5, 6, 7], **{"max_frames": 20, **settings})

    state = make().state_dict()
    make().load_state_dict(state)
    with pytest.raises(ConfigurationError, match="other settings or another dataset"):
        make(**other).load_state_dict(state)


def test_a_state_of_other_windows_is_refused_where_it_would_be_another_epoch():
    state = LengthBucketBatchSampler([5, 6, 7], max_frames=20, window=2).state_dict()
    with pytest.raises(ConfigurationError, match="other settings"):
        LengthBucketBatchSampler([5, 6, 7], max_frames=20).load_state_dict(state)
    state = LengthBucketBatchSampler([5, 6, 7], max_frames=20, window=3).state_dict()
    LengthBucketBatchSampler([5, 6, 7], max_frames=20).load_state_dict(state)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    path = write_store(tmp_path_factory.mktemp("store") / "s", make_rows([7, 3, 9, 4, 5, 11, 2, 6, 8, 1]), n_shards=3)
    return UtteranceDataset(path)


@pytest.mark.parametrize("prefetch", [0, 3])
def test_a_loader_knows_what_its_caller_has_seen(dataset, prefetch):
    def make():
        sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=12)
        return DataLoader(dataset, batch_sampler=sampler, prefetch=prefetch)

    whole = [[batch.indices.tolist() for batch in loader] for loader in [make()] * 2]
    for stop in range(len(whole[0]) + 1):
        loader = make()
        iterator = iter(loader)
        seen = [next(iterator).indices.tolist() for _ in range(stop)]
        state = json.loads(json.dumps(loader.state_dict()))
        resumed = make()
        resumed.load_state_dict(state)
        if stop < len(whole[0]):
            seen += [batch.indices.tolist() for batch in resumed]
        assert seen == whole[0]
        assert [batch.indices.tolist() for batch in resumed] == whole[1]


def test_the_state_of_an_epoch_that_was_only_set_has_nothing_done(dataset):
    loader = DataLoader(dataset, 2, shuffle=True)
    assert len(list(loader)) == 5
    assert loader.state_dict()["sampler"]["epoch"] == 1
    loader.set_epoch(3)
    state = loader.state_dict()["sampler"]
    assert (state["epoch"], state["done"]) == (3, [])


def test_a_loader_refuses_a_state_of_another_dataset(dataset, tmp_path):
    state = DataLoader(dataset, 2).state_dict()
    DataLoader(UtteranceDataset(dataset.path), 2).load_state_dict(state)
    with pytest.raises(ConfigurationError, match="of another dataset, or another selection"):
        DataLoader(dataset[::-1], 2).load_state_dict(state)
    other = UtteranceDataset(write_store(tmp_path / "o", make_rows([7, 3, 9, 4, 5, 11, 2, 6, 8, 3]), n_shards=1))
    with pytest.raises(ConfigurationError, match="of another dataset, or another selection"):
        DataLoader(other, 2).load_state_dict(state)
    with pytest.raises(
        ConfigurationError, match=r"'s': 10 utterances> there, <UtteranceDataset 'o': 10 utterances> here"
    ):
        DataLoader(other, 2).load_state_dict(state)
    # On purpose: the epoch of the state begins, with all of the other dataset.
    loader = DataLoader(dataset, 2)
    loader.set_epoch(4)
    grown = DataLoader(other, 2)
    grown.load_state_dict(loader.state_dict(), other_dataset=True)
    assert grown.state_dict()["sampler"]["epoch"] == 4
    assert sum(len(batch.ids) for batch in grown) == 10
    with pytest.raises(ConfigurationError, match="a list, has no state"):
        DataLoader(dataset, batch_sampler=[[0]]).state_dict()
