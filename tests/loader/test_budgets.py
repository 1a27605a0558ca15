"""LengthBucketBatchSampler: several budgets, utterances over them, equal ranks, multiples and fixed shapes."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import make_rows, write_store

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader import Budget, Collator, DataLoader, LengthBucketBatchSampler, UtteranceDataset
from tts_prep.loader.samplers.buckets import best_lengths

PAIRS = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 80)), min_size=1, max_size=80)


@given(
    pairs=PAIRS,
    factors=st.tuples(*[st.floats(1, 9)] * 4),
    seed=st.integers(0, 9),
    shuffle=st.booleans(),
    multiple_of=st.integers(1, 4),
    window=st.sampled_from([1, 4, 15, 60, 1 << 20]),
)
def test_every_budget_holds_in_every_batch(pairs, factors, multiple_of, **settings):
    frames, phonemes = np.array(pairs).T
    limits = [
        int(max(1, int(values.max())) ** power * factor)
        for values, power, factor in zip((frames, phonemes) * 2, (1, 1, 2, 2), factors, strict=True)
    ]
    sampler = LengthBucketBatchSampler(
        {"n_frames": frames, "n_phonemes": phonemes},
        max_frames=limits[0],
        budgets=[
            Budget("n_phonemes", limits[1]),
            Budget("n_frames", limits[2], power=2),
            Budget("n_phonemes", limits[3], power=2),
        ],
        multiple_of=multiple_of,
        **settings,
    )
    batches = list(sampler)
    assert sorted(i for batch in batches for i in batch) == list(range(len(pairs)))
    for batch in batches:
        assert len(batch) * frames[batch].max() <= limits[0]
        assert len(batch) * phonemes[batch].max() <= limits[1]
        assert len(batch) * int(frames[batch].max()) ** 2 <= limits[2]
        assert len(batch) * int(phonemes[batch].max()) ** 2 <= limits[3]
    odd = [batch for batch in batches if len(batch) > multiple_of and len(batch) % multiple_of]
    assert len(odd) <= 1


@given(
    pairs=PAIRS,
    factors=st.tuples(*[st.floats(1, 9)] * 2),
    seed=st.integers(0, 9),
    shuffle=st.booleans(),
    window=st.sampled_from([1, 15, 1 << 20]),
)
def test_the_budget_of_parts_that_are_padded_one_by_one_holds_in_every_batch(pairs, factors, **settings):
    parts = np.array(pairs)
    largest = max(1, int(parts.sum(axis=1).max()))
    linear, squared = int(largest * factors[0]), int(largest**2 * factors[1])
    sampler = LengthBucketBatchSampler(
        parts, max_frames=linear, budgets=[Budget("n_frames", squared, power=2)], **settings
    )
    batches = list(sampler)
    assert sorted(i for batch in batches for i in batch) == list(range(len(pairs)))
    for batch in batches:
        padded = int(parts[batch].max(axis=0).sum())
        assert len(batch) * padded <= linear
        assert len(batch) * padded**2 <= squared
    plan = sampler.plan(sampler.epoch)
    assert sorted(plan.longest()) == sorted(
        int(parts[batch].max(axis=0).sum()) for batch in sampler.order(sampler.epoch)
    )


def test_a_quadratic_budget_makes_long_batches_small():
    sampler = LengthBucketBatchSampler([100] * 40 + [10] * 40, budgets=[Budget("n_frames", 40_000, power=2)])
    assert sorted({len(batch) for batch in sampler}) == [4, 40]  # 4 · 100² and 40 · 10² at most 40,000


def test_what_is_over_a_budget_is_left_out_or_alone_on_request():
    lengths = [10, 50, 12, 60, 11]
    with pytest.raises(SamplingError, match="utterance 3 alone has 60 frames, more than max_frames = 40, and 1 more"):
        LengthBucketBatchSampler(lengths, max_frames=40)
    drop = LengthBucketBatchSampler(lengths, max_frames=40, over_budget="drop")
    assert drop.dropped.tolist() == [1, 3]
    assert sorted(i for batch in drop for i in batch) == [0, 2, 4]
    alone = LengthBucketBatchSampler(lengths, max_frames=40, over_budget="alone")
    assert sorted(map(sorted, alone)) == [[0, 2, 4], [1], [3]]
    with pytest.raises(SamplingError, match="all 5 utterances are over the budget"):
        LengthBucketBatchSampler(lengths, max_frames=9, over_budget="drop")
    with pytest.raises(SamplingError, match="alone has 60 frames, more than the 31 that its budget allows"):
        LengthBucketBatchSampler(lengths, budgets=[Budget("n_frames", 1_000, power=2)])


def test_the_longest_come_first_on_every_rank():
    lengths = np.random.default_rng(1).integers(10, 1_000, 300)
    firsts = []
    for rank in range(2):
        sampler = LengthBucketBatchSampler(lengths, max_frames=5_000, longest_first=True, rank=rank, world_size=2)
        firsts.append(lengths[next(iter(sampler))].max())
    longest = np.sort(LengthBucketBatchSampler(lengths, max_frames=5_000).plan(0).longest())[::-1]
    assert firsts == longest[:2].tolist()
    assert firsts[0] == lengths.max()


@settings(max_examples=40)
@given(
    lengths=st.lists(st.integers(1, 14), min_size=1, max_size=30),
    n_shapes=st.integers(1, 4),
    budget=st.integers(14, 60),
)
def test_shapes_have_the_least_padding_that_is_possible(lengths, n_shapes, budget):
    values, counts = np.unique(lengths, return_counts=True)
    rows = budget // values

    def cost(ends):
        total, before = 0, 0
        for end in sorted(set(ends)):
            inside = sum(n for value, n in zip(values, counts, strict=True) if before < value <= end)
            size = budget // end
            total += -(-inside // size) * size * end
            before = end
        return total

    best = min(
        cost((*ends, values[-1])) for ends in combinations_with_replacement(values.tolist(), min(n_shapes, 4) - 1)
    )
    chosen = best_lengths(values, counts, rows, n_shapes)
    assert len(chosen) <= n_shapes
    assert cost(chosen.tolist()) == best


def test_empty_utterances_are_padded_to_the_shape_of_length_1():
    # Found by hand: a shape of length 0, padded to 1, stood beside one of length 1 with more phonemes.
    fields = {"n_frames": [0, 0, 0, 1], "n_phonemes": [0, 0, 0, 2]}
    sampler = LengthBucketBatchSampler(fields, max_frames=3, n_shapes=2)
    assert [(shape.size, dict(shape.lengths)) for shape in sampler.shapes] == [
        (3, {"n_frames": 1, "n_phonemes": 2}),
    ]
    assert sorted(position for batch in sampler for position in batch) == [0, 1, 2, 3]


@pytest.mark.filterwarnings("ignore::tts_prep.errors.ExactlyOnceWarning")
@given(
    pairs=PAIRS,
    n_shapes=st.integers(1, 5),
    world_size=st.integers(1, 3),
    window=st.sampled_from([1, 4, 15, 60, 1 << 20]),
)
def test_fixed_shapes_hold_every_batch(pairs, n_shapes, world_size, window):
    frames, phonemes = np.array(pairs).T
    fields = {"n_frames": frames, "n_phonemes": phonemes}
    limit = 3 * max(1, int(frames.max()))
    seen = []
    for rank in range(world_size):
        sampler = LengthBucketBatchSampler(
            fields, max_frames=limit, n_shapes=n_shapes, window=window, rank=rank, world_size=world_size
        )
        batches = list(sampler)
        seen += batches
        for batch in batches:
            assert batch.batch_info.shape in sampler.shapes
            assert len(batch) <= batch.batch_info.shape.size
            assert batch.batch_info.shape.size * batch.batch_info.shape.lengths["n_frames"] <= limit
            for name, values in fields.items():
                assert values[batch].max() <= batch.batch_info.shape.lengths[name]
        assert len(sampler.shapes) <= n_shapes
    assert {i for batch in seen for i in batch} == set(range(len(pairs)))
    if world_size == 1:
        assert sum(len(batch) < batch.batch_info.shape.size for batch in seen) <= n_shapes


@pytest.mark.parametrize("prefetch", [0, 2])
def test_batches_are_padded_to_their_shape_with_empty_utterances(tmp_path, prefetch):
    n_frames = [7, 3, 9, 4, 5, 11, 2]
    dataset = UtteranceDataset(write_store(tmp_path / "s", make_rows(n_frames), n_shards=2, waveform=True))
    fields = {name: dataset.column(name) for name in ("n_frames", "n_phonemes", "n_samples")}
    sampler = LengthBucketBatchSampler(fields, max_frames=24, n_shapes=2)
    shapes = set()
    for batch in DataLoader(dataset, batch_sampler=sampler, prefetch=prefetch):
        shapes.add((batch.mel.shape, batch.phonemes.shape, batch.waveform.shape))
        for row, index in enumerate(batch.indices):
            if index < 0:
                assert batch.ids[row] == ""
                assert batch.mel_lengths[row] == batch.phoneme_lengths[row] == batch.waveform_lengths[row] == 0
                assert not batch.mel[row].any()
            else:
                np.testing.assert_array_equal(batch.mel[row, : n_frames[index]], dataset[int(index)].mel)
                assert not batch.mel[row, n_frames[index] :].any()
    assert len(shapes) <= 2
    assert sampler.plan(0).padding() == pytest.approx(
        1
        - sum(n_frames)
        / sum(sampler.shapes[k].size * sampler.shapes[k].lengths["n_frames"] for k in sampler.plan(0).shape_of)
    )


@pytest.mark.parametrize("time_major", [True, False])
def test_empty_utterances_of_a_shape_are_padding(tmp_path, time_major):
    dataset = UtteranceDataset(write_store(tmp_path / "s", make_rows([7, 3, 9, 4, 5]), n_shards=2))
    sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=24, n_shapes=1)
    n_empty = 0
    for batch in DataLoader(
        dataset, batch_sampler=sampler, collate_fn=Collator(mel_padding=-3.5, time_major=time_major)
    ):
        n_empty += int((batch.indices < 0).sum())
        assert (batch.mel[batch.indices < 0] == -3.5).all()
        assert not batch.phonemes[batch.indices < 0].any()
    assert n_empty > 0


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"budgets": [Budget("n_words", 3)]}, ConfigurationError, "no lengths for 'n_words'"),
        ({"budgets": [Budget("n_frames", 3, power=3)]}, ConfigurationError, "the power 1 or 2, found 3"),
        ({"max_frames": "4000"}, ConfigurationError, "an integer for max_frames, found '4000'"),
        ({"over_budget": "keep"}, ConfigurationError, "'error', 'drop' or 'alone', found 'keep'"),
        ({"batch_size": 10, "multiple_of": 4}, ConfigurationError, "divides the batch size 10, found 4"),
        ({"n_shapes": 2, "drop_last": True}, ConfigurationError, "cannot be combined with drop_last"),
        ({"n_shapes": 0}, ConfigurationError, "n_shapes: expected an integer >= 1, found 0"),
        ({"rank": 3, "world_size": 3}, ConfigurationError, "rank 3 of 3"),
        ({"lengths": {}}, ConfigurationError, "at least one field"),
        ({"lengths": {"a": [1, 2], "b": [1]}}, SamplingError, "a: 2, b: 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        list(LengthBucketBatchSampler(**{"lengths": [5, 6, 7], "max_frames": 20, **settings}))
