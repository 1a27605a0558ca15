"""Checksums of files, of ranges of files and of settings, and the seal at the end of a file."""

import hashlib
import json
import os
import zlib
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, Final

from tts_prep.format.files.paths import open_regular

CHECKSUMS: Final = "checksums"
"""The dataset of every HDF5 file with the CRC-32 of every other dataset, as a JSON object by path."""

_BLOCK = 1 << 17  # stays in the cache of a processor until it is hashed
_SEAL_START = b"tts-prep SHA-256 "
SEAL_BYTES: Final = len(_SEAL_START) + 64 + 1
"""The length of the seal: the line at the end of every HDF5 file with the SHA-256 of all bytes before it."""


@dataclass(frozen=True)
class FileDigest:
    """Size, checksum and seal of a file.

    Attributes:
        size: the size of the file in bytes.
        sha256: the SHA-256 of the file.
        sealed: whether the SHA-256 in the seal matches; None if the file has no seal.
    """

    size: int
    sha256: str
    sealed: bool | None


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of the bytes of a regular file, hexadecimal."""
    with open_regular(path) as file:
        return _digest(file, None)[0]


def digest_file(path: Path) -> FileDigest:
    """Return size and SHA-256 of a file, and check its seal, in one pass."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        sha256, unsealed_sha256 = _digest(file, max(0, size - SEAL_BYTES))
        file.seek(max(0, size - SEAL_BYTES))
        seal = file.read(SEAL_BYTES)
    if len(seal) < SEAL_BYTES or not seal.startswith(_SEAL_START):
        return FileDigest(size, sha256, None)
    return FileDigest(size, sha256, seal == _seal(unsealed_sha256))


def seal_file(path: Path) -> FileDigest:
    """Append a seal to a file without one."""
    with path.open("r+b", buffering=0) as file:
        digest = hashlib.sha256()
        add_bytes(digest, file, 0, None)
        seal = _seal(digest.hexdigest())
        size = file.seek(0, os.SEEK_END)
        rest = memoryview(seal)
        while rest:
            rest = rest[file.write(rest) :]
    digest.update(seal)
    return FileDigest(size + len(seal), digest.hexdigest(), True)


def bytes_crc32(path: Path, offset: int, size: int) -> str:
    """Return the CRC-32 of a range of a file, up to its end, as eight hexadecimal digits."""
    checksum = 0
    with path.open("rb", buffering=0) as file:
        if offset >= 0:
            file.seek(offset)
        left = size if offset >= 0 else 0
        while left > 0 and (block := file.read(min(_BLOCK, left))):
            checksum = zlib.crc32(block, checksum)
            left -= len(block)
    return crc32_text(checksum)


def crc32_text(checksum: int) -> str:
    """Return a CRC-32 as eight hexadecimal digits."""
    return f"{checksum:08x}"


canonical_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
"""Returns the canonical JSON of a value: sorted keys, no spaces, no NaN; floats round-trip exactly."""


def text_sha256(text: str) -> str:
    """Return the SHA-256 of a text, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def json_sha256(value: object) -> str:
    """Return the SHA-256 of a value's canonical JSON, hexadecimal."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def _seal(sha256: str) -> bytes:
    return _SEAL_START + sha256.encode("ascii") + b"\n"


def _digest(file: FileIO, stop: int | None) -> tuple[str, str]:
    """Return the SHA-256 of a file, and the SHA-256 of its bytes up to ``stop``."""
    digest = hashlib.sha256()
    add_bytes(digest, file, 0, stop)
    body = digest.hexdigest()
    if stop is not None:
        add_bytes(digest, file, stop, None)
    return digest.hexdigest(), body


def add_bytes(digest: Any, file: FileIO, start: int, stop: int | None, block: int = _BLOCK) -> None:
    """Add the bytes of a file from a position to another, or to its end, to a digest, a block at a time."""
    buffer = memoryview(bytearray(block))
    position = file.seek(start)
    while stop is None or position < stop:
        piece = buffer if stop is None else buffer[: stop - position]
        count = file.readinto(piece)
        if not count:
            return
        digest.update(piece[:count])
        position += count
