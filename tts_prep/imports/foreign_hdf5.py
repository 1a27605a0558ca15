"""Arrays of HDF5 files that other programs wrote, read in a separate process; see `format.files.child_process`."""

import math
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import h5py
import numpy as np

from tts_prep.errors import CannotReadError, CorruptStoreError, TtsPrepError
from tts_prep.format.files.paths import read_error

_MAX_ARRAY: Final = 1 << 29
_MAX_DEPTH: Final = 16
_MAX_GROUPS: Final = 4096


def answer(path: Path, name: str | None = None) -> tuple[Any, bytes]:
    """Return a dataset, as its dtype and shape, and its bytes; without a name, the name of the first dataset.

    Links are not followed, so that no other file is opened. Instead of a missing dataset, None is returned.

    Raises:
        CorruptStoreError: the file cannot be read; the dataset is a link, lies in another file, is larger than 512 MiB,
            or does not hold numbers.
        CannotReadError: the system does not permit to read the file, or has too many open files.
    """
    try:
        file = _open(path, path.stat().st_mtime_ns)
        return (_first(file, "", 0, [0] * _MAX_GROUPS), b"") if name is None else _read(file, name)
    except (TtsPrepError, MemoryError):
        raise
    except Exception as error:  # for a broken file, h5py raises many kinds of exceptions
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        kind = read_error(error)
        raise kind(f"{path}: cannot be read here ({reason})" if kind is CannotReadError else reason) from error


@lru_cache(maxsize=1)
def _open(path: Path, _version: int) -> h5py.File:
    return h5py.File(path, "r", locking=False)


def _first(group: h5py.Group, prefix: str, depth: int, left: list[int]) -> str | None:
    """Return the first dataset of a group, in the order of names; None if there is none.

    Args:
        left: how many more groups may be opened; groups can hold each other.
    """
    for name in sorted(group):
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        item = group[name]
        if isinstance(item, h5py.Dataset):
            return f"{prefix}{name}"
        if isinstance(item, h5py.Group) and depth < _MAX_DEPTH and left:
            left.pop()
            if found := _first(item, f"{prefix}{name}/", depth + 1, left):
                return found
    return None


def _read(file: h5py.File, name: str) -> tuple[Any, bytes]:
    item: Any = file
    for part in filter(None, name.split("/")):
        if not isinstance(item, h5py.Group) or part == ".":
            return None, b""
        link = item.get(part, getlink=True)
        if link is None:
            return None, b""
        if not isinstance(link, h5py.HardLink):
            raise CorruptStoreError(f"'{name}': expected a dataset in this file, found a link")
        item = item[part]
    if not isinstance(item, h5py.Dataset):
        return None, b""
    plist, dtype = item.id.get_create_plist(), item.dtype
    if item.shape is None or plist.get_external_count() or plist.get_layout() == h5py.h5d.VIRTUAL:
        raise CorruptStoreError(f"'{name}': expected values in this file, found another kind of storage")
    if dtype.kind not in "biuf":
        raise CorruptStoreError(f"'{name}': expected numbers, found {str(dtype)[:60]}")
    size = math.prod(item.shape) * dtype.itemsize
    if size > _MAX_ARRAY:
        raise CorruptStoreError(f"'{name}': {size:,} bytes, more than the maximum of {_MAX_ARRAY:,}")
    values = np.ascontiguousarray(item[()], dtype.newbyteorder("="))
    return {"dtype": values.dtype.str, "shape": item.shape}, values.tobytes()
