"""Failure list, index and manifest: functions of the shards alone, written when every shard is there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.format.atomic import replacing, writing
from tts_prep.format.checksum import file_sha256, json_sha256
from tts_prep.format.columns import CategoryColumn
from tts_prep.format.files import shard_files, stored_file
from tts_prep.format.index import build_index, open_index
from tts_prep.format.layout import FAILURES, INDEX, LOCK, MANIFEST, OOD_TEXTS, PARTS, SHARDS, shard_name
from tts_prep.format.lock import locked
from tts_prep.format.manifest import FileEntry, Manifest, read_manifest, write_manifest
from tts_prep.format.ood_texts import read_ood_header
from tts_prep.format.remarks import Remarks
from tts_prep.format.seals import broken_datasets
from tts_prep.format.shard import ShardHeader, broken_text, check_shard
from tts_prep.format.statistics import MelStatistics

_SAME = ("configuration", "software", "arrays", "vocabulary")


def assemble_store(store: Path, shards: Sequence[tuple[FileEntry, ShardHeader]]) -> Manifest:
    """Write ``failures.jsonl``, ``index.h5`` and, last, ``manifest.json``: from then on the store is whole.

    Args:
        shards: all of them, in order, at least one.

    Raises:
        WriteError: a file cannot be written.
        CorruptStoreError: a shard is not what its header says, or of other settings than the first one.
    """
    headers = [header for _, header in shards]
    first = headers[0]
    for entry, header in shards:
        if any(getattr(header, name) != getattr(first, name) for name in _SAME):
            raise CorruptStoreError(f"{store / entry.file}: made with other settings than {shards[0][0].file}")
    failures = write_failures(store, headers)
    rows, statistics = build_index(store, [store / entry.file for entry, _ in shards])
    index = open_index(store / INDEX, rows, list(first.arrays), len(shards))
    if not statistics.count:
        statistics = MelStatistics.empty(first.arrays["mel"]["row_shape"][0])
    speakers = index.column("speaker")
    assert isinstance(speakers, CategoryColumn)
    manifest = Manifest(
        configuration=first.configuration,
        fingerprint=json_sha256([first.configuration, first.software]),
        plan=plan_sha256(header.key for header in headers),
        software=first.software,
        arrays=first.arrays,
        vocabulary=first.vocabulary,
        speakers=tuple(speakers.table),
        mel_statistics={
            "count": statistics.count,
            "mean": statistics.mean.tolist(),
            "std": statistics.std.tolist(),
        },
        totals={
            "utterances": rows,
            "failures": len(failures),
            "seconds": float(sum(header.seconds for header in headers)),
            "frames": statistics.count,
            "phonemes": int(index.arrays["phonemes"][1].sum()),
            "shards": len(shards),
        },
        shards=tuple(entry for entry, _ in shards),
        index=file_entry(store / INDEX, INDEX, rows),
        failures=file_entry(store / FAILURES, FAILURES, len(failures)),
        ood_texts=_ood_entry(store, first),
        remarks=Remarks.merged(header.remarks for header in headers).summary(),
    )
    write_manifest(store, manifest)
    with writing(store):
        # Of no use any more, and no part of a whole store.
        (store / PARTS).unlink(missing_ok=True)
    return manifest


def reindex_store(store: Path) -> Manifest:
    """Make failure list, index and manifest of a store again, from its shards alone.

    Every shard is checked against the checksums that it carries.

    Raises:
        StoreError: there are no shards, or they are those of a store that was begun and never finished.
        CorruptStoreError: a shard is broken or missing.
    """
    if "\0" in str(store) or not (store / SHARDS).is_dir():
        raise StoreError(f"{store}: not a store, it has no folder '{SHARDS}'")
    if (store / LOCK).exists() and not (store / MANIFEST).exists():
        raise StoreError(f"{store}: begun and not finished; run the command that makes it again to go on")
    with locked(store):
        count = sum(1 for _ in shard_files(store))
        count = max(count, _count_before(store))
        if not count:
            raise StoreError(f"{store}: has no shards; run the command that makes it again")
        return assemble_store(store, list(checked_shards(store, count)))


def write_failures(store: Path, headers: Iterable[ShardHeader]) -> list[dict[str, str]]:
    """Write ``failures.jsonl`` from the headers of shards, in order, and return its rows."""
    # A header gives its keys in another order once it was read from a file.
    keys = ("id", "where", "stage", "reason")
    failures = [{key: failure[key] for key in keys} for header in headers for failure in header.failures]
    with replacing(store / FAILURES) as partial:
        text = "".join(json.dumps(failure, ensure_ascii=False) + "\n" for failure in failures)
        partial.write_text(text, encoding="utf-8")
    return failures


def plan_sha256(keys: Iterable[str]) -> str:
    """Return the SHA-256 of a whole plan, from the keys of its shards."""
    return hashlib.sha256("".join(f"{key}\n" for key in keys).encode()).hexdigest()


def file_entry(path: Path, file: str, rows: int) -> FileEntry:
    """Return the manifest's entry of a file as it is now.

    Args:
        file: what it is called in the store.
    """
    return FileEntry(file, path.stat().st_size, rows, file_sha256(path))


def _ood_entry(store: Path, header: ShardHeader) -> FileEntry | None:
    if not header.configuration.get("text", {}).get("ood_texts"):
        return None
    path = stored_file(store, OOD_TEXTS)
    if broken := broken_datasets(path):
        raise CorruptStoreError(f"{path}: {broken_text(broken)}; see --ood-texts of 'tts-prep verify'")
    return file_entry(path, OOD_TEXTS, read_ood_header(path).rows)


def checked_shards(store: Path, count: int) -> Iterator[tuple[FileEntry, ShardHeader]]:
    """Yield the first shards of a store with their headers, each checked against the checksums that it carries.

    Raises:
        CorruptStoreError: a shard is broken or missing.
    """
    first: ShardHeader | None = None
    for number in range(count):
        name = shard_name(number)
        header = check_shard(stored_file(store, name), number)
        first = first or header
        yield file_entry(stored_file(store, name), name, header.rows), header.without_statistics(vars(first))


def _count_before(store: Path) -> int:
    """Return the number of shards that the manifest says, 0 where there is none that can be read."""
    try:
        return len(read_manifest(store).shards)
    except StoreError:
        return 0
