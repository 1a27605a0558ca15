"""An open store: its manifest, its index, and the memory maps of its files."""

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import Any, Protocol
from weakref import ReferenceType, ref

import numpy as np

from tts_prep import doors
from tts_prep.errors import ConfigurationError, CorruptStoreError, StoreError, broken
from tts_prep.format.contents.index import Index, check_places, open_index
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.files.paths import is_url, stored_file
from tts_prep.format.hdf5.columns import CategoryColumn, Column
from tts_prep.format.hdf5.datasets import Array, Location, MappedFile, map_file
from tts_prep.format.layout import ARRAYS, INDEX, MANIFEST, OOD_TEXTS
from tts_prep.format.records.manifest import LONGEST_MANIFEST, FileEntry, Manifest, read_manifest
from tts_prep.loader.dataset.metadata import StoreMetadata, parse_metadata
from tts_prep.loader.dataset.selection import Rows, as_slice
from tts_prep.loader.samplers.ranks import of_all_ranks

_MAX_FILES = 20_000
"""The maximum number of shards and array files mapped at a time; Linux allows 65,530 maps per process."""

_LONGEST_TABLE = 1 << 18
"""The maximum number of rows of a store whose table is kept in memory, 80 bytes a row."""

ROW_ARRAYS = {name: 4 + 2 * number for number, name in enumerate(ARRAYS)}
"""The columns of `Store.row_table` that say where an array begins."""

_IDLE = 0.2
"""Seconds without use after which a file of a cache of limited size is let go of."""


class _CachedStore(Protocol):
    """A store behind a URL, whose files are copied to a folder when they are used."""

    @property
    def folder(self) -> Path: ...

    @property
    def is_bounded(self) -> bool: ...
    def check_size(self, base: Sequence[FileEntry], others: Sequence[FileEntry]) -> None: ...
    def check_current(self) -> None: ...
    def ensure_open(self) -> None: ...
    def has(self, entry: FileEntry) -> bool: ...
    def fetch(self, entry: FileEntry) -> None: ...
    def map_each(self, entries: Sequence[FileEntry], use: Callable[[FileEntry, MappedFile], None]) -> None: ...
    def map(self, entry: FileEntry) -> MappedFile: ...

    ahead: Callable[..., Iterable[Any]]


