"""SegmentCollator: aligned mel and waveform, random in every epoch, in any loader."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores import HOP_LENGTH, N_MELS, SILENCE, make_rows, write_store

from tts_prep.errors import ConfigurationError
from tts_prep.loader import (
    ChainDataset,
    Collator,
    DataLoader,
    LengthBucketBatchSampler,
    MixingSampler,
    SegmentCollator,
    UtteranceDataset,
    groups_of,
)

N_FRAMES = [7, 3, 9, 4, 5, 11, 20, 6]


def stamp(rows, framing):
    """Set every frame and every sample to the number of its frame."""
    for row in rows:
        n = len(row.mel)
        samples = n * HOP_LENGTH if framing == "hifigan" else (n - 1) * HOP_LENGTH + 34
        row.mel = np.repeat(np.arange(n, dtype=np.float32)[:, None], N_MELS, 1)
        row.waveform = (np.arange(samples) // HOP_LENGTH).astype(np.int16)
    return rows


@pytest.fixture(scope="module", params=["center", "hifigan"])
def stamped(request, tmp_path_factory):
    path = tmp_path_factory.mktemp(request.param) / "s"
    return UtteranceDataset(write_store(path, stamp(make_rows(N_FRAMES), request.param), n_shards=3, waveform=True))


def frames_of(batch):
    """Return the frame number of each sample, [B, F, hop]."""
    return np.rint(batch.waveform * 32768).reshape(len(batch), -1, HOP_LENGTH)


@given(frames=st.integers(1, 12), segments=st.integers(1, 3), seed=st.integers(0, 9), epoch=st.integers(0, 5))
def test_mel_and_waveform_are_of_the_same_place(stamped, frames, segments, seed, epoch):
    collator = SegmentCollator(frames, segments, seed=seed)
    collator.set_epoch(epoch)
    batch = collator(stamped)
    assert batch.mel.shape == (len(stamped) * segments, frames, N_MELS)
    assert batch.waveform.shape == (len(stamped) * segments, frames * HOP_LENGTH)
    said = frames_of(batch)
    for row, start in enumerate(batch.starts.tolist()):
        whole = batch.waveform_lengths[row] // HOP_LENGTH
        np.testing.assert_array_equal(said[row, :whole, 0], start + np.arange(whole))
        np.testing.assert_array_equal(said[row, :whole, -1], start + np.arange(whole))
        n = batch.mel_lengths[row]
        np.testing.assert_array_equal(batch.mel[row, :n, 0], start + np.arange(n))
        np.testing.assert_array_equal(batch.mel[row, n:], np.tile(np.float32(SILENCE), (frames - n, 1)))
        assert not batch.waveform[row, batch.waveform_lengths[row] :].any()
        utterance = stamped[row // segments]
        if len(utterance.waveform) // HOP_LENGTH >= frames:
            assert whole == n == frames
        else:
            assert (start, n) == (0, min(frames, len(utterance.mel)))


def test_every_place_that_fits_is_drawn_and_no_other(stamped):
    collator = SegmentCollator(4, 300)
    batch = collator(stamped[:1])
    n = len(stamped[0].waveform) // HOP_LENGTH
    assert set(batch.starts.tolist()) == set(range(n - 4 + 1))


def test_a_draw_is_a_function_of_seed_epoch_and_row(stamped):
    def starts(dataset, epoch, seed=3):
        collator = SegmentCollator(2, 4, seed=seed)
        collator.set_epoch(epoch)
        batch = collator(dataset)
        return {id_: batch.starts[np.array(batch.ids) == id_].tolist() for id_ in set(batch.ids)}

    first = starts(stamped, 1)
    turned = starts(stamped[::-1], 1)
    assert first == turned
    assert starts(list(stamped), 1) == first
    assert starts(stamped, 2) != first
    assert starts(stamped, 1, seed=4) != first
    kept = SegmentCollator(2, 4, seed=3, redraw=False)
    kept.set_epoch(5)
    assert kept(stamped).starts.tolist() == SegmentCollator(2, 4, seed=3)(stamped).starts.tolist()


def drawn(loader, epochs):
    return [
        {(i, s) for batch in loader for i, s in zip(batch.indices.tolist(), batch.starts.tolist(), strict=True)}
    ] + (drawn(loader, epochs - 1) if epochs > 1 else [])


@pytest.mark.parametrize(("workers", "persistent"), [(0, False), (2, True)])
def test_torchs_loader_draws_what_ours_draws_in_every_epoch(stamped, workers, persistent):
    data = pytest.importorskip("torch.utils.data")

    def sampler():
        return LengthBucketBatchSampler(stamped.n_frames, max_frames=20, seed=1)

    ours = drawn(DataLoader(stamped, batch_sampler=sampler(), collate_fn=SegmentCollator(2)), 3)
    theirs = data.DataLoader(
        stamped,
        batch_sampler=sampler(),
        collate_fn=SegmentCollator(2),
        num_workers=workers,
        persistent_workers=persistent,
    )
    assert drawn(theirs, 3) == ours
    assert len({frozenset(epoch) for epoch in ours}) == 3


def test_persistent_workers_draw_anew_with_torchs_own_samplers(stamped):
    data = pytest.importorskip("torch.utils.data")
    loader = data.DataLoader(
        stamped, 3, shuffle=True, collate_fn=SegmentCollator(1), num_workers=2, persistent_workers=True
    )
    epochs = [frozenset(epoch) for epoch in drawn(loader, 4)]
    assert len(set(epochs)) == 4


def test_segments_of_a_mix_are_normalized_by_their_own_stores(tmp_path, stamped):
    rows = make_rows([5, 9])
    other = UtteranceDataset(write_store(tmp_path / "o", stamp(rows, "center"), waveform=True))
    chain = ChainDataset(stamped, other)
    mixing = MixingSampler(groups_of([stamped, other]), [1, 1], num_samples=12)
    sampler = LengthBucketBatchSampler(chain.n_frames, max_frames=30, sampler=mixing)
    loader = DataLoader(chain, batch_sampler=sampler, collate_fn=SegmentCollator(3, normalize="corpus"))
    n = 0
    for batch in loader:
        for row, start in enumerate(batch.starts.tolist()):
            n += 1
            dataset = next(d for d in (stamped, other) if len(d) > batch.indices[row] and fits(d, batch, row, start))
            expected = (start + np.arange(3) - dataset.mel_mean[0]) / dataset.mel_std[0]
            np.testing.assert_allclose(batch.mel[row, :, 0], expected, atol=1e-5)
    assert n == 12


def fits(dataset, batch, row, start):
    expected = (start - dataset.mel_mean[0]) / dataset.mel_std[0]
    return np.isclose(batch.mel[row, 0, 0], expected, atol=1e-5)


def test_other_layouts_and_settings(stamped):
    batch = SegmentCollator(3, time_major=False, waveform=False)(stamped)
    assert batch.mel.shape == (len(stamped), N_MELS, 3)
    assert batch.waveform is None
    assert "waveform" not in batch
    np.testing.assert_array_equal(batch["mel"][:, 0, 0], batch.starts)
    with pytest.raises(ConfigurationError, match=">= 1, found 0 and 1"):
        SegmentCollator(0)
    with pytest.raises(ConfigurationError, match="an empty batch"):
        SegmentCollator(1)([])
    assert Collator()(stamped).mel.shape[0] == len(stamped)


def test_other_arrays_are_cut_at_the_same_place(stamped):
    for utterances in (stamped, list(stamped), ChainDataset(stamped).__getitems__(list(range(len(stamped))))):
        # mel and waveform are arrays of the store by name like any others.
        batch = SegmentCollator(3, arrays=["mel", "waveform"])(utterances)
        np.testing.assert_array_equal(batch["mel"], batch.arrays["mel"])
        np.testing.assert_array_equal(batch.arrays["waveform"], np.rint(batch.waveform * 32768))
        assert batch["waveform"] is batch.waveform
        with pytest.raises(ConfigurationError, match="'phonemes' has not one row per frame or per sample"):
            SegmentCollator(3, arrays=["phonemes"])(utterances)
        with pytest.raises(ConfigurationError, match="no array 'pitch'"):
            SegmentCollator(3, arrays=["pitch"])(utterances)


@pytest.fixture(scope="module")
def chain(stamped, tmp_path_factory):
    rows = stamp(make_rows([5, 9, 14]), "center")
    other = UtteranceDataset(write_store(tmp_path_factory.mktemp("other") / "o", rows, waveform=True))
    return ChainDataset(stamped, other), MixingSampler(groups_of([stamped, other]), [1, 2], num_samples=17, seed=3)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_segments_mixing_fixed_shapes_ranks_and_resume_hold_together(chain, data):
    dataset, mixing = chain
    frames, segments = data.draw(st.integers(1, 8)), data.draw(st.integers(0, 2))
    n_shapes = data.draw(st.sampled_from([None, 2]))
    epoch, steps, world_size = (data.draw(st.integers(low, 3)) for low in (0, 0, 1))
    shapes = set()

    def make(rank):
        sampler = LengthBucketBatchSampler(
            dataset.n_frames, max_frames=60, sampler=mixing, n_shapes=n_shapes, seed=3, rank=rank, world_size=world_size
        )
        collate = SegmentCollator(frames, segments, seed=3) if segments else Collator()
        loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=collate)
        loader.set_epoch(epoch)
        return loader

    for rank in range(world_size):
        complete = list(make(rank))
        resumed = make(rank)
        begun = [batch for _, batch in zip(range(steps), resumed, strict=False)]
        again = make(rank)
        again.load_state_dict(resumed.state_dict())
        rest = list(again) if len(begun) < len(complete) else []
        assert len(begun) + len(rest) == len(complete)
        for batch, expected in zip([*begun, *rest], complete, strict=True):
            np.testing.assert_array_equal(batch.mel, expected.mel)
            np.testing.assert_array_equal(batch.waveform, expected.waveform)
            shapes.add(batch.mel.shape)
            for row, n in enumerate(batch.mel_lengths):
                # Every frame and every sample has the number of its frame.
                start = batch.starts[row] if segments else 0
                np.testing.assert_array_equal(batch.mel[row, :n, 0], start + np.arange(n))
            if segments:
                assert batch.mel.shape[1:] == (frames, N_MELS)
                for row, numbers in enumerate(frames_of(batch)):
                    n = batch.waveform_lengths[row] // HOP_LENGTH
                    np.testing.assert_array_equal(numbers[:n, 0], batch.starts[row] + np.arange(n))
                    np.testing.assert_array_equal(numbers[:n, -1], batch.starts[row] + np.arange(n))
    if n_shapes and not segments:
        assert len(shapes) <= n_shapes
