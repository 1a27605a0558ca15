"""collate: the rows of a batch are slices of shards and padding."""

import dataclasses
import pickle

import h5py
import numpy as np
import pytest
from stores import N_MELS, SILENCE, edit_manifest, make_rows, write_store

import tts_prep.loader
from tts_prep.errors import ConfigurationError
from tts_prep.format.blanks import with_blanks, without_blanks
from tts_prep.loader import Collator, DataLoader, UtteranceDataset, collate
from tts_prep.loader.batch_info import BatchShape

N_FRAMES = [7, 3, 9, 4, 5, 11]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return write_store(tmp_path_factory.mktemp("store") / "s", make_rows(N_FRAMES), n_shards=1, waveform=True)


@pytest.fixture(params=["dataset", "list"])
def batch_of(request, dataset):
    """Both ways to pass utterances: as a dataset, copied from the memory map, and as a list."""
    return lambda positions, **options: collate(
        dataset[positions] if request.param == "dataset" else [dataset[i] for i in positions], **options
    )


def test_rows_equal_slices_read_with_h5py(store, batch_of):
    positions = [3, 0, 5, 0]
    batch = batch_of(positions)
    assert batch.mel.shape == (4, 11, N_MELS)
    with h5py.File(store / "shards/00000.h5", "r") as shard:
        columns = shard["columns"]
        for i, position in enumerate(positions):
            start, n = columns["mel_start"][position], columns["n_frames"][position]
            np.testing.assert_array_equal(batch.mel[i, :n], shard["mel"][start : start + n])
            assert not batch.mel[i, n:].any()
            assert batch.mel_lengths[i] == n == N_FRAMES[position]
            start, n = columns["phonemes_start"][position], columns["n_phonemes"][position]
            np.testing.assert_array_equal(batch.phonemes[i, :n], shard["phonemes"][start : start + n])
            assert (batch.phonemes[i, n:] == 0).all()
            assert batch.phoneme_lengths[i] == n
            start, n = columns["waveform_start"][position], columns["n_samples"][position]
            expected = shard["waveform"][start : start + n].astype(np.float64) / 32768
            np.testing.assert_allclose(batch.waveform[i, :n], expected, rtol=1e-7)
            assert not batch.waveform[i, n:].any()
            assert batch.waveform_lengths[i] == n
    assert batch.indices.tolist() == positions
    assert batch.ids == [f"LJ{i:03d}-é" for i in positions]
    assert len(batch) == 4


def test_dtypes_are_those_that_training_takes(batch_of):
    batch = batch_of([0, 1])
    assert batch.mel.dtype == batch.waveform.dtype == np.float32
    integers = (batch.mel_lengths, batch.phonemes, batch.phoneme_lengths, batch.speakers, batch.indices)
    assert {array.dtype for array in integers} == {np.dtype(np.int64)}


def test_speakers_are_codes_of_the_table(dataset, batch_of):
    batch = batch_of([0, 1, 2, 3])
    assert [dataset.speakers[code] for code in batch.speakers] == ["ljspeech", "zoë", "p225", "ljspeech"]


def test_mels_pad_with_silence_on_request(batch_of):
    batch = batch_of([1, 0], mel_padding="silence")
    np.testing.assert_array_equal(batch.mel[0, 3:], np.tile(np.float32(SILENCE), (4, 1)))
    batch = batch_of([1, 0], mel_padding=-4.5)
    assert (batch.mel[0, 3:] == -4.5).all()
    with pytest.raises(ConfigurationError, match="expected a number or 'silence', found 'zero'"):
        batch_of([1, 0], mel_padding="zero")


def test_waveforms_can_be_left_out(batch_of):
    batch = batch_of([1, 0], waveform=False)
    assert batch.waveform is None
    assert batch.waveform_lengths is None


def test_phonemes_pad_with_the_pad_id_of_the_store(dataset):
    last = dataclasses.replace(dataset.metadata, pad_id=4)
    batch = collate([dataclasses.replace(dataset[i], store=last) for i in (1, 0)])
    n = batch.phoneme_lengths[0]
    assert (batch.phonemes[0, n:] == 4).all()
    assert batch.phonemes.shape[1] > n


def test_a_batch_is_the_callers_own_to_change_and_to_send(dataset):
    batch = collate(dataset)
    batch.mel[:] = 1
    batch.phonemes[:] = 1
    batch.speakers[:] = 1
    batch.indices.sum()
    assert not (dataset[0].mel == 1).all()
    assert pickle.loads(pickle.dumps(batch)).ids == batch.ids