class Store:
    """Open a store for reading. Opening reads no array and no column.

    Files are memory-mapped once, on first access. Pickling drops the maps and the manifest; a copy opens
    the store on first use, and raises if the store has changed. Safe to use from several threads and after a fork,
    since it has no lock.

    Args:
        path: the store's folder, or its URL.
        verify: check the checksum of every file first.
        cache: with a URL, the folder for copies of the files that are used.
        cache_size: the maximum size of that folder in bytes.
        offline: whether the server is asked; see ``docs/remote.md``.
        outage: seconds that a download waits for a server that is away.

    Raises:
        StoreError: there is no store, it is incomplete, or it has a newer major version.
        CorruptStoreError: the manifest or the index violates ``docs/format.md``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        verify: bool = False,
        cache: str | os.PathLike[str] | None = None,
        cache_size: int | None = None,
        offline: bool | None = None,
        outage: float = 300,
    ) -> None:
        self._cached = _cached_store(path, cache, cache_size, offline, outage)
        # Absolute, because the program may change its working directory before a file is mapped.
        self.path = self._cached.folder if self._cached else Path(path).absolute()
        self._checksum = ""
        self._verify = verify
        self._forget()
        self._open()

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "checksum": self._checksum, "cached": self._cached}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path = state["path"]
        self._checksum = state["checksum"]
        self._cached = state["cached"]
        self._verify = False
        self._forget()

    def _forget(self) -> None:
        self._opened: tuple[Manifest, Index, StoreMetadata] | None = None
        self._stamp: tuple[int, ...] = ()
        self._columns: dict[str, Column] = {}
        self._files: dict[str, MappedFile] = {}
        # With a cache of limited size: when each file was used last, and what lets go of those that are not used.
        self._used: dict[str, float] = {}
        self._watcher: Thread | None = None
        self._arrays: dict[str, dict[int, Array]] = {}
        self._readers: dict[str, Callable[[int], Array]] = {}
        self._row_table: Array | None = None
        self._ood_texts: Any = None

    @property
    def manifest(self) -> Manifest:
        """The contents of ``manifest.json``."""
        return self._open()[0]

    @property
    def index(self) -> Index:
        """The locations of the columns and the arrays."""
        return self._open()[1]

    @property
    def metadata(self) -> StoreMetadata:
        """The metadata common to all utterances."""
        return self._open()[2]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the index columns, sorted, without those that say where texts lie in their array."""
        of_texts = {
            column for spec in self.manifest.specs.values() if spec.text_columns for column in spec.columns or ()
        }
        return tuple(sorted(self.index.columns.keys() - of_texts))

    def column(self, name: str) -> Column:
        """Return all rows of a column.

        Raises:
            ConfigurationError: there is no such column.
        """
        column = self._columns.get(name)
        if column is None:
            if name not in self.index.columns:
                raise ConfigurationError(f"{self.path}: no column '{name}'; it has {', '.join(self.column_names)}")
            column = self.index.column(name)
            if name == "speaker" and isinstance(column, CategoryColumn):
                self._check_speakers(column)
            self._check_unchanged()
            column = self._columns.setdefault(name, column)
        return column

    def array(self, name: str, shard: int) -> Array:
        """Return an array of a shard, [rows, …], read-only and memory-mapped.

        With a cache of limited size, its file cannot be removed as long as the array is referenced.

        Raises:
            CorruptStoreError: the shard is missing, is not in the manifest, or differs in size from it.
            StoreError: the store was removed or replaced since it was opened.
        """
        arrays = self._arrays.setdefault(name, {})
        array = arrays.get(shard)
        if array is None:
            array = self._array_in(self._map(self._file_of(name, shard)), name, shard)
            array = arrays.setdefault(shard, array)
        return array

    def statistics(self, name: str) -> Any:
        """Return the `RowStatistics` of an added array.

        Raises:
            ConfigurationError: the store has no such added array.
            CorruptStoreError: they violate the format.
        """
        spec = self.manifest.specs.get(name)
        if spec is None or not spec.added:
            added = [other for other, of_other in self.manifest.array_specs.items() if of_other.added]
            raise ConfigurationError(f"{self.path}: no added array '{name}'; it has {', '.join(added) or 'none'}")
        from tts_prep.loader.dataset.statistics import parse_statistics

        statistics = parse_statistics(self.path, self.manifest, self.index, spec)
        self._check_unchanged()
        return statistics

    def ood_texts(self) -> Any:
        """Memory-map the out-of-domain texts; None if the store has none.

        Raises:
            CorruptStoreError: their file is missing, contradicts the manifest, or violates the format.
            StoreError: the store was removed or replaced since it was opened.
        """
        entry = self.manifest.ood_texts
        if self._ood_texts is None and entry is not None:
            places = self.manifest.datasets[OOD_TEXTS]
            texts = doors.need("ood", "open")(self._map(entry), places, entry.rows)
            self._check_unchanged()
            self._ood_texts = texts
        return self._ood_texts

    def failures(self) -> list[Any]:
        """Return what is not in the store, and why.

        Raises:
            CorruptStoreError: ``failures.jsonl`` is missing, contradicts the manifest, or violates the format.
        """
        from tts_prep.format.records.failures import read_failures

        entry = self.manifest.failures
        if self._cached is not None:
            self._cached.fetch(entry)
        return list(read_failures(self.path, entry.rows))

    def row_table(self) -> Array | None:
        """Return where the rows of the index lie: [n, 4 + 2 * n_arrays] int64, or None if that is looked up each time.

        Columns are the shard, the code of the speaker, the first byte and the end of the id in `id_bytes`; then the
        first row in the shard and the end of each array of `ROW_ARRAYS`, zeros where there is none. All are checked.
        """
        if self._row_table is None:
            self._row_table = self._made_row_table()
        return self._row_table if len(self._row_table) else None

    def _made_row_table(self) -> Array:
        none = np.empty((0, 0), np.int64)
        if self.index.rows > _LONGEST_TABLE or self.is_lent:
            return none
        ids: Any = self.column("id")
        speakers: Any = self.column("speaker")
        bounds, codes = ids.offsets.astype(np.int64), speakers.codes.astype(np.int64)
        try:
            found = {name: self._looked_up(name, range(len(codes))) for name in ARRAYS if name in self.manifest.specs}
        except CorruptStoreError:  # to be raised where the column is needed
            return none
        wrong = [self._is_wrong(name, places) for name, places in found.items()]
        wrong += [(codes < 0) | (codes >= len(speakers.table)), np.diff(bounds, prepend=0, append=len(ids.data)) < 0]
        if any(mask.any() for mask in wrong):  # to be raised where the row is needed
            return none
        self.id_bytes = ids.data.tobytes()
        for name in found:
            self._arrays.setdefault(name, {})
        missing = np.zeros((len(codes), 3), np.int64)
        parts = [found.get(name, missing)[:, 1:] for name in ARRAYS]
        return np.column_stack([found["mel"][:, 0], codes, bounds[:-1], bounds[1:], *parts])

    def _looked_up(self, name: str, rows: Rows) -> Array:
        """Return the shard, the first row there and the end of an array of each row, [n, 3], as the index says.

        Sums of hostile numbers wrap around.
        """
        at = as_slice(rows) if isinstance(rows, range) else rows
        columns = "shard", *(self.manifest.specs[name].columns or ())
        shards, *of_rows = [np.asarray(self.column(column))[at] for column in columns]
        if not of_rows:
            first_rows = np.cumsum([0, *(entry.rows for entry in self.manifest.shards)])
            starts = np.asarray(rows, np.int64) - first_rows[np.clip(shards, 0, len(first_rows) - 1)]
            of_rows = [starts, np.ones_like(starts)]
        return np.stack([shards, of_rows[0], of_rows[0] + of_rows[1]], axis=1, dtype=np.int64)

    def _is_wrong(self, name: str, places: Array) -> Array:
        """Return a mask of the places that no array of a shard has."""
        counts = np.append(self.index.arrays[name][1], -1)
        shards, starts, stops = places.T
        known = np.where((shards >= 0) & (shards < len(counts)), shards, -1)
        wrong: Array = (starts < 0) | (stops < starts) | (stops > counts[known])
        return wrong

    def views(self, name: str, rows: Rows) -> list[Array]:
        """Return an array of each row of the index, as a read-only view of the map of its shard.

        With a cache of limited size, copies: no file is held while another is waited for, which others may hold.

        Raises:
            CorruptStoreError: a shard is broken, or does not have the rows that the index says.
        """
        found = self._looked_up(name, rows)
        wrong = found[self._is_wrong(name, found)]
        if len(wrong):
            shard, start, _ = wrong[0].tolist()
            count = len(self.array(name, shard))  # raises if the shard itself is broken
            raise broken(
                f"{self.path / self.manifest.file_of(name, shard).file}: '{name}' has {count:,} rows, the index says "
                f"{start:,} + {np.diff(wrong[0])[1]:,}"
            )
        places = found.tolist()
        arrays: Mapping[int, Array] = self._arrays.get(name, {})
        try:
            views = [self._lent(name, shard, arrays[shard][start:stop]) for shard, start, stop in places]
        except KeyError:
            views = self._views_of_new_files(name, places)
        return views if self.manifest.specs[name].columns else [view[0] for view in views]

    def reader(self, name: str) -> Callable[[int], Array]:
        """Return what gives an array of one row of the index, as `views` does.

        The array has columns of starts and lengths.
        """
        read = self._readers.get(name)
        if read is None:
            columns = "shard", *(self.manifest.specs[name].columns or ())
            shard, start, length = (np.asarray(self.column(column)).item for column in columns)
            arrays = self._arrays.setdefault(name, {})

            def read(row: int) -> Array:
                array, first, count = arrays.get(shard(row)), start(row), length(row)
                if array is not None and first >= 0:
                    view: Array = array[first : first + count]
                    if len(view) == count:
                        return self._lent(name, shard(row), view)
                # A file is not mapped yet, or an error is to be raised.
                return self.views(name, range(row, row + 1))[0]

            self._readers[name] = read
        return read

    def _views_of_new_files(self, name: str, places: Sequence[Sequence[int]]) -> list[Array]:
        """Return the rows of an array at places, where a file is not mapped yet."""
        views: dict[int, Array] = {}
        numbers: dict[int, list[int]] = {}
        for number, (shard, _, _) in enumerate(places):
            numbers.setdefault(shard, []).append(number)
        shards = {self._file_of(name, shard).file: shard for shard in numbers}

        def take(entry: FileEntry, file: MappedFile) -> None:
            shard = shards[entry.file]
            array = self._array_in(self._checked(entry, file), name, shard)
            for number in numbers[shard]:
                views[number] = self._lent(name, shard, array[places[number][1] : places[number][2]])
            # Before its file, so that the watcher finds both.
            self._arrays[name][shard] = array
            self._keep(entry, file)

        self._arrays.setdefault(name, {})
        entries = [self._file_of(name, shard) for shard in shards.values()]
        cached = self._cached
        if cached is not None and cached.is_bounded and not all(map(cached.has, entries)):
            self._release()
        held = {entry.file: file for entry in entries if (file := self._files.get(entry.file)) is not None}
        for entry in entries:
            if entry.file in held or cached is None:
                take(entry, held.get(entry.file) or self._map_whole(entry))
        if cached is not None:
            cached.map_each([entry for entry in entries if entry.file not in held], take)
        return [views[number] for number in range(len(places))]

    def _lent(self, name: str, shard: int, view: Array) -> Array:
        """Return a view; with a cache of limited size, a copy that holds no file."""
        if not self.is_lent:
            return view
        self._used[self.manifest.file_of(name, shard).file] = time.monotonic()
        copy = view.copy()
        copy.flags.writeable = False
        return copy

    def fetched_ahead(
        self,
        batches: Iterable[Any],
        windows: Sequence[Any],
        shards_of: Callable[[Any], Iterable[int]],
        arrays: Sequence[str] = (),
        drawn: int = 16,
    ) -> Iterable[Any]:
        """Yield batches. The files of later ones are downloaded meanwhile, if the store is behind a URL.

        Args:
            windows: positions in the shards of each window of this epoch and of the next; none if that is not known.
            shards_of: returns the shards of a batch.
            arrays: the names of arrays that are used; beside them, those that this process has used.
            drawn: the number of batches that are yielded before the first of them was used; workers take two each.
        """
        if self._cached is None:
            return batches

        def files_of(batch: Any) -> Sequence[FileEntry]:
            return self._files_with([*dict.fromkeys([*arrays, *self._arrays])] or ["mel"], shards_of(batch))

        return self._cached.ahead(batches, files_of, self._is_mapped, windows, drawn)

    @property
    def is_lent(self) -> bool:
        """Whether files are let go of after each use."""
        return self._cached is not None and self._cached.is_bounded

    def is_at_hand(self, shards: Iterable[int]) -> bool:
        """Return whether the shards can be mapped without a download, and stay mapped."""
        cached = self._cached
        if cached is None:
            return True
        entries = self._files_with(["mel"], shards)
        return not self.is_lent and all(self._is_mapped(entry) or cached.has(entry) for entry in entries)

    def _is_mapped(self, entry: FileEntry) -> bool:
        return entry.file in self._files

    def _files_with(self, names: Sequence[str], shards: Iterable[int]) -> list[FileEntry]:
        """Return the files of arrays of shards, each once: the arrays of a shard share its file."""
        numbers = [number for number in shards if 0 <= number < len(self.manifest.shards)]
        entries = [self.manifest.file_of(name, number) for number in numbers for name in names]
        return [*{entry.file: entry for entry in entries}.values()]

    def _release(self) -> None:
        """Let go of all maps: those without live views are closed, and mapped again on access."""
        self._files.clear()
        for arrays in list(self._arrays.values()):
            arrays.clear()

    def _file_of(self, name: str, shard: int) -> FileEntry:
        rows = self.index.arrays[name][1]
        if not 0 <= shard < len(rows):
            raise broken(f"{self.index.path}: a row refers to shard {shard} of {len(rows)}")
        return self.manifest.file_of(name, shard)

    def _array_in(self, file: MappedFile, name: str, shard: int) -> Array:
        offsets, rows = self.index.arrays[name]
        if rows[shard] < 0:
            raise CorruptStoreError(f"{self.index.path}: '{name}' of shard {shard} has {rows[shard]} rows")
        spec = self.manifest.specs[name]
        return file.dataset(Location(int(offsets[shard]), (int(rows[shard]), *spec.row_shape), spec.numpy_dtype))

    def _map(self, entry: FileEntry) -> MappedFile:
        file = self._files.get(entry.file)
        if file is None:
            file = self._keep(entry, self._checked(entry, self._map_whole(entry)))
        return file

    def _checked(self, entry: FileEntry, file: MappedFile) -> MappedFile:
        if file.size != entry.size:
            raise broken(f"{file.path}: {file.size:,} bytes, the manifest says {entry.size:,}")
        self._check_unchanged()
        return file

    def _keep(self, entry: FileEntry, file: MappedFile) -> MappedFile:
        if len(self._files) >= max_files():
            self._release()
        file = self._files.setdefault(entry.file, file)
        if self.is_lent:
            self._used[entry.file] = time.monotonic()
            if self._watcher is None or not self._watcher.is_alive():  # as after a fork
                self._watcher = Thread(target=_let_go_of_idle_files, args=(ref(self),), daemon=True)
                self._watcher.start()
        return file

    def _let_go_of(self, files: Collection[str]) -> None:
        for file in files:
            self._used.pop(file, None)
            self._files.pop(file, None)
        for name, arrays in [*self._arrays.items()]:
            for shard in [*arrays]:
                if self.manifest.file_of(name, shard).file in files:
                    arrays.pop(shard, None)

    def _map_whole(self, entry: FileEntry) -> MappedFile:
        if self._cached is not None:
            return self._cached.map(entry)
        return map_file(stored_file(self.path, entry.file))

    def _open(self) -> tuple[Manifest, Index, StoreMetadata]:
        if self._opened is None:
            if self._cached is not None:
                self._cached.ensure_open()
            if (self.path / MANIFEST).is_file():
                self._check_unchanged()
            manifest = read_manifest(self.path)
            if self._verify:
                doors.need("verification", "require_intact")(
                    self.path, manifest, fetch=self._cached.fetch if self._cached else None
                )
                self._verify = False
            if self._cached is not None:
                base = [entry for entry in (manifest.index, manifest.ood_texts) if entry is not None]
                self._cached.check_size(base, [entry for entry in manifest.files if entry not in base])
            file = self._map_whole(manifest.index)
            if file.size != manifest.index.size:
                raise broken(f"{file.path}: {file.size:,} bytes, the manifest says {manifest.index.size:,}")
            places = manifest.datasets[INDEX]
            index = open_index(file, places, manifest.index.rows, manifest.specs, len(manifest.shards))
            check_places(index, manifest)
            metadata = parse_metadata(self.path, manifest, index)
            self._check_unchanged()
            self._opened = manifest, index, metadata
        return self._opened

    def check_unchanged(self) -> None:
        """See `UtteranceDataset.check_unchanged`."""
        found = ""
        try:
            self._check_unchanged()
            if self._cached is not None:
                self._cached.check_current()
        except StoreError as error:
            found = str(error)
        versions, problems = zip(*of_all_ranks((self._checksum, found)), strict=True)
        if any(problems):
            raise StoreError(next(filter(None, problems)))
        if others := [str(rank) for rank, version in enumerate(versions) if version != versions[0]]:
            raise StoreError(f"{self.path}: rank {', '.join(others)} opened another version than rank 0; open it again")

    def _check_unchanged(self) -> None:
        """Check that the store is still the one that was opened.

        A writer removes the manifest first and writes it last. So if the manifest is unchanged after a file was mapped,
        the mapped bytes are those of its checksums.
        """
        path = self.path / MANIFEST
        try:
            status = path.stat()
            stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            if stamp == self._stamp:
                return
            if status.st_size > LONGEST_MANIFEST:
                raise CorruptStoreError(f"{path}: longer than the maximum of {LONGEST_MANIFEST:,} bytes")
            checksum = file_sha256(path)
        except OSError as error:
            raise StoreError(f"{path}: removed since the store was opened ({error.strerror})") from error
        if self._checksum not in ("", checksum):
            raise StoreError(f"{self.path}: the store was replaced since it was opened; open it again")
        self._checksum = checksum
        self._stamp = stamp

    def _check_speakers(self, column: CategoryColumn) -> None:
        if tuple(column.table) != self.metadata.speakers:
            raise broken(
                f"{self.index.path}: its {len(column.table)} speakers differ from the {len(self.metadata.speakers)} of "
                "the manifest"
            )


