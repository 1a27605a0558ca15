"""The process that reads parquet and arrow files, which a changed byte of them can crash."""

import atexit
import importlib.util
import os
from pathlib import Path
from typing import Any

from tts_prep.errors import AudioError, CorpusError, MissingPackageError
from tts_prep.format.files.child_process import ChildProcess, CrashedError, RefusedError
from tts_prep.format.files.paths import check_regular


def read_cell(path: Path, group: int, row: int, column: str) -> bytes:
    """Return the bytes of a recording in a cell of a file.

    Raises:
        AudioError: there is no recording at this location.
    """
    try:
        return ask_table(path, "cell", group, row, column)[1]
    except CorpusError as error:
        raise AudioError(str(error)) from error


def ask_table(path: Path, *request: Any) -> tuple[Any, bytes]:
    """Return the answer of another process to a request about a parquet or arrow file, a JSON value and bytes.

    For requests, see `tts_prep.tables.files.answer`.

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
        _PROCESSES[number] = ChildProcess("tts_prep.tables.files:answer")
        atexit.register(_end_table_process, number)
    return _PROCESSES[number]


def _end_table_process(number: int) -> None:
    if number == os.getpid():
        _PROCESSES[number].end()
