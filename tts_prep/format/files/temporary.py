"""Folders for temporary files, each held by a process; what a killed one leaves, the next one of its user removes."""

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

_TRIES = 10


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder for temporary files, and remove it at the end of the block.

    Raises:
        OSError: it cannot be made.
    """
    folder, held = _make(Path(tempfile.gettempdir()))
    try:
        yield folder
    finally:
        _remove(folder, held)


def process_folder() -> Path:
    """Return a folder for temporary files that are used until the end of the process, which removes it.

    A process that is forked from this one has the same.

    Raises:
        OSError: it cannot be made.
    """
    place = Path(tempfile.gettempdir())
    if place in _FOLDERS.values():
        return place
    if place not in _FOLDERS or not _FOLDERS[place].is_dir():
        _FOLDERS[place], held = _make(place)
        # Finalizers run in reverse order: those of files in the folder, created later, run before this one.
        weakref.finalize(_PROCESS, _remove, _FOLDERS[place], held, os.getpid())
    return _FOLDERS[place]


@contextlib.contextmanager
def holding_temporary_files() -> Iterator[Path]:
    """Let all temporary files, also those of libraries and of new workers, be in the folder of this process.

    Raises:
        OSError: it cannot be made.
    """
    with _USE.guard:
        folder = process_folder()
        if not _USE.blocks:
            _USE.before = tempfile.tempdir, os.environ.get("TMPDIR")
            tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
        _USE.blocks += 1
    try:
        yield folder
    finally:
        with _USE.guard:
            _USE.blocks -= 1
            if not _USE.blocks:
                tempfile.tempdir = _USE.before[0]
                if _USE.before[1] is None:
                    os.environ.pop("TMPDIR", None)
                else:
                    os.environ["TMPDIR"] = _USE.before[1]


class _Use:
    """The blocks of all threads that hold temporary files, and where these were before the first."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.blocks = 0
        self.before: tuple[str | None, str | None] = None, None


class _Process:
    """An object that lives as long as the process."""


_USE = _Use()
_PROCESS = _Process()
_FOLDERS: dict[Path, Path] = {}
_SEARCHED: set[tuple[int, Path]] = set()


def _make(place: Path) -> tuple[Path, int | None]:
    """Make a folder, and return it with the descriptor that holds it; None where folders cannot be locked."""
    _remove_remains(place)
    prefix = f"tts-prep-{os.getuid()}-{os.getpid()}-"
    for _ in range(_TRIES):
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        held = _hold(folder)
        if held is not None:
            return folder, held
        # Another process has found it before it was held, and removes it.
        with contextlib.suppress(OSError):
            folder.rmdir()
    return Path(tempfile.mkdtemp(prefix=prefix, dir=place)), None


def _hold(folder: Path) -> int | None:
    """Return a descriptor that holds a folder as long as it, or a copy of it in a forked process, is open.

    The number of a process would not tell whether it lives: another container with this folder has other processes of
    the same numbers.

    Returns:
        None if a process holds the folder, if it is a link or of another user, or if there are no locks.
    """
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = os.fstat(descriptor)
            if found.st_uid == os.getuid() and os.path.samestat(found, folder.lstat()):
                return descriptor
        except OSError:
            pass
        os.close(descriptor)
    return None


def _remove_remains(place: Path) -> None:
    """Remove the folders of processes of this user that were killed, once a process."""
    if (os.getpid(), place) in _SEARCHED:
        return
    _SEARCHED.add((os.getpid(), place))
    ours = re.compile(rf"tts-prep-{os.getuid()}-[0-9]+-[a-z0-9_]{{8}}")
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for name in [entry.name for entry in entries if ours.fullmatch(entry.name)]:
            held = _hold(place / name)
            if held is not None:
                _remove(place / name, held)


def _remove(folder: Path, held: int | None, process: int | None = None) -> None:
    if process in (None, os.getpid()):
        shutil.rmtree(folder, ignore_errors=True)
    if held is not None:
        os.close(held)