def _let_go_of_idle_files(store: ReferenceType[Store]) -> None:
    """Let go of files that are not used, in a thread: a process that waits for others is to hold no file."""
    while (found := store()) is not None:
        if not found._files:
            found._watcher = None
            if not found._files:  # mapped before another watcher was started
                return
        before = time.monotonic() - _IDLE
        if idle := {file for file in [*found._files] if found._used.get(file, 0.0) < before}:
            found._let_go_of(idle)
        del found
        time.sleep(_IDLE / 4)


def _cached_store(
    path: str | os.PathLike[str],
    cache: str | os.PathLike[str] | None,
    cache_size: int | None,
    offline: bool | None,
    outage: float,
) -> _CachedStore | None:
    """Return the cache of a store behind a URL; None for a folder."""
    if not is_url(path):
        if cache is not None or cache_size is not None or offline is not None:
            raise ConfigurationError(f"{path}: a folder needs no cache, which is for URLs; leave cache out")
        return None
    if cache is None:
        raise ConfigurationError(
            "a store behind a URL needs a folder for copies of its files: UtteranceDataset(url, cache='FOLDER')"
        )
    url = os.fspath(path)
    open_url = doors.need("schemes", url.partition(":")[0])
    found: _CachedStore = open_url(url, cache, cache_size, offline=offline, outage=outage)
    return found


def max_files() -> int:
    """Return the maximum number of shards and array files that a store maps at a time.

    Python keeps a file descriptor per map, and many systems allow 1,024 per process. A store uses at most half of them.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return 256
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MAX_FILES if allowed < 0 else max(1, min(_MAX_FILES, allowed // 2))
