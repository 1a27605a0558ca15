"""Temporary files of runs that were killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from tts_prep.format.files.temporary import holding_temporary_files, process_folder, temporary_folder

HOLD = """
import os, sys, tempfile
from pathlib import Path
from tts_prep.format.files.temporary import holding_temporary_files, temporary_folder

with holding_temporary_files() as own, temporary_folder() as inner:
    Path(tempfile.mkdtemp(), "copy").write_text("x")
    if sys.argv[1] == "parent":
        if os.fork():
            os._exit(0)
    print(own, flush=True)
    sys.stdin.read()
"""


def holder(place: Path, kind: str = "") -> tuple[subprocess.Popen[str], Path]:
    """Start a process that has temporary files at a place, and return their folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def ended(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        assert pipe
        pipe.close()
    process.wait()


def test_a_later_process_removes_what_a_killed_one_leaves_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (dead, left), (alive, used) = holder(tmp_path), holder(tmp_path)
    dead.kill()
    ended(dead)
    assert [path.name for path in left.rglob("copy")] == ["copy"]
    # Nothing of the same form is followed or taken: a link, a file, what another program has made.
    prefix = f"tts-prep-{os.getuid()}-1-"
    kept = [tmp_path / f"{prefix}linked__", tmp_path / f"{prefix}file____", tmp_path / f"{prefix}not-our-form"]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").touch()
    kept[0].symlink_to(tmp_path / "elsewhere")
    kept[1].touch()
    kept[2].mkdir()
    if os.getuid() == 0:
        kept.append(tmp_path / f"{prefix}foreign_")
        kept[-1].mkdir()
        os.chown(kept[-1], 12345, 12345)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder() as folder:
        assert not left.exists()
        assert [path.name for path in used.rglob("copy")] == ["copy"]
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()
    assert (tmp_path / "elsewhere" / "kept").exists()
    assert all(path.is_symlink() or path.exists() for path in kept)
    # A process that ends in order leaves nothing.
    ended(alive)
    assert not used.exists()


def test_a_folder_lives_as_long_as_a_process_that_was_forked_from_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, used = holder(tmp_path, "parent")
    process.wait()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder():
        assert [path.name for path in used.rglob("copy")] == ["copy"]
    ended(process)


def test_temporary_files_of_all_libraries_are_in_the_folder_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with holding_temporary_files() as own:
        assert own.parent == tmp_path
        assert os.environ["TMPDIR"] == str(own)
        assert Path(tempfile.mkdtemp()).parent == own
        with holding_temporary_files() as again:
            assert again == own == process_folder()
    assert (tempfile.gettempdir(), os.environ["TMPDIR"]) == (str(tmp_path), str(tmp_path))
    assert process_folder() == own


def test_threads_that_end_in_another_order_leave_the_place_of_temporary_files_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    begun, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with holding_temporary_files():
            begun.set()
            may_end.wait(60)

    thread = threading.Thread(target=hold)
    with holding_temporary_files() as own:
        thread.start()
        assert begun.wait(60)
    assert tempfile.gettempdir() == str(own)
    may_end.set()
    thread.join()
    assert tempfile.gettempdir() == str(tmp_path)
