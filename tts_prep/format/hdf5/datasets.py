"""Contiguous datasets of HDF5 files, memory-mapped or read by their location, without HDF5."""

from __future__ import annotations

import errno
import math
import mmap
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tts_prep.errors import CannotReadError, CorruptStoreError, StoreError, broken
from tts_prep.format.decoding import MAX_COUNT, Record, shown
from tts_prep.format.files.checksums import bytes_crc32, crc32_text
from tts_prep.format.files.paths import open_regular, read_error

Array = npt.NDArray[Any]

MAX_CHECKED_BYTES: Final = 1 << 24
"""Datasets of up to this size in bytes are checked against their checksum when mapped, in a few milliseconds."""

_MAX_STRING = 1 << 28
_DTYPES = {np.dtype(name).str: np.dtype(name) for name in ("<i1", "<i2", "<i4", "<i8", "<f2", "<f4", "<f8")}
_DTYPES |= {np.dtype(name).str: np.dtype(name) for name in ("<u1", "<u2", "<u4", "<u8")}


@dataclass(frozen=True)
class Location:
    """The location of a contiguous dataset in its file.

    Attributes:
        offset: in bytes from the start of the file; −1 if the dataset has no elements.
        shape: the shape of the dataset.
        dtype: the dtype, little-endian.
        crc32: the CRC-32 of the bytes, eight hexadecimal digits; None if only the file itself has a checksum.
    """

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    crc32: str | None = None

    @property
    def size(self) -> int:
        """The size of the dataset in bytes."""
        return self.dtype.itemsize * math.prod(self.shape)

    def within(self, n_bytes: int) -> bool:
        """Return whether the dataset lies within a file of ``n_bytes`` bytes."""
        return self.size == 0 or 0 <= self.offset <= n_bytes - self.size

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the location in a manifest."""
        return {"offset": self.offset, "shape": list(self.shape), "dtype": self.dtype.str, "crc32": self.crc32}

    @classmethod
    def from_dict(cls, where: Path | str, value: object) -> Location:
        """Parse the result of `as_dict`.

        Raises:
            CorruptStoreError: it is not the location of an array of numbers.
        """
        record = Record(where, value)
        shape = record.items("shape")
        if len(shape) > 8 or any(type(n) is not int or not 0 <= n <= MAX_COUNT for n in shape):
            raise record.fault("shape", "a list of at most 8 lengths")
        name = record.text("dtype")
        if name not in _DTYPES:
            raise record.fault("dtype", "little-endian numbers such as '<i4'")
        crc32 = record.text("crc32")
        return cls(record.integer("offset", -1), tuple(shape), _DTYPES[name], crc32)


Locations: TypeAlias = Mapping[str, Location]
"""The locations of a file's datasets by their paths, such as ``"columns/text/bytes"``."""


def dataset_at(path: Path, locations: Locations, name: str) -> Location:
    """Return the location of a required dataset.

    Raises:
        CorruptStoreError: the file has no dataset of this name.
    """
    if name not in locations:
        raise CorruptStoreError(f"{path}: expected a dataset '{shown(name)[1:-1]}', found none")
    return locations[name]


@dataclass(frozen=True, eq=False)
class MappedFile:
    """A file that is memory-mapped as a whole, read-only. Its datasets are views, which keep the map open.

    Attributes:
        path: the path of the file.
        data: [size] uint8, its bytes when it was mapped.
        memory: the map; None for an empty file.
    """

    path: Path
    data: Array
    memory: mmap.mmap | None

    @property
    def size(self) -> int:
        """The number of bytes that can be read: the file may have become shorter since it was mapped."""
        return min(len(self.data), self.memory.size()) if self.memory else 0

    def dataset(self, location: Location) -> Array:
        """Return a dataset as a view of its shape and dtype.

        Small datasets are checked against their checksum, if it is known.

        Raises:
            CorruptStoreError: the dataset exceeds the file, or the checksum does not match.
        """
        if location.size == 0:
            return _no_elements(self.path, location)
        start, end = location.offset, location.offset + location.size
        # Checked for each dataset, so that a truncated file raises and does not cause a bus error later.
        size = self.size
        if start < 0 or end > size:
            raise broken(f"{self.path}: {size:,} bytes, expected at least {end:,}")
        if location.crc32 is not None and location.size <= MAX_CHECKED_BYTES:
            checksum = crc32_text(zlib.crc32(self.data[start:end]))
            if checksum != location.crc32:
                raise broken(
                    f"{self.path}: {location.size:,} bytes at offset {start:,} have the CRC-32 {checksum}, expected "
                    f"{shown(location.crc32)[1:-1]}"
                )
        return np.ndarray(location.shape, location.dtype, self.data, start)


