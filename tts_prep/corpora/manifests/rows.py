"""Rows of manifests before their columns have roles, and the lines of large text files, compressed by gzip or not."""

import codecs
import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, Final, Protocol

from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure


@dataclass(frozen=True)
class Row:
    """A row of a manifest.

    Attributes:
        where: the file and line or row, such as ``train.jsonl:41``.
        values: column → text, number, or None.
        audio: the path of the recording if the container locates it; otherwise empty, and a column has the path.
        place: where the values are, as `inside` is; empty if they are not read from there again.
        inside, channel: as in `tts_prep.preprocess.source_utterance.SourceUtterance`.
    """

    where: str
    values: Mapping[str, Any]
    audio: str = ""
    inside: str = ""
    channel: int | None = None
    place: str = ""


class Container(Protocol):
    """A manifest file that can be read repeatedly."""

    holds_audio: bool
    """Whether the rows have `Row.audio`."""

    arrays: tuple[str, ...]
    """Columns of lists of lists of lists of numbers, which the rows do not have."""

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order, the same ones on every call."""


_MAX_RATIO: Final = 200
"""How many times longer a list can be than its file. Lists of recordings shrink to a third or a tenth, what holds one
byte a million times a thousandfold."""

_ALWAYS: Final = 1 << 26
"""The bytes that are read of any file."""

MAX_LINE: Final = 1 << 24
"""The maximum length of a line in bytes. The longest rows of common corpora have several hundred thousand."""


def open_text(path: Path) -> Iterator[tuple[str, str | Failure, int]]:
    """Yield the lines of a UTF-8 file without line ends: (location, line or failure, its first byte).

    The first byte is -1 in a compressed file.

    A line that is not UTF-8, or longer than 16 MiB, is yielded as a failure.

    Raises:
        CorpusError: the file cannot be read, or gzip's checksum does not match,
            or it expands to more than 200 times its size.
    """
    number = 0
    try:
        with opened_text(path) as file:
            is_plain = not isinstance(file, gzip.GzipFile)
            for number, line in enumerate(_lines(file, path), 1):
                where = f"{path.name}:{number}"
                if line is None:
                    yield where, Failure("", where, "corpus", f"{where}: longer than {MAX_LINE:,} bytes"), -1
                    continue
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                try:
                    yield where, line.rstrip(b"\r\n").decode("utf-8"), file.tell() - len(line) if is_plain else -1
                except UnicodeDecodeError as error:
                    found = f"found byte 0x{line[error.start]:02x} at column {error.start + 1}"
                    yield where, Failure("", where, "corpus", f"{where}: expected UTF-8, {found}"), -1
    except FileNotFoundError:
        raise CorpusError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise CorpusError(f"{path}: cannot be read after line {number:,} ({reason})") from error


def _lines(file: gzip.GzipFile | BufferedReader, path: Path) -> Iterator[bytes | None]:
    """Yield the lines of a file with their ends; None for one that is too long."""
    left = _MAX_RATIO * path.stat().st_size + _ALWAYS
    while line := file.readline(MAX_LINE):
        left -= len(line)
        is_cut = False
        while len(line) == MAX_LINE and not line.endswith(b"\n") and left >= 0:
            is_cut, line = True, file.readline(MAX_LINE)
            left -= len(line)
        if left < 0:
            raise CorpusError(f"{path}: expands to more than {_MAX_RATIO} times its size; is it damaged?")
        yield None if is_cut else line


def opened_text(path: Path) -> gzip.GzipFile | BufferedReader:
    """Open a file, compressed by gzip or not."""
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if compressed else path.open("rb")
