"""Write failure list, index and manifest: pure functions of the complete shards and array files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tts_prep import doors
from tts_prep.errors import CorruptStoreError
from tts_prep.format import layout
from tts_prep.format.contents.index import open_index
from tts_prep.format.contents.index_writer import IndexSummary, build_index
from tts_prep.format.contents.shard import CheckedShard, FindLocations, ShardHeader
from tts_prep.format.files.atomic import replacing
from tts_prep.format.files.checksums import CHECKSUMS, file_sha256, json_sha256
from tts_prep.format.files.paths import stored_file
from tts_prep.format.hdf5.columns import CategoryColumn
from tts_prep.format.hdf5.datasets import Locations, location_crc32, map_file
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.records.manifest import FileEntry, Manifest, write_manifest
from tts_prep.format.records.provenance import Provenance, read_provenance
from tts_prep.format.records.remarks import Remarks
from tts_prep.format.records.store_plan import plan_sha256, write_plan
from tts_prep.format.statistics import ArrayStatistics, MelStatistics

if TYPE_CHECKING:
    from tts_prep.format.contents.array_file import ArrayHeader

_SAME = ("configuration", "software", "arrays", "vocabulary")


@dataclass(frozen=True)
class StoredShard:
    """A finished shard of a store: its manifest entry, and its header without statistics, to save memory."""

    entry: FileEntry
    header: ShardHeader

    @classmethod
    def of(cls, checked: CheckedShard) -> StoredShard:
        """Return the entry and the header of a checked shard."""
        header = checked.header
        entry = FileEntry(layout.shard_name(checked.number), checked.digest.size, header.rows, checked.digest.sha256)
        return cls(entry, replace(header, mel_statistics={}))

    @property
    def number(self) -> int:
        """The number of the shard."""
        number = layout.shard_number(self.entry.file)
        assert number is not None
        return number

    def sharing_settings(self, settings: Mapping[str, Any]) -> StoredShard:
        """Return the shard with the objects of equal settings, to hold those of thousands of shards once."""
        return replace(self, header=self.header.without_statistics(settings))


def assemble_store(
    store: Path,
    shards: Sequence[StoredShard],
    arrays: Mapping[str, Sequence[FileEntry]] | None = None,
    *,
    find: FindLocations = read_locations,
) -> Manifest:
    """Write ``plan.json``, ``failures.jsonl``, ``index.h5`` and finally ``manifest.json``, which completes the store.

    Args:
        shards: all shards, in order, at least one.
        arrays: the files of each added array, one per shard, in order.
        find: finds the datasets of an HDF5 file.

    Raises:
        WriteError: a file cannot be written.
        CorruptStoreError: a shard or an array file contradicts its header, or has other settings than the first.
    """
    headers = [shard.header for shard in shards]
    first = headers[0]
    _check_same_settings(store, shards)
    files = {name: tuple(arrays[name]) for name in sorted(arrays)} if arrays else {}
    added = {name: _array_headers(store, shards, entries, find) for name, entries in files.items()}
    write_plan(store, [header.plan_key for header in headers], files)
    failures = write_failures(store, headers)
    summary = build_index(store, [store / shard.entry.file for shard in shards], list(files), find)
    ood_texts = _ood_entry(store, first, find)
    datasets = {layout.INDEX: _listed(summary.places)}
    if ood_texts:
        datasets[layout.OOD_TEXTS] = located(store / layout.OOD_TEXTS, find)
    provenance = _provenance(store)
    manifest = Manifest(
        configuration=first.configuration,
        fingerprint=fingerprint(first.configuration, first.software, [found[0] for found in added.values()]),
        plan=plan_sha256(header.key for header in headers),
        software=first.software,
        arrays={**first.arrays, **{name: _array_entry(found, summary.arrays[name]) for name, found in added.items()}},
        vocabulary=first.vocabulary,
        speakers=(),
        mel_statistics=_mel_entry(summary.mel, first),
        totals={},
        shards=tuple(shard.entry for shard in shards),
        index=file_entry(store / layout.INDEX, layout.INDEX, summary.rows),
        failures=file_entry(store / layout.FAILURES, layout.FAILURES, len(failures)),
        ood_texts=ood_texts,
        remarks=Remarks.merged(header.remarks for header in headers).summary(),
        plan_file=file_entry(store / layout.PLAN, layout.PLAN, len(shards)),
        corrections=_corrections_entry(store),
        provenance=provenance.as_dict(),
        provenance_file=file_entry(store / layout.PROVENANCE, layout.PROVENANCE, 1) if provenance.as_dict() else None,
        array_files=files,
        datasets=datasets,
    )
    manifest = _with_totals(store, manifest, headers, summary)
    write_manifest(store, manifest)
    return manifest


def _check_same_settings(store: Path, shards: Sequence[StoredShard]) -> None:
    first = shards[0]
    for shard in shards:
        if any(getattr(shard.header, name) != getattr(first.header, name) for name in _SAME):
            raise CorruptStoreError(f"{store / shard.entry.file}: made with other settings than {first.entry.file}")


def _with_totals(store: Path, manifest: Manifest, headers: Sequence[ShardHeader], summary: IndexSummary) -> Manifest:
    """Return a manifest with speakers and totals, from the new index."""
    places = manifest.datasets[layout.INDEX]
    index = open_index(map_file(store / layout.INDEX), places, summary.rows, manifest.specs, len(headers))
    speakers = index.column("speaker")
    assert isinstance(speakers, CategoryColumn)
    totals = {
        "utterances": summary.rows,
        "failures": manifest.failures.rows,
        "seconds": float(sum(header.seconds for header in headers)),
        "frames": summary.mel.count,
        "phonemes": int(index.arrays["phonemes"][1].sum()),
        "shards": len(headers),
    }
    return replace(manifest, speakers=tuple(speakers.table), totals=totals)


def _mel_entry(statistics: MelStatistics, first: ShardHeader) -> dict[str, Any]:
    if not statistics.count:
        statistics = MelStatistics.empty(first.arrays["mel"]["row_shape"][0])
    return {"count": statistics.count, "mean": statistics.mean.tolist(), "std": statistics.std.tolist()}


def fingerprint(
    configuration: Mapping[str, Any], software: Mapping[str, str], arrays: Iterable[ArrayHeader] = ()
) -> str:
    """Return the SHA-256 of the settings of a store: of its shards and its added arrays."""
    added = {header.spec.name: header.spec.as_dict() for header in arrays}
    return json_sha256([configuration, software, *([added] if added else [])])


def located(path: Path, find: FindLocations = read_locations) -> Locations:
    """Return the locations and checksums of a file's datasets, for the manifest."""
    return {name: replace(place, crc32=location_crc32(path, place)) for name, place in _listed(find(path)).items()}


