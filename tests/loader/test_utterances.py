"""UtteranceDataset: values, selections, and which arrays are not read."""

import multiprocessing
import operator
import pickle
import shutil

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores import HOP_LENGTH, N_MELS, SAMPLE_RATE, SILENCE, SYMBOLS, make_rows, write_store

from tts_prep.errors import ConfigurationError, CorruptStoreError, StoreError
from tts_prep.loader import UtteranceDataset

N_FRAMES = [7, 3, 9, 4, 5, 11, 2, 6, 8, 1]


@pytest.fixture(scope="module")
def store(tmp_path_factory, rows):
    return write_store(tmp_path_factory.mktemp("store") / "s", rows, n_shards=3, waveform=True)


def ids(dataset):
    return list(dataset.id)


def test_utterances_equal_the_shards_read_with_h5py(store, dataset):
    position = 0
    for number in range(3):
        with h5py.File(store / "shards" / f"{number:05d}.h5", "r") as shard:
            columns = shard["columns"]
            for i in range(len(columns["n_frames"])):
                utterance = dataset[position]
                for name, count in (("mel", "n_frames"), ("phonemes", "n_phonemes"), ("waveform", "n_samples")):
                    start = columns[f"{name}_start"][i]
                    expected = shard[name][start : start + columns[count][i]]
                    np.testing.assert_array_equal(getattr(utterance, name), expected)
                    assert getattr(utterance, name).dtype == expected.dtype
                position += 1
    assert position == len(dataset) == len(N_FRAMES)


def test_utterances_have_what_was_written(rows, dataset):
    for i, (row, utterance) in enumerate(zip(rows, dataset, strict=True)):
        assert (utterance.index, utterance.id, utterance.text) == (i, row.id, row.text)
        assert (utterance.phoneme_text, utterance.speaker) == (row.phoneme_text, row.speaker)
        assert dataset.speakers[utterance.speaker_code] == row.speaker
        assert utterance.seconds == row.seconds
        assert utterance.meta["gender"] == row.gender
        assert utterance.mel.shape == (N_FRAMES[i], N_MELS)
        assert "".join(dataset.symbols[k] for k in utterance.phonemes) == row.phoneme_text


def test_arrays_are_read_only_views_of_one_map_a_shard(dataset):
    first, second = dataset[0], dataset[1]
    for name in ("mel", "phonemes", "waveform"):
        array = getattr(first, name)
        assert not array.flags.writeable
        assert not array.flags.owndata
        assert getattr(second, name).base is first.mel.base


def test_a_store_without_waveforms_has_none(tmp_path):
    dataset = UtteranceDataset(write_store(tmp_path / "s", make_rows([3, 4])))
    assert not dataset.has_waveform
    assert dataset[1].waveform is None
    with pytest.raises(AttributeError, match="no column 'n_samples'"):
        _ = dataset.n_samples
    with pytest.raises(ConfigurationError, match="no array 'waveform'; it has mel, phonemes"):
        dataset.views("waveform")


def test_metadata_is_what_training_needs(dataset):
    assert (dataset.sample_rate, dataset.hop_length, dataset.n_mels) == (SAMPLE_RATE, HOP_LENGTH, N_MELS)
    assert (dataset.symbols, dataset.pad_id) == (SYMBOLS, 0)
    assert dataset.speakers == ("ljspeech", "p225", "zoë")
    np.testing.assert_array_equal(dataset.silence, np.float32(SILENCE))
    assert dataset.silence.dtype == np.float32
    frames = np.concatenate([utterance.mel for utterance in dataset]).astype(np.float64)
    np.testing.assert_allclose(dataset.mel_mean, frames.mean(0))
    np.testing.assert_allclose(dataset.mel_std, frames.std(0))


@pytest.mark.whole
def test_opening_reads_no_column_and_no_shard(store, tmp_path):
    copy = shutil.copytree(store, tmp_path / "copy")
    shutil.rmtree(copy / "shards")
    with h5py.File(copy / "index.h5") as file:
        offsets = [
            file[f"columns/{name}"].id.get_offset()
            for name in ("seconds", "mel_start", "shard", "id/bytes", "speaker/codes")
        ]
    data = bytearray((copy / "index.h5").read_bytes())
    for offset in offsets:
        data[offset] ^= 1
    (copy / "index.h5").write_bytes(data)
    dataset = UtteranceDataset(copy)
    assert len(dataset) == len(N_FRAMES)
    _ = dataset[2:5].split(1), repr(dataset)
    assert dataset.n_frames.tolist() == N_FRAMES
    for name in ("seconds", "mel_start", "shard", "id", "speaker"):
        with pytest.raises(CorruptStoreError, match="have the CRC-32"):
            dataset.column(name)


