"""Every finite float16 becomes the float32 of the same value."""

import numpy as np
import pytest
from stores import SILENCE, edit_manifest, make_rows, write_store

import tts_prep.loader
from tts_prep.loader import Collator, UtteranceDataset
from tts_prep.loader.dataset.half_precision import widened


@pytest.mark.parametrize("offset", [0.0, -5.25, 1e-3])
def test_every_finite_number_is_widened_as_numpy_does(offset):
    every = np.arange(1 << 16, dtype="<u2").view("<f2")
    finite = every[np.isfinite(every)].reshape(-1, 8)
    expected = finite.astype(np.float32) + np.float32(offset)
    np.testing.assert_array_equal(widened(finite, offset).view(np.int32), expected.view(np.int32))


@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("padding", ["silence", 2.5])
def test_a_batch_of_float16_mels_has_the_values_of_its_utterances(tmp_path, time_major, padding):
    rows = make_rows([7, 3, 9], mel_dtype="float16")
    store = write_store(tmp_path / "s", rows)
    edit_manifest(store, lambda manifest: manifest["arrays"]["mel"].update(offset=-5.25))
    batch = Collator(mel_padding=padding, time_major=time_major, pad_to_multiple=4)(UtteranceDataset(store))
    mels = batch.mel if time_major else batch.mel.transpose(0, 2, 1)
    assert (mels.dtype, mels.shape) == (np.float32, (3, 12, 5))
    for row, mel, n_frames in zip(rows, mels, batch.mel_lengths, strict=True):
        np.testing.assert_array_equal(mel[:n_frames], row.mel.astype(np.float32) + np.float32(-5.25))
        expected = np.float32(SILENCE if padding == "silence" else padding)
        np.testing.assert_array_equal(mel[n_frames:], np.broadcast_to(expected, mel[n_frames:].shape))


@pytest.mark.whole
def test_segments_of_float16_mels_have_the_values_of_their_utterances(tmp_path):
    rows = make_rows([7, 3, 9], mel_dtype="float16")
    store = write_store(tmp_path / "s", rows)
    edit_manifest(store, lambda manifest: manifest["arrays"]["mel"].update(offset=-5.25))
    batch = tts_prep.loader.SegmentCollator(4, mel_padding=0)(UtteranceDataset(store))
    for row, mel, start, n_frames in zip(rows, batch.mel, batch.starts, batch.mel_lengths, strict=True):
        expected = row.mel[start : start + 4].astype(np.float32) + np.float32(-5.25)
        np.testing.assert_array_equal(mel[:n_frames], expected)
        assert not mel[n_frames:].any()