def map_file(path: Path) -> MappedFile:
    """Memory-map a regular file.

    Raises:
        CorruptStoreError: the file is missing or cannot be opened.
        CannotReadError: the process has too many open files, or may not read it.
    """
    try:
        with open_regular(path) as file:
            return map_open_file(path, file)
    except (OSError, OverflowError, ValueError) as error:
        raise _unusable(path, "opened", error) from error


def map_open_file(path: Path, file: FileIO) -> MappedFile:
    """Memory-map an open regular file. The map keeps its open file description, and so a lock on it, until it ends.

    Raises:
        CorruptStoreError: it cannot be mapped.
    """
    try:
        if os.fstat(file.fileno()).st_size == 0:
            return MappedFile(path, np.empty(0, np.uint8), None)
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, OverflowError, ValueError) as error:
        raise _unusable(path, "opened", error) from error
    return MappedFile(path, np.frombuffer(memory, np.uint8), memory)


def _no_elements(path: Path, location: Location) -> Array:
    try:
        return np.empty(location.shape, location.dtype)
    except ValueError as error:  # a length that no array has, beside one of 0
        raise _unusable(path, "read", error) from error


def _unusable(path: Path, how: str, error: Exception) -> StoreError:
    """Return the error for a file that the system refused to open, read or map."""
    if getattr(error, "errno", None) in (errno.EMFILE, errno.ENFILE):
        return CannotReadError(
            f"{path}: cannot be {how}: too many files are open, and a file stays open while one of its arrays is used; "
            "raise the limit with 'ulimit -n 65536', or keep copies of arrays"
        )
    reason = getattr(error, "strerror", None) or error
    return read_error(error)(f"{path}: cannot be {how} ({reason}); was the store moved?")


def read_dataset(path: Path, location: Location) -> Array:
    """Read a dataset as an array of its shape and dtype.

    Raises:
        CorruptStoreError: the file is missing or too short.
    """
    if not location.size:
        return _no_elements(path, location)
    try:
        with path.open("rb", buffering=0) as file:
            # Checked before memory is allocated.
            if not location.within(os.fstat(file.fileno()).st_size):
                raise broken(f"{path}: shorter than its datasets")
            values: Array = np.empty(location.shape, location.dtype)
            rest = memoryview(values.reshape(-1).view(np.uint8))
            file.seek(location.offset)
            while count := file.readinto(rest):
                rest = rest[count:]
    except (OSError, OverflowError, ValueError) as error:
        raise _unusable(path, "read", error) from error
    if rest:
        raise CorruptStoreError(f"{path}: became shorter while it was read; do not modify a store while it is read")
    return values


def read_string(path: Path, locations: Locations, name: str) -> str:
    """Read a scalar fixed-length string.

    Raises:
        CorruptStoreError: the string is missing, too long, or not UTF-8.
    """
    location = dataset_at(path, locations, name)
    if location.shape != () or location.dtype.kind != "S":
        raise CorruptStoreError(f"{path}: '{name}': expected one fixed-length string, found {location.dtype} values")
    if location.size > _MAX_STRING:
        raise CorruptStoreError(
            f"{path}: '{name}': a string of {location.size:,} bytes, more than the maximum of {_MAX_STRING:,}"
        )
    try:
        with path.open("rb") as file:
            if location.offset < 0 or not location.within(os.fstat(file.fileno()).st_size):
                raise CorruptStoreError(f"{path}: '{name}': {location.size:,} bytes exceed the end of the file")
            file.seek(location.offset)
            data = file.read(location.size)
    except OSError as error:
        raise read_error(error)(f"{path}: cannot be read ({error.strerror}); was the store moved?") from error
    try:
        return data.rstrip(b"\0").decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorruptStoreError(f"{path}: the string '{name}' is not UTF-8 ({error.reason})") from error


def location_crc32(path: Path, location: Location) -> str:
    """Return the CRC-32 of a dataset, as eight hexadecimal digits."""
    return bytes_crc32(path, location.offset, location.size)


def check_tiling(path: Path, name: str, starts: Array, lengths: Array, end: int) -> None:
    """Check that intervals of rows follow one another from the start to the end of an array.

    Raises:
        CorruptStoreError: intervals overlap, leave a gap, or exceed the array.
    """
    # With lengths of 0 to 2**31, the sums below cannot overflow.
    if len(lengths) and (lengths.min() < 0 or lengths.max() >= 1 << 31 or len(lengths) >= 1 << 31):
        raise CorruptStoreError(f"{path}: '{name}' has a negative or too large length")
    ends = np.cumsum(lengths, dtype=np.int64)
    if len(starts) != len(lengths) or not np.array_equal(starts[1:], ends[:-1]) or starts[:1].any():
        raise broken(f"{path}: the rows of '{name}' overlap or leave gaps")
    if (int(ends[-1]) if len(ends) else 0) != end:
        raise CorruptStoreError(f"{path}: the rows of '{name}' end at {int(ends[-1:].sum()):,}, the array at {end:,}")
