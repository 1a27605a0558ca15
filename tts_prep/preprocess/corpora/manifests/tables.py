"""Tables with a header: CSV, TSV, and fields separated by | or ;, as in F5-TTS."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.manifests.row import Row
from tts_prep.preprocess.corpora.manifests.text_files import MAX_LINE, open_text

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
        lines = open_text(self._path)
        _, header = next(lines, ("", ""))
        if isinstance(header, Failure) or not header.strip():
            raise CorpusError(f"{self._path}: expected the names of the columns in the first line")
        separator = max(_SEPARATORS, key=header.count)
        try:
            names = _fields(header, separator)
        except csv.Error as error:
            raise CorpusError(f"{self._path}: the first line is no header of a table ({error})") from error
        if len(set(names)) != len(names):
            raise CorpusError(
                f"{self._path}: a column is repeated in the header: {', '.join(names)}; is the first line a recording?"
                " 'tts-prep filelist' and 'ljspeech' read lists without a header"
            )
        for where, line in _records(lines, separator):
            if isinstance(line, Failure):
                yield line
            elif line.strip():
                yield _row(where, line, names, separator)


def _records(lines: Iterator[tuple[str, str | Failure]], separator: str) -> Iterator[tuple[str, str | Failure]]:
    """Join the lines of rows whose quoted fields contain line breaks."""
    for where, line in lines:
        parts = [line]
        if separator in _QUOTING and isinstance(line, str):
            n_quotes, length = line.count('"'), len(line)
            while n_quotes % 2 and len(parts) < _MAX_LINES and length < MAX_LINE:
                _, following = next(lines, ("", None))
                if not isinstance(following, str):
                    break
                parts.append(following)
                length += len(following)
                n_quotes += following.count('"')
        yield where, "\n".join(part for part in parts if isinstance(part, str)) if len(parts) > 1 else line


def _row(where: str, line: str, names: list[str], separator: str) -> Row | Failure:
    try:
        fields = _fields(line, separator)
    except csv.Error as error:
        return Failure("", where, "corpus", f"{where}: not a row of a table ({error})")
    if len(fields) != len(names):
        reason = f"{where}: expected {len(names)} fields separated by {separator!r}, found {len(fields)}"
        return Failure("", where, "corpus", reason)
    return Row(where, dict(zip(names, fields, strict=True)))


def _fields(line: str, separator: str) -> list[str]:
    return [
        field.strip()
        for field in next(
            csv.reader(
                line.splitlines(keepends=True) or [line],
                delimiter=separator,
                quoting=csv.QUOTE_MINIMAL if separator in _QUOTING else csv.QUOTE_NONE,
                strict=True,
            )
        )
    ]
