"""A store behind a URL, of which files are downloaded when they are used."""

import contextlib
import fcntl
import hashlib
import logging
import math
import os
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from threading import Event
from typing import Any, Final

from tts_prep import errors
from tts_prep.format.files.lock import is_at
from tts_prep.format.files.paths import open_regular, stored_file
from tts_prep.format.hdf5.datasets import MappedFile, map_open_file
from tts_prep.format.layout import CORRECTIONS, FAILURES, MANIFEST, PLAN, PROVENANCE
from tts_prep.format.records.manifest import FileEntry, Manifest, read_manifest
from tts_prep.remote.server import THREADS, Server, has_answered, write_all
from tts_prep.remote.space import CURRENT, PARTIAL, CacheFullError, CacheSpace
from tts_prep.remote.transfer import Patience, Stopped
from tts_prep.remote.written_once import has_size, written_once

_AHEAD_BYTES = 1 << 29
_AHEAD_BATCHES = 512

_LOG: Final = logging.getLogger("tts_prep.remote")

_NOT_LOADED: Final = frozenset({FAILURES, PLAN, CORRECTIONS, PROVENANCE})
"""Files that no epoch reads."""


class CachedStore:
    """The copy of a store in a cache: its manifest, and the files that were used.

    A cache may hold several stores, and several versions of a store: ``NAME-HASH/VERSION/NAME/``, where the hash is of
    the URL, and the version of the manifest. Each of these folders is a store as far as it is complete. Processes that
    use the same cache download every file once. A file in the cache has been compared with the manifest's SHA-256.

    Args:
        url: the URL of the store.
        cache: the folder of the cache.
        size: the maximum size of the cache in bytes; None sets no limit. Least recently used files are removed.
        patience: when a transfer is given up.
        offline: True opens a complete copy without asking the server, and False asks it with all patience; None asks
            it, and opens a complete copy if it cannot be reached.
        outage: seconds that a download waits for a server that is away; None is that of ``patience``.

    Attributes:
        folder: the folder of the copy.

    Warns:
        OfflineWarning: a copy was opened because the server could not be reached.
    """

    def __init__(
        self,
        url: str,
        cache: str | os.PathLike[str],
        size: int | None = None,
        patience: Patience = Patience(),
        offline: bool | None = None,
        outage: float | None = None,
    ) -> None:
        if size is not None and size < 1:
            raise errors.ConfigurationError(f"cache_size: expected a number of bytes >= 1, found {size}")
        self._url = url
        self._cache = Path(cache).absolute()
        self._size = size
        if outage is not None and not 0 <= outage < math.inf:
            raise errors.ConfigurationError(f"outage: expected a number of seconds >= 0, found {outage}")
        self._patience = patience if outage is None else replace(patience, outage=outage)
        self._offline = offline
        self._connect()
        is_read_only = False
        try:
            (self._cache / PARTIAL).mkdir(parents=True, exist_ok=True)
            self._space.remove_remains()
        except OSError as error:
            if self._complete_version() is None:
                raise errors.WriteError(
                    f"{self._cache}: cannot be written ({error.strerror}); give another cache"
                ) from error
            is_read_only = True
        self._version = self._open(offline, is_read_only)

    def _connect(self) -> None:
        self._server = Server(self._url, self._patience)
        self._space = CacheSpace(self._cache, self._size)
        self._linked: dict[str, Path] | None = None
        # The numbers of batches that need a file; the files of those that were yielded last, with their windows.
        self._needed: Counter[Path] = Counter()
        self._drawn: deque[tuple[list[Path], int]] = deque()
        # The windows that use a file, ascending, of this epoch and the next; and that of the oldest batch in use.
        self._windows: dict[Path, list[int]] = {}
        self._window = 0
        # The bytes of files that every process has mapped.
        self._base = 0
        self._has_warned = False

    def __getstate__(self) -> dict[str, Any]:
        names = ("_url", "_cache", "_size", "_patience", "_offline", "_version")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._connect()

    @property
    def url(self) -> str:
        """The URL, without a password."""
        return self._server.shown

    @cached_property
    def folder(self) -> Path:
        """The folder of the copy."""
        return self._folder(self._version)

    @property
    def _versions(self) -> Path:
        # Without a password, so that it is not kept in any form, and another one finds the same copy.
        digest = hashlib.sha256(self._server.shown.encode()).hexdigest()[:16]
        return self._cache / f"{self._server.name()}-{digest}"

    def _folder(self, version: str) -> Path:
        return self._versions / version / self._server.name()

    def _open(self, offline: bool | None, is_read_only: bool) -> str:
        """Download the manifest, and return its version; without a connection, that of a complete copy."""
        complete = self._complete_version() if offline else None
        if complete is not None:
            return complete
        if offline:
            raise errors.StoreError(f"{self.url}: the cache has no complete copy of it; open it without offline first")
        try:
            data, version = self._manifest() if offline is False else self._asked()
        except errors.CannotReadError as error:
            end = "" if str(error).endswith("?") else "."
            complete = self._complete_version() if offline is None else None
            if complete is None:
                without = "" if offline is False else " The cache has no complete copy of it."
                raise errors.CannotReadError(f"{error}{end}{without}") from error
            warnings.warn(f"{error}{end} Opened the copy in the cache.", errors.OfflineWarning, stacklevel=6)
            return complete
        if is_read_only:
            if version != self._complete_version():
                raise errors.WriteError(
                    f"{self._cache}: cannot be written, and {self.url} has changed; give another cache"
                )
            return version
        self._place(self._versions / CURRENT, version.encode())
        self._place(self._folder(version) / MANIFEST, data)
        return version

    def _asked(self) -> tuple[bytes, str]:
        """Return the manifest on the server and its version; in a hurry if it is not reached and there is a copy."""
        attempts, wait = min(2, self._patience.attempts), min(0.25, self._patience.wait)
        stall, silence = min(5, self._patience.stall), min(5, self._patience.silence)
        try:
            return self._manifest(replace(self._patience, attempts=attempts, wait=wait, stall=stall, silence=silence))
        except errors.CannotReadError as error:
            if not has_answered(error) and self._complete_version() is not None:
                raise
        except errors.CorruptStoreError:
            pass  # what came was broken, or is being replaced
        return self._manifest()

    def _manifest(self, patience: Patience | None = None) -> tuple[bytes, str]:
        """Return the manifest on the server and its version."""
        # Opening is not waited for: what stands in its way is said soon.
        data = self._server.manifest(replace(patience or self._patience, outage=0.0))
        return data, hashlib.sha256(data).hexdigest()[:32]

    def _complete_version(self) -> str | None:
        """Return the version that was opened last, if the cache has all of its files that a loader reads."""
        try:
            version = (self._versions / CURRENT).read_text(encoding="ascii")
            if len(version) != 32 or not version.isalnum():
                return None
            folder = self._folder(version)
            files = read_manifest(folder).files
        except (OSError, ValueError, errors.StoreError):
            return None
        read = (entry for entry in files if entry.file not in _NOT_LOADED)
        return version if all(has_size(folder / entry.file, entry.size) for entry in read) else None

    def _place(self, path: Path, data: bytes) -> None:
        """Write a small file, unless it has these bytes."""

        def is_made() -> bool:
            try:
                return path.read_bytes() == data
            except OSError:
                return False

        if is_made():
            return
        with self._written_once(path, is_made, wait=True) as file:
            if file is not None:
                file.truncate(0)
                write_all(file, data)

    def _partial(self, path: Path) -> Path:
        # All in one folder, where what killed processes leave is found.
        return self._cache / PARTIAL / hashlib.sha256(os.fsencode(path)).hexdigest()

    def _written_once(
        self, path: Path, is_made: Callable[[], bool], *, wait: bool
    ) -> contextlib.AbstractContextManager[Any]:
        partial = self._partial(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            where = error.filename or path.parent
            raise errors.WriteError(f"{where}: cannot be made ({error.strerror}); give another cache") from error
        return written_once(path, partial, is_made, self._longest_wait if wait else None)

    def ensure_open(self) -> None:
        """Download the manifest again if somebody has emptied the cache; a StoreError if the server has another one."""
        if not (self.folder / MANIFEST).exists():
            data, version = self._manifest()
            if version != self._version:
                raise self._replaced()
            self._place(self.folder / MANIFEST, data)

    def check_current(self) -> None:
        """Raise a StoreError if the server has another version, or none, unless it is away or not to be asked."""
        try:
            is_current = self._offline or self._manifest()[1] == self._version
        except errors.CannotReadError:
            return
        except errors.StoreError:
            is_current = False
        if not is_current:
            raise self._replaced()

    def _replaced(self) -> errors.StoreError:
        return errors.StoreError(f"{self.url}: the store was replaced since it was opened; open it again")

    def has(self, entry: FileEntry) -> bool:
        """Return whether a file is in the cache."""
        return has_size(self.folder / entry.file, entry.size)

    @property
    def is_bounded(self) -> bool:
        """Whether the cache has a maximum size, so that no file may be held while another is waited for."""
        return self._size is not None

    @property
    def _longest_wait(self) -> float:
        """Seconds in which another process makes progress: it may be waiting for the server."""
        return self._patience.stall * 2 + self._patience.outage

    def check_size(self, base: Sequence[FileEntry], others: Sequence[FileEntry]) -> None:
        """Raise a ConfigurationError unless files that every process has mapped, and one of the others, have room."""
        if self._size is None:
            return
        self._base = (self.folder / MANIFEST).stat().st_size + sum(entry.size for entry in base)
        needed = self._base + max((entry.size for entry in others), default=0)
        if self._size < needed:
            raise errors.ConfigurationError(
                f"cache_size: {self._size:,} bytes, expected at least {needed:,}: the index and the largest file of "
                f"{self.url}"
            )

    def fetch(self, entry: FileEntry, *, wait: bool = True, stop: Event | None = None) -> None:
        """Download a file of the store if the cache lacks it.

        Args:
            wait: wait for another process that downloads it, or that uses files whose room is needed. Without, no file
                is removed that is used before this one.
            stop: ends the download when it is set.

        Raises:
            StoreError: the store on the server was replaced, or the cache has no room.
            CorruptStoreError: the server has another file than the manifest says.
            CannotReadError: the file cannot be read at present.
            WriteError: the file cannot be written.
        """
        path, is_made = self.folder / entry.file, partial(self.has, entry)
        if is_made():
            return
        with self._written_once(path, is_made, wait=wait) as file:
            if file is None:
                return
            if self._is_linked(entry, path):
                return
            longest, use = (self._longest_wait, -math.inf) if wait else (None, self._next_use(path))
            self._space.reserve(file, entry.size, longest, self._next_use, use)
            try:
                self._server.download(entry, file, stop)
            except errors.StoreError as error:
                if not isinstance(error, errors.WriteError | errors.CannotReadError):
                    self.check_current()
                raise

    def _next_use(self, path: Path) -> float:
        """Return the window that uses a file next: that of the oldest batch in use, or a later one."""
        windows = self._windows.get(path)
        if windows is None:
            return self._window if path in self._needed else math.inf
        return next((window for window in windows if window >= self._window), math.inf)

    def map_each(self, entries: Sequence[FileEntry], use: Callable[[FileEntry, MappedFile], None]) -> None:
        """Map files, and call a function with each: several at a time if more than one is to be downloaded.

        No file is held by this method while it waits for another. Errors as in `map`.
        """
        if sum(not self.has(entry) for entry in entries) < 2:
            for entry in entries:
                use(entry, self.map(entry))
            return
        stop = Event()
        with ThreadPoolExecutor(min(THREADS, len(entries)), "tts-prep-remote") as pool:
            try:
                for _ in pool.map(lambda entry: use(entry, self.map(entry, stop)), entries):
                    pass
            finally:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def map(self, entry: FileEntry, stop: Event | None = None) -> MappedFile:
        """Download a file if need be, and memory-map it. It stays in the cache as long as it is mapped."""
        self.ensure_open()
        until = time.monotonic() + self._longest_wait
        while time.monotonic() < until:
            self.fetch(entry, stop=stop)
            if (file := self._mapped(entry)) is not None:
                return file
        path = self.folder / entry.file
        raise CacheFullError(f"{path}: removed as often as it was downloaded; give a larger cache_size")

    def _mapped(self, entry: FileEntry) -> MappedFile | None:
        """Map a file of the cache, with a lock that ends with the map; None if it was removed."""
        try:
            path = stored_file(self.folder, entry.file)
            with open_regular(path) as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                if not is_at(file, path):
                    return None
                with contextlib.suppress(OSError):  # of a cache that is read-only
                    os.utime(file.fileno())
                return map_open_file(path, file)
        except (errors.CorruptStoreError, FileNotFoundError):
            if self.has(entry):
                raise
            return None

    def ahead(
        self,
        batches: Iterable[Any],
        files_of: Callable[[Any], Sequence[FileEntry]],
        is_mapped: Callable[[FileEntry], bool],
        windows: Sequence[Any] = (),
        drawn: int = 16,
    ) -> Iterator[Any]:
        """Yield batches, and download meanwhile the files of later ones, in their order.

        For others, those files are removed that are used last: it is known which window of shards of this epoch or of
        the next uses a file; without windows, those of batches that are still to be made are used before all others.

        The files of the first batch come first, so that no others take a part of the connection while it is waited for.

        Args:
            files_of: returns the files that a batch needs.
            is_mapped: returns whether this process has mapped a file, which then needs no download.
            windows: positions in the shards of each window of this epoch and of the next.
            drawn: the number of batches that are yielded before the first of them was used.
        """
        limit = _AHEAD_BYTES if self._size is None else min(_AHEAD_BYTES, self._size // 8)
        coming: deque[tuple[Any, list[FileEntry], list[Path]]] = deque()
        counted: dict[str, int] = {}
        futures: dict[str, Future[None]] = {}
        first: list[Future[None]] = []
        stop, iterator, is_last, folder = Event(), iter(batches), False, self.folder
        self._note_windows([files_of(positions) for positions in windows] if self.is_bounded else [])
        pool = ThreadPoolExecutor(THREADS, "tts-prep-remote")
        try:
            while not is_last or coming:
                while not is_last and (not coming or (sum(counted.values()) < limit and len(coming) < _AHEAD_BATCHES)):
                    try:
                        positions = next(iterator)
                    except StopIteration:
                        is_last = True
                        break
                    files = files_of(positions)
                    paths = [folder / entry.file for entry in files]
                    self._needed.update(paths)
                    if not self._drawn and not coming:  # resumed in the middle of an epoch
                        self._window = self._window_of(paths)
                    new = [entry for entry in files if entry.file not in counted and not is_mapped(entry)]
                    for entry in new:
                        counted[entry.file] = entry.size
                        if entry.file not in futures or futures[entry.file].done():
                            futures[entry.file] = pool.submit(self._fetch_ahead, entry, stop, first)
                    first = first or list(futures.values())
                    coming.append((positions, new, paths))
                if coming:
                    positions, new, paths = coming.popleft()
                    for entry in new:
                        del counted[entry.file]
                    self._note_drawn(paths, drawn)
                    yield positions
        except BaseException:
            # After a break or an exception in the caller, which close this generator.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            self._needed.clear()
            self._drawn.clear()
            raise
        # The last batches were drawn, and are still to be made.
        pool.shutdown(wait=False)

    def _note_windows(self, windows: Sequence[Sequence[FileEntry]]) -> None:
        """Note which windows use a file, and warn if the cache has no room for two of them."""
        used: dict[Path, list[int]] = {}
        for number, entries in enumerate(windows):
            for entry in entries:
                used.setdefault(self.folder / entry.file, []).append(number)
        # What a killed process has left of a file is used when the file is.
        self._windows = used | {self._partial(path): numbers for path, numbers in used.items()}
        self._window = 0
        self._drawn = deque((paths, 0) for paths, _ in self._drawn)
        needed = self._base + 2 * max((sum(entry.size for entry in entries) for entries in windows), default=0)
        if self._size is not None and self._size < needed and not self._has_warned:
            self._has_warned = True
            _LOG.warning(
                "%s: cache_size is %s bytes, less than two windows of shards need, so that files are downloaded again; "
                "give %s or more, or a smaller shard_window",
                self.url,
                f"{self._size:,}",
                f"{needed:,}",
            )

    def _note_drawn(self, paths: list[Path], drawn: int) -> None:
        """Keep the files of a batch that is yielded, and no longer those of one that was made by now."""
        self._drawn.append((paths, self._window_of(paths)))
        while len(self._drawn) > drawn:
            for path in self._drawn.popleft()[0]:
                self._needed[path] -= 1
                if self._needed[path] <= 0:
                    del self._needed[path]
        self._window = self._drawn[0][1]

    def _window_of(self, paths: list[Path]) -> int:
        return min((self._windows.get(path, [0])[0] for path in paths), default=0)

    def _fetch_ahead(self, entry: FileEntry, stop: Event, earlier: Sequence[Future[None]]) -> None:
        # Without an end: they are all running, because the pool takes its tasks in order.
        wait(earlier)
        # An error is raised when the file is used.
        with contextlib.suppress(errors.StoreError, Stopped):
            self.fetch(entry, wait=False, stop=stop)

    def _is_linked(self, entry: FileEntry, path: Path) -> bool:
        """Take a file over from another version of the store in this cache; return whether there was one."""
        if self._linked is None:
            self._linked = dict(self._files_of_other_versions())
        found = self._linked.get(entry.sha256)
        if found is None or not has_size(found, entry.size):
            return False
        try:
            os.link(found, path)
        except OSError:
            return False
        return True

    def _files_of_other_versions(self) -> Iterator[tuple[str, Path]]:
        for folder in sorted(self._versions.iterdir()):
            if folder.name in (self._version, CURRENT):
                continue
            try:
                manifest: Manifest = read_manifest(folder / self._server.name())
            except errors.StoreError:
                continue
            for entry in manifest.files:
                path = folder / self._server.name() / entry.file
                if has_size(path, entry.size):
                    yield entry.sha256, path
