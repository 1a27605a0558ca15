"""Verify every file of a store against its manifest."""

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from tts_prep import doors
from tts_prep.errors import CannotReadError, CorruptStoreError, TtsPrepError, broken, fault_of
from tts_prep.format.contents.array_file import inspect_array_file
from tts_prep.format.contents.index import Index, check_places, open_index
from tts_prep.format.contents.shard import CheckedShard, FindLocations, inspect_shard
from tts_prep.format.decoding import Record, parse_json
from tts_prep.format.files.checksums import CHECKSUMS, FileDigest, digest_file
from tts_prep.format.files.paths import read_error, stored_file
from tts_prep.format.hdf5.datasets import Locations, check_tiling, location_crc32, map_file, read_string
from tts_prep.format.hdf5.process import hdf5_process
from tts_prep.format.layout import FAILURES, INDEX, LOCK, MANIFEST, OOD_TEXTS, PLAN, SOURCES
from tts_prep.format.records.manifest import FileEntry, Manifest, manifest_fault, read_manifest
from tts_prep.format.records.store_plan import read_plan


def verify_store(
    store: Path,
    manifest: Manifest | None = None,
    *,
    find: FindLocations | None = None,
    fetch: Callable[[FileEntry], None] | None = None,
) -> Iterator[tuple[FileEntry, str | None]]:
    """Verify a store. Yield every file with its fault, or None.

    Checked are the size and checksum of every file, the seal of every HDF5 file, the numbers of rows, that the rows of
    the index tile the arrays, and that HDF5 finds the datasets at the locations in the manifest and the index. For a
    broken file, the fault names the broken datasets. HDF5 files are parsed in another process.

    Args:
        find: finds the datasets of an HDF5 file; defaults to that process.
        fetch: brings a file of the store here before it is verified.

    Raises:
        StoreError: there is no store, or its manifest cannot be read; ``tts-prep reindex`` rebuilds the manifest.
        CannotReadError: a file cannot be read on this system at present, which is no fault of the file.
    """
    manifest = manifest or read_manifest(store, checked=False)
    yield FileEntry(MANIFEST, (store / MANIFEST).stat().st_size, 0, ""), manifest_fault(store)
    with nullcontext(find) if find else hdf5_process() as find_datasets:
        yield from _Verification(store, manifest, find_datasets, fetch).files()


def require_intact(
    store: Path, manifest: Manifest | None = None, *, fetch: Callable[[FileEntry], None] | None = None
) -> None:
    """Check that all files of a store are intact.

    Raises:
        CorruptStoreError: a file is broken; the message names the first one.
    """
    for entry, fault in verify_store(store, manifest, fetch=fetch):
        if fault:
            raise broken(f"{store / entry.file}: {fault}")


def other_files(store: Path, manifest: Manifest) -> list[str]:
    """Return the files in the folder of a store that are not part of it, such as what a killed command left."""
    known = {MANIFEST, LOCK, SOURCES, *(entry.file for entry in manifest.files)}
    found = (Path(folder, name).relative_to(store) for folder, _, names in os.walk(store) for name in names)
    return sorted(name for path in found if (name := path.as_posix()) not in known)


