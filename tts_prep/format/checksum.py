"""Checksums of files and of settings."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tts_prep.format.regular_files import open_regular

_BLOCK = 1 << 20


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of the bytes of a regular file, hexadecimal."""
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(_BLOCK))
    with open_regular(path) as file:
        while count := file.readinto(buffer):
            digest.update(buffer[:count])
    return digest.hexdigest()


def canonical_json(value: object) -> str:
    """Return the one JSON text of a value: keys sorted, no spaces, no NaN; floats read back to the same bits."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def json_sha256(value: object) -> str:
    """Return the SHA-256 of a value's canonical JSON, hexadecimal."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
