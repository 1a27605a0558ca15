"""Reading the text files of a corpus line by line."""

from __future__ import annotations

import codecs
import glob
from collections.abc import Iterator
from pathlib import Path

from tts_prep.errors import CorpusError
from tts_prep.format.files.regular_files import read_regular
from tts_prep.format.records.failures import Failure

_MAX_BYTES = 1 << 29


def read_lines(path: Path) -> Iterator[tuple[str, str | Failure]]:
    """Yield the lines of a UTF-8 file as pairs (location, line), such as ``("metadata.csv:41", …)``.

    Lines end with LF or CRLF only, because texts may contain other line separators of Unicode. A byte order mark and
    blank lines are skipped. A line that is not UTF-8 is yielded as a failure.

    Raises:
        CorpusError: the file cannot be read, or has no lines.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise CorpusError(f"{path}: longer than the maximum of {_MAX_BYTES:,} bytes; 'tts-prep manifest' has none")
        data = read_regular(path)
    except FileNotFoundError:
        below = sorted(path.parent.glob(f"*/{glob.escape(path.name)}"))
        hint = f"use {below[0].parent}" if below else f"is {path.parent} the root of the corpus?"
        raise CorpusError(f"{path}: no such file; {hint}") from None
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror})") from error
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data.strip():
        raise CorpusError(f"{path}: no rows, expected one per recording")
    for number, line in enumerate(data.split(b"\n"), 1):
        where = f"{path.name}:{number}"
        if not line.strip():
            continue
        try:
            yield where, line.removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            reason = f"{where}: expected UTF-8, found byte 0x{line[error.start]:02x} at column {error.start + 1}"
            yield where, Failure("", where, "corpus", reason)
