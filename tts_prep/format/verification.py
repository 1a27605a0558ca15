"""Compare every file of a store with what its manifest says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tts_prep.errors import TtsPrepError
from tts_prep.format.checksum import file_sha256
from tts_prep.format.index import open_index
from tts_prep.format.layout import INDEX
from tts_prep.format.manifest import FileEntry, Manifest, read_manifest
from tts_prep.format.shard import read_shard_header


def verify_store(store: Path, manifest: Manifest | None = None) -> Iterator[tuple[FileEntry, str | None]]:
    """Yield every file of a store with what is wrong with it, or None.

    Size and checksum of every file, the row counts of shards, index and failure list, and the index's columns.
    """
    manifest = manifest or read_manifest(store)
    shards = set(manifest.shards)
    for entry in manifest.files:
        yield entry, _fault(store, entry, manifest, is_shard=entry in shards)


def _fault(store: Path, entry: FileEntry, manifest: Manifest, *, is_shard: bool) -> str | None:
    path = store / entry.file
    try:
        if not path.is_file():
            return "no such file"
        size = path.stat().st_size
        if size != entry.size:
            return f"{size:,} bytes, the manifest says {entry.size:,}"
        found = file_sha256(path)
        if found != entry.sha256:
            return f"SHA-256 {found[:12]}…, the manifest says {entry.sha256[:12]}…"
        if is_shard:
            rows = read_shard_header(path).rows
        elif entry.file == INDEX:
            rows = open_index(path, manifest.index.rows, list(manifest.arrays), len(manifest.shards)).rows
        else:
            rows = path.read_bytes().count(b"\n")
        if rows != entry.rows:
            return f"{rows:,} rows, the manifest says {entry.rows:,}"
    except TtsPrepError as error:
        return str(error)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None
