"""HDF5 files that crash, block or exhaust their reader, opened in a separate process."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from stores import make_rows, write_store

import tts_prep.format.hdf5.process
from tts_prep.errors import CorruptStoreError
from tts_prep.format.assembly import reindex_store
from tts_prep.format.contents.shard import FindLocations
from tts_prep.format.hdf5.process import hdf5_process
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.loader import UtteranceDataset


@pytest.fixture(scope="module", name="find")
def make_find() -> Iterator[FindLocations]:
    with hdf5_process() as process:
        yield process


def test_the_other_process_finds_what_hdf5_finds_here(tmp_path: Path, find: FindLocations) -> None:
    store = write_store(tmp_path / "s", make_rows([3, 4]), n_shards=1)
    for name in ("index.h5", "shards/00000.h5"):
        assert find(store / name) == read_locations(store / name)


@pytest.mark.parametrize("kind", ["a pipe", "another file"])
def test_a_group_that_is_an_external_link_is_not_followed(tmp_path: Path, find: FindLocations, kind: str) -> None:
    if kind == "a pipe":
        os.mkfifo(tmp_path / "other")
    else:
        with h5py.File(tmp_path / "other", "w") as other:
            other["columns/x"] = np.zeros(3)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["columns"] = h5py.ExternalLink(str(tmp_path / "other"), "columns")
    with pytest.raises(CorruptStoreError, match=r"'columns': expected a dataset or group in this file, found a link"):
        find(tmp_path / "a.h5")


def test_groups_that_hold_each_other_many_times_are_refused_at_once(tmp_path: Path, find: FindLocations) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        groups = [file.create_group(name) for name in "abc"]
        for i in range(300):
            for group, other in itertools.pairwise(groups):
                group[f"{i:04d}"] = other
    start = time.monotonic()
    with pytest.raises(CorruptStoreError, match="more than the maximum of 4,096 HDF5 objects"):
        find(tmp_path / "a.h5")
    assert time.monotonic() - start < 30


def test_deep_groups_are_refused(tmp_path: Path, find: FindLocations) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a/b/c/d/e"] = 1
    with pytest.raises(CorruptStoreError, match="nested deeper"):
        find(tmp_path / "a.h5")


@pytest.mark.parametrize("how", ["crashes", "ends", "is busy without end", "takes all memory"])
def test_a_file_at_which_the_other_process_ends_is_named_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    code = {
        "crashes": f"os.kill(os.getpid(), {signal.SIGSEGV:d})",
        "ends": "sys.exit(0)",
        "is busy without end": "\n    while True: pass",
        "takes all memory": "bytearray(1 << 34)",
    }[how]
    # What HDF5 might do with a crafted file, in a module beside ours.
    (tmp_path / "victim.py").write_text(
        "import os, sys\n"
        "import tts_prep.format.hdf5.process as process, tts_prep.format.hdf5.reader as reader\n"
        "read = reader.read_locations\n"
        "def locations(path):\n"
        f"  if path.name == 'bad.h5':\n    {code}\n"
        "  return read(path)\n"
        "reader.read_locations = locations\n"
        "process._CPU_SECONDS = 0\n"
        "process._serve()\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(tts_prep.format.hdf5.process, "__name__", "victim")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with h5py.File(tmp_path / "good.h5", "w") as file:
        file.create_dataset("x", data=np.arange(3))
    with hdf5_process() as find:
        assert list(find(tmp_path / "good.h5")) == ["x"]
        message = "takes too much memory" if how == "takes all memory" else "crashes the HDF5 library or takes too long"
        with pytest.raises(CorruptStoreError, match=rf"bad\.h5: {message}"):
            find(tmp_path / "bad.h5")
        assert list(find(tmp_path / "good.h5")) == ["x"]


def test_a_reindex_that_was_killed_is_repeated_without_a_corpus(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_rows([3, 4, 5]))
    reindex_store(store)
    expected = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    (store / "manifest.json").unlink()
    (store / "index.h5").unlink()
    (store / ".lock").write_text("1 elsewhere\n")  # as a kill leaves it
    (store / "index.h5.0123456789abcdef.partial").write_bytes(b"half")
    reindex_store(store)
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == expected
    assert len(UtteranceDataset(store, verify=True)) == 3
