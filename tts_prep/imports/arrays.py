"""Imported arrays: one ``.npy`` file per utterance, or one ``.npz`` or HDF5 file with all utterances by id.

Files may come from anywhere: sizes are checked before memory is allocated, HDF5 files are read in a separate process,
and objects are not unpickled.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import re
import zipfile
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from tts_prep.errors import ConfigurationError, FeatureError
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.files.child_process import CrashedError, RefusedError, kept_process
from tts_prep.format.files.paths import check_regular, open_regular
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.preprocess.features.feature import FeatureInput, FeatureValues
from tts_prep.preprocess.features.kinds import number_or_text

_ANSWER = "tts_prep.imports.foreign_hdf5:answer"
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
    """Return the answer of `tts_prep.imports.foreign_hdf5.answer` in a separate process.

    Raises:
        OSError: the file cannot be opened, or is not a regular file.
        ArrayFileError: the file is broken, or has links, external storage or filters that are not read.
        CannotReadError: the other process cannot be started, or was killed from outside.
    """
    check_regular(path)
    try:
        return kept_process(_ANSWER).ask(path, *request)
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


AXES: Final = ("frame", "phoneme", "sample", "utterance", "own")
_HDF5: Final = (".h5", ".hdf5")
_UNREADABLE: Final = (OSError, ArrayFileError)


@dataclass(frozen=True)
class ImportedArray:
    """An array read from files. Its dtype and row shape are those of the first array found.

    Attributes:
        spec: the specification of the array.
        path: a folder of ``ID.npy`` files, or a ``.npz`` or HDF5 file with one dataset per id.
        rows: which axis of the files' arrays has the rows: 0, or 1 for ``[K, T]``, as neural codecs return their codes.
        first: the shape of the first array, as in its file.
    """

    spec: ArraySpec
    path: Path
    rows: int = 0
    first: tuple[int, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def of(cls, name: str, path: Path, axis: str = "own", rate: float | None = None, *, rows: int = 0) -> ImportedArray:
        """Return the array of a folder or file.

        Args:
            axis: one of `AXES`: one row per mel frame, per phoneme, per sample or per utterance, or any number of rows.
            rate: rows per second, Hz; only with the axis ``own``.
            rows: the axis of the files' arrays that has the rows, 0 or 1; 0 with the axis ``utterance``.

        Raises:
            ConfigurationError: the path has no array, or the array is not valid for a store.
        """
        if axis not in AXES:
            raise ConfigurationError(f"array '{name}': axis: expected one of {', '.join(AXES)}, found {axis!r}")
        if rows not in ((0,) if axis == "utterance" else (0, 1)):
            expected = "0 with the axis utterance" if axis == "utterance" else "0 or 1"
            raise ConfigurationError(f"array '{name}': axis of rows: expected {expected}, found {rows}")
        where = path.absolute()
        stored = _first(where, name)
        if rows and stored.ndim < 2:
            raise ConfigurationError(f"array '{name}': {path}: axis=1: expected two axes, found {list(stored.shape)}")
        first = np.moveaxis(stored, rows, 0) if rows else stored
        shape = first.shape if axis == "utterance" else first.shape[1:]
        if axis != "utterance" and first.ndim == 0:
            raise ConfigurationError(f"array '{name}': {path}: contains scalars; use axis=utterance for them")
        spec = ArraySpec(name, first.dtype.newbyteorder("=").name, tuple(shape), axis, rate=rate)
        return cls(spec.checked(), where, rows, stored.shape)

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """The specification of the array."""
        return (self.spec,)

    def source(self, utterance_id: str, speaker: str) -> str | None:  # noqa: ARG002
        """Return the SHA-256 of the utterance's file, or of its values in a file of all utterances; None without any.

        The file of all utterances as a whole would be read for each of them, and would change with any of them.
        """
        checksum = self._checksum(utterance_id)
        return f"{checksum} axis={self.rows}" if checksum and self.rows else checksum

    def _checksum(self, utterance_id: str) -> str | None:
        path = self._file(utterance_id)
        try:
            if path != self.path:
                return file_sha256(path) if path.is_file() else None
            values = _read(path, utterance_id)
        except (KeyError, *_UNREADABLE):
            return None  # `compute` raises the error
        digest = hashlib.sha256(f"{values.dtype.name} {values.shape} ".encode())
        digest.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8))
        return digest.hexdigest()

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the array of one utterance.

        Raises:
            FeatureError: there is no array for the utterance, or it cannot be read.
        """
        path = self._file(utterance.id)
        try:
            values = _read(path, utterance.id if path == self.path else None)
        except KeyError:
            raise FeatureError(f"{path}: no array of '{utterance.id}'") from None
        except FileNotFoundError:
            raise FeatureError(f"{path}: no such file, expected the array '{self.spec.name}'") from None
        except _UNREADABLE as error:
            reason = getattr(error, "strerror", None) or error
            raise FeatureError(f"{path}: cannot be read as an array ({reason})") from error
        return FeatureValues({self.spec.name: self._with_rows_first(values, path)})

    def _with_rows_first(self, values: Array, path: Path) -> Array:
        """Return values with the axis of rows as the first one."""
        if self.rows:
            if values.ndim < 2:
                raise FeatureError(f"{path}: axis=1: expected two axes, found {list(values.shape)}")
            return np.moveaxis(values, self.rows, 0)
        shape, first = values.shape, self.first
        differs_by_rows = len(shape) == len(first) > 1 and (shape[0], *shape[2:]) == (first[0], *first[2:])
        if self.spec.axis == "own" and differs_by_rows and shape[1] != first[1]:
            raise FeatureError(
                f"{path}: expected rows of the shape {list(self.spec.row_shape)}, as in the first array, "
                f"{list(first)}, found {list(shape)}; if the second axis is time, {self.spec.name}@own:axis=1=PATH "
                "reads both"
            )
        return values

    def _file(self, utterance_id: str) -> Path:
        if not self.path.is_dir():
            return self.path
        # An id can contain a path, but files outside of the folder are not read.
        path = self.path / f"{utterance_id}.npy"
        inside = path.resolve().is_relative_to(self.path.resolve())
        return path if inside and path.is_file() else self.path / f"{Path(utterance_id).name}.npy"


