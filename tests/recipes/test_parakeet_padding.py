"""batch_text_id, batch_wav and batch_spec, compared with hand-computed results."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts_prep.errors import ConfigurationError
from tts_prep.loader import pad_sequences, pad_spectrograms
from tts_prep.recipes import batch_spec, batch_text_id, batch_wav


def test_batch_text_id_pads_to_the_longest():
    batch = batch_text_id([[1, 2, 3], [4], [5, 6]], pad_id=9)
    assert batch.tolist() == [[1, 2, 3], [4, 9, 9], [5, 6, 9]]
    assert batch.dtype == np.int64
    assert batch_text_id([[1], [2, 3]], dtype=np.int32).dtype == np.int32


def test_batch_text_id_gives_lengths_on_request():
    batch, lengths = batch_text_id([[1, 2, 3], [], [5, 6]], return_lengths=True)
    assert batch.tolist() == [[1, 2, 3], [0, 0, 0], [5, 6, 0]]
    assert lengths.tolist() == [3, 0, 2]
    assert lengths.dtype == np.int64


def test_batch_wav_pads_mono_and_multichannel():
    mono, lengths = batch_wav([np.float64([0.5]), np.float64([1, 2])], pad_value=-1, return_lengths=True)
    assert mono.tolist() == [[0.5, -1], [1, 2]]
    assert mono.dtype == np.float32
    assert lengths.tolist() == [1, 2]
    stereo = batch_wav([[[1, 2], [3, 4]], [[5], [6]]])
    assert stereo.tolist() == [[[1, 2], [3, 4]], [[5, 0], [6, 0]]]


def test_batch_spec_pads_time_whichever_axis_it_is():
    first, second = np.arange(6.0).reshape(2, 3), np.arange(2.0).reshape(2, 1)
    batch, lengths = batch_spec([first, second], pad_value=7, return_lengths=True)
    assert batch.tolist() == [[[0, 1, 2], [3, 4, 5]], [[0, 7, 7], [1, 7, 7]]]
    assert lengths.tolist() == [3, 1]
    time_major, lengths = batch_spec([first.T, second.T], 7, True, return_lengths=True)
    assert time_major.tolist() == [[[0, 3], [1, 4], [2, 5]], [[0, 1], [7, 7], [7, 7]]]
    assert lengths.tolist() == [3, 1]
    assert batch.dtype == time_major.dtype == np.float32


@pytest.mark.parametrize("time_major", [False, True])
def test_batch_spec_pads_with_a_value_for_each_bin(time_major):
    specs = [np.zeros((2, 3)), np.zeros((2, 1))]
    batch = batch_spec([spec.T for spec in specs] if time_major else specs, [-1, -2], time_major)
    batch = batch.transpose(0, 2, 1) if time_major else batch
    assert batch[1].tolist() == [[0, -1, -1], [0, -2, -2]]


@pytest.mark.parametrize("time_major", [False, True])
def test_batch_spec_keeps_channels(time_major):
    specs = [np.ones((2, 4, 4)), np.ones((2, 3, 4) if time_major else (2, 4, 3))]
    batch = batch_spec(specs, time_major=time_major)
    assert batch.shape == (2, 2, 4, 4)
    assert batch.sum() == 32 + 24


@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=6), pad=st.integers(-3, 3))
def test_rows_are_the_sequences_and_the_rest_is_padding(lengths, pad):
    sequences = [np.full(n, 10 + i) for i, n in enumerate(lengths)]
    batch = batch_text_id(sequences, pad)
    assert batch.shape == (len(lengths), max(lengths))
    for row, sequence in zip(batch.tolist(), sequences, strict=True):
        assert row == sequence.tolist() + [pad] * (max(lengths) - len(sequence))


@pytest.mark.parametrize("function", [batch_text_id, batch_wav, batch_spec])
def test_a_batch_of_nothing_is_refused(function):
    with pytest.raises(ConfigurationError, match="an empty batch"):
        function([])


def test_sequences_that_do_not_fit_together_are_named():
    with pytest.raises(
        ConfigurationError, match=r"sequence 1 of the batch has the shape \[3, 5\], sequence 0 \[2, 4\]"
    ):
        batch_spec([np.zeros((2, 4)), np.zeros((3, 5))])
    with pytest.raises(ConfigurationError, match="sequence 1 of the batch: expected 1 axes, found 2"):
        batch_text_id([[1], [[1]]])
    with pytest.raises(ConfigurationError, match="sequence 1"):
        batch_wav([np.zeros(3), np.zeros((1, 3))])


def test_ids_are_not_cut_to_integers_in_silence():
    with pytest.raises(TypeError, match="float64"):
        batch_text_id([[1.5]])


def test_padding_with_lengths_has_a_function_for_sequences_and_one_for_spectrograms():
    batch, lengths = pad_sequences([[1.0, 2.0], [3.0]], -1, np.float32)
    assert batch.tolist() == [[1, 2], [3, -1]]
    assert lengths.tolist() == [2, 1]
    stereo, lengths = pad_sequences([[[1, 2], [3, 4]], [[5], [6]]], 0, np.int64)
    assert stereo.tolist() == [[[1, 2], [3, 4]], [[5, 0], [6, 0]]]
    assert lengths.tolist() == [2, 1]
    mels, lengths = pad_spectrograms([np.ones((3, 2)), np.ones((1, 2))], [7, 8], time_major=True, pad_to_multiple=4)
    assert mels[1].tolist() == [[1, 1], [7, 8], [7, 8], [7, 8]]
    assert mels.shape == (2, 4, 2)
    assert lengths.tolist() == [3, 1]
