"""The process that reads parquet and arrow files, which a changed byte of them can crash, and cells as numbers."""

import importlib.util
import math
import re
from pathlib import Path
from typing import Any, Final

import numpy as np

from tts_prep.errors import AudioError, CorpusError, MissingPackageError
from tts_prep.format.files.child_process import CrashedError, RefusedError, kept_process
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
        return kept_process("tts_prep.tables.files:answer").ask(path, *request, **limits)
    except RefusedError as error:
        raise CorpusError(str(error)) from None
    except CrashedError:
        raise CorpusError(f"{path}: crashes the Arrow library or takes too long to read; is it damaged?") from None


_BYTES_PER_SECOND = 20_000_000
_MEMORY = 1 << 30
_EXACT: Final = 1 << 53
"""The largest integer up to which each one is a number of 64 bits."""

_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?", re.ASCII | re.IGNORECASE)
_DIGITS: Final = re.compile(r"[+-]?\d+", re.ASCII)
_LEADING_ZERO: Final = re.compile(r"[+-]?0\d")

_WORDS: Final = frozenset({"na", "n/a", "<na>", "null", "none"})
"""Words for a missing number in tables of R, pandas, databases and Python."""


def number_of(value: Any) -> float | None:
    """Return a cell as a number; None if it is none, is NaN, or would not be the same again.

    True and false are 1 and 0. An integer above 2⁵³ and the text ``007`` are names, which a number would change.
    """
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text) or is_name_of_digits(text):
            return None
        number = float(text)
        is_too_large = math.isinf(number) and text[-1].isdigit()
        return None if is_too_large else number
    if isinstance(value, bool | np.bool_):
        return float(value)
    if isinstance(value, int | np.integer):
        return None if is_name_of_digits(value) else float(value)
    if isinstance(value, float | np.floating):
        return None if math.isnan(value) else float(value)
    return None


def is_name_of_digits(value: Any) -> bool:
    """Return whether a cell has digits that a number would change: a leading zero, or an integer above 2⁵³."""
    if isinstance(value, str):
        text = value.strip()
        if not _DIGITS.fullmatch(text):
            return _LEADING_ZERO.match(text) is not None and _NUMBER.fullmatch(text) is not None
        # Longer integers take long to convert.
        return len(text) > 1 and (_LEADING_ZERO.match(text) is not None or len(text) > 20 or abs(int(text)) > _EXACT)
    return isinstance(value, int | np.integer) and abs(int(value)) > _EXACT


def is_missing(value: Any) -> bool:
    """Return whether a cell has no value: it is empty, null or NaN."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan")
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    # Those of pandas, which are equal to nothing.
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_word_for_missing(value: Any) -> bool:
    """Return whether a cell has a word that says, among numbers, that one is missing; among texts it is one of them."""
    return isinstance(value, str) and value.strip().lower() in _WORDS
