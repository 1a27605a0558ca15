"""The manifest: what a store holds, how it was made, and the checksum of every file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.format.atomic import replacing
from tts_prep.format.checksum import canonical_json
from tts_prep.format.files import read_text, stored_file
from tts_prep.format.layout import (
    ARRAYS,
    FAILURES,
    INDEX,
    MANIFEST,
    OOD_TEXTS,
    SHARDS,
    STORE_FORMAT,
    VERSION,
    version_text,
)

_NO_CHECKSUM = "0" * 64
LONGEST_MANIFEST = 1 << 28
"""Most bytes of a manifest: those of a store of more than a million shards."""


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
    ood_texts: FileEntry | None = None
    remarks: Mapping[str, Any] = field(default_factory=dict)
    version: str = version_text()

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """Every file that the manifest vouches for."""
        return (self.index, self.failures, *([self.ood_texts] if self.ood_texts else []), *self.shards)


def write_manifest(store: Path, manifest: Manifest) -> None:
    """Write a manifest, atomically: from then on the store is whole."""
    value = {"format": STORE_FORMAT, "version": manifest.version, **asdict(manifest), "checksum": _NO_CHECKSUM}
    # Keys below the first level sorted, as in the shards: it makes no difference which way they came here.
    value = {key: json.loads(canonical_json(found)) for key, found in value.items()}
    if manifest.ood_texts is None:
        del value["ood_texts"]
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    # The last one: before it, a setting of a corpus could hold the same text.
    head, tail = text.rsplit(_NO_CHECKSUM, 1)
    with replacing(store / MANIFEST) as partial:
        partial.write_text(f"{head}{_sha256(text)}{tail}", encoding="utf-8")


def manifest_fault(store: Path) -> str | None:
    """Return what is wrong with a manifest that can be read, by its own checksum; None where nothing is."""
    text = read_text(stored_file(store, MANIFEST), LONGEST_MANIFEST)
    found = json.loads(text).get("checksum")
    if not isinstance(found, str) or len(found) != len(_NO_CHECKSUM):
        return "it has no checksum of its own"
    head, _, tail = text.rpartition(found)
    due = _sha256(f"{head}{_NO_CHECKSUM}{tail}")
    return None if due == found else f"SHA-256 {due[:12]}…, its own checksum says {found[:12]}…"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def read_manifest(store: Path) -> Manifest:
    """Read and check the manifest of a store.

    Raises:
        StoreError: there is no store, it is not whole, or it is of a newer major version.
        CorruptStoreError: the manifest is not what ``docs/FORMAT.md`` says.
    """
    path = store / MANIFEST
    if not _exists(path):
        raise StoreError(_why_no_manifest(store))
    text = read_text(stored_file(store, MANIFEST), LONGEST_MANIFEST)
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        if "\\u" in text:
            # Half of a surrogate pair has no UTF-8: it could not even be printed.
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise CorruptStoreError(f"{path}: not JSON ({error})") from error
    if not isinstance(value, dict) or value.get("format") != STORE_FORMAT:
        raise StoreError(f'{path}: expected a JSON object with "format": "{STORE_FORMAT}", found something else')
    check_version(path, value.get("version"))
    try:
        return _parse(value)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise CorruptStoreError(f"{path}: a key is missing or has the wrong type ({error!r})") from error


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:
        return False


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


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
    check_arrays(arrays)
    if not all(isinstance(name, str) for name in need("speakers", list)):
        raise TypeError("'speakers' should be texts")
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
        ood_texts=_file_entry(need("ood_texts", dict)) if "ood_texts" in value else None,
        remarks=need("remarks", dict) if "remarks" in value else {},
        version=need("version", str),
    )
    if manifest.index.file != INDEX or manifest.failures.file != FAILURES:
        raise ValueError(f"index and failures should be '{INDEX}' and '{FAILURES}'")
    if manifest.ood_texts and manifest.ood_texts.file != OOD_TEXTS:
        raise ValueError(f"the out-of-domain texts should be '{OOD_TEXTS}'")
    if sum(entry.rows for entry in manifest.shards) != manifest.index.rows:
        raise ValueError("the rows of the shards do not add up to those of the index")
    return manifest


def check_arrays(arrays: Mapping[str, Any]) -> None:
    """Check the ``arrays`` of a manifest or a header.

    Raises:
        ValueError, TypeError, KeyError: one is missing, or cannot have such rows.
    """
    missing = {"mel", "phonemes"} - set(arrays)
    if missing:
        raise KeyError(f"no array '{min(missing)}'")
    for name in arrays.keys() & ARRAYS.keys():
        array, shape = arrays[name], arrays[name]["row_shape"]
        if array["dtype"] not in ARRAYS[name].dtypes:
            raise ValueError(f"array '{name}' cannot have the dtype {array['dtype']!r}")
        if not isinstance(shape, list):
            raise TypeError(f"array '{name}' cannot have rows of the shape {str(shape)[:40]!r}")
        if len(shape) != (name == "mel") or any(type(n) is not int or not 0 < n < 1 << 20 for n in shape):
            raise ValueError(f"array '{name}' cannot have rows of shape {shape!r}")


def _file_entry(value: Mapping[str, Any]) -> FileEntry:
    entry = FileEntry(value["file"], value["size"], value["rows"], value["sha256"])
    if not isinstance(entry.file, str) or len(entry.file) > 4096 or not entry.file.isprintable():
        raise TypeError(f"file {str(entry.file)[:60]!r} is not a path")
    path = PurePosixPath(entry.file)
    if path.is_absolute() or ".." in path.parts or "\\" in entry.file or not path.parts:
        raise ValueError(f"file {entry.file!r} is not a path inside the store")
    if any(type(n) is not int or not 0 <= n < 1 << 60 for n in (entry.size, entry.rows)) or not isinstance(
        entry.sha256, str
    ):
        raise TypeError(f"the entry of {entry.file!r} is not a size, a count of rows and a checksum")
    return entry
