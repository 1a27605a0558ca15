"""The manifest: what a store holds, how it was made, and the checksum of every file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.format.atomic import replacing
from tts_prep.format.layout import ARRAYS, FAILURES, INDEX, MANIFEST, SHARDS, STORE_FORMAT, VERSION, version_text


@dataclass(frozen=True)
class FileEntry:
    """One file of a store: path relative to the store, bytes, rows, SHA-256."""

    file: str
    size: int
    rows: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The contents of ``manifest.json``; the keys are described in ``docs/FORMAT.md``."""

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
    version: str = version_text()

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """Every file that the manifest vouches for."""
        return (self.index, self.failures, *self.shards)


def write_manifest(store: Path, manifest: Manifest) -> None:
    """Write a manifest, atomically: from then on the store is whole."""
    value = {"format": STORE_FORMAT, "version": manifest.version, **asdict(manifest)}
    with replacing(store / MANIFEST) as partial:
        partial.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_manifest(store: Path) -> Manifest:
    """Read and check the manifest of a store.

    Raises:
        StoreError: there is no store, it is not whole, or it is of a newer major version.
        CorruptStoreError: the manifest is not what ``docs/FORMAT.md`` says.
    """
    path = store / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise StoreError(_why_no_manifest(store)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CorruptStoreError(f"{path}: cannot be read ({error})") from error
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorruptStoreError(f"{path}: not JSON ({error})") from error
    if not isinstance(value, dict) or value.get("format") != STORE_FORMAT:
        raise StoreError(f'{path}: expected a JSON object with "format": "{STORE_FORMAT}", found something else')
    check_version(path, value.get("version"))
    try:
        return _parse(value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptStoreError(f"{path}: a key is missing or has the wrong type ({error!r})") from error


def check_version(where: Path, version: object) -> None:
    """Accept any minor version of the known major one; refuse every other."""
    text = version if isinstance(version, str) else ""
    major, dot, minor = text.partition(".")
    if not (dot and major.isascii() and major.isdigit() and minor.isascii() and minor.isdigit() and len(text) < 20):
        raise CorruptStoreError(f'{where}: expected a version like "{version_text()}", found {str(version)[:40]!r}')
    if int(major) != VERSION[0]:
        raise StoreError(
            f"{where}: format version {text}; this tts-prep reads {VERSION[0]}.x: install the release that made the "
            "store, or make the store again"
        )


def _why_no_manifest(store: Path) -> str:
    if not store.exists():
        return f"{store}: no such folder; expected a store made by tts-prep"
    if not store.is_dir():
        return f"{store}: not a folder; expected a store made by tts-prep"
    if (store / SHARDS).is_dir():
        return f"{store}: not a whole store, {MANIFEST} is missing; run the command that makes it again to go on"
    return f"{store}: not a store, it has no {MANIFEST}"


def _parse(value: Mapping[str, Any]) -> Manifest:
    def need(key: str, kind: type) -> Any:
        found = value[key]
        if not isinstance(found, kind):
            raise TypeError(f"'{key}' should be a {kind.__name__}")
        return found

    arrays = need("arrays", dict)
    for name, array in arrays.items():
        if name in ARRAYS and array["dtype"] not in ARRAYS[name].dtypes:
            raise ValueError(f"array '{name}' cannot have the dtype {array['dtype']!r}")
        if any(type(n) is not int or not 0 < n < 1 << 20 for n in array["row_shape"]):
            raise ValueError(f"array '{name}' cannot have rows of shape {array['row_shape']!r}")
    manifest = Manifest(
        configuration=need("configuration", dict),
        fingerprint=need("fingerprint", str),
        plan=need("plan", str),
        software=need("software", dict),
        arrays={name: array for name, array in arrays.items() if name in ARRAYS},
        vocabulary=need("vocabulary", dict),
        speakers=tuple(need("speakers", list)),
        mel_statistics=need("mel_statistics", dict),
        totals=need("totals", dict),
        shards=tuple(_file_entry(entry) for entry in need("shards", list)),
        index=_file_entry(need("index", dict)),
        failures=_file_entry(need("failures", dict)),
        version=need("version", str),
    )
    if manifest.index.file != INDEX or manifest.failures.file != FAILURES:
        raise ValueError(f"index and failures should be '{INDEX}' and '{FAILURES}'")
    if sum(entry.rows for entry in manifest.shards) != manifest.index.rows:
        raise ValueError("the rows of the shards do not add up to those of the index")
    return manifest


def _file_entry(value: Mapping[str, Any]) -> FileEntry:
    entry = FileEntry(value["file"], value["size"], value["rows"], value["sha256"])
    path = PurePosixPath(entry.file)
    if path.is_absolute() or ".." in path.parts or "\\" in entry.file or not path.parts:
        raise ValueError(f"file {entry.file!r} is not a path inside the store")
    if any(type(n) is not int or n < 0 for n in (entry.size, entry.rows)) or not isinstance(entry.sha256, str):
        raise TypeError(f"the entry of {entry.file!r} is not a size, a count of rows and a checksum")
    return entry
