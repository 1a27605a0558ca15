"""The checksum of every dataset of an HDF5 file, kept in the file: what is broken can be told without a manifest."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import h5py

from tts_prep.errors import CorruptStoreError
from tts_prep.format.checksum import canonical_json
from tts_prep.format.datasets import Location, locate, read_string, reading, write_string

SEALS = "checksums"
"""The name of the dataset that holds them: a JSON object, dataset → SHA-256 of its bytes."""

_BLOCK = 1 << 20


def write_seals(file: h5py.File) -> None:
    """Write the checksums of all datasets of an open file; nothing may be written to it afterwards."""
    file.flush()
    path = Path(file.filename)
    seals = {name: location_sha256(path, location) for name, location in sorted(dict(_datasets(file)).items())}
    write_string(file, SEALS, canonical_json(seals))


def broken_datasets(path: Path) -> list[str]:
    """Return the names of a file's datasets that are not what its checksums say, or are missing.

    Raises:
        CorruptStoreError: the file cannot be read as HDF5, or has no checksums.
    """
    with reading(path) as file:
        seals = _read_seals(file)
        found = dict(_datasets(file))
    size = path.stat().st_size
    return sorted(
        name
        for name in {*seals, *found}
        if name not in found
        or name not in seals
        or found[name].offset + found[name].size > size
        or location_sha256(path, found[name]) != seals[name]
    )


def location_sha256(path: Path, location: Location) -> str:
    """Return the SHA-256 of a dataset's bytes, hexadecimal, without HDF5."""
    digest = hashlib.sha256()
    descriptor = os.open(path, os.O_RDONLY)
    try:
        position, end = location.offset, location.offset + location.size
        while location.size and position < end:
            block = os.pread(descriptor, min(_BLOCK, end - position), position)
            if not block:
                break
            digest.update(block)
            position += len(block)
    finally:
        os.close(descriptor)
    return digest.hexdigest()


def _read_seals(file: h5py.File) -> dict[str, str]:
    try:
        value = json.loads(read_string(file, SEALS))
    except (ValueError, RecursionError) as error:
        raise CorruptStoreError(f"{file.filename}: the dataset '{SEALS}' is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise CorruptStoreError(f"{file.filename}: the dataset '{SEALS}' should hold a JSON object")
    return value


def _datasets(group: h5py.Group, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Location]]:
    if depth > 3:
        raise CorruptStoreError(f"{group.file.filename}: groups are nested deeper than those of a store")
    for name in group:
        if name == SEALS and not depth:
            continue
        if isinstance(group.get(name, getlink=True), h5py.HardLink) and isinstance(group[name], h5py.Group):
            yield from _datasets(group[name], f"{prefix}{name}/", depth + 1)
        else:
            yield f"{prefix}{name}", locate(group, name, kinds="iufS")