@pytest.mark.parametrize("wav_dtype", ["int16", "float32"])
def test_other_dtypes_of_a_store_become_float32(tmp_path, wav_dtype):
    rows = make_rows([3, 2], mel_dtype="float16", wav_dtype=wav_dtype)
    batch = collate(UtteranceDataset(write_store(tmp_path / "s", rows, waveform=True)))
    np.testing.assert_array_equal(batch.mel[0], rows[0].mel.astype(np.float32))
    samples = rows[0].waveform / (32768 if wav_dtype == "int16" else 1)
    np.testing.assert_allclose(batch.waveform[0], samples, rtol=1e-6)
    assert np.abs(batch.waveform).max() <= 1


def test_a_batch_of_nothing_is_refused(dataset):
    for nothing in ([], dataset[:0]):
        with pytest.raises(ConfigurationError, match="an empty batch"):
            collate(nothing)


@pytest.mark.whole
def test_other_examples_than_utterances_are_refused_with_what_to_do(dataset):
    mels = tts_prep.loader.TransformDataset(dataset, lambda utterance: utterance.mel)
    for action in (lambda: next(iter(DataLoader(mels, 2))), lambda: tts_prep.loader.SegmentCollator(2)([{"mel": 1}])):
        with pytest.raises(
            ConfigurationError, match="an example of the type (ndarray|dict); pass a collate_fn for such"
        ):
            action()


def test_utterances_of_two_stores_mix_when_their_codes_mean_the_same(tmp_path, dataset):
    same = UtteranceDataset(write_store(tmp_path / "same", make_rows([2, 3, 4])))
    batch = collate([dataset[0], same[2]], waveform=False)
    assert batch.mel_lengths.tolist() == [7, 4]
    with pytest.raises(ConfigurationError, match="some stores of a batch have waveforms; pass waveform=False"):
        collate([dataset[0], same[2]])
    fewer_speakers = UtteranceDataset(write_store(tmp_path / "other", make_rows([2])))
    with pytest.raises(ConfigurationError, match="'LJ000-é' is from a store with another speaker table"):
        collate([dataset[1], fewer_speakers[0]])


@pytest.mark.parametrize("blanks", ["between", "around"])
def test_blanks_stand_between_phonemes_and_lengths_count_them(batch_of, blanks):
    plain, spaced = batch_of([0, 2]), batch_of([0, 2], blanks=blanks)
    first = int(blanks == "around")
    for row, n, ids, length in zip(
        spaced.phonemes, spaced.phoneme_lengths, plain.phonemes, plain.phoneme_lengths, strict=True
    ):
        assert n == 2 * length + (1 if first else -1)
        np.testing.assert_array_equal(row[:n][first::2], ids[:length])
        assert set(row[:n][1 - first :: 2].tolist()) == {0}
        assert not row[n:].any()
    with pytest.raises(ConfigurationError, match="blanks: expected 'between', 'around' or None, found 'all'"):
        batch_of([0], blanks="all")


@pytest.mark.parametrize("blank", [None, 3])
def test_the_blank_is_that_of_the_table_or_else_its_padding(tmp_path, blank):
    rows = make_rows([4, 7])
    path = write_store(tmp_path / "s", rows)
    given = {"pad": 2} if blank is None else {"pad": 2, "blank": blank}
    edit_manifest(path, lambda manifest: manifest["vocabulary"].update(given))
    batch = collate(UtteranceDataset(path), blanks="around")
    first, second = (row.phonemes.tolist() for row in rows)
    expected = 2 if blank is None else blank
    assert batch.phonemes.tolist() == [
        [expected, first[0], expected, first[1], expected, 2, 2],
        [expected, second[0], expected, second[1], expected, second[2], expected],
    ]


def test_blanks_are_what_vits_and_piper_put_between_ids():
    ids = np.array([5, 6, 7], np.int32)
    # intersperse([5, 6, 7], 0) in VITS's commons.py, and what Piper puts inside of ^ and $.
    assert with_blanks(ids, 0, "around").tolist() == [0, 5, 0, 6, 0, 7, 0]
    assert with_blanks(ids, 0, "between").tolist() == [5, 0, 6, 0, 7]
    assert with_blanks(ids[:0], 0, "between").tolist() == []
    for blanks in ("between", "around"):
        assert without_blanks(with_blanks(ids, 0, blanks), blanks).tolist() == [5, 6, 7]
    assert with_blanks(np.array([3, 4]), 0, "around").sum() == 7


def test_fixed_shapes_hold_the_blanks(dataset):
    shape = BatchShape(2, {"n_frames": 12, "n_phonemes": 6})
    batch = Collator(shapes=(shape,), blanks="around")(dataset[[0, 1]])
    assert batch.phonemes.shape == (2, 13)
