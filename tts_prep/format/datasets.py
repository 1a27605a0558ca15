"""Contiguous, page-aligned HDF5 datasets: made by the writer, located by the reader, then mapped without HDF5."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from tts_prep.errors import CorruptStoreError, TtsPrepError
from tts_prep.format.checksum import canonical_json
from tts_prep.format.layout import PAGE

Array = npt.NDArray[Any]

SEALS = "checksums"
"""The name of the dataset that holds the checksums of all others: a JSON object, dataset → CRC-32 of its bytes."""

_LONGEST_STRING = 1 << 28
_BLOCK = 1 << 20


class _Output:
    """The file that HDF5 writes to, which keeps the first failure of the disk to itself until the end.

    HDF5 goes on after a failed write, fails in many other places, and says so on stderr, past all exceptions.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
        self._position = self._size = 0
        self.fault: OSError | None = None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        return self._position

    def tell(self) -> int:
        return self._position

    def write(self, data: memoryview) -> int:
        rest = memoryview(data).cast("B")
        count = len(rest)
        try:
            while rest and self.fault is None:
                written = os.pwrite(self._descriptor, rest, self._position + count - len(rest))
                rest = rest[written:]
        except OSError as error:
            self.fault = error
        self._position += count
        self._size = max(self._size, self._position)
        return count

    def read(self, count: int) -> bytes:
        data = bytearray(count)
        return bytes(data[: self.readinto(memoryview(data))])

    def readinto(self, buffer: memoryview) -> int:
        try:
            count = os.preadv(self._descriptor, [buffer], self._position)
        except OSError as error:
            self.fault = self.fault or error
            count = len(buffer)
        self._position += count
        return count

    def truncate(self, size: int) -> int:
        try:
            if self.fault is None:
                os.ftruncate(self._descriptor, size)
        except OSError as error:
            self.fault = error
        self._size = size
        return size

    def flush(self) -> None:
        """Do nothing: there is no buffer here."""

    def check(self) -> None:
        """Raise the first failure."""
        if self.fault is not None:
            raise self.fault

    def close(self) -> None:
        os.close(self._descriptor)


@contextmanager
def create_file(path: Path) -> Iterator[h5py.File]:
    """Create an HDF5 file whose bytes depend on nothing but what is written to it, and whose datasets are sealed.

    At the end every dataset's checksum is written to it.

    Raises:
        OSError: of the first write that failed.
    """
    output = _Output(path)
    try:
        with h5py.File(
            output,
            "w",
            libver=("v110", "v110"),
            alignment_threshold=1,
            alignment_interval=PAGE,
            # Object headers and links side by side, not each on a page of its own.
            meta_block_size=4 * PAGE,
        ) as file:
            yield file
            file.flush()
            output.check()
            _write_seals(file, path)
        output.check()
    except Exception:
        # Whatever went wrong after it comes from it.
        output.check()
        raise
    finally:
        output.close()


