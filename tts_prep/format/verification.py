"""Compare every file of a store with what its manifest says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tts_prep.errors import CorruptStoreError, TtsPrepError
from tts_prep.format.checksum import file_sha256
from tts_prep.format.datasets import locate, reading
from tts_prep.format.files import stored_file
from tts_prep.format.index import Index, array_row_bytes, check_places, open_index
from tts_prep.format.layout import ARRAYS, INDEX, MANIFEST
from tts_prep.format.manifest import FileEntry, Manifest, manifest_fault, read_manifest
from tts_prep.format.ood_texts import open_ood_texts
from tts_prep.format.seals import broken_datasets
from tts_prep.format.shard import broken_text, check_shard, check_tiling, read_shard_header


def verify_store(store: Path, manifest: Manifest | None = None) -> Iterator[tuple[FileEntry, str | None]]:
    """Yield every file of a store with what is wrong with it, or None.

    Size and checksum of every file; the checksum of every dataset, by which a broken file's arrays are named; the
    row counts of shards, index and failure list; that the rows of the index tile the arrays of the shards.

    Raises:
        StoreError: there is no store or its manifest cannot be read: ``tts-prep reindex`` makes it from the shards.
    """
    manifest = manifest or read_manifest(store)
    yield FileEntry(MANIFEST, (store / MANIFEST).stat().st_size, 0, ""), manifest_fault(store)
    index = _open_index(store, manifest)
    yield manifest.index, _fault(store, manifest.index) or _index_fault(store, manifest)
    yield manifest.failures, _fault(store, manifest.failures)
    if manifest.ood_texts:
        yield manifest.ood_texts, _fault(store, manifest.ood_texts) or _ood_fault(store, manifest.ood_texts)
    for number, entry in enumerate(manifest.shards):
        fault = _fault(store, entry)
        if fault:
            fault += _where(store / entry.file, number, index, manifest)
        yield entry, fault or _shard_fault(store, number, index, manifest)


def require_whole(store: Path, manifest: Manifest | None = None) -> None:
    """Make sure that every file of a store is as it was made.

    Raises:
        CorruptStoreError: the message names the first file that is not, and what of it.
    """
    for entry, fault in verify_store(store, manifest):
        if fault:
            raise CorruptStoreError(f"{store / entry.file}: {fault}; 'tts-prep verify' lists all such files")


def _fault(store: Path, entry: FileEntry) -> str | None:
    path = store / entry.file
    try:
        if not path.exists():
            return "no such file"
        stored_file(store, entry.file)
        size = path.stat().st_size
        if size != entry.size:
            return f"{size:,} bytes, the manifest says {entry.size:,}"
        found = file_sha256(path)
        if found != entry.sha256:
            return f"SHA-256 {found[:12]}…, the manifest says {entry.sha256[:12]}…"
        if path.suffix == ".jsonl" and (rows := path.read_bytes().count(b"\n")) != entry.rows:
            return f"{rows:,} rows, the manifest says {entry.rows:,}"
    except TtsPrepError as error:
        return str(error)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None


def _open_index(store: Path, manifest: Manifest) -> Index | None:
    try:
        path = stored_file(store, INDEX)
        return open_index(path, manifest.index.rows, list(manifest.arrays), len(manifest.shards))
    except CorruptStoreError:
        return None


def _index_fault(store: Path, manifest: Manifest) -> str | None:
    try:
        path = stored_file(store, INDEX)
        broken = broken_datasets(path)
        if broken:
            return broken_text(broken)
        index = open_index(path, manifest.index.rows, list(manifest.arrays), len(manifest.shards))
        check_places(index, manifest)
        _check_rows(index, manifest)
    except (TtsPrepError, OSError) as error:
        return str(error)
    return None


def _ood_fault(store: Path, entry: FileEntry) -> str | None:
    try:
        path = stored_file(store, entry.file)
        broken = broken_datasets(path)
        if broken:
            return broken_text(broken)
        open_ood_texts(path, entry.rows)
    except (TtsPrepError, OSError) as error:
        return str(error)
    return None


def _check_rows(index: Index, manifest: Manifest) -> None:
    """Make sure that the rows of the index are those of the shards, in order, one behind the other."""
    shards = np.asarray(index.column("shard"))
    counts = [entry.rows for entry in manifest.shards]
    if not np.array_equal(shards, np.repeat(np.arange(len(counts)), counts)):
        raise CorruptStoreError(f"{index.path}: the column 'shard' is not that of shards with {counts[:5]}… rows")
    ends = np.cumsum([0, *counts])
    for name, (_, rows) in index.arrays.items():
        starts, lengths = (
            np.asarray(index.column(column)) for column in (ARRAYS[name].start_column, ARRAYS[name].length_column)
        )
        for number in range(len(counts)):
            part = slice(ends[number], ends[number + 1])
            check_tiling(index.path, f"{name} of shard {number}", starts[part], lengths[part], int(rows[number]))


def _shard_fault(store: Path, number: int, index: Index | None, manifest: Manifest) -> str | None:
    entry = manifest.shards[number]
    path = store / entry.file
    try:
        header = check_shard(path, number)
        if header.rows != entry.rows:
            return f"{header.rows:,} rows, the manifest says {entry.rows:,}"
        with reading(path) as file:
            for name, (offsets, rows) in index.arrays.items() if index else ():
                place = locate(file, name)
                if (place.offset, place.shape[0]) != (offsets[number], rows[number]):
                    return f"'{name}' does not lie where the index says"
    except (TtsPrepError, OSError) as error:
        return str(error)
    return None


def _where(path: Path, number: int, index: Index | None, manifest: Manifest) -> str:
    """Return which part of a broken shard is broken, as the end of a sentence."""
    try:
        size = path.stat().st_size
        lost = [
            f"'{name}'"
            for name, (offsets, rows) in (index.arrays.items() if index else ())
            if int(offsets[number]) + int(rows[number]) * array_row_bytes(manifest, name) > size
        ]
        if lost:
            return f": {', '.join(lost)} cut off"
        broken = broken_datasets(path)
        if broken:
            return f": {broken_text(broken)}"
        found = read_shard_header(path).number
    except (TtsPrepError, OSError) as error:
        arrays = ", ".join(f"'{name}'" for name in manifest.arrays)
        return f": its structure is broken, and {arrays} cannot be reached" if path.is_file() else f": {error}"
    return f": it is shard {found}" if found != number else ": outside of every array"
