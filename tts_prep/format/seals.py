"""What of an HDF5 file is broken, by the checksums of its datasets, which stand in the file."""

from __future__ import annotations

import json
from pathlib import Path

import h5py

from tts_prep.errors import CorruptStoreError
from tts_prep.format.datasets import SEALS, find_datasets, location_crc32, read_string, reading


def broken_datasets(path: Path) -> list[str]:
    """Return the names of a file's datasets that are not what its checksums say, or are missing.

    Raises:
        CorruptStoreError: the file cannot be read as HDF5, or has no checksums.
    """
    with reading(path) as file:
        seals = _read_seals(file)
        found = dict(find_datasets(file))
    size = path.stat().st_size
    return sorted(
        name
        for name in {*seals, *found}
        if name not in found
        or name not in seals
        or found[name].offset + found[name].size > size
        or location_crc32(path, found[name]) != seals[name]
    )


def _read_seals(file: h5py.File) -> dict[str, str]:
    try:
        value = json.loads(read_string(file, SEALS))
    except (ValueError, RecursionError) as error:
        raise CorruptStoreError(f"{file.filename}: the dataset '{SEALS}' is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise CorruptStoreError(f"{file.filename}: the dataset '{SEALS}' should hold a JSON object")
    return value
