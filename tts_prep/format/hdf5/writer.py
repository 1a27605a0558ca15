"""Write HDF5 files whose datasets are contiguous and page-aligned, with their checksums and a seal."""

import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import h5py
import numpy as np
import numpy.typing as npt

from tts_prep.format.files.atomic import replacing, syncing
from tts_prep.format.files.checksums import CHECKSUMS, FileDigest, canonical_json, crc32_text, seal_file
from tts_prep.format.hdf5.columns import TextColumn
from tts_prep.format.hdf5.datasets import Array, Location, location_crc32
from tts_prep.format.hdf5.reader import find_datasets
from tts_prep.format.layout import NUMBER, PAGE, TEXT

_ONE_WRITE = 1 << 20
"""Arrays of up to this size in bytes are written together, because a write to HDF5 takes 20 µs."""

_ANY_TEXT = h5py.h5t.py_create(h5py.string_dtype(), logical=True)
_WITHOUT_TIMES = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
_WITHOUT_TIMES.set_obj_track_times(False)
# To make the type of numbers takes longer than all else of writing a row.
_type = lru_cache(maxsize=16)(h5py.h5t.py_create)


class _Output:
    """The file object that HDF5 writes to. It records the first I/O error; `check` raises it.

    Raising it at once would not help: HDF5 continues after a failed write, fails elsewhere, and reports on stderr.
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
        """Do nothing: writes are not buffered."""

    def check(self) -> None:
        """Raise the first I/O error, if any."""
        if self.fault is not None:
            raise self.fault

    def close(self) -> None:
        os.close(self._descriptor)


@contextmanager
def create_file(
    path: Path,
    *,
    sealed: bool = True,
    checksums: Mapping[str, str] = {},
    places: MutableMapping[str, Location] | None = None,
) -> Iterator[h5py.File]:
    """Create an HDF5 file whose bytes depend only on its contents.

    On exit, the checksums of all datasets are written, and the seal is appended.

    Args:
        sealed: append the seal; False leaves that to the caller, by `seal_file`.
        checksums: the checksums of datasets that are known at exit, from `write_arrays`; the others are read back.
        places: gets the locations of all datasets, with their checksums.

    Raises:
        OSError: a write failed; the first such error is raised.
    """
    output = _Output(path)
    try:
        with h5py.File(
            output,
            "w",
            libver=("v110", "v110"),
            alignment_threshold=1,
            alignment_interval=PAGE,
            # Store object headers and links next to each other, not on a page each.
            meta_block_size=4 * PAGE,
        ) as file:
            yield file
            file.flush()
            output.check()
            found = {} if places is None else places
            for name, place in find_datasets(file, path):
                found[name] = replace(place, crc32=checksums.get(name) or location_crc32(path, place))
            write_string(file, CHECKSUMS, canonical_json({name: place.crc32 for name, place in found.items()}))
        output.check()
    except Exception:
        # Any later exception is a consequence of the first I/O error.
        output.check()
        raise
    finally:
        output.close()
    if sealed:
        seal_file(path)


def write_file(path: Path, write: Callable[[h5py.File, dict[str, str]], None]) -> FileDigest:
    """Write an HDF5 file atomically, and return its digest, for which it is read while it is synced.

    Args:
        write: fills the file, and adds the checksums of datasets that it knows, from `write_arrays`.

    Raises:
        WriteError: a write failed.
    """
    checksums: dict[str, str] = {}
    with replacing(path) as partial:
        with create_file(partial, sealed=False, checksums=checksums) as file:
            write(file, checksums)
        with syncing(partial):
            return seal_file(partial)


def create_dataset(group: h5py.Group, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> h5py.h5d.DatasetID:
    """Create a contiguous dataset; one without elements has no storage.

    With the identifiers of HDF5 alone, which takes a third of the time of h5py's datasets; the bytes are the same.
    """
    stored = _type(np.dtype(dtype).newbyteorder("<"))
    return h5py.h5d.create(group.id, name.encode(), stored, h5py.h5s.create_simple(shape), dcpl=_WITHOUT_TIMES)


def set_kind(identifier: h5py.h5d.DatasetID | h5py.h5g.GroupID, kind: str) -> None:
    """Write the kind of a column, as ``attrs["kind"] = kind``."""
    attribute = h5py.h5a.create(identifier, b"kind", _ANY_TEXT, h5py.h5s.create_simple(()))
    attribute.write(np.array(kind, h5py.string_dtype()))


def write_dataset(group: h5py.Group, name: str, values: Array) -> h5py.h5d.DatasetID:
    """Create a contiguous dataset and fill it."""
    dataset = create_dataset(group, name, values.shape, values.dtype)
    if values.size:
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(values), _type(values.dtype))
    return dataset


def write_rows(dataset: h5py.h5d.DatasetID, start: int, values: Array, space: h5py.h5s.SpaceID | None = None) -> None:
    """Write rows of a dataset, as ``dataset[start : start + n] = values``, in a quarter of the time.

    Args:
        values: [n, …], contiguous; converted to the dtype of the dataset.
        space: what ``dataset.get_space()`` has returned, for many writes.
    """
    if values.size:
        place = space or dataset.get_space()
        place.select_hyperslab((start, *[0] * (values.ndim - 1)), values.shape)
        dataset.write(h5py.h5s.create_simple(values.shape), place, values, _type(values.dtype))


def write_arrays(
    file: h5py.File,
    name: str,
    arrays: Sequence[Array],
    row_shape: Sequence[int],
    dtype: npt.DTypeLike,
    checksums: MutableMapping[str, str],
) -> npt.NDArray[np.int64]:
    """Write arrays one after another as one dataset.

    Args:
        arrays: each [n, *row_shape], of the dtype.
        checksums: gets the checksum of the dataset, computed while its rows are in the processor's cache.

    Returns:
        [len(arrays) + 1] the start of each array, and the end of the last one.
    """
    starts = np.zeros(len(arrays) + 1, np.int64)
    np.cumsum([len(array) for array in arrays], out=starts[1:])
    dataset = create_dataset(file, name, (int(starts[-1]), *row_shape), dtype)
    stored, space = dataset.dtype, dataset.get_space()
    if arrays and math.prod(dataset.shape) * stored.itemsize <= _ONE_WRITE:
        arrays = [np.concatenate(arrays)]
    checksum = 0
    for array, start in zip(arrays, starts.tolist(), strict=False):
        rows = np.ascontiguousarray(array, stored)
        write_rows(dataset, start, rows, space)
        checksum = zlib.crc32(rows, checksum)
    checksums[name] = crc32_text(checksum)
    return starts


def write_string(group: h5py.Group, name: str, text: str) -> None:
    """Write a scalar fixed-length UTF-8 string, which all HDF5 tools display as text."""
    data = text.encode("utf-8")
    dtype = h5py.string_dtype("utf-8", max(1, len(data)))
    group.create_dataset(name, data=np.array(data, dtype=dtype), track_times=False)


def write_number(group: h5py.Group, name: str, values: npt.ArrayLike, dtype: npt.DTypeLike) -> None:
    """Write a column of numbers."""
    set_kind(write_dataset(group, name, np.asarray(values, dtype)), NUMBER)


def write_texts(group: h5py.Group, name: str, texts: Iterable[str], kind: str = TEXT) -> None:
    """Write a column of texts, or of categories in the form of texts."""
    column = TextColumn.encode(texts)
    child = group.create_group(name)
    set_kind(child.id, kind)
    write_dataset(child, "bytes", column.data)
    write_dataset(child, "offsets", column.offsets)
