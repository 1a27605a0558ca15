"""Checksums: of files, of pieces of files, of settings, and the one that seals a file."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tts_prep.format.regular_files import open_regular

CHECKSUMS: Final = "checksums"
"""The dataset of every HDF5 file that holds a JSON object: path of each other dataset → CRC-32 of its bytes."""

_BLOCK = 1 << 20
_SEAL_START = b"tts-prep SHA-256 "
SEAL_BYTES: Final = len(_SEAL_START) + 64 + 1
"""The length of the line at the end of every HDF5 file that holds the SHA-256 of all bytes before it."""


@dataclass(frozen=True)
class FileDigest:
    """What one pass over a file finds out.

    Attributes:
        size: of the whole file, in bytes.
        sha256: of the whole file.
        sealed: whether the file ends with the SHA-256 of all that stands before; None where it ends with no seal.
    """

    size: int
    sha256: str
    sealed: bool | None


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of the bytes of a regular file, hexadecimal."""
    with open_regular(path) as file:
        return _digest(file.fileno(), None)[0]


def digest_file(path: Path) -> FileDigest:
    """Return the size and the SHA-256 of a file, and whether its seal holds, in one pass."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        whole, body = _digest(file.fileno(), max(0, size - SEAL_BYTES))
        seal = os.pread(file.fileno(), SEAL_BYTES, max(0, size - SEAL_BYTES))
    if len(seal) < SEAL_BYTES or not seal.startswith(_SEAL_START):
        return FileDigest(size, whole, None)
    return FileDigest(size, whole, seal == _seal(body))


def seal_file(path: Path) -> FileDigest:
    """Append the seal to a file that has none."""
    with path.open("r+b", buffering=0) as file:
        digest = hashlib.sha256()
        _update(digest, file.fileno(), 0, None)
        seal = _seal(digest.hexdigest())
        size = os.fstat(file.fileno()).st_size
        rest = memoryview(seal)
        while rest:
            rest = rest[os.pwrite(file.fileno(), rest, size + len(seal) - len(rest)) :]
    digest.update(seal)
    return FileDigest(size + len(seal), digest.hexdigest(), True)


def bytes_crc32(path: Path, offset: int, size: int) -> str:
    """Return the CRC-32 of a piece of a file, eight hexadecimal digits; of what there is of it where the file ends."""
    checksum = 0
    descriptor = os.open(path, os.O_RDONLY)
    try:
        position, end = offset, offset + size
        while 0 <= position < end:
            block = os.pread(descriptor, min(_BLOCK, end - position), position)
            if not block:
                break
            checksum = zlib.crc32(block, checksum)
            position += len(block)
    finally:
        os.close(descriptor)
    return crc32_text(checksum)


def crc32_text(checksum: int) -> str:
    """Return a CRC-32 as it stands in files."""
    return f"{checksum:08x}"


def canonical_json(value: object) -> str:
    """Return the one JSON text of a value: keys sorted, no spaces, no NaN; floats read back to the same bits."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def json_sha256(value: object) -> str:
    """Return the SHA-256 of a value's canonical JSON, hexadecimal."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def _seal(sha256: str) -> bytes:
    return _SEAL_START + sha256.encode("ascii") + b"\n"


def _digest(descriptor: int, stop: int | None) -> tuple[str, str]:
    """Return the SHA-256 of a file, and that of its bytes up to ``stop``."""
    digest = hashlib.sha256()
    _update(digest, descriptor, 0, stop)
    body = digest.hexdigest()
    if stop is not None:
        _update(digest, descriptor, stop, None)
    return digest.hexdigest(), body


def _update(digest: hashlib._Hash, descriptor: int, start: int, stop: int | None) -> None:
    buffer = memoryview(bytearray(_BLOCK))
    position = start
    while stop is None or position < stop:
        piece = buffer if stop is None else buffer[: stop - position]
        count = os.preadv(descriptor, [piece], position)
        if not count:
            return
        digest.update(piece[:count])
        position += count