def _first(path: Path, name: str) -> Array:
    """Return one array, which defines dtype and shape."""
    values: Array | None = None
    try:
        if path.is_dir():
            first = min(path.glob("**/*.npy"), default=None)
            values = None if first is None else read_npy(first)
        elif path.suffix == ".npz":
            archive = _archive(path, path.stat().st_mtime_ns)
            values = archive.read(min(archive.names())) if archive.names() else None
        elif path.suffix in _HDF5:
            key, _ = ask_hdf5(path)
            values = None if key is None else read_hdf5(path, key)
        else:
            raise ConfigurationError(f"array '{name}': {path}: expected a folder of .npy files, or a .npz or .h5 file")
    except _UNREADABLE as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"array '{name}': {path}: cannot be read ({reason})") from error
    if values is None:
        raise ConfigurationError(f"array '{name}': {path}: contains no array")
    return values


def _read(path: Path, key: str | None) -> Array:
    if key is None:
        values = read_npy(path)
    else:
        values = _archive(path, path.stat().st_mtime_ns).read(key) if path.suffix == ".npz" else read_hdf5(path, key)
    native: Array = values.astype(values.dtype.newbyteorder("="), copy=False)
    return native


@lru_cache(maxsize=4)
def _archive(path: Path, modified: int) -> ArchivedArrays:  # noqa: ARG001 - a file that was replaced is opened again
    return ArchivedArrays(path)


_IMPORTED: Final = re.compile(
    "(?P<name>[^@=]+)(@(?P<axis>[^:=,]+)(:(?!axis=)(?P<rate>[^=,]+))?([:,]axis=(?P<rows>[^=]+))?)?=(?P<path>.+)",
    re.DOTALL,
)


def make_imported(text: str) -> ImportedArray:
    """Create an imported array from ``NAME@AXIS=PATH``, ``NAME=PATH`` (the axis ``own``) or ``NAME@own:RATE=PATH``.

    ``axis=1`` after the axis or the rate says that the second axis of the files' arrays has the rows:
    ``NAME@own:RATE,axis=1=PATH``.

    Raises:
        ConfigurationError: the text is malformed, or the path contains no array.
    """
    found = _IMPORTED.fullmatch(text)
    if found is None:
        raise ConfigurationError(
            f"array: expected NAME=PATH, NAME@AXIS=PATH, NAME@own:RATE=PATH or NAME@AXIS:axis=1=PATH, found "
            f"{text[:80]!r}"
        )
    name, rate, rows = found["name"], found["rate"], found["rows"]
    hertz = None if rate is None else number_or_text(f"array '{name}': rate", float, rate)
    n = 0 if rows is None else number_or_text(f"array '{name}': axis of rows", int, rows)
    return ImportedArray.of(name, Path(found["path"]), found["axis"] or "own", hertz, rows=n)
