"""Damaged or replaced stores: a clear error, never SIGBUS or wrong data."""

import os
import pickle
import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
from forked_tests import forked_python
from stores import edit_manifest, make_rows, seal_again, write_store

import tts_prep.loader
import tts_prep.loader.dataset.store
from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.loader import UtteranceDataset, collate


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "s"
    return write_store(path, make_rows([7, 3, 9, 4, 5]), n_shards=2, waveform=True)


@pytest.fixture
def store(whole, tmp_path):
    """Return a store that the test may change."""
    return Path(shutil.copytree(whole, tmp_path / "s"))


def edit_index(store, name, position, value):
    """Change a value of the index, and update all checksums."""
    with h5py.File(store / "index.h5", "r+") as index:
        index[name][position] = value
    seal_again(store)


def test_a_truncated_shard_is_an_error_with_both_sizes(store):
    shard = store / "shards/00001.h5"
    size = shard.stat().st_size
    os.truncate(shard, size - 1)
    dataset = UtteranceDataset(store)
    assert dataset[2].id  # of the other shard
    with pytest.raises(CorruptStoreError, match=rf"00001\.h5: {size - 1:,} bytes, the manifest says {size:,}"):
        dataset[3]
    with pytest.raises(CorruptStoreError, match=r"00001\.h5"):
        collate(dataset)


def test_a_missing_shard_is_an_error_that_names_it(store):
    (store / "shards/00000.h5").unlink()
    with pytest.raises(CorruptStoreError, match=r"00000\.h5: cannot be opened \(No such file"):
        UtteranceDataset(store)[0]


def test_a_shard_that_vanishes_between_two_looks_at_it_is_an_error_that_names_it(store, monkeypatch):
    dataset = UtteranceDataset(store)
    (store / "shards/00000.h5").unlink()
    monkeypatch.setattr(tts_prep.loader.dataset.store, "stored_file", lambda store, name: store / name)
    with pytest.raises(CorruptStoreError, match=r"00000\.h5: cannot be opened \(No such file"):
        dataset[0]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("mel_start", -1),
        ("mel_start", 13),
        ("mel_start", 2**63 - 1),
        ("n_frames", -1),
        ("n_frames", 2**31 - 1),
        ("phonemes_start", 100),
        ("n_samples", 2**31 - 1),
        ("shard", -1),
        ("shard", 2),
    ],
)
def test_a_row_outside_of_its_shard_is_an_error(store, column, value):
    edit_index(store, f"columns/{column}", 2, value)
    dataset = UtteranceDataset(store)
    assert dataset[1].id
    with pytest.raises(CorruptStoreError, match=r"verify"):
        _ = dataset[2].waveform
    chain = tts_prep.loader.ChainDataset(dataset, dataset)
    for select in (dataset.__getitems__, chain.__getitems__, lambda positions: [dataset[i] for i in positions]):
        with pytest.raises(CorruptStoreError, match=r"verify"):
            collate(select([1, 2]))


@pytest.mark.parametrize(
    ("name", "value"),
    [("mel_offset", -1), ("mel_offset", 1 << 40), ("mel_offset", 2**63 - 1), ("mel_rows", 1 << 40), ("mel_rows", -5)],
)
def test_an_array_outside_of_its_file_is_an_error(store, name, value):
    edit_index(store, f"shards/{name}", 0, value)
    with pytest.raises(CorruptStoreError):
        UtteranceDataset(store)[0]