def test_columns_follow_the_selection(rows, dataset):
    chosen = dataset[[8, -1, 0, 8]]
    expected = [rows[i] for i in (8, 9, 0, 8)]
    assert chosen.n_frames.tolist() == [len(row.mel) for row in expected]
    assert chosen.seconds.tolist() == [row.seconds for row in expected]
    assert list(chosen.id) == [row.id for row in expected]
    assert list(chosen.speaker) == [row.speaker for row in expected]
    assert list(chosen.columns["gender"]) == [row.gender for row in expected]
    assert chosen.column("pitch").shape == (4,)
    assert chosen.indices.tolist() == [8, 9, 0, 8]
    assert [utterance.index for utterance in chosen] == [8, 9, 0, 8]


def test_columns_of_a_contiguous_selection_are_not_copied(dataset):
    assert np.shares_memory(dataset[2:6].n_frames, dataset.n_frames)


def test_columns_cannot_be_written(dataset):
    for selection in (dataset, dataset[2:6], dataset[[1, 2]]):
        with pytest.raises(ValueError, match="read-only"):
            selection.n_frames[0] = 1


def test_an_unknown_column_names_those_there_are(dataset):
    with pytest.raises(AttributeError, match=r"no column 'frames'; it has gender, id, .*n_frames"):
        _ = dataset.frames
    with pytest.raises(ConfigurationError, match="no column 'frames'"):
        dataset.column("frames")
    assert not hasattr(dataset, "frames")
    assert "n_frames" in dir(dataset)
    assert "n_frames" in dataset.columns


OPERATIONS = st.lists(
    st.one_of(
        st.builds(slice, *[st.none() | st.integers(-13, 13)] * 2, st.sampled_from([None, 1, 2, 3, -1, -2])),
        st.lists(st.integers(-100, 100), max_size=12),
        st.lists(st.booleans(), min_size=1, max_size=5),
    ),
    max_size=5,
)


@given(operations=OPERATIONS)
def test_any_nesting_of_selections_is_what_a_list_would_give(store, operations):
    dataset, expected = UtteranceDataset(store), list(range(len(N_FRAMES)))
    for operation in operations:
        n = len(expected)
        if isinstance(operation, slice):
            dataset, expected = dataset[operation], expected[operation]
        elif operation and isinstance(operation[0], bool):
            mask = (operation * n)[:n] if n else np.zeros(0, bool)
            dataset, expected = dataset[mask], [x for x, keep in zip(expected, mask, strict=True) if keep]
        else:
            positions = [i % (2 * n) - n for i in operation] if n else []
            dataset, expected = dataset.select(positions), [expected[i] for i in positions]
    assert dataset.indices.tolist() == expected
    assert dataset.n_frames.tolist() == [N_FRAMES[i] for i in expected]
    assert [utterance.index for utterance in dataset] == expected


@pytest.mark.parametrize("position", [10, -11, np.int64(10), [0, 10], [-11]])
def test_a_position_out_of_range_is_an_index_error(dataset, position):
    with pytest.raises(IndexError, match=r"utterance -?1[01]: out of range for 10"):
        dataset[position]


@pytest.mark.parametrize("positions", [[1.5], [[0]], [True], "id", None])
def test_positions_of_another_type_are_refused(dataset, positions):
    with pytest.raises(ConfigurationError, match="expected"):
        dataset[positions]


def test_the_caller_may_change_its_positions_afterwards(dataset):
    positions = np.array([3, 4])
    chosen = dataset[positions]
    positions[:] = 0
    assert chosen.indices.tolist() == [3, 4]


def test_filter_takes_conditions_on_columns(rows, dataset):
    chosen = dataset.filter(lambda m: (m.n_frames > 2) & (m.n_frames < 8) & (m.speaker == "ljspeech"))
    assert ids(chosen) == [r.id for r in rows if 2 < len(r.mel) < 8 and r.speaker == "ljspeech"] != []
    chosen = dataset.filter(lambda m: (m.speaker != "zoë") & (m["gender"] == "f"))
    assert ids(chosen) == [r.id for r in rows if r.speaker != "zoë" and r.gender == "f"]
    assert ids(dataset.filter(lambda m: m.speaker.isin(["zoë", "p225", "nobody"]))) == [
        r.id for r in rows if r.speaker != "ljspeech"
    ]
    assert ids(dataset.filter(lambda m: m.id == rows[4].id)) == [rows[4].id]
    assert ids(dataset.filter(lambda m: m.id != rows[4].id)) == [r.id for r in rows if r.id != rows[4].id]


def test_filter_composes(dataset):
    once = dataset.filter(lambda m: (m.n_frames > 2) & (m.n_frames < 8))
    twice = dataset.filter(lambda m: m.n_frames < 8).filter(lambda m: m.n_frames > 2)
    assert once.indices.tolist() == twice.indices.tolist() == [0, 1, 3, 4, 7]


