"""Locations of recordings: a file, a byte range of a file, or a cell of a parquet or arrow file."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import Any

from tts_prep.errors import AudioError, MissingPackageError
from tts_prep.format.files.regular_files import open_regular


def byte_range(offset: int, size: int) -> str:
    """Return the location of a recording that is a byte range of a file, such as a member of a tar archive."""
    return f"bytes {offset} {size}"


def table_cell(group: int, row: int, column: str, size: int) -> str:
    """Return the location of a recording that is a cell of a parquet or arrow file.

    Args:
        group: the row group of a parquet file, or the record batch of an arrow file.
        row: the row in the group.
        column: the name of the column; the field of a struct follows after a dot.
        size: the approximate size of the recording in bytes.
    """
    return f"cell {group} {row} {size} {column}"


def size_inside(inside: str) -> int:
    """Return the size of a recording inside a file, in bytes."""
    kind, *numbers = inside.split(" ", 4)
    return int(numbers[1] if kind == "bytes" else numbers[2])


def open_recording(path: Path, inside: str) -> FileIO:
    """Extract a recording from inside a file into an unnamed temporary file.

    Raises:
        OSError: the file cannot be read.
        AudioError: there is no recording at this location.
    """
    kind, rest = inside.split(" ", 1)
    if kind == "bytes":
        offset, size = map(int, rest.split(" "))
        with open_regular(path) as file:
            file.seek(offset)
            data = file.read(size)
        if len(data) != size:
            raise AudioError(f"{path.name}: truncated, expected {size:,} bytes at {offset:,}, found {len(data):,}")
    else:
        group, row, _, column = rest.split(" ", 3)
        data = _cell(path, int(group), int(row), column)
    # Decoders and checks need a file descriptor.
    recording = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - the caller closes it
    recording.write(data)
    recording.seek(0)
    return recording


def _cell(path: Path, group: int, row: int, column: str) -> bytes:
    values = _column(path, path.stat().st_mtime_ns, group, column)
    if not row < len(values):
        raise AudioError(f"{path.name}: row group {group} has {len(values):,} rows, expected more than {row:,}")
    value = values[row].as_py()
    if not isinstance(value, bytes):
        raise AudioError(f"{path.name}: column '{column}' of row {row:,} of group {group} is not a recording")
    return value


@lru_cache(maxsize=1)
def _column(path: Path, _version: int, group: int, column: str) -> Any:
    """Return a column of a row group. It is cached, because rows of one group follow each other."""
    name, _, field = column.partition(".")
    values = _record_batch(path, group).column(name) if is_arrow(path) else _row_group(path, group, name)
    return values.field(field) if field and hasattr(values, "field") else values


def _row_group(path: Path, group: int, name: str) -> Any:
    parquet = import_pyarrow("parquet")
    with parquet.ParquetFile(path) as file:
        return file.read_row_group(group, columns=[name]).column(name).combine_chunks()


def _record_batch(path: Path, group: int) -> Any:
    return arrow_batches(path)[group]


@lru_cache(maxsize=1)
def arrow_batches(path: Path) -> list[Any]:
    """Return the record batches of an arrow stream or file, which share the memory of the mapped file."""
    pyarrow = import_pyarrow("")
    source = pyarrow.memory_map(str(path))
    try:
        return list(pyarrow.ipc.open_stream(source))
    except pyarrow.ArrowInvalid:
        reader = pyarrow.ipc.open_file(source)
        return [reader.get_batch(i) for i in range(reader.num_record_batches)]


def is_arrow(path: Path) -> bool:
    """Return whether a path has the extension of arrow files."""
    return path.suffix == ".arrow"


def import_pyarrow(module: str) -> Any:
    """Import pyarrow, or a module of it.

    Raises:
        MissingPackageError: pyarrow is not installed.
    """
    import importlib

    try:
        return importlib.import_module(f"pyarrow.{module}" if module else "pyarrow")
    except ModuleNotFoundError:
        raise MissingPackageError(
            "parquet and arrow files need pyarrow, which is not installed: pip install 'tts-prep[parquet]'"
        ) from None
