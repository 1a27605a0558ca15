"""HDF5 files that crash, block or exhaust their reader, opened in a separate process."""

from __future__ import annotations

import errno
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from commands import run
from stores import make_rows, of_room, write_store

from tts_prep.errors import CannotReadError, CorruptStoreError
from tts_prep.format.contents.shard import FindLocations
from tts_prep.format.files import child_process
from tts_prep.format.hdf5 import process
from tts_prep.format.hdf5.process import hdf5_process
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.reindexing import reindex_store
from tts_prep.loader import UtteranceDataset

verify_store = of_room("verification.files", "verify_store")

pytestmark = pytest.mark.usefixtures("own_hdf5_process")


@pytest.fixture(scope="module", name="find")
def make_find() -> Iterator[FindLocations]:
    with hdf5_process() as find:
        yield find


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


def victim(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let the process of the HDF5 library run code first; ``path`` is the path of the file."""
    folder.mkdir(exist_ok=True)
    (folder / "victim.py").write_text(
        "import os, sys, time\n"
        "from tts_prep.format.hdf5.reader import locations_as_json\n"
        f"def locations(path):\n  {code}\n  return locations_as_json(path)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(process, "_FUNCTION", "victim:locations")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])


@pytest.mark.parametrize("how", ["crashes", "ends", "is busy without end", "takes all memory"])
def test_a_file_at_which_the_other_process_ends_is_named_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    code = {
        "crashes": f"os.kill(os.getpid(), {signal.SIGSEGV:d})",
        "ends": "os._exit(0)",
        "is busy without end": "\n    while True: pass",
        "takes all memory": "bytearray(1 << 34)",
    }[how]
    victim(tmp_path, monkeypatch, f"if path.name == 'bad.h5':\n    {code}")
    monkeypatch.setattr(child_process, "_CPU_SECONDS", 0)
    with h5py.File(tmp_path / "good.h5", "w") as file:
        file.create_dataset("x", data=np.arange(3))
    with hdf5_process() as find:
        assert list(find(tmp_path / "good.h5")) == ["x"]
        message = "takes too much memory" if how == "takes all memory" else "crashes the HDF5 library or takes too long"
        with pytest.raises(CorruptStoreError, match=rf"bad\.h5: {message}"):
            find(tmp_path / "bad.h5")
        assert list(find(tmp_path / "good.h5")) == ["x"]


def test_a_process_that_is_killed_from_outside_once_is_no_fault_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = "if not os.path.exists('once'):\n    open('once', 'w').close()\n    os.kill(os.getpid(), 9)"
    monkeypatch.chdir(tmp_path)
    store = write_store(tmp_path / "s", make_rows([3, 4]), n_shards=1)
    victim(tmp_path / "v", monkeypatch, once)
    assert [fault for _, fault in verify_store(store) if fault] == []
    assert (tmp_path / "once").exists()


def test_a_process_that_gives_no_answer_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim(tmp_path, monkeypatch, "if path.name == 'bad.h5':\n    time.sleep(600)")
    starts: list[object] = []
    start = child_process.ChildProcess._start
    monkeypatch.setattr(child_process.ChildProcess, "_start", lambda self: starts.append(self) or start(self))
    with h5py.File(tmp_path / "good.h5", "w") as file:
        file.create_dataset("x", data=np.arange(3))
    with hdf5_process() as find:
        assert list(find(tmp_path / "good.h5")) == ["x"]
        monkeypatch.setattr(child_process, "_WALL_SECONDS", 0.1)
        with pytest.raises(CannotReadError, match="the process that reads it gave no answer"):
            find(tmp_path / "bad.h5")
    assert len(starts) == 1


SYSTEM_FAULTS = {
    "is always killed": ("os.kill(os.getpid(), 9)", r"the process that reads it was killed by signal 9"),
    "has no descriptors left": ("raise OSError(24, 'Too many open files')", None),
    "lacks h5py": (None, r"cannot be read here \(ModuleNotFoundError: No module named 'h5py'\)"),
    "cannot be started": (None, r"no process that reads it can be started here \(Too many open files\)"),
    "ends when it is started": (None, r"the process that reads it ended with status 3 when"),
}


@pytest.mark.parametrize("how", SYSTEM_FAULTS)
def test_where_a_store_cannot_be_read_it_is_not_called_broken(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    store = write_store(tmp_path / "s", make_rows([3, 4]), n_shards=1)
    code, message = SYSTEM_FAULTS[how]
    if how == "is always killed":
        victim(tmp_path / "v", monkeypatch, str(code))
    elif how == "has no descriptors left":
        reader = "import tts_prep.format.hdf5.reader as r, h5py\n  def full(*a, **k): raise OSError(24, 'full')\n"
        victim(tmp_path / "v", monkeypatch, f"{reader}  r.h5py = type('', (), {{'File': full}})")
        message = r"cannot be read here \(\[Errno 24\] full\)"
    elif how == "lacks h5py":
        victim(tmp_path / "v", monkeypatch, "pass")
        (tmp_path / "v/victim.py").write_text("raise ModuleNotFoundError(\"No module named 'h5py'\")")
    elif how == "cannot be started":
        monkeypatch.setattr(child_process.ChildProcess, "_start", refuse_to_start)
    else:
        victim(tmp_path / "v", monkeypatch, "pass")
        (tmp_path / "v/victim.py").write_text("import os; os._exit(3)")
    with pytest.raises(CannotReadError, match=rf"index\.h5: {message}"):
        list(verify_store(store))
    if how == "lacks h5py":  # a dataset is verified by the same function
        with pytest.raises(CannotReadError, match=message):
            UtteranceDataset(store, verify=True)
    status, out, err = run(capsys, "verify", store)
    assert (status, out) == (3, "")
    assert "broken" not in err


def refuse_to_start(_: object) -> None:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


FEW = """
import os, resource, sys
from tts_prep.cli.main import main
__import__("tts_prep.verification.files")

for limit in range(5, 16):
    if not (child := os.fork()):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        main(["verify", sys.argv[1]])
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f"status {limit} {status}", flush=True)
"""


@pytest.mark.whole
def test_a_store_that_is_verified_with_few_descriptors_is_not_called_broken(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_rows([3, 4, 5, 6]), n_shards=4)
    done = subprocess.run([sys.executable, "-c", FEW, store], capture_output=True, text=True)
    statuses = dict(re.findall(r"^status (\d+) (-?\d+)$", done.stdout, re.MULTILINE))
    assert [*map(int, statuses)] == [*range(5, 16)]
    assert {*statuses.values()} == {"0", "3"}, done.stdout + done.stderr
    assert "broken" not in done.stdout + done.stderr


@pytest.mark.whole
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
