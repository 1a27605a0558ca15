"""Tables: CSV, TSV and fields separated by | or ;, as in F5-TTS, and parquet and arrow files of ``datasets``."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from tts_prep.corpora.manifests.rows import MAX_LINE, Row, open_text
from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.recording_locations import table_cell
from tts_prep.tables.process import ask_table

_SEPARATORS = ("\t", "|", ",", ";")
_QUOTING = ",;"
_MAX_LINES = 1000
"""The maximum number of lines of one row, which limits the effect of an unclosed quotation mark."""


class Table:
    """A file with the names of the columns in the first line.

    Fields separated by commas or semicolons may be quoted as in CSV. With tabs and bars, quotes are part of the text.
    """

    holds_audio = False
    arrays: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self._path = path

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order.

        Raises:
            CorpusError: the file cannot be read, or has no header.
        """
        lines = ((where, line) for where, line, _ in open_text(self._path))
        _, header = next(lines, ("", ""))
        if isinstance(header, Failure) or not header.strip():
            raise CorpusError(f"{self._path}: expected the names of the columns in the first line")
        separator = max(_SEPARATORS, key=header.count)
        try:
            names = _fields([header], separator)
        except csv.Error as error:
            raise CorpusError(f"{self._path}: the first line is no header of a table ({error})") from error
        if len(set(names)) != len(names):
            raise CorpusError(
                f"{self._path}: a column is repeated in the header: {', '.join(names)}; is the first line a recording?"
                " 'tts-prep filelist' and 'ljspeech' read lists without a header"
            )
        for where, line in lines:
            if isinstance(line, Failure):
                yield line
            elif line.strip():
                yield from _row(where, _RowLines(line, lines), names, separator)


class _RowLines:
    """A line, and the lines behind it that a quoted field goes on in, which are taken as they are asked for.

    Attributes:
        count: the number of lines so far.
        failures: the line that cannot be read, if it ended the row.
    """

    def __init__(self, line: str, following: Iterator[tuple[str, str | Failure]]) -> None:
        self._line, self._following = line, following
        self.count = 1
        self.failures: list[Failure] = []

    def __iter__(self) -> Iterator[str]:
        length = len(self._line)
        yield f"{self._line}\n"
        while self.count < _MAX_LINES and length < MAX_LINE:
            _, line = next(self._following, ("", None))
            if not isinstance(line, str):
                self.failures += [line] if line else []
                return
            self.count += 1
            length += len(line)
            yield f"{line}\n"


def _row(where: str, lines: _RowLines, names: list[str], separator: str) -> Iterator[Row | Failure]:
    """Yield a row, or why it is none, and the line that cannot be read if it goes on in one."""
    try:
        fields = _fields(lines, separator)
    except csv.Error as error:
        several = f"; {lines.count:,} lines were taken for it, because of a quotation mark" if lines.count > 1 else ""
        reason = f"{where}: not a row of a table ({error}){several}"
        yield Failure("", where, "corpus", reason)
    else:
        if len(fields) == len(names):
            yield Row(where, dict(zip(names, fields, strict=True)))
        else:
            reason = f"{where}: expected {len(names)} fields separated by {separator!r}, found {len(fields)}"
            yield Failure("", where, "corpus", reason)
    yield from lines.failures


def _fields(lines: Iterable[str], separator: str) -> list[str]:
    # The reader takes a further line only within quotes, so it decides which lines are one row.
    reader = csv.reader(
        lines, delimiter=separator, quoting=csv.QUOTE_MINIMAL if separator in _QUOTING else csv.QUOTE_NONE, strict=True
    )
    return [field.strip() for field in next(reader)]


class ParquetFile:
    """A parquet or arrow file, read by row groups or record batches, without the bytes of recordings.

    Another process reads it, because a damaged file can crash the library.

    Raises:
        CorpusError: the file cannot be read.
        MissingPackageError: pyarrow is not installed.
    """

    def __init__(self, path: Path, audio: str | None = None) -> None:
        """Open a file.

        Args:
            audio: the column of the recordings; default: the first column of recordings as bytes.
        """
        self._path = path
        schema, _ = ask_table(path, "schema", audio)
        self._audio: str = schema["audio"]
        self._n_groups: int = schema["groups"]
        self.arrays: tuple[str, ...] = tuple(schema["arrays"])
        self.lists: dict[str, str] = schema["lists"]
        self.holds_audio = bool(self._audio)

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order."""
        number = 0
        for group in range(self._n_groups):
            row, more = 0, True
            while more:
                found, _ = ask_table(self._path, "rows", self._audio, group, row, 50 if self.lists else 2000)
                more = found["more"]
                for position, (is_held, path) in enumerate(zip(found["held"], found["paths"], strict=True)):
                    number += 1
                    where, place = f"{self._path.name}:{number}", table_cell(group, row, self._audio, found["size"])
                    values = {name: cells[position] for name, cells in found["columns"].items()}
                    if not self._audio:
                        yield Row(where, values, place=place)
                    elif is_held:
                        yield Row(where, values, str(self._path), place, place=place)
                    elif path:
                        yield Row(where, values, path, place=place)
                    else:
                        yield Failure("", where, "corpus", f"{where}: '{self._audio}' has neither bytes nor a path")
                    row += 1