def test_a_truncated_index_is_an_error_when_a_column_is_mapped(store):
    dataset = UtteranceDataset(store)
    os.truncate(store / "index.h5", 4096)
    with pytest.raises(CorruptStoreError, match=r"index\.h5: 4,096 bytes"):
        _ = dataset.seconds
    with pytest.raises(CorruptStoreError, match=r"index\.h5"):
        UtteranceDataset(store)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["arrays"].pop("mel"),
        lambda m: m["arrays"].pop("phonemes"),
        lambda m: m["arrays"]["mel"].pop("silence"),
        lambda m: m["arrays"]["mel"].update(silence=[0.0]),
        lambda m: m["arrays"]["mel"].update(row_shape=[]),
        lambda m: m["arrays"]["mel"].update(sample_rate="22050"),
        lambda m: m["arrays"]["phonemes"].update(row_shape=[2]),
        lambda m: m["arrays"]["waveform"].update(row_shape=[2]),
        lambda m: m["vocabulary"].update(pad=5),
        lambda m: m["vocabulary"].update(pad=None),
        lambda m: m["mel_statistics"].update(std=[]),
    ],
)
def test_a_manifest_that_cannot_be_trained_from_is_refused_on_opening(store, change):
    edit_manifest(store, change)
    with pytest.raises(CorruptStoreError, match=r"manifest\.json"):
        UtteranceDataset(store)


def test_rows_of_another_shape_than_the_shards_have_are_an_error(store):
    edit_manifest(store, lambda m: m["arrays"]["mel"].update(row_shape=[500_000], silence=[0] * 500_000))
    edit_manifest(store, lambda m: m["mel_statistics"].update(mean=[0] * 500_000, std=[0] * 500_000))
    with pytest.raises(CorruptStoreError, match="exceed"):
        UtteranceDataset(store)[0]


def test_speakers_that_disagree_with_the_manifest_are_an_error(store):
    edit_manifest(store, lambda m: m.update(speakers=["somebody"]))
    with pytest.raises(CorruptStoreError, match="speakers"):
        _ = UtteranceDataset(store).speaker


def test_a_category_code_outside_of_the_table_is_an_error(store):
    edit_index(store, "columns/speaker/codes", 2, 3)
    dataset = UtteranceDataset(store)
    with pytest.raises(CorruptStoreError, match="category code 3 is out of range for 3"):
        dataset[2]
    with pytest.raises(CorruptStoreError, match="category code 3"):
        collate(dataset)


def test_text_that_is_not_utf8_is_an_error(store):
    edit_index(store, "columns/text/bytes", 0, 0xFF)
    with pytest.raises(CorruptStoreError, match="not UTF-8"):
        _ = UtteranceDataset(store)[0].text


@pytest.mark.parametrize("how", ["column", "array", "pickled"])
def test_a_store_that_was_made_again_is_refused_rather_than_mixed(store, how):
    dataset = UtteranceDataset(store)
    pickled = pickle.dumps(dataset)
    _ = dataset[4]  # maps all columns and the second shard
    shutil.rmtree(store)
    write_store(store, make_rows([7, 3, 9, 4, 6]), waveform=True)
    with pytest.raises(StoreError, match="replaced since it was opened"):
        if how == "column":
            _ = dataset.pitch
            _ = dataset.n_samples
            _ = pickle.loads(pickled).n_frames
        elif how == "array":
            _ = dataset[0]
        else:
            _ = pickle.loads(pickled)[0]


def test_a_store_that_vanished_is_a_clear_error(store):
    dataset = UtteranceDataset(store)
    mapped = dataset[0]
    expected = mapped.mel.copy()
    shutil.rmtree(store)
    np.testing.assert_array_equal(mapped.mel, expected)
    with pytest.raises(StoreError, match="cannot be opened"):
        dataset[4]


def test_a_store_that_was_touched_or_moved_back_is_the_same(store, tmp_path):
    dataset = UtteranceDataset(store)
    shutil.copytree(store, tmp_path / "copy")
    shutil.rmtree(store)
    (tmp_path / "copy").rename(store)
    assert dataset[4].id == "LJ004-é"


def test_maps_are_bounded_by_the_file_descriptors_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(tts_prep.loader.dataset.store, "max_files", lambda: 4)
    rows = make_rows([3] * 30)
    dataset = UtteranceDataset(write_store(tmp_path / "s", rows, n_shards=30))
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    for utterance, row in zip(dataset, rows, strict=True):
        np.testing.assert_array_equal(utterance.mel, row.mel)
    after = len(os.listdir("/proc/self/fd")) if before else 0
    # Four shards and the index.
    assert after - before <= 5
    held = [utterance.mel for utterance in dataset]
    for mel, row in zip(held, rows, strict=True):
        np.testing.assert_array_equal(mel, row.mel)


