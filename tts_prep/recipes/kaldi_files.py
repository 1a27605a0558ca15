"""Tables of ``id value`` lines, as in Kaldi and SpeeChain, and what their values refer to."""

import os
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.recipes.stores import read_lines

WAVEFORM = ":waveform"
_SEPARATOR = re.compile(r"[ \t]+")
_ARK_ENTRY = re.compile(r"(.+\.ark):([0-9]{1,18})")
_MATRICES: Mapping[bytes, np.dtype[Any]] = {b"\0BFM ": np.dtype("<f4"), b"\0BDM ": np.dtype("<f8")}


def read_table(path: str | Path) -> dict[str, str]:
    """Read a file of ``id value`` lines, separated by spaces or tabs. The value is the rest, and may be empty.

    Raises:
        ConfigurationError: the file cannot be read, or an id is repeated.
    """
    table: dict[str, str] = {}
    for number, line in enumerate(read_lines(path, "lines of ids and values"), 1):
        if not line.strip():
            continue
        uid, value = (*_SEPARATOR.split(line.strip(), maxsplit=1), "")[:2]
        if uid in table:
            raise ConfigurationError(f"{path}:{number}: the id '{uid}' is repeated")
        table[uid] = value.strip()
    return table


def read_tables(paths: Sequence[str]) -> dict[str, str]:
    """Read several files into one table, in order.

    Raises:
        ConfigurationError: a file cannot be read, or two of them have different values for an id.
    """
    table: dict[str, str] = {}
    source: dict[str, str] = {}
    for path in paths:
        for uid, value in read_table(path).items():
            if table.setdefault(uid, value) != value:
                raise ConfigurationError(f"'{uid}' has different values in {source[uid]} and {path}")
            source.setdefault(uid, path)
    return table


def store_entry(store: Path, row: int) -> str:
    """Return the value in ``feat.scp`` that refers to a row of a store."""
    return f"{store}:{row}"


def parse_store_entry(value: str) -> tuple[str, int] | None:
    """Return store and row of a value in ``feat.scp``, or None if it is another kind of path."""
    store, colon, row = value.rpartition(":")
    return (store, int(row)) if colon and row.isdecimal() and row.isascii() else None


def parse_ark_entry(value: str) -> tuple[str, int] | None:
    """Return file and offset of a value ``FILE.ark:OFFSET`` in Kaldi's ``feats.scp``, or None if it is another one."""
    found = _ARK_ENTRY.fullmatch(value)
    return (found[1], int(found[2])) if found else None


def ark_path(base: Path, file: str) -> Path:
    """Return the path of an archive: relative to the folder of the table, or, as in Kaldi, to the current one."""
    return base / file if (base / file).exists() else Path(file)


def read_ark(path: str | Path, offset: int) -> npt.NDArray[Any]:
    """Read a matrix of a Kaldi archive, [rows, columns] float32 or float64.

    Args:
        offset: the offset of the matrix behind its key, bytes.

    Raises:
        ConfigurationError: the file cannot be read, or has no complete, uncompressed binary matrix of floats there.
    """
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            kind, shape = file.read(5), file.read(10)
            if kind not in _MATRICES or len(shape) < 10 or (shape[0], shape[5]) != (4, 4):
                raise ConfigurationError(
                    f"{path}:{offset}: expected a binary matrix of floats, found {kind!r}; compressed and text "
                    "archives are not read: write them with 'copy-feats --compress=false'"
                )
            rows, columns = struct.unpack("<xixi", shape)
            if min(rows, columns) < 0 or rows * columns * _MATRICES[kind].itemsize > size - file.tell():
                raise ConfigurationError(f"{path}:{offset}: the file ends before its {rows} × {columns} values")
            # Not np.fromfile: a test holds that nothing of NumPy reads a file by itself, since some of it unpickles.
            data = bytearray(file.read(rows * columns * _MATRICES[kind].itemsize))
            values: npt.NDArray[Any] = np.frombuffer(data, _MATRICES[kind])
            return values.reshape(rows, columns)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read as a Kaldi archive ({error.strerror})") from error
