"""Versions of the format, and stores without HDF5."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from stores import edit_manifest, make_rows, of_room, sealed, write_store

from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.format.contents.shard import inspect_shard
from tts_prep.format.hdf5.datasets import Locations
from tts_prep.format.records.manifest import read_manifest, write_manifest
from tts_prep.format.reindexing import reindex_store
from tts_prep.loader import UtteranceDataset

verify_store = of_room("verification.files", "verify_store")

READ = r"this tts-prep reads 1\.3 and later 1\.x: .*, or make the store again$"


@pytest.mark.parametrize("version", ["1.2", "1.0", "0.9", "2.0"])
def test_a_store_of_a_version_that_is_not_read_is_refused_with_what_to_do(version: str, tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_rows([7, 3, 9]))
    edit_manifest(store, lambda manifest: manifest.update(version=version))
    for use in (UtteranceDataset, read_manifest, lambda path: list(verify_store(path))):
        with pytest.raises(StoreError, match=rf"manifest\.json: format version {version}; {READ}"):
            use(store)


def test_a_store_of_fewer_shards_has_a_manifest_that_is_not_too_long(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_rows([7]), n_shards=1)
    manifest = read_manifest(store)
    # Long checksums, as a hundred thousand shards take seconds.
    shard = replace(manifest.shards[0], sha256="0" * (1 << 20))
    with pytest.raises(StoreError, match=r"more than the maximum of 33,554,432; .* with more utterances per shard"):
        write_manifest(store, replace(manifest, shards=(shard,) * 32))
    assert read_manifest(store) == manifest
    write_manifest(store, replace(manifest, shards=(shard,) * 16))
    assert (store / "manifest.json").stat().st_size < 1 << 25


def test_a_shard_of_an_older_version_is_not_taken_for_one_of_this(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_rows([7, 3, 9]))
    shard = store / "shards/00001.h5"
    old = shard.read_bytes().replace(b'"version":"1.4"', b'"version":"1.2"')
    shard.write_bytes(sealed(old))
    with pytest.raises(StoreError, match=rf"00001\.h5: format version 1\.2; {READ}"):
        reindex_store(store)


def test_a_shard_without_its_seal_is_refused_before_hdf5_opens_it(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_rows([7, 3, 9]))
    shard = store / "shards/00001.h5"
    shard.write_bytes(shard.read_bytes()[:-82])

    def opened(path: Path) -> Locations:
        raise AssertionError(path)

    with pytest.raises(
        CorruptStoreError,
        match=r"00001\.h5: its seal is missing; 'tts-prep verify --repair",
    ):
        inspect_shard(shard, 1, opened)


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
