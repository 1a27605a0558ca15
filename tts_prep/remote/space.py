"""The space that a cache takes: what its files take together, and the removal of those that are used last."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from tts_prep.errors import StoreError, WriteError
from tts_prep.format.files.lock import is_at
from tts_prep.format.files.paths import open_regular
from tts_prep.format.layout import MANIFEST
from tts_prep.remote.written_once import allocated, try_lock

PARTIAL = ".partial"
"""The folder of files that are being downloaded."""

CURRENT = "current"
"""The file that names the version of a store that was opened last."""

_LOCK = ".lock"
_PAUSE = 0.05
_KEPT = 24 * 3600.0
"""Seconds that what a killed process has left is kept for the next."""

# A cache may be given a folder with other files in it. Those are not counted, and never removed.
_VERSIONS = re.compile(r"[\w.-]+-[0-9a-f]{16}", re.ASCII)
_VERSION = re.compile(r"[0-9a-f]{32}")
_REMAINS = re.compile(r"[0-9a-f]{64}")
_COUNT = re.compile(rb"[0-9]{20}")


class CacheFullError(StoreError):
    """A cache has no room for a file, because processes use all of its files."""


@dataclass(frozen=True)
class _File:
    path: Path
    used: int
    size: int
    links: int

    @classmethod
    def of(cls, entry: os.DirEntry[str]) -> _File:
        status = entry.stat(follow_symlinks=False)
        return cls(Path(entry.path), status.st_mtime_ns, status.st_size, max(1, status.st_nlink))


class CacheSpace:
    """The files in a cache, of all stores.

    What they take together is kept in the lock file, so that a download need not look at each of them. A process that
    is killed leaves the number too large, never too small; then, and when a store is opened, the files are counted.

    Args:
        cache: the folder.
        size: the maximum of the sizes of all files in bytes; None sets no limit.
    """

    def __init__(self, cache: Path, size: int | None) -> None:
        self._cache = cache
        self._size = size

    def reserve(
        self,
        file: FileIO,
        size: int,
        patience: float | None,
        next_use: Callable[[Path], float] = lambda _: math.inf,
        use: float = -math.inf,
    ) -> None:
        """Make room for a file, and give the open file its size, so that other processes count it.

        Files are removed that no process has mapped: first those that are used last, of these the least recently used.

        Args:
            patience: seconds to wait for room that others use; None does not wait.
            next_use: returns when a file is used next, in any unit; infinity if that is not known.
            use: when this file is used. What is used before it, or then, is not removed for it.

        Raises:
            CacheFullError: the files that are in use leave no room.
            WriteError: the disk is full.
        """
        if self._size is None:
            self._check_disk(size - allocated(os.fstat(file.fileno())))
        elif size > self._size:
            raise CacheFullError(f"{self._cache}: cache_size is {self._size:,} bytes, a file of the store has {size:,}")
        until = time.monotonic() + (patience or 0.0)
        while not self._reserved(file, size, next_use, use):
            if patience is None or time.monotonic() > until:
                raise CacheFullError(
                    f"{self._cache}: no room for {size:,} bytes: cache_size is {self._size:,}, and processes use the "
                    "files in it; give a larger one"
                )
            time.sleep(_PAUSE)

    def _check_disk(self, size: int) -> None:
        free = shutil.disk_usage(self._cache).free
        if free < size:
            raise WriteError(
                f"{self._cache}: the disk has {free:,} bytes left, a file needs {size:,}; give a cache on another "
                "disk, or a maximum as cache_size"
            )

    def remove_remains(self) -> None:
        """Remove what killed processes have left of downloads a day ago, and have the files counted again."""
        with self._locked() as lock:
            os.ftruncate(lock, 0)
            for found in self._partial():
                if found.used < (time.time() - _KEPT) * 1e9:
                    _removed(found.path)

    def _reserved(self, file: FileIO, size: int, next_use: Callable[[Path], float], use: float) -> bool:
        """Give a file its size if there is room, if need be by removing others; return whether there is."""
        with self._locked() as lock:
            # Of a killed process, whose bytes are counted.
            kept = min(size, os.fstat(file.fileno()).st_size)
            os.ftruncate(file.fileno(), kept)
            size -= kept
            taken = _noted(lock)
            if self._size is not None and (taken is None or taken > self._size - size):
                taken, files = self._count()
                taken = self._remove(files, taken, self._size - size, next_use, use)
                if taken > self._size - size:
                    _note(lock, taken)
                    return False
            # First the number, so that a process that is killed in between leaves it too large.
            if taken is not None:
                _note(lock, taken + size)
            os.ftruncate(file.fileno(), kept + size)
        return True

    def _remove(self, files: list[_File], taken: int, limit: int, next_use: Callable[[Path], float], use: float) -> int:
        """Remove files until the rest takes no more than a limit; return what it takes."""
        uses = {found.path: next_use(found.path) for found in files}
        for found in sorted(files, key=lambda found: (-uses[found.path], found.used)):
            if taken <= limit or uses[found.path] <= use:
                break
            # Two versions of a store share files by links, of which the last one frees the space.
            if links := _removed(found.path):
                taken -= found.size if links == 1 else 0
                self._remove_version(found.path)
        return taken

    def _count(self) -> tuple[int, list[_File]]:
        """Return the sizes of all files together, and those that may be removed."""
        # Downloads first: one that moves to its place meanwhile is counted twice, never not at all.
        files = [*self._partial(), *self._stored()]
        taken = round(sum(found.size / found.links for found in files))
        return taken, [found for found in files if found.path.name != MANIFEST]

    def _partial(self) -> list[_File]:
        return [found for found in _files_below(self._cache / PARTIAL) if _REMAINS.fullmatch(found.path.name)]

    def _stored(self) -> Iterator[_File]:
        """Yield the files of all versions of all stores."""
        for versions in _folders(self._cache, _VERSIONS):
            for version in _folders(versions.path, _VERSION):
                yield from _files_below(version.path)

    def _remove_version(self, removed: Path) -> None:
        """Remove the manifest of a version that is not the current one, if nothing else is left of it."""
        parts = removed.relative_to(self._cache).parts
        version = self._cache / parts[0] / parts[1]
        with contextlib.suppress(OSError):
            if (self._cache / parts[0] / CURRENT).read_text(encoding="utf-8") == parts[1]:
                return
            if any(name != MANIFEST for _, _, names in os.walk(version) for name in names):
                return
            shutil.rmtree(version)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        """Hold the lock of the cache, so that what one process counts, no other changes; yield its open file."""
        descriptor = os.open(self._cache / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _noted(lock: int) -> int | None:
    """Return the number in the lock file; None if there is none."""
    data = os.pread(lock, 20, 0)
    return int(data) if _COUNT.fullmatch(data) else None


def _note(lock: int, taken: int) -> None:
    # Of one width, so that it needs no second call.
    os.pwrite(lock, b"%020d" % taken, 0)


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    """Return what a folder has; nothing if it was removed."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def _folders(folder: str | Path, name: re.Pattern[str]) -> Iterator[os.DirEntry[str]]:
    """Yield the folders in a folder whose names have a form; no links, which may lead elsewhere."""
    return (e for e in _entries(folder) if name.fullmatch(e.name) and e.is_dir(follow_symlinks=False))


def _files_below(folder: str | Path) -> Iterator[_File]:
    for entry in _entries(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _files_below(entry.path)
        else:
            with contextlib.suppress(FileNotFoundError):
                yield _File.of(entry)


def _removed(path: Path) -> int:
    """Remove a file that no process has locked: mapped, or being downloaded.

    Return the number of its links, with this one; 0 if it was not removed.
    """
    try:
        with open_regular(path) as file:
            # Another file may have this name by now, which another process is writing.
            if not try_lock(file) or not is_at(file, path):
                return 0
            links = os.fstat(file.fileno()).st_nlink
            path.unlink()
    except (OSError, ValueError):
        return 0
    return links
