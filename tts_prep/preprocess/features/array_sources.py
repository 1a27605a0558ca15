"""Read arrays that other programs wrote: ``.npy``, ``.npz`` and HDF5 files, which may come from anywhere.

Sizes are checked before memory is allocated, and HDF5 files are read in a separate process. Objects are not unpickled.
"""

from __future__ import annotations

import atexit
import io
import math
import os
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from tts_prep.format.files.child_process import ChildProcess, CrashedError, RefusedError
from tts_prep.format.files.regular_files import check_regular, open_regular
from tts_prep.format.hdf5.datasets import Array

_ANSWER = "tts_prep.format.hdf5.foreign:answer"
_MAX_HEADER: Final = 1 << 16
_MAX_ARRAY: Final = 1 << 29
"""The maximum size of an array in bytes, which a file that takes no space on a disk can have too."""


class ArrayFileError(ValueError):
    """A file has no such array, or cannot be read; the message is without the path of the file."""


def read_npy(path: Path) -> Array:
    """Return the array of a ``.npy`` file.

    Raises:
        OSError: the file cannot be opened, or is not a regular file.
        ArrayFileError: the file is not a complete array of numbers.
    """
    with open_regular(path) as file:
        return _parse(file, os.fstat(file.fileno()).st_size)


class ArchivedArrays:
    """The arrays of a ``.npz`` file.

    Raises:
        OSError: the file cannot be opened, or is not a regular file.
        ArrayFileError: the file is not an archive.
    """

    def __init__(self, path: Path) -> None:
        try:
            check_regular(path)
            self._archive = zipfile.ZipFile(path)
        except OSError:
            raise
        except Exception as error:  # zipfile raises many kinds of exceptions for a broken file
            raise ArrayFileError(_text(error)) from error
        self._members = {info.filename.removesuffix(".npy"): info for info in self._archive.infolist()}

    def names(self) -> list[str]:
        """Return the names of the arrays."""
        return list(self._members)

    def read(self, name: str) -> Array:
        """Return an array.

        Raises:
            KeyError: there is none of this name.
            ArrayFileError: it is not a complete array of numbers.
        """
        info = self._members[name]
        try:
            with self._archive.open(info) as file:
                return _parse(file, info.file_size)
        except (ArrayFileError, MemoryError):
            raise
        except Exception as error:
            raise ArrayFileError(_text(error)) from error


def _parse(file: io.RawIOBase | BinaryIO | Any, size: int) -> Array:
    """Return the array of a ``.npy`` stream of a size in bytes."""
    start = io.BytesIO(file.read(_MAX_HEADER) or b"")
    try:
        version = np.lib.format.read_magic(start)
        if version == (1, 0):
            shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(start)
        elif version == (2, 0):
            shape, is_fortran, dtype = np.lib.format.read_array_header_2_0(start)
        else:
            raise ArrayFileError(f"version {version[0]}.{version[1]} of .npy, expected 1.0 or 2.0")
    except MemoryError:
        raise
    except Exception as error:  # the header is parsed as an expression of Python, with many kinds of errors
        raise ArrayFileError(_text(error)) from error
    if dtype.hasobject or not dtype.itemsize:
        raise ArrayFileError(f"expected numbers, found {dtype}, which is not read")
    expected, found = math.prod(shape) * dtype.itemsize, size - start.tell()
    if min(shape, default=0) < 0 or len(shape) > 32 or expected > found:
        raise ArrayFileError(f"{dtype} of shape {_shape(shape)} takes {expected:,} bytes, the file has {found:,}")
    if expected > _MAX_ARRAY:
        raise ArrayFileError(f"{dtype} of shape {_shape(shape)}: {expected:,} bytes, more than {_MAX_ARRAY:,}")
    values = np.empty(expected, np.uint8)
    rest = memoryview(values)
    head = start.read(expected)
    rest[: len(head)] = head
    rest = rest[len(head) :]
    while rest and (piece := file.read(min(len(rest), 1 << 20))):
        rest[: len(piece)] = piece
        rest = rest[len(piece) :]
    if rest:
        raise ArrayFileError(f"{len(rest):,} of {expected:,} bytes are missing")
    if not expected:
        return np.empty(shape, dtype)
    array: Array = values.view(dtype)
    return array.reshape(shape[::-1]).T if is_fortran else array.reshape(shape)


def _shape(shape: tuple[int, ...]) -> str:
    text = str(list(shape)[:8])
    return text if len(text) < 100 else f"{text[:100]}…"


def _text(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def ask_hdf5(path: Path, *request: str) -> tuple[Any, bytes]:
    """Return the answer of `tts_prep.format.hdf5.foreign.answer` in a separate process.

    Raises:
        OSError: the file cannot be opened, or is not a regular file.
        ArrayFileError: the file is broken, or has links, external storage or filters that are not read.
        CannotReadError: the other process cannot be started, or was killed from outside.
    """
    check_regular(path)
    try:
        return _hdf5_process().ask(path, *request)
    except RefusedError as error:
        raise ArrayFileError(str(error)) from None
    except CrashedError:
        raise ArrayFileError("crashes the HDF5 library or takes too long to read") from None


def read_hdf5(path: Path, name: str) -> Array:
    """Return a dataset of an HDF5 file; errors as in `ask_hdf5`.

    Raises:
        KeyError: there is none of this name.
    """
    value, data = ask_hdf5(path, name)
    if value is None:
        raise KeyError(name)
    return np.frombuffer(bytearray(data), np.dtype(value["dtype"])).reshape(value["shape"])


# By the number of this process, because a process that was forked from this one needs another.
_PROCESSES: dict[int, ChildProcess] = {}


def _hdf5_process() -> ChildProcess:
    number = os.getpid()
    if number not in _PROCESSES:
        _PROCESSES[number] = ChildProcess(_ANSWER)
        atexit.register(_end_hdf5_process, number)
    return _PROCESSES[number]


def _end_hdf5_process(number: int) -> None:
    if number == os.getpid():
        _PROCESSES[number].end()