def test_a_filter_by_a_column_that_does_not_exist_is_an_error(dataset):
    with pytest.raises(AttributeError, match=r"no column 'duration'; it has gender, id, .*seconds"):
        dataset.filter(lambda m: m.duration > 1)


def test_a_filter_may_leave_nothing(dataset):
    nothing = dataset.filter(lambda m: m.speaker == "nobody")
    assert len(nothing) == 0
    assert list(nothing) == []
    assert nothing.n_frames.tolist() == []


@pytest.mark.parametrize("predicate", [lambda m: True, lambda m: m.n_frames, lambda m: [True], lambda m: None])
def test_a_filter_that_gives_no_mask_is_refused(dataset, predicate):
    with pytest.raises(ConfigurationError, match="filter: expected a mask of 10 booleans, found"):
        dataset.filter(predicate)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("column", ["n_frames", "seconds", "speaker", "id", "gender"])
def test_sort_is_that_of_a_list(rows, dataset, column, descending):
    key = (lambda row: len(row.mel)) if column == "n_frames" else operator.attrgetter(column)
    expected = sorted(rows, key=key, reverse=descending)
    assert ids(dataset.sort(column, descending=descending)) == [row.id for row in expected]


@pytest.mark.whole
def test_split_gives_the_first_and_the_rest(dataset):
    first, rest = dataset[::-1].split(3)
    assert (first.indices.tolist(), rest.indices.tolist()) == ([9, 8, 7], [6, 5, 4, 3, 2, 1, 0])
    assert [len(part) for part in dataset.split(0)] == [0, 10]
    assert [len(part) for part in dataset.split(10)] == [10, 0]
    assert [[len(part) for part in dataset.split(share)] for share in (0.2, 0.26)] == [[2, 8], [3, 7]]
    for size in (-1, 11, 2.0, 1.5, -0.5, "valid", None):
        with pytest.raises(ConfigurationError, match="split: expected a size from 0 to 10"):
            dataset.split(size)


def test_an_id_is_no_position(dataset):
    with pytest.raises(ConfigurationError, match=r"found text 'DEMO-1'; an id is found by dataset\.filter"):
        dataset["DEMO-1"]


def test_an_expression_in_text_is_no_filter(dataset):
    with pytest.raises(ConfigurationError, match="filter: expected a function of the columns.*found 'seconds > 1'"):
        dataset.filter("seconds > 1")


def test_getitems_is_what_getitem_would_give(dataset):
    several = dataset[::2].__getitems__([4, 0, -1])
    assert [utterance.index for utterance in several] == [8, 0, 8]


def test_a_pickled_dataset_holds_no_data_and_opens_again(dataset):
    chosen = dataset[[5, 2]]
    _ = chosen[0], chosen.id
    pickled = pickle.dumps(chosen)
    assert len(pickled) < 1000
    copy = pickle.loads(pickled)
    assert len(copy) == 2
    np.testing.assert_array_equal(copy[0].mel, dataset[5].mel)
    assert ids(copy) == ids(chosen)


def test_a_pickled_utterance_keeps_its_contents(rows, dataset):
    copy = pickle.loads(pickle.dumps(dataset[4]))
    assert copy.id == rows[4].id
    np.testing.assert_array_equal(copy.mel, rows[4].mel)


def describe(dataset):
    return [(utterance.id, utterance.mel.sum(), utterance.phonemes.tolist()) for utterance in dataset]


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("used_before", [False, True])
def test_a_worker_process_reads_the_same(dataset, method, used_before):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    chosen = dataset.filter(lambda m: m.n_frames > 2).sort("n_frames")
    expected = describe(UtteranceDataset(dataset.path).select(chosen.indices))
    if used_before:
        describe(chosen)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(describe, (chosen,)) == expected


def test_a_relative_path_survives_a_change_of_directory(store, monkeypatch, tmp_path, rows):
    monkeypatch.chdir(store.parent)
    dataset = UtteranceDataset(store.name)
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(dataset[3].mel, rows[3].mel)


def test_an_empty_store_is_an_empty_dataset(tmp_path):
    dataset = UtteranceDataset(write_store(tmp_path / "s", [], n_shards=1))
    assert len(dataset) == 0
    assert list(dataset) == []
    assert dataset.n_frames.shape == (0,)


def test_mels_stored_as_float16_are_float32_without_an_offset_too(tmp_path):
    rows = make_rows([3, 4], mel_dtype="float16")
    dataset = UtteranceDataset(write_store(tmp_path / "s", rows))
    assert dataset[1].mel.dtype == np.float32
    np.testing.assert_array_equal(dataset[1].mel, rows[1].mel.astype(np.float32))


def test_what_is_no_store_is_a_store_error(tmp_path):
    with pytest.raises(StoreError, match="no such folder"):
        UtteranceDataset(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="not a store"):
        UtteranceDataset(tmp_path)