def create_dataset(group: h5py.Group, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> h5py.Dataset:
    """Create a contiguous dataset, without storage when it has no elements."""
    return group.create_dataset(name, shape=shape, dtype=np.dtype(dtype).newbyteorder("<"), track_times=False)


def write_dataset(group: h5py.Group, name: str, values: Array) -> None:
    """Create a contiguous dataset and fill it."""
    create_dataset(group, name, values.shape, values.dtype)[...] = values


def write_rows(dataset: h5py.Dataset, start: int, values: Array) -> None:
    """Write rows of a dataset from one on: what ``dataset[start : start + n] = values`` does, for less than half.

    Args:
        values: [n, …], contiguous; converted where they are of another dtype than the dataset.
    """
    if not values.size:
        return
    place = dataset.id.get_space()
    place.select_hyperslab((start, *(0 for _ in values.shape[1:])), values.shape)
    dataset.id.write(h5py.h5s.create_simple(values.shape), place, values, h5py.h5t.py_create(values.dtype))


def write_string(group: h5py.Group, name: str, text: str) -> None:
    """Write a scalar fixed-length UTF-8 string, which every HDF5 tool shows as text."""
    data = text.encode("utf-8")
    dtype = h5py.string_dtype("utf-8", max(1, len(data)))
    group.create_dataset(name, data=np.array(data, dtype=dtype), track_times=False)


def read_string(group: h5py.Group, name: str) -> str:
    """Read a string written by `write_string`, without HDF5: nothing is decompressed or followed.

    Raises:
        CorruptStoreError: there is none, it is longer than the file or than any store needs, or not UTF-8.
    """
    path = Path(group.file.filename)
    location = locate(group, name, kinds="S")
    if location.shape != ():
        raise CorruptStoreError(f"{path}: expected one string named '{name}', found an array of them")
    data = read_bytes(path, location)
    try:
        return data.rstrip(b"\0").decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorruptStoreError(f"{path}: the string '{name}' is not UTF-8 ({error.reason})") from error


def read_bytes(path: Path, location: Location) -> bytes:
    """Return a dataset's bytes.

    Raises:
        CorruptStoreError: they do not lie in the file, or are more than the text of any store.
    """
    end = location.offset + location.size
    if location.offset < 0 or location.size > _LONGEST_STRING or end > path.stat().st_size:
        raise CorruptStoreError(f"{path}: a string of {location.size:,} bytes does not lie within the file")
    with path.open("rb") as file:
        file.seek(location.offset)
        return file.read(location.size)


@contextmanager
def reading(path: Path) -> Iterator[h5py.File]:
    """Open an HDF5 file of a store; whatever HDF5 says of a broken one becomes a `CorruptStoreError`."""
    try:
        with h5py.File(path, "r", locking=False) as file:
            yield file
    except FileNotFoundError:
        raise CorruptStoreError(f"{path}: no such file, but the store needs it") from None
    except TtsPrepError:
        raise
    except Exception as error:  # h5py raises whatever its C code comes across in a broken file
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CorruptStoreError(f"{path}: cannot be read as HDF5 ({reason}); run 'tts-prep verify'") from error


@dataclass(frozen=True)
class Location:
    """Where a contiguous dataset lies in its file.

    Attributes:
        offset: in bytes from the start of the file; −1 where the dataset has no elements.
        shape: the dataset's shape.
        dtype: little-endian.
    """

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """The length of the dataset in bytes."""
        return self.dtype.itemsize * int(np.prod(self.shape, dtype=object))


def locate(group: h5py.Group, name: str, kinds: str = "iuf") -> Location:
    """Find a dataset's bytes; refuse any dataset that does not lie in one piece in this very file.

    Args:
        kinds: the kinds of numpy dtypes that are due.

    Raises:
        CorruptStoreError: it is missing, not contiguous, external, virtual or linked to another file.
    """
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise _refused(group, name, "a dataset in this file, found none or a link")
    dataset = group[name]
    if not isinstance(dataset, h5py.Dataset) or dataset.shape is None:
        raise _refused(group, name, "a dataset, found another kind of object")
    plist = dataset.id.get_create_plist()
    if plist.get_layout() != h5py.h5d.CONTIGUOUS or plist.get_external_count():
        raise _refused(group, name, "contiguous storage in this file, found another kind")
    dtype = dataset.dtype
    if dtype.kind not in kinds or dtype.byteorder == ">":
        due = "a fixed-length string" if kinds == "S" else "little-endian numbers"
        raise _refused(group, name, f"{due}, found {dtype}")
    offset = dataset.id.get_offset()
    return Location(-1 if offset is None or dataset.size == 0 else int(offset), dataset.shape, dtype)


def _refused(group: h5py.Group, name: str, expected: str) -> CorruptStoreError:
    return CorruptStoreError(f"{group.file.filename}: dataset '{group.name.rstrip('/')}/{name}': expected {expected}")


def map_dataset(path: Path, location: Location) -> Array:
    """Map a dataset's bytes, read-only, as an array of its shape and dtype.

    The file's size is checked first, so that a truncated file is an error here and not a bus error later.

    Raises:
        CorruptStoreError: the file is missing or shorter than the dataset.
    """
    try:
        if location.size == 0:
            return np.empty(location.shape, location.dtype)
        size = path.stat().st_size
        end = location.offset + location.size
        if location.offset < 0 or end > size:
            raise CorruptStoreError(
                f"{path}: {size:,} bytes, expected at least {end:,}; run 'tts-prep verify' and make the store again"
            )
        mapped = np.memmap(path, location.dtype, "r", location.offset, location.shape)
    except (OSError, OverflowError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CorruptStoreError(f"{path}: cannot be mapped ({reason}); was the store moved?") from error
    # A plain array over the same pages: slices of np.memmap objects cost microseconds each.
    return np.asarray(mapped)


def read_dataset(path: Path, location: Location) -> Array:
    """Read a dataset's bytes, without HDF5, as an array of its shape and dtype.

    Raises:
        CorruptStoreError: the file is missing or shorter than the dataset.
    """
    if not location.size:
        return np.empty(location.shape, location.dtype)
    try:
        with path.open("rb", buffering=0) as file:
            # Before anything is allocated.
            if location.offset < 0 or location.offset + location.size > os.fstat(file.fileno()).st_size:
                raise CorruptStoreError(f"{path}: shorter than its datasets; run 'tts-prep verify' and make it again")
            values: Array = np.empty(location.shape, location.dtype)
            rest = memoryview(values.reshape(-1).view(np.uint8))
            file.seek(location.offset)
            while count := file.readinto(rest):
                rest = rest[count:]
    except (OSError, OverflowError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CorruptStoreError(f"{path}: cannot be read ({reason}); was the store moved?") from error
    if rest:
        raise CorruptStoreError(f"{path}: became shorter while it was read; leave a store alone that is being read")
    return values


def find_datasets(group: h5py.Group, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Location]]:
    """Yield the paths and places of a file's datasets, but for the one that holds the checksums.

    Raises:
        CorruptStoreError: one of them is not as `locate` wants it, or groups are nested too deep.
    """
    if depth > 3:
        raise CorruptStoreError(f"{group.file.filename}: groups are nested deeper than those of a store")
    for name in group:
        if name == SEALS and not depth:
            continue
        if isinstance(group.get(name, getlink=True), h5py.HardLink) and isinstance(group[name], h5py.Group):
            yield from find_datasets(group[name], f"{prefix}{name}/", depth + 1)
        else:
            yield f"{prefix}{name}", locate(group, name, kinds="iufS")


def location_crc32(path: Path, location: Location) -> str:
    """Return the CRC-32 of a dataset's bytes, eight hexadecimal digits, without HDF5."""
    checksum = 0
    descriptor = os.open(path, os.O_RDONLY)
    try:
        position, end = location.offset, location.offset + location.size
        while location.size and position < end:
            block = os.pread(descriptor, min(_BLOCK, end - position), position)
            if not block:
                break
            checksum = zlib.crc32(block, checksum)
            position += len(block)
    finally:
        os.close(descriptor)
    return f"{checksum:08x}"


def _write_seals(file: h5py.File, path: Path) -> None:
    seals = {name: location_crc32(path, location) for name, location in sorted(dict(find_datasets(file)).items())}
    write_string(file, SEALS, canonical_json(seals))
