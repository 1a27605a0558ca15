"""The room in a cache: what its files take, and the removal of the least recently used."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Final

from tts_prep.errors import StoreError, WriteError
from tts_prep.format.files.regular_files import open_regular
from tts_prep.format.layout import MANIFEST
from tts_prep.remote.placing import try_lock

PARTIAL: Final = ".partial"
"""The folder of files that are being downloaded."""

CURRENT: Final = "current"
"""The file that names the version of a store that was opened last."""

_LOCK = ".lock"
_WANTED = ".wanted"
_PAUSE = 0.1


class CacheFullError(StoreError):
    """A cache has no room for a file, because processes use all of its files."""


@dataclass(frozen=True)
class _File:
    path: Path
    used: int
    size: int
    links: int


class Room:
    """The files in a cache, of all stores.

    Args:
        cache: the folder.
        size: the maximum of the sizes of all files in bytes; None sets no limit.
    """

    def __init__(self, cache: Path, size: int | None) -> None:
        self._cache = cache
        self._size = size
        self._released = 0

    def reserve(
        self,
        file: FileIO,
        size: int,
        release: Callable[[], None] | None,
        patience: float | None,
        coming: Collection[Path] = (),
    ) -> None:
        """Make room for a file, and give the open file its size, so that other processes count it.

        The least recently used files are removed, those alone that no process has mapped.

        Args:
            release: lets go of files that this process has mapped and does not use.
            patience: seconds to wait for other processes that use too many files; None does not wait.
            coming: files that will be used soon, which are removed last; without patience, they are not removed.

        Raises:
            CacheFullError: the files that are in use leave no room.
            WriteError: the disk is full.
        """
        if self._size is None:
            free = shutil.disk_usage(self._cache).free
            if free < size:
                raise WriteError(
                    f"{self._cache}: the disk has {free:,} bytes left, a file needs {size:,}; give a cache on another "
                    "disk, or a maximum as cache_size"
                )
            os.ftruncate(file.fileno(), size)
            return
        if size > self._size:
            raise CacheFullError(f"{self._cache}: cache_size is {self._size:,} bytes, a file of the store has {size:,}")
        began = time.monotonic()
        if self._reserved(file, size, []):
            return
        while True:
            # Before anything is removed, all processes let go of what they do not use: what is locked otherwise is what
            # was used, and what was just downloaded for the next batches would be removed instead.
            (self._cache / _WANTED).touch()
            if release is not None:
                release()
            files = sorted(self._files(), key=lambda found: found.used)
            later = [found for found in files if found.path in coming]
            files = [found for found in files if found.path not in coming]
            if self._reserved(file, size, files if patience is None else files + later):
                return
            if patience is None or time.monotonic() - began > patience:
                raise CacheFullError(
                    f"{self._cache}: no room for {size:,} bytes: cache_size is {self._size:,}, and processes use the "
                    "files in it; give a larger one"
                )
            time.sleep(_PAUSE)

    def is_wanted(self) -> bool:
        """Return whether a process has asked for room since the last call."""
        if self._size is None:
            return False
        try:
            asked = (self._cache / _WANTED).stat().st_mtime_ns
        except OSError:
            return False
        before, self._released = self._released, max(self._released, asked)
        return before < asked

    def remove_remains(self) -> None:
        """Remove what killed processes have left of downloads."""
        with self._locked():
            for path in (self._cache / PARTIAL).iterdir():
                _removed(path)

    def _reserved(self, file: FileIO, size: int, removable: Collection[_File]) -> bool:
        """Give a file its size if there is room, if need be by removing others; return whether there is."""
        limit = self._size or 0
        with self._locked():
            # Links of one file, which two versions of a store share, count as a part each.
            taken = sum(found.size / found.links for found in self._files())
            for found in removable:
                if taken + size <= limit:
                    break
                if found.path.name not in (MANIFEST, CURRENT) and _removed(found.path):
                    taken -= found.size / found.links
                    self._remove_version(found.path)
            fits = taken + size <= limit
            if fits:
                os.ftruncate(file.fileno(), size)
        return fits

    def _remove_version(self, removed: Path) -> None:
        """Remove the manifest of a version that is not the current one, if nothing else is left of it."""
        parts = removed.relative_to(self._cache).parts
        if len(parts) < 4:
            return
        version = self._cache / parts[0] / parts[1]
        with contextlib.suppress(OSError):
            if (self._cache / parts[0] / CURRENT).read_text(encoding="utf-8") == parts[1]:
                return
            if any(name != MANIFEST for _, _, names in os.walk(version) for name in names):
                return
            shutil.rmtree(version)

    def _files(self) -> Iterator[_File]:
        for folder, _, names in os.walk(self._cache):
            for name in names:
                if name in (_LOCK, _WANTED) and Path(folder) == self._cache:
                    continue
                path = Path(folder, name)
                with contextlib.suppress(FileNotFoundError):
                    status = path.lstat()
                    yield _File(path, status.st_mtime_ns, status.st_size, max(1, status.st_nlink))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the cache, so that what one process counts, no other changes."""
        descriptor = os.open(self._cache / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _removed(path: Path) -> bool:
    """Remove a file that no process has locked: mapped, or being downloaded. Return whether it was removed."""
    try:
        with open_regular(path) as file:
            if not try_lock(file):
                return False
            path.unlink()
    except (OSError, ValueError):
        return False
    return True