class _Verification:
    """One pass over the files of a store."""

    def __init__(
        self, store: Path, manifest: Manifest, find: FindLocations, fetch: Callable[[FileEntry], None] | None
    ) -> None:
        self._fetch = fetch
        self._store = store
        self._manifest = manifest
        self._find = find
        self._index: Index | None = None
        self._plan: tuple[str, ...] = ()

    def files(self) -> Iterator[tuple[FileEntry, str | None]]:
        manifest = self._manifest
        yield manifest.index, self._index_fault()
        yield manifest.failures, self._file(manifest.failures)[1]
        if manifest.plan_file:
            yield manifest.plan_file, self._plan_fault(manifest.plan_file)
        if manifest.corrections:
            yield manifest.corrections, self._corrections_fault(manifest.corrections)
        if manifest.provenance_file:
            yield manifest.provenance_file, self._file(manifest.provenance_file)[1]
        if manifest.ood_texts:
            yield manifest.ood_texts, self._ood_fault(manifest.ood_texts)
        for number, entry in enumerate(manifest.shards):
            shard, fault = self._shard(number, entry)
            yield entry, fault
            for name, files in manifest.array_files.items():
                yield files[number], self._array_fault(name, number, files[number], shard)

    def _file(self, entry: FileEntry) -> tuple[FileDigest | None, str | None]:
        """Return the digest of a file, and the fault of its size or checksum."""
        path = self._store / entry.file
        try:
            if self._fetch is not None:
                self._fetch(entry)
            if not path.exists():
                return None, "no such file"
            stored_file(self._store, entry.file)
            size = path.stat().st_size
            if size != entry.size:
                return None, f"{size:,} bytes, the manifest says {entry.size:,}"
            digest = digest_file(path)
            if digest.sha256 != entry.sha256:
                return None, f"SHA-256 {digest.sha256[:12]}…, the manifest says {entry.sha256[:12]}…"
            if entry.file == FAILURES and (rows := _count_lines(path)) != entry.rows:
                return None, f"{rows:,} rows, the manifest says {entry.rows:,}"
        except (TtsPrepError, OSError) as error:
            return None, _fault_text(path, error)
        return digest, None

    def _index_fault(self) -> str | None:
        manifest, path = self._manifest, self._store / INDEX
        _, fault = self._file(manifest.index)
        try:
            file = map_file(stored_file(self._store, INDEX))
            rows, specs = manifest.index.rows, manifest.specs
            index = open_index(file, manifest.datasets[INDEX], rows, specs, len(manifest.shards))
            check_places(index, manifest)
            self._index = index
            if fault:
                return fault + self._broken_dataset(path)
            self._check_datasets(path, INDEX)
            _check_rows(index, manifest)
        except (TtsPrepError, OSError) as error:
            return fault or _fault_text(path, error)
        return None

    def _check_datasets(self, path: Path, file: str) -> None:
        """Check that HDF5 finds the datasets of the manifest, and that their checksums match."""
        found = self._find(path)
        for name, place in self._manifest.datasets[file].items():
            actual = found.get(name)
            if actual is None or (actual.offset, actual.shape, actual.dtype) != (
                place.offset,
                place.shape,
                place.dtype,
            ):
                raise CorruptStoreError(f"{path}: HDF5 does not find '{name}' at its location in the manifest")
            if location_crc32(path, place) != place.crc32:
                raise CorruptStoreError(f"{path}: '{name}' does not match its checksum in the manifest")

    def _plan_fault(self, entry: FileEntry) -> str | None:
        _, fault = self._file(entry)
        try:
            plan = read_plan(self._store)
        except (TtsPrepError, OSError) as error:
            return fault or _fault_text(self._store / entry.file, error)
        self._plan = plan.shards if plan else ()
        if not fault and len(self._plan) != len(self._manifest.shards):
            return f"its shards do not match {MANIFEST}"
        return fault

    def _corrections_fault(self, entry: FileEntry) -> str | None:
        _, fault = self._file(entry)
        try:
            rows = len(doors.need("corrections", "read")(self._store))
        except (TtsPrepError, OSError) as error:
            return fault or _fault_text(self._store / entry.file, error)
        return fault or (None if rows == entry.rows else f"{rows:,} rows, the manifest says {entry.rows:,}")

    def _ood_fault(self, entry: FileEntry) -> str | None:
        path = self._store / OOD_TEXTS
        _, fault = self._file(entry)
        if fault:
            return fault + self._broken_dataset(path)
        try:
            header = doors.need("ood", "check")(path, self._find)
            self._check_datasets(path, OOD_TEXTS)
            doors.need("ood", "open")(map_file(path), self._manifest.datasets[OOD_TEXTS], entry.rows)
        except (TtsPrepError, OSError) as error:
            return _fault_text(path, error)
        return None if header.rows == entry.rows else f"{header.rows:,} rows, the manifest says {entry.rows:,}"

    def _shard(self, number: int, entry: FileEntry) -> tuple[CheckedShard | None, str | None]:
        path = self._store / entry.file
        digest, fault = self._file(entry)
        if fault:
            return None, fault + self._broken_arrays(path, number)
        try:
            shard = inspect_shard(path, number, self._find, digest)
            if shard.header.rows != entry.rows:
                return shard, f"{shard.header.rows:,} rows, the manifest says {entry.rows:,}"
            if number < len(self._plan) and shard.header.plan_key != self._plan[number]:
                return shard, f"its key is not that of {PLAN}"
            self._check_places(shard.locations, number, added=None)
        except (TtsPrepError, OSError) as error:
            return None, _fault_text(path, error)
        return shard, None

    def _array_fault(self, name: str, number: int, entry: FileEntry, shard: CheckedShard | None) -> str | None:
        path = self._store / entry.file
        digest, fault = self._file(entry)
        if fault:
            return fault + self._broken_dataset(path)
        if shard is None:
            # The bytes are intact, but they cannot be compared with the broken shard.
            return None
        try:
            checked = inspect_array_file(path, name, number, shard.header.key, shard.lengths(), self._find, digest)
            if checked.header.spec != self._manifest.specs[name]:
                return "made with other settings than those in the manifest"
            self._check_places(checked.locations, number, added=name)
        except (TtsPrepError, OSError) as error:
            return _fault_text(path, error)
        return None

    def _check_places(self, locations: Locations, number: int, added: str | None) -> None:
        """Check that the arrays of a file are at their locations in the index."""
        for name, (offsets, rows) in self._index.arrays.items() if self._index else ():
            if (name if self._manifest.specs[name].added else None) != added:
                continue
            place = locations.get(name)
            if place is None or (place.offset, place.shape[0]) != (offsets[number], rows[number]):
                raise CorruptStoreError(f"'{name}' is not at its location in the index")

    def _broken_arrays(self, path: Path, number: int) -> str:
        """Return the broken arrays of a shard, as the end of a sentence."""
        try:
            size = path.stat().st_size
            lost = [
                f"'{name}'"
                for name, (offsets, rows) in (self._index.arrays.items() if self._index else ())
                if not (spec := self._manifest.specs[name]).added
                and int(offsets[number]) + int(rows[number]) * spec.row_bytes > size
            ]
        except OSError:
            return ""
        return f": {', '.join(lost)} cut off" if lost else self._broken_dataset(path, number)

    def _broken_dataset(self, path: Path, number: int | None = None) -> str:
        """Return the broken dataset of a file, as the end of a sentence."""
        if not path.is_file():
            return ""
        try:
            broken = _broken_datasets(path, self._find(path))
            if broken:
                return f": {_broken_text(broken)}"
            if number is not None:
                sha256 = digest_file(path).sha256
                for other, entry in enumerate(self._manifest.shards):
                    if other != number and entry.sha256 == sha256:
                        return f": it is shard {other}"
        except (TtsPrepError, OSError):
            return ": its HDF5 structure is broken"
        return ": outside of all datasets"


