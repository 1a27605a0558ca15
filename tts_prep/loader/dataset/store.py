"""An open store: its manifest and index, and whatever of it has been mapped so far."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep.errors import ConfigurationError, CorruptStoreError, StoreError
from tts_prep.format.checksums import file_sha256
from tts_prep.format.columns import CategoryColumn, Column
from tts_prep.format.datasets import Array, Location, map_dataset
from tts_prep.format.files import stored_file
from tts_prep.format.index import Index, check_places, index_locations, open_index
from tts_prep.format.layout import MANIFEST
from tts_prep.format.manifest import LONGEST_MANIFEST, Manifest, read_manifest
from tts_prep.format.ood_texts import ood_locations, open_ood_texts
from tts_prep.format.verification import require_whole
from tts_prep.loader.dataset.metadata import RowStatistics, StoreMetadata, parse_metadata, parse_statistics
from tts_prep.loader.dataset.ood_texts import OutOfDomainTexts

_MOST_ARRAYS = 20_000
"""Shard arrays mapped at a time, at most; Linux allows 65,530 maps a process."""


class Store:
    """Open a store for reading; no array and no column is read by that.

    Columns and arrays are mapped when they are first asked for, once each. Pickling drops the maps and the manifest;
    the copy opens the store again at its first use and refuses it when it is another one by then. Safe to use from
    several threads and after a fork: there is no lock. Only for stores of format 1.0 and 1.1 is
    HDF5 used, in another process.

    Args:
        path: the store's folder.
        verify: compare every file with its checksum first.

    Raises:
        StoreError: there is no store, it is not whole, or it is of a newer major version.
        CorruptStoreError: manifest or index are not what ``docs/FORMAT.md`` says.
    """

    def __init__(self, path: str | os.PathLike[str], *, verify: bool = False) -> None:
        # Absolute, since maps are made long after: the program may have changed its working directory.
        self.path = Path(path).absolute()
        self._checksum = ""
        self._verify = verify
        self._forget()
        self._open()

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "checksum": self._checksum}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path = state["path"]
        self._checksum = state["checksum"]
        self._verify = False
        self._forget()

    def _forget(self) -> None:
        self._parts: tuple[Manifest, Index, StoreMetadata] | None = None
        self._stamp: tuple[int, ...] = ()
        self._columns: dict[str, Column] = {}
        self._arrays: dict[str, dict[int, Array]] = {}
        self._ood_texts: OutOfDomainTexts | None = None
        self._shard_starts: Array | None = None

    @property
    def manifest(self) -> Manifest:
        """The contents of ``manifest.json``."""
        return self._open()[0]

    @property
    def index(self) -> Index:
        """Where the columns and the arrays lie."""
        return self._open()[1]

    @property
    def metadata(self) -> StoreMetadata:
        """What holds for every utterance."""
        return self._open()[2]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the index columns, sorted."""
        return tuple(sorted(self.index.columns))

    def column(self, name: str) -> Column:
        """Map a column, all rows of it.

        Raises:
            ConfigurationError: there is no such column.
        """
        column = self._columns.get(name)
        if column is None:
            if name not in self.index.columns:
                raise ConfigurationError(f"{self.path}: no column '{name}'; there are {', '.join(self.column_names)}")
            column = self.index.column(name)
            if name == "speaker" and isinstance(column, CategoryColumn):
                self._check_speakers(column)
            self._check_unchanged()
            column = self._columns.setdefault(name, column)
        return column

    def array(self, name: str, shard: int) -> Array:
        """Map an array of a shard, [rows, …], read-only.

        Raises:
            CorruptStoreError: the shard is missing, is not one of the manifest's, or has not the size that it says.
            StoreError: the store was removed or made again since it was opened.
        """
        arrays = self._arrays.setdefault(name, {})
        array = arrays.get(shard)
        if array is None:
            array = self._map_array(name, shard)
            self._check_unchanged()
            if sum(map(len, self._arrays.values())) >= most_arrays():
                # Whoever holds a view keeps its map; all others are closed, and mapped again at need.
                for mapped in self._arrays.values():
                    mapped.clear()
            array = arrays.setdefault(shard, array)
        return array

    def statistics(self, name: str) -> RowStatistics:
        """Return the statistics of an added array.

        Raises:
            ConfigurationError: the store has no such added array.
            CorruptStoreError: the manifest or the index does not have them as the format says.
        """
        spec = self.manifest.specs.get(name)
        if spec is None or not spec.added:
            added = [other for other, found in self.manifest.specs.items() if found.added]
            raise ConfigurationError(f"{self.path}: no added array '{name}'; there are {', '.join(added) or 'none'}")
        found = parse_statistics(self.path, self.manifest, self.index, spec)
        self._check_unchanged()
        return found

    def ood_texts(self) -> OutOfDomainTexts | None:
        """Map the out-of-domain texts; None where the store has none.

        Raises:
            CorruptStoreError: their file is missing, or is not what the manifest and the format say.
            StoreError: the store was removed or made again since it was opened.
        """
        entry = self.manifest.ood_texts
        if self._ood_texts is None and entry is not None:
            path, size = self._file(entry.file)
            if size != entry.size:
                raise CorruptStoreError(
                    f"{path}: {size:,} bytes, the manifest says {entry.size:,}; run 'tts-prep verify'"
                )
            texts = OutOfDomainTexts(open_ood_texts(path, ood_locations(self.path, self.manifest), entry.rows))
            self._check_unchanged()
            self._ood_texts = texts
        return self._ood_texts

    def first_rows(self, shards: Array) -> Array:
        """Return for each shard number the row of the index with which the shard begins."""
        if self._shard_starts is None:
            counts = [entry.rows for entry in self.manifest.shards]
            self._shard_starts = np.cumsum([0, *counts])[:-1]
        bad = (shards < 0) | (shards >= len(self._shard_starts))
        if bad.any():
            raise CorruptStoreError(
                f"{self.index.path}: a row is in shard {int(shards[bad][0])}, but there are {len(self._shard_starts)}; "
                "run 'tts-prep verify'"
            )
        return self._shard_starts[shards]

    def slices(self, name: str, shards: Array, starts: Array, lengths: Array) -> list[Array]:
        """Return views of rows of an array, read-only.

        Args:
            name: of the array.
            shards: [n] shard numbers.
            starts: [n] first rows.
            lengths: [n] numbers of rows.

        Raises:
            CorruptStoreError: a slice does not lie within its shard's array.
        """
        # Python's integers: a start near 2**63 cannot wrap around.
        places = list(zip(shards.tolist(), starts.tolist(), lengths.tolist(), strict=True))
        arrays = self._arrays.get(name, {})
        try:
            views = [arrays[shard][start : start + length] for shard, start, length in places]
        except KeyError:
            # Held here, so that none of them is closed while the others are mapped.
            arrays = {shard: self.array(name, shard) for shard in {shard for shard, _, _ in places}}
            views = [arrays[shard][start : start + length] for shard, start, length in places]
        for view, (shard, start, length) in zip(views, places, strict=True):
            if start < 0 or len(view) != length:
                raise CorruptStoreError(
                    f"{self.path / self.manifest.file_of(name, shard).file}: '{name}' has "
                    f"{len(self.array(name, shard)):,} rows, the index says {start:,} + {length:,}; "
                    "run 'tts-prep verify'"
                )
        return views

    def _file(self, name: str) -> tuple[Path, int]:
        """Return the path and the size of a file of the store."""
        path = stored_file(self.path, name)
        try:
            return path, path.stat().st_size
        except OSError as error:  # removed since it was looked at
            raise CorruptStoreError(f"{path}: cannot be opened ({error.strerror}); was the store moved?") from error

    def _map_array(self, name: str, shard: int) -> Array:
        manifest = self.manifest
        offsets, rows = self.index.arrays[name]
        if not 0 <= shard < len(rows):
            raise CorruptStoreError(
                f"{self.index.path}: a row is in shard {shard}, but there are {len(rows)}; run 'tts-prep verify'"
            )
        entry = manifest.file_of(name, shard)
        path, size = self._file(entry.file)
        if size != entry.size:
            raise CorruptStoreError(
                f"{path}: {size:,} bytes, the manifest says {entry.size:,}; run 'tts-prep verify', make the shard again"
            )
        if rows[shard] < 0:
            raise CorruptStoreError(f"{self.index.path}: '{name}' of shard {shard} has {rows[shard]} rows")
        spec = manifest.specs[name]
        return map_dataset(path, Location(int(offsets[shard]), (int(rows[shard]), *spec.row_shape), spec.numpy_dtype))

    def _open(self) -> tuple[Manifest, Index, StoreMetadata]:
        if self._parts is None:
            if (self.path / MANIFEST).is_file():
                self._check_unchanged()
            manifest = read_manifest(self.path)
            if self._verify:
                require_whole(self.path, manifest)
                self._verify = False
            path = stored_file(self.path, manifest.index.file)
            if manifest.datasets and path.stat().st_size != manifest.index.size:
                raise CorruptStoreError(
                    f"{path}: {path.stat().st_size:,} bytes, the manifest says {manifest.index.size:,}; "
                    "run 'tts-prep verify'"
                )
            places = index_locations(self.path, manifest)
            index = open_index(path, places, manifest.index.rows, manifest.specs, len(manifest.shards))
            check_places(index, manifest)
            metadata = parse_metadata(self.path, manifest, index)
            self._check_unchanged()
            self._parts = manifest, index, metadata
        return self._parts

    def _check_unchanged(self) -> None:
        """Make sure that the store is the one that was opened.

        A writer removes the manifest first and writes it last. So where the manifest is the same after something was
        mapped, the mapped bytes are those that it vouches for.
        """
        path = self.path / MANIFEST
        try:
            status = path.stat()
            stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            if stamp == self._stamp:
                return
            if status.st_size > LONGEST_MANIFEST:
                raise CorruptStoreError(f"{path}: longer than {LONGEST_MANIFEST:,} bytes, no store has that")
            checksum = file_sha256(path)
        except OSError as error:
            raise StoreError(f"{path}: gone since the store was opened ({error.strerror})") from error
        if self._checksum not in ("", checksum):
            raise StoreError(f"{self.path}: the store was made again since it was opened; open it anew")
        self._checksum = checksum
        self._stamp = stamp

    def _check_speakers(self, column: CategoryColumn) -> None:
        if tuple(column.table) != self.metadata.speakers:
            raise CorruptStoreError(
                f"{self.index.path}: its {len(column.table)} speakers are not the {len(self.metadata.speakers)} of the "
                "manifest; run 'tts-prep verify'"
            )


def most_arrays() -> int:
    """Return how many shard arrays a store may have mapped at a time.

    Python keeps a file descriptor for every map, and many systems allow 1,024 a process: take half of them.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return 256
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST_ARRAYS if allowed < 0 else max(1, min(_MOST_ARRAYS, allowed // 2))
