"""Shares of ranks: every utterance once an epoch, equal numbers of batches, and a warning with the number if not."""

import json
import re
import warnings
from itertools import islice, zip_longest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tts_prep.loader
from tts_prep.errors import ConfigurationError, ExactlyOnceWarning
from tts_prep.loader import BatchSampler, LengthBucketBatchSampler, RandomSampler, SequentialSampler

LENGTHS = np.random.default_rng(0).integers(20, 90, 191)

BATCHES = {
    "random": lambda **share: BatchSampler(RandomSampler(range(191), seed=2, **share), 8),
    "dropping": lambda **share: BatchSampler(RandomSampler(range(191), seed=2, **share), 8, drop_last=True),
    "buckets": lambda **share: LengthBucketBatchSampler(LENGTHS, max_frames=400, **share),
    "windows": lambda **share: LengthBucketBatchSampler(LENGTHS, max_frames=400, window=50, **share),
    "the longest first": lambda **share: LengthBucketBatchSampler(LENGTHS, max_frames=400, longest_first=True, **share),
}


def flat(batches):
    return [i for batch in batches for i in batch]


def recorded(action):
    """Return the result of an action, and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        return action(), [str(warning.message) for warning in found if warning.category is ExactlyOnceWarning]


@given(
    n=st.integers(1, 80),
    batch_size=st.integers(1, 9),
    stops=st.lists(st.tuples(st.integers(1, 6), st.integers(0, 5)), max_size=3),
    last=st.integers(1, 6),
    make=st.sampled_from([RandomSampler, SequentialSampler]),
)
def test_ranks_batch_every_position_once_or_warn_of_the_number_repeated(n, batch_size, stops, last, make):
    seen, state, repeated = [], None, 0
    for world_size, steps in [*stops, (last, None)]:
        parts, left = [], n - len(set(seen))
        for rank in range(world_size):
            sampler = BatchSampler(make(range(n), rank=rank, world_size=world_size), batch_size)
            if state:
                sampler.load_state_dict(state)
            given_here, texts = recorded(lambda sampler=sampler, steps=steps: list(islice(sampler, steps)))
            parts.append(given_here)
            sizes = [len(batch) for batch in given_here]
            assert all(0 < size <= batch_size for size in sizes)
        assert len({len(part) for part in parts}) == 1
        seen += flat(flat(parts))
        state = json.loads(json.dumps(sampler.state_dict()))
        if texts:
            assert batch_size == 1 or left < world_size
            repeated += int(re.search(r"repeated in an epoch: (\d+) of", texts[0])[1])
        if state["epoch"]:
            break
    assert set(seen) == set(range(n))
    assert len(seen) <= n + repeated
    assert stops or len(seen) == n + repeated


@pytest.mark.parametrize(("n", "world_size", "batch_size", "sizes"), [
    (9, 4, 2, [[2, 1, 1, 1], [1, 1, 1, 1]]),
    (8, 4, 2, [[2, 2, 2, 2]]),
    (191, 2, 96, [[96, 95]]),
    (97, 2, 16, [[16, 16], [16, 16], [16, 15], [1, 1]]),
])  # fmt: skip
def test_the_last_steps_are_smaller_instead_of_repeating(n, world_size, batch_size, sizes):
    ranks = [
        BatchSampler(SequentialSampler(range(n), rank=rank, world_size=world_size), batch_size)
        for rank in range(world_size)
    ]
    found = [list(map(len, step)) for step in zip(*ranks, strict=True)]
    assert found == sizes


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("n_ranks", [2, 3, 4])
def test_all_ranks_in_turn_are_what_each_rank_gets(name, n_ranks):
    ranks = [BATCHES[name](rank=rank, world_size=n_ranks) for rank in range(n_ranks)]
    together = BATCHES[name](rank="all", world_size=n_ranks)
    for _ in range(2):
        expected = [batch for step in zip_longest(*ranks) for batch in step]
        assert list(together) == expected
        assert len(together) == len(expected)
        assert name == "dropping" or sorted(flat(expected)) == list(range(191))
    assert together.batch_size is None


@pytest.mark.parametrize("name", BATCHES)
def test_a_state_of_all_ranks_is_that_of_each_rank_and_whole_steps(name):
    together, rank = BATCHES[name](rank="all", world_size=3), BATCHES[name](rank=1, world_size=3)
    taken = list(islice(together, 6))
    assert list(islice(rank, 2)) == taken[1::3]
    assert together.state_dict() == rank.state_dict()
    with pytest.raises(ConfigurationError, match="1 of the 3 elements of a step are used"):
        together.state_dict(steps=4)
    resumed = BATCHES[name](rank="all", world_size=3)
    resumed.load_state_dict(rank.state_dict())
    assert taken + list(resumed) == list(together.draw(0))
    assert len(resumed) == together.count(0)


@pytest.mark.whole
def test_batches_of_one_that_ranks_do_not_divide_are_repeated_with_a_warning_once():
    for make, text in [
        (lambda rank: LengthBucketBatchSampler(LENGTHS[:101], 1, rank=rank, world_size=2), "repeated in an epoch: 1,"),
        (
            lambda rank: BatchSampler(SequentialSampler(range(101), rank=rank, world_size=2), 1),
            "repeated in an epoch: 1 of 101,",
        ),
        (lambda rank: tts_prep.loader.DistributedSampler(101, 2, rank), "repeated in an epoch: 1 of 101,"),
    ]:
        sampler = make(0)
        first, texts = recorded(lambda sampler=sampler: list(sampler))
        assert len(texts) == 1
        assert text in texts[0]
        assert recorded(lambda sampler=sampler: list(sampler))[1] == []
        second = recorded(lambda make=make: list(make(1)))[0]
        assert len(first) == len(second) == 51
        assert recorded(lambda make=make: len(make(0)))[1] == []


def test_an_unknown_rank_is_refused():
    with pytest.raises(ConfigurationError, match="expected a world size >= 1, and a rank below it, 'auto' or 'all'"):
        SequentialSampler(range(3), rank="each")


def uneven(**settings):
    return LengthBucketBatchSampler(LENGTHS, max_frames=400, tolerance=0.2, **settings)


@pytest.mark.parametrize("settings", [{}, {"batch_size": 9}, {"n_shapes": 4}, {"longest_first": True}])
@pytest.mark.parametrize("n_ranks", [1, 3])
def test_equal_epochs_have_the_same_number_of_batches_and_every_utterance_once(settings, n_ranks):
    # Without, they differ, but for the settings that leave no choice.
    assert "batch_size" in settings or "n_shapes" in settings or len({uneven().count(epoch) for epoch in range(20)}) > 1
    counts = set()
    for epoch in range(20):
        ranks = [uneven(equal_epochs=True, rank=rank, world_size=n_ranks, **settings) for rank in range(n_ranks)]
        drawn = [list(sampler.draw(epoch)) for sampler in ranks]
        counts |= {len(batches) for batches in drawn} | {sampler.count(epoch) for sampler in ranks}
        assert sorted(flat(flat(drawn))) == list(range(191))
        assert all(len(batch) * max(LENGTHS[batch]) <= 400 for batches in drawn for batch in batches)
    assert len(counts) == 1
    # A few percent more than needed, at most.
    assert counts.pop() * n_ranks < 1.1 * uneven(**settings).count(0) + n_ranks


def test_equal_epochs_resume_in_mid_epoch_and_are_a_setting():
    whole = list(uneven(equal_epochs=True).draw(0))
    first = uneven(equal_epochs=True)
    taken = list(islice(first, 7))
    again = uneven(equal_epochs=True)
    again.load_state_dict(first.state_dict())
    assert taken + list(again) == whole
    with pytest.raises(ConfigurationError, match="other settings"):
        uneven().load_state_dict(first.state_dict())
    for more in ({"window": 50}, {"sampler": SequentialSampler(range(191))}):
        with pytest.raises(ConfigurationError, match="equal_epochs: cannot be combined with sampler"):
            uneven(equal_epochs=True, **more)