def _fault_text(path: Path, error: TtsPrepError | OSError) -> str:
    """Return the fault of a file.

    Raises:
        CannotReadError: the error is one of the system at hand, so that nothing is known about the file.
    """
    if isinstance(error, CannotReadError):
        raise error
    if not isinstance(error, OSError):
        return fault_of(error)
    if read_error(error) is CannotReadError:
        raise CannotReadError(f"{path}: cannot be read here ({error.strerror})") from error
    return f"cannot be read ({error.strerror})"


def _count_lines(path: Path) -> int:
    with path.open("rb", buffering=0) as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def _check_rows(index: Index, manifest: Manifest) -> None:
    """Check that the rows of the index are those of the shards, in order."""
    shards = np.asarray(index.column("shard"))
    counts = [entry.rows for entry in manifest.shards]
    if not np.array_equal(shards, np.repeat(np.arange(len(counts)), counts)):
        raise CorruptStoreError(f"{index.path}: the column 'shard' does not match shards of {counts[:5]}… rows")
    ends = np.cumsum([0, *counts])
    for name, spec in manifest.specs.items():
        if spec.columns is None:
            continue
        starts, lengths = (np.asarray(index.column(column)) for column in spec.columns)
        rows = index.arrays[name][1]
        for number in range(len(counts)):
            rows_of_shard = slice(ends[number], ends[number + 1])
            check_tiling(
                index.path,
                f"{name} of shard {number}",
                starts[rows_of_shard],
                lengths[rows_of_shard],
                int(rows[number]),
            )


def _broken_datasets(path: Path, locations: Locations) -> list[str]:
    """Return the names of a file's datasets that are missing or do not match its checksums.

    Raises:
        CorruptStoreError: the file has no checksums.
    """
    where = f"{path}: {CHECKSUMS}"
    checksums = Record(where, parse_json(where, read_string(path, locations, CHECKSUMS))).values
    found = {name: place for name, place in locations.items() if name != CHECKSUMS}
    size = path.stat().st_size
    return sorted(
        name
        for name in {*checksums, *found}
        if name not in found
        or name not in checksums
        or not found[name].within(size)
        or location_crc32(path, found[name]) != checksums[name]
    )


def _broken_text(names: list[str]) -> str:
    """Return a sentence that names the broken datasets."""
    text = ", ".join(f"'{name}'" for name in names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"{text} {'does' if len(names) == 1 else 'do'} not match the checksums in the file"
