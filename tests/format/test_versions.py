"""Stores written by older versions, and compatibility between minor versions."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from stores import edit_manifest, make_rows, write_store

from tts_prep.errors import CorruptStoreError
from tts_prep.format.assembly import reindex_store
from tts_prep.format.records.manifest import read_manifest
from tts_prep.format.verification import verify_store
from tts_prep.loader import UtteranceDataset, collate

DATA = Path(__file__).with_name("data")
TEXTS = ["Yes.", "Why not?", "Print it."]


def unpacked(version: str, folder: Path) -> Path:
    """Return a store of three recordings with 8 mel bins, written by the code of that version."""
    with tarfile.open(DATA / f"store-{version}.tar.xz") as archive:
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    assert read_manifest(folder / "store").version == version
    return folder / "store"


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a read-only store of version 1.1."""
    return unpacked("1.1", tmp_path_factory.mktemp("old"))


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
def test_a_store_of_an_older_version_is_read_whole(version: str, tmp_path: Path) -> None:
    old = unpacked(version, tmp_path)
    dataset = UtteranceDataset(old)
    assert list(dataset.text) == TEXTS
    assert list(dataset.arrays)[:3] == ["mel", "phonemes", "waveform"]
    assert [spec.axis for spec in dataset.arrays.values()][:3] == ["frame", "phoneme", "sample"]
    with h5py.File(old / "shards/00000.h5") as first, h5py.File(old / "shards/00001.h5") as second:
        for name in ("mel", "phonemes", "waveform"):
            expected = np.concatenate([first[name][:], second[name][:]])
            np.testing.assert_array_equal(np.concatenate([u.arrays[name] for u in dataset]), expected)
    assert collate(dataset).mel.shape[0] == 3


def test_a_store_of_version_1_2_is_verified_and_reindexed_to_this_version_without_changing_its_shards(
    tmp_path: Path,
) -> None:
    store = unpacked("1.2", tmp_path)
    before = {path: path.read_bytes() for path in store.rglob("*.h5")}
    assert len(before) == 5
    assert not [fault for _, fault in verify_store(store) if fault]
    assert [spec.axis for name, spec in UtteranceDataset(store).arrays.items() if name == "energy"] == ["frame"]
    reindex_store(store)
    assert read_manifest(store).version == "1.3"
    assert before == {path: path.read_bytes() for path in store.rglob("*.h5")}
    shutil.copy(store / "shards/00000.h5", store / "shards/00001.h5")
    with pytest.raises(CorruptStoreError, match="is shard 0, expected shard 1"):
        reindex_store(store)


def test_a_store_of_an_older_version_is_verified_and_its_damage_named(old: Path, tmp_path: Path) -> None:
    store = Path(shutil.copytree(old, tmp_path / "s"))
    assert not [fault for _, fault in verify_store(store) if fault]
    data = bytearray((store / "shards/00001.h5").read_bytes())
    with h5py.File(store / "shards/00001.h5") as file:
        data[file["mel"].id.get_offset() + 5] ^= 1
    (store / "shards/00001.h5").write_bytes(data)
    faults = {entry.file: fault for entry, fault in verify_store(store) if fault}
    assert "'mel' does not match the checksums in the file" in faults["shards/00001.h5"]
    with pytest.raises(CorruptStoreError, match=r"00001\.h5: 'mel'"):
        reindex_store(store)


def test_a_store_of_an_older_version_becomes_one_of_this_version_by_reindexing(old: Path, tmp_path: Path) -> None:
    store = Path(shutil.copytree(old, tmp_path / "s"))
    shards = {path.name: path.read_bytes() for path in (store / "shards").iterdir()}
    reindex_store(store)
    assert read_manifest(store).version == "1.3"
    assert "index.h5" in read_manifest(store).datasets
    assert shards == {path.name: path.read_bytes() for path in (store / "shards").iterdir()}
    assert list(UtteranceDataset(store, verify=True).text) == TEXTS


def test_the_out_of_domain_texts_of_version_1_1_are_read(old: Path) -> None:
    texts = UtteranceDataset(old).ood_texts
    assert texts is not None
    assert [text.text for text in texts] == ["Other text.", "More text here."]


def test_a_store_is_opened_and_read_without_hdf5(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_rows([7, 3, 9]), waveform=True)
    code = (
        "import sys; from tts_prep.loader import UtteranceDataset, collate\n"
        f"d = UtteranceDataset({str(store)!r}); collate(d); list(d.text), [u.waveform.sum() for u in d]\n"
        "print('h5py' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_hdf5_structures_that_are_broken_do_not_reach_a_reader(tmp_path: Path) -> None:
    rows = make_rows([7, 3, 9])
    store = write_store(tmp_path / "s", rows)
    data = bytearray((store / "index.h5").read_bytes())
    data[:48] = b"\xff" * 48  # the superblock
    (store / "index.h5").write_bytes(data)
    np.testing.assert_array_equal(UtteranceDataset(store)[2].mel, rows[2].mel)
    faults = {entry.file: fault for entry, fault in verify_store(store) if fault}
    assert list(faults) == ["index.h5"]


def test_a_column_with_other_bytes_than_its_checksum_is_refused_when_it_is_used(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_rows([7, 3, 9]))
    with h5py.File(store / "index.h5") as file:
        place = file["columns/n_frames"].id.get_offset()
    data = bytearray((store / "index.h5").read_bytes())
    data[place] ^= 1
    (store / "index.h5").write_bytes(data)
    dataset = UtteranceDataset(store)
    with pytest.raises(CorruptStoreError, match=r"index\.h5: 12 bytes at offset .* have the CRC-32"):
        _ = dataset.n_frames


def test_what_a_later_minor_version_adds_is_ignored(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_rows([7, 3, 9]))

    def change(manifest: dict) -> None:
        manifest.update(version="1.9", news={"x": 1})
        manifest["arrays"]["future"] = {"dtype": "float8", "row_shape": "any", "axis": "word"}

    edit_manifest(store, change)
    assert list(UtteranceDataset(store).arrays) == ["mel", "phonemes"]
