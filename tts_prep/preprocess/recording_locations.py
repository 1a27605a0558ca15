"""Locations of recordings: a file, a byte range of a file, or a cell of a parquet or arrow file."""

import atexit
import importlib.util
import os
import tempfile
from io import FileIO
from pathlib import Path
from typing import Any

from tts_prep.errors import AudioError, CorpusError, MissingPackageError
from tts_prep.format.files.child_process import ChildProcess, CrashedError, RefusedError
from tts_prep.format.files.regular_files import check_regular, open_regular


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


def place_inside(inside: str) -> tuple[int, int] | None:
    """Return the first byte and the end of a recording that is a byte range of a file; None of another one."""
    kind, _, rest = inside.partition(" ")
    if kind != "bytes":
        return None
    offset, size = map(int, rest.split(" "))
    return offset, offset + size


def open_recording(path: Path, inside: str) -> FileIO:
    """Extract a recording from inside a file into an unnamed temporary file; errors as in `read_inside`."""
    data = read_inside(path, inside)
    # Decoders and checks need a file descriptor.
    recording = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - the caller closes it
    recording.write(data)
    recording.seek(0)
    return recording


def read_inside(path: Path, inside: str) -> bytes:
    """Return the bytes of a recording inside a file.

    Raises:
        OSError: the file cannot be read.
        AudioError: there is no recording at this location.
    """
    if place := place_inside(inside):
        offset, size = place[0], place[1] - place[0]
        with open_regular(path) as file:
            file.seek(offset)
            data: bytes = file.read(size)
        if len(data) != size:
            raise AudioError(f"{path.name}: truncated, expected {size:,} bytes at {offset:,}, found {len(data):,}")
        return data
    _, group, row, _, column = inside.split(" ", 4)
    return _cell(path, int(group), int(row), column)


def _cell(path: Path, group: int, row: int, column: str) -> bytes:
    try:
        return ask_table(path, "cell", group, row, column)[1]
    except CorpusError as error:
        raise AudioError(str(error)) from error


def ask_table(path: Path, *request: Any) -> tuple[Any, bytes]:
    """Return the answer of another process to a request about a parquet or arrow file, a JSON value and bytes.

    For requests, see `tts_prep.preprocess.table_files.answer`.

    Raises:
        CorpusError: the file is missing or broken, crashes the library, or takes too much time or memory.
        MissingPackageError: pyarrow is not installed.
        CannotReadError: the other process cannot be started, or was killed from outside.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingPackageError(
            "parquet and arrow files need pyarrow, which is not installed: pip install 'tts-prep[parquet]'"
        )
    try:
        check_regular(path)
        size = path.stat().st_size
    except FileNotFoundError:
        raise CorpusError(f"{path}: no such file") from None
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror})") from error
    # A row group is decompressed as a whole, and an arrow file is mapped.
    limits = {"cpu_seconds": 4 + size // _BYTES_PER_SECOND, "memory": _MEMORY + 4 * size}
    try:
        return _table_process().ask(path, *request, **limits)
    except RefusedError as error:
        raise CorpusError(str(error)) from None
    except CrashedError:
        raise CorpusError(f"{path}: crashes the Arrow library or takes too long to read; is it damaged?") from None


_BYTES_PER_SECOND = 20_000_000
_MEMORY = 1 << 30
# By the number of this process, because a process that was forked from this one needs another.
_PROCESSES: dict[int, ChildProcess] = {}


def _table_process() -> ChildProcess:
    number = os.getpid()
    if number not in _PROCESSES:
        _PROCESSES[number] = ChildProcess("tts_prep.preprocess.table_files:answer")
        atexit.register(_end_table_process, number)
    return _PROCESSES[number]


def _end_table_process(number: int) -> None:
    if number == os.getpid():
        _PROCESSES[number].end()
