"""The manifest: the contents of a store, its settings, and the checksum of every file."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.format import layout
from tts_prep.format.decoding import MAX_COUNT, Record, check_version, parse_json, shown
from tts_prep.format.files.checksums import canonical_json, text_sha256
from tts_prep.format.files.paths import read_text, stored_file, why_no_store
from tts_prep.format.hdf5.datasets import Location, Locations
from tts_prep.format.records.arrays import ArraySpec, parse_arrays

_NO_CHECKSUM = "0" * 64
LONGEST_MANIFEST: Final = 1 << 25
"""The maximum size of a manifest in bytes, enough for more than a hundred thousand shards."""


@dataclass(frozen=True)
class FileEntry:
    """A file of a store: path relative to the store, size in bytes, number of rows, SHA-256."""

    file: str
    size: int
    rows: int
    sha256: str


@dataclass(frozen=True, repr=False)
class Manifest:
    """The contents of ``manifest.json``; the keys are described in ``docs/format.md``.

    Attributes:
        arrays: the entries of arrays by name, as in the file; ``specs`` has them as `ArraySpec`.
        provenance: licence and origin of recordings and texts, if they are said; see `Provenance`.
        array_files: the files of each added array, one per shard.
        datasets: the locations of the datasets of ``index.h5`` and ``ood.h5``.
    """

    configuration: Mapping[str, Any]
    fingerprint: str
    plan: str
    software: Mapping[str, str]
    arrays: Mapping[str, Mapping[str, Any]]
    vocabulary: Mapping[str, Any]
    speakers: tuple[str, ...]
    mel_statistics: Mapping[str, Any]
    totals: Mapping[str, Any]
    shards: tuple[FileEntry, ...]
    index: FileEntry
    failures: FileEntry
    ood_texts: FileEntry | None = None
    remarks: Mapping[str, Any] = field(default_factory=dict)
    version: str = layout.version_text()
    plan_file: FileEntry | None = None
    corrections: FileEntry | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    provenance_file: FileEntry | None = None
    array_files: Mapping[str, tuple[FileEntry, ...]] = field(default_factory=dict)
    datasets: Mapping[str, Locations] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = {"utterances": self.index.rows, "shards": len(self.shards), "arrays": len(self.arrays)}
        shown = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        return f"<Manifest: {shown}, format {self.version}>"

    @cached_property
    def specs(self) -> Mapping[str, ArraySpec]:
        """The specifications of the arrays, those stored in the shards first."""
        return parse_arrays(layout.MANIFEST, self.arrays)

    @cached_property
    def array_specs(self) -> Mapping[str, ArraySpec]:
        """The specifications of the arrays whose values are not columns of the index."""
        return {name: spec for name, spec in self.specs.items() if not spec.holds_columns}

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """All files with a checksum in the manifest."""
        optional = (self.plan_file, self.ood_texts, self.corrections, self.provenance_file)
        return (
            self.index,
            self.failures,
            *(entry for entry in optional if entry),
            *self.shards,
            *(entry for entries in self.array_files.values() for entry in entries),
        )

    def file_of(self, array: str, shard: int) -> FileEntry:
        """Return the file that holds the rows of an array of a shard."""
        return self.array_files.get(array, self.shards)[shard]


def write_manifest(store: Path, manifest: Manifest) -> None:
    """Write a manifest atomically, which completes the store.

    Raises:
        StoreError: it is larger than the maximum.
        WriteError: the file cannot be written.
    """
    value = {
        "format": layout.STORE_FORMAT,
        "version": manifest.version,
        **manifest_json(manifest),
        "checksum": _NO_CHECKSUM,
    }
    # Keys below the first level are sorted, so that the bytes do not depend on how the values were computed.
    value = {key: json.loads(canonical_json(item)) for key, item in value.items()}
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    # The last occurrence, because a setting could contain the same text.
    head, tail = text.rsplit(_NO_CHECKSUM, 1)
    data = f"{head}{text_sha256(text)}{tail}".encode()
    if len(data) > LONGEST_MANIFEST:
        raise StoreError(
            f"{store / layout.MANIFEST}: {len(data):,} bytes for {len(manifest.files):,} files, more than the "
            f"maximum of {LONGEST_MANIFEST:,}; make the store again with more utterances per shard"
        )
    from tts_prep.format.files.atomic import replacing

    with replacing(store / layout.MANIFEST) as partial:
        partial.write_bytes(data)


def manifest_json(manifest: Manifest) -> dict[str, Any]:
    """Return the values of a manifest as in the file, without ``format`` and ``checksum``."""
    value = {key: item for key, item in vars(manifest).items() if key in Manifest.__dataclass_fields__}
    for key in ("index", "failures", "ood_texts", "plan_file", "corrections", "provenance_file"):
        value[key] = vars(value[key]) if value[key] else None
    value["shards"] = [vars(entry) for entry in manifest.shards]
    value["array_files"] = {name: [vars(entry) for entry in files] for name, files in manifest.array_files.items()}
    value["datasets"] = {
        file: {name: place.as_dict() for name, place in places.items()} for file, places in manifest.datasets.items()
    }
    optional = ("ood_texts", "plan_file", "corrections", "provenance", "provenance_file", "array_files", "datasets")
    return {key: item for key, item in value.items() if item or key not in optional}


def manifest_fault(store: Path) -> str | None:
    """Check a readable manifest against its own checksum. Return the fault, or None."""
    text = read_text(stored_file(store, layout.MANIFEST), LONGEST_MANIFEST)
    found = parse_json(store / layout.MANIFEST, text).get("checksum")
    return _checksum_fault(text, found)


def _checksum_fault(text: str, found: object) -> str | None:
    if not isinstance(found, str) or len(found) != len(_NO_CHECKSUM):
        return "has no checksum of itself"
    head, _, tail = text.rpartition(found)
    computed = text_sha256(f"{head}{_NO_CHECKSUM}{tail}")
    return None if computed == found else f"SHA-256 {computed[:12]}…, its own checksum is {shown(found[:12])[1:-1]}…"


def read_manifest(store: Path, *, checked: bool = True) -> Manifest:
    """Read and check the manifest of a store.

    Args:
        checked: check its own checksum; False reads the manifest even if it does not match, see `manifest_fault`.

    Raises:
        StoreError: there is no store, it is incomplete, or it has a newer major version.
        CorruptStoreError: the manifest violates ``docs/format.md``.
    """
    path = store / layout.MANIFEST
    if not _exists(path):
        from tts_prep.format.files.atomic import recover_store

        if not recover_store(store):
            raise StoreError(why_no_store(store))
    text = read_text(stored_file(store, layout.MANIFEST), LONGEST_MANIFEST)
    return parse_manifest(path, text, checked=checked, rebuild=f"; run 'tts-prep reindex {store}'")


def parse_manifest(where: Path | str, text: str, *, checked: bool = True, rebuild: str = "") -> Manifest:
    """Parse and check the text of a manifest.

    Args:
        where: the file, for messages.
        checked: check its own checksum.
        rebuild: what to do about a wrong checksum, the end of the message.

    Raises:
        StoreError: it is not the manifest of a store, or has a newer major version.
        CorruptStoreError: it violates ``docs/format.md``.
    """
    value = parse_json(where, text)
    if not isinstance(value, dict) or value.get("format") != layout.STORE_FORMAT:
        raise StoreError(
            f'{where}: expected a JSON object with "format": "{layout.STORE_FORMAT}", found something else'
        )
    check_version(where, value.get("version"))
    manifest = _parse(Record(where, value))
    if checked and (fault := _checksum_fault(text, value.get("checksum"))):
        raise CorruptStoreError(f"{where}: {fault}{rebuild}")
    return manifest


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:
        return False


def _parse(record: Record) -> Manifest:
    where = record.where
    arrays = record.mapping("arrays")
    specs = parse_arrays(where, arrays)
    shards = tuple(_file_entry(where, entry, layout.shard_name(i)) for i, entry in enumerate(record.items("shards")))
    rows = [entry.rows for entry in shards]
    index = _file_entry(where, record.mapping("index"), layout.INDEX)
    if sum(rows) != index.rows:
        raise record.fault("index", f"the {sum(rows):,} rows of the shards")
    array_files = _array_files(record, specs, rows)
    _check_mel(record, arrays)
    return Manifest(
        configuration=record.mapping("configuration"),
        fingerprint=record.text("fingerprint"),
        plan=record.text("plan"),
        software=record.text_mapping("software"),
        arrays={name: arrays[name] for name in specs if name in array_files or not specs[name].added},
        vocabulary=record.mapping("vocabulary"),
        speakers=tuple(record.texts("speakers")),
        mel_statistics=record.mapping("mel_statistics"),
        totals=record.mapping("totals"),
        shards=shards,
        index=index,
        failures=_file_entry(where, record.mapping("failures"), layout.FAILURES),
        ood_texts=_optional_entry(record, "ood_texts", layout.OOD_TEXTS),
        remarks=record.mapping("remarks") if "remarks" in record else {},
        version=record.text("version"),
        plan_file=_optional_entry(record, "plan_file", layout.PLAN),
        corrections=_optional_entry(record, "corrections", layout.CORRECTIONS),
        provenance=_provenance(record),
        provenance_file=_optional_entry(record, "provenance_file", layout.PROVENANCE),
        array_files=array_files,
        datasets=_datasets(record),
    )


def _provenance(record: Record) -> dict[str, str]:
    if "provenance" not in record:
        return {}
    from tts_prep.format.records.provenance import Provenance

    return Provenance.parse(f"{record.where}: provenance", record.mapping("provenance")).as_dict()


def _optional_entry(record: Record, key: str, expected: str) -> FileEntry | None:
    return _file_entry(record.where, record.mapping(key), expected) if key in record else None


def _check_mel(record: Record, arrays: Mapping[str, Any]) -> None:
    """Check that sample rate and hop length of the mels are those of the configuration."""
    audio, mel = record.mapping("configuration").get("audio"), arrays["mel"]
    for name in ("sample_rate", "hop_length"):
        if isinstance(audio, dict) and name in audio and name in mel and audio[name] != mel[name]:
            raise record.fault("arrays", f"'{name}' of the mels as in the configuration")


def _array_files(record: Record, specs: Mapping[str, ArraySpec], rows: list[int]) -> dict[str, tuple[FileEntry, ...]]:
    """Return the files of all added arrays: one per shard, with as many rows."""
    files = record.mapping("array_files") if "array_files" in record else {}
    found = {}
    for name, spec in specs.items():
        if not spec.added:
            continue
        entries = files.get(name)
        if not isinstance(entries, list) or len(entries) != len(rows):
            raise record.fault("array_files", f"a list of {len(rows):,} files for '{name}'")
        found[name] = tuple(
            _file_entry(record.where, entry, layout.array_file_name(name, number))
            for number, entry in enumerate(entries)
        )
        if [entry.rows for entry in found[name]] != rows:
            raise record.fault("array_files", f"as many rows for '{name}' as the shards have")
    return found


def _datasets(record: Record) -> dict[str, Locations]:
    """Return the locations of the datasets of each file whose datasets the manifest has to have."""
    files = record.mapping("datasets")
    for file in (layout.INDEX, layout.OOD_TEXTS) if "ood_texts" in record else (layout.INDEX,):
        if file not in files:
            raise record.fault("datasets", f"the datasets of '{file}'")
    found: dict[str, Locations] = {}
    for file, places in files.items():
        where = f"{record.where}: datasets of {shown(file)}"
        found[file] = {
            name: Location.from_dict(f"{where}, {shown(name)}", place)
            for name, place in Record(where, places).values.items()
        }
    return found


def _file_entry(where: Path | str, value: object, expected: str) -> FileEntry:
    """Parse the entry of a file. It must have the name `expected`, so that no path leads out of the store."""
    if not isinstance(value, dict):
        raise CorruptStoreError(f"{where}: the entry of '{expected}': expected an object, found {shown(value)}")
    items: list[Any] = [value.get(key) for key in ("file", "size", "rows", "sha256")]
    file, size, rows, sha256 = items
    if file != expected:
        raise CorruptStoreError(f"{where}: expected the file '{expected}', found {shown(file)}")
    if any(type(n) is not int or not 0 <= n < MAX_COUNT for n in (size, rows)) or not isinstance(sha256, str):
        raise CorruptStoreError(f"{where}: the entry of '{expected}': expected size, rows and checksum")
    return FileEntry(expected, size, rows, sha256)