@pytest.mark.skipif("not __import__('importlib').util.find_spec('resource')", reason="needs limits of processes")
def test_more_shards_than_open_files_are_read_and_too_many_kept_ones_are_named(tmp_path):
    store = write_store(tmp_path / "s", make_rows([3] * 70), n_shards=70)
    code = f"""
import resource
from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.loader import DataLoader, UtteranceDataset
dataset = UtteranceDataset({str(store)!r})
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
assert sum(len(utterance.mel) for utterance in dataset) == 210
assert sum(int(batch.mel_lengths.sum()) for batch in DataLoader(dataset, 4)) == 210
try:
    kept = [utterance.mel for utterance in dataset]
except StoreError as error:
    assert not isinstance(error, CorruptStoreError)
    print(error)
"""
    run = subprocess.run([*forked_python(), "-c", code], capture_output=True, text=True, check=True)
    assert (
        "too many files are open, and a file stays open while one of its arrays is used; raise the limit" in run.stdout
    )


def replace_dataset(store, name, values):
    """Replace a dataset of the index by another contiguous one, and keep its kind."""
    with h5py.File(store / "index.h5", "r+") as index:
        kind = index[name].attrs.get("kind")
        del index[name]
        if values is not None:
            index[name] = values
            if kind is not None:
                index[name].attrs["kind"] = kind
    seal_again(store)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("columns/mel_start", np.zeros(5)),
        ("columns/n_frames", np.zeros(4, np.int32)),
        ("columns/shard", np.zeros((5, 1), np.int32)),
        ("columns/n_phonemes", None),
        ("columns/text/bytes", None),
        ("columns/text/bytes", np.zeros(9, np.int32)),
        ("columns/speaker/offsets", None),
        ("columns/speaker/offsets", np.zeros(0, np.int64)),
        ("columns/speaker/codes", np.zeros(6, np.int32)),
        ("shards/mel_rows", np.zeros(3, np.int64)),
    ],
)
def test_an_index_of_another_form_is_refused_on_opening(store, name, values):
    replace_dataset(store, name, values)
    with pytest.raises(CorruptStoreError, match=r"index\.h5"):
        UtteranceDataset(store)


@pytest.mark.parametrize("longest", [0, 1 << 18])
def test_a_store_too_long_for_a_table_of_its_rows_gives_the_same_batches(store, longest, monkeypatch):
    monkeypatch.setattr(tts_prep.loader.dataset.store, "_LONGEST_TABLE", longest)
    rows = make_rows([7, 3, 9, 4, 5])
    dataset = UtteranceDataset(store)
    for _ in range(2):  # files are mapped by the first batch
        for chosen in ([4, 0, 4, 2], [1]):
            for utterances in (dataset.__getitems__(chosen), [dataset[i] for i in chosen]):
                batch = collate(utterances)
                assert batch.ids == [rows[i].id for i in chosen]
                assert batch.speakers.tolist() == [
                    sorted({row.speaker for row in rows}).index(rows[i].speaker) for i in chosen
                ]
                for place, i in enumerate(chosen):
                    n, m, k = len(rows[i].mel), len(rows[i].phonemes), len(rows[i].waveform)
                    np.testing.assert_array_equal(batch.mel[place, :n], rows[i].mel)
                    np.testing.assert_array_equal(batch.phonemes[place, :m], rows[i].phonemes)
                    np.testing.assert_array_equal(batch.waveform[place, :k], rows[i].waveform / np.float32(32768))
                    assert not batch.mel[place, n:].any()
                    assert not batch.waveform[place, k:].any()
    assert (dataset._store.row_table() is None) == (longest == 0)