def _listed(places: Locations) -> Locations:
    """Return the locations that a manifest has."""
    return {name: place for name, place in sorted(places.items()) if name != CHECKSUMS and place.dtype.kind != "S"}


def _array_headers(
    store: Path, shards: Sequence[StoredShard], files: Sequence[FileEntry], find: FindLocations
) -> list[ArrayHeader]:
    """Return the headers of an added array's files, without statistics, to save memory."""
    from tts_prep.format.contents.array_file import read_array_header

    headers: list[ArrayHeader] = []
    for shard, entry in zip(shards, files, strict=True):
        path = store / entry.file
        header = read_array_header(path, find(path))
        if header.shard != shard.header.key or header.rows != shard.header.rows:
            raise CorruptStoreError(f"{path}: does not belong to {shard.entry.file}")
        if headers and header.spec != headers[0].spec:
            raise CorruptStoreError(f"{path}: made with other settings than {files[0].file}")
        headers.append(replace(header, statistics={}))
    return headers


def _array_entry(headers: Sequence[ArrayHeader], statistics: ArrayStatistics) -> dict[str, Any]:
    remarks = Remarks.merged(header.remarks for header in headers).summary()
    return {**headers[0].spec.as_dict(), "statistics": statistics.summary(), "remarks": remarks}


def write_failures(store: Path, headers: Iterable[ShardHeader]) -> list[dict[str, str]]:
    """Write ``failures.jsonl`` from the headers of shards, in order, and return its rows."""
    # Fixed order: a header read from a file has its keys in another order than a new one.
    keys = ("id", "where", "stage", "reason")
    failures = [{key: failure[key] for key in keys} for header in headers for failure in header.failures]
    with replacing(store / layout.FAILURES) as partial:
        text = "".join(json.dumps(failure, ensure_ascii=False) + "\n" for failure in failures)
        partial.write_text(text, encoding="utf-8")
    return failures


def file_entry(path: Path, file: str, rows: int) -> FileEntry:
    """Return the manifest entry of a file in its current state.

    Args:
        file: its path relative to the store.
    """
    return FileEntry(file, path.stat().st_size, rows, file_sha256(path))


def _corrections_entry(store: Path) -> FileEntry | None:
    if not os.path.lexists(store / layout.CORRECTIONS):
        return None
    return file_entry(store / layout.CORRECTIONS, layout.CORRECTIONS, len(doors.need("corrections", "read")(store)))


def _provenance(store: Path) -> Provenance:
    try:
        return read_provenance(store)
    except CorruptStoreError as error:
        raise CorruptStoreError(
            f"{error}; remove the file, and say licence and origin again with 'tts-prep add {store} --license …'"
        ) from error


def _ood_entry(store: Path, shard: ShardHeader, find: FindLocations) -> FileEntry | None:
    text = shard.configuration.get("text", {})
    if not isinstance(text, dict) or not text.get("ood_texts"):
        return None
    path = stored_file(store, layout.OOD_TEXTS)
    try:
        rows = doors.need("ood", "check")(path, find).rows
    except CorruptStoreError as error:
        raise CorruptStoreError(f"{error}; see --ood-texts of 'tts-prep verify'") from error
    return file_entry(path, layout.OOD_TEXTS, rows)
