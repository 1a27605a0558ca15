"""The temporary folder of a run, named after the store, so that the next run can remove what a killed run left."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_folder(store: Path) -> Iterator[Path]:
    """Create a temporary folder for this store and process, and use it for all temporary files, also of new workers.

    Remains of earlier runs are removed. The caller must hold the lock of the store. The folder is removed at the end of
    the process, because it contains the process's copy of the espeak-ng library.
    """
    place = Path(tempfile.gettempdir())
    name = f"tts-prep-{os.getuid()}-{hashlib.sha256(os.fsencode(os.path.realpath(store))).hexdigest()[:16]}"
    _remove_leftovers(place, name)
    folder = place / f"{name}-{os.getpid()}"
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if folder.is_symlink() or not folder.is_dir() or folder.stat().st_uid != os.getuid():
            # The folder belongs to someone else; use another name.
            folder = Path(tempfile.mkdtemp(prefix="tts-prep-"))
    if folder not in _FOLDERS:
        # Finalizers run in reverse order: those of files in the folder, created later, run before this one.
        _FOLDERS.add(folder)
        weakref.finalize(_IN_USE, shutil.rmtree, folder, ignore_errors=True)
    before = tempfile.tempdir, os.environ.get("TMPDIR")
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before[0]
        if before[1] is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before[1]


class _InUse:
    """An object that lives as long as the process."""


_IN_USE = _InUse()
_FOLDERS: set[Path] = set()


def _remove_leftovers(place: Path, name: str) -> None:
    for path in place.glob(f"{name}-*"):
        number = path.name.rpartition("-")[2]
        if number.isdecimal() and not _is_alive(int(number)):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
