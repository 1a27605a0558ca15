"""The header of a shard: what makes it complete without index and manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import h5py

from tts_prep.errors import CorruptStoreError
from tts_prep.format.checksum import canonical_json
from tts_prep.format.datasets import read_string, reading, write_string
from tts_prep.format.layout import SHARD_FORMAT, VERSION, version_text
from tts_prep.format.manifest import check_version

_HEADER = "header"


@dataclass(frozen=True)
class ShardHeader:
    """The JSON object in a shard's dataset ``header``; the keys are described in ``docs/FORMAT.md``."""

    number: int
    key: str
    configuration: Mapping[str, Any]
    software: Mapping[str, str]
    arrays: Mapping[str, Mapping[str, Any]]
    vocabulary: Mapping[str, Any]
    rows: int
    seconds: float
    mel_statistics: Mapping[str, Mapping[str, Any]]
    failures: tuple[Mapping[str, str], ...]


def write_header(file: h5py.File, header: ShardHeader) -> None:
    """Write the header into an open shard."""
    write_string(
        file, _HEADER, canonical_json({"format": SHARD_FORMAT, "version": version_text(VERSION), **asdict(header)})
    )


def read_header(file: h5py.File) -> ShardHeader:
    """Read the header of an open shard.

    Raises:
        CorruptStoreError: the file has no header, or not one of a shard.
    """
    path = Path(file.filename)
    try:
        value = json.loads(read_string(file, _HEADER))
        if value["format"] != SHARD_FORMAT:
            raise CorruptStoreError(f"{path}: expected a {SHARD_FORMAT}, found {str(value['format'])[:40]!r}")
        check_version(path, value["version"])
        return ShardHeader(
            number=int(value["number"]),
            key=str(value["key"]),
            configuration=dict(value["configuration"]),
            software=dict(value["software"]),
            arrays=dict(value["arrays"]),
            vocabulary=dict(value["vocabulary"]),
            rows=int(value["rows"]),
            seconds=float(value["seconds"]),
            mel_statistics=dict(value["mel_statistics"]),
            failures=tuple(value["failures"]),
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise CorruptStoreError(f"{path}: the header is not that of a shard ({error!r})") from error


def read_shard_header(path: Path) -> ShardHeader:
    """Open a shard and read its header."""
    with reading(path) as file:
        return read_header(file)
