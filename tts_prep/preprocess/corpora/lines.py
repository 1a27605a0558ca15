"""Lists of a corpus: text files line by line, tables, whose readers are brought, and lists of ids of splits."""

import codecs
import glob
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

from tts_prep import doors
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.files.paths import open_regular
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.source_utterance import SourceUtterance

_MAX_BYTES: Final = 1 << 29
_MAX_LINE: Final = 1 << 22
"""The maximum length of a line in bytes."""


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[str, str | Failure]]:
    """Yield the lines of a text file as pairs (location, line), such as ``("metadata.csv:41", …)``.

    Lines end with LF or CRLF only, because texts may contain other line separators of Unicode. A byte order mark and
    blank lines are skipped. A line that is not in the encoding, or longer than 4 MiB, is yielded as a failure.

    Raises:
        CorpusError: the file cannot be read, or has no lines.
    """
    is_empty = True
    for number, line in enumerate(_lines(path), 1):
        where = f"{path.name}:{number}"
        if line is None:
            yield where, Failure.of_row("", where, f"longer than {_MAX_LINE:,} bytes")
        elif line.strip():
            try:
                yield where, line.removesuffix(b"\n").removesuffix(b"\r").decode(encoding)
            except UnicodeDecodeError as error:
                found = f"found byte 0x{line[error.start]:02x} at column {error.start + 1}"
                yield where, Failure.of_row("", where, f"expected {encoding.upper()}, {found}")
        else:
            continue
        is_empty = False
    if is_empty:
        raise CorpusError(f"{path}: no rows, expected one per recording")


def _lines(path: Path) -> Iterator[bytes | None]:
    """Yield the lines of a file with their ends, without a byte order mark; None for one that is too long."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise CorpusError(f"{path}: longer than the maximum of {_MAX_BYTES:,} bytes; 'tts-prep manifest' has none")
        with open_regular(path) as raw, BufferedReader(raw) as file:
            if file.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
                file.read(len(codecs.BOM_UTF8))
            while line := file.readline(_MAX_LINE):
                is_cut = False
                while len(line) == _MAX_LINE and not line.endswith(b"\n"):
                    is_cut, line = True, file.readline(_MAX_LINE)
                yield None if is_cut else line
    except FileNotFoundError:
        below = sorted(path.parent.glob(f"*/{glob.escape(path.name)}"))
        hint = f"use {below[0].parent}" if below else f"is {path.parent} the root of the corpus?"
        raise CorpusError(f"{path}: no such file; {hint}") from None
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror})") from error


def is_table(path: Path) -> bool:
    """Return whether a file can only be a table, by its suffixes."""
    known = {suffix for row in doors.rows("tables").values() for suffix in row.keys}
    return not known.isdisjoint(path.suffixes[-2:])


def table_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the place and the values of each row of a table.

    Raises:
        CorpusError: the file cannot be read, or a row is damaged.
        MissingPackageError: nothing here reads tables.
    """
    yield from doors.need("tables", path.suffix)(path)


# Apostrophes before a formula are counted too, so that the conversion is one to one.
_FORMULA = re.compile("'*[=+\\-@\t\r]")


def as_cell(text: str) -> str:
    """Return a text as a cell of a CSV file: an apostrophe precedes what a spreadsheet would take for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def of_cell(cell: str) -> str:
    """Return the text of a cell: the inverse of `as_cell`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


REST = "rest"
"""The split of an utterance that is in no list."""


def split_checksums(lists: Mapping[str, Path]) -> dict[str, str]:
    """Return the SHA-256 of each list by split; a store depends on the contents of the lists, not on their paths.

    Raises:
        ConfigurationError: a list cannot be read.
    """
    try:
        return {name: file_sha256(path) for name, path in sorted(lists.items())}
    except OSError as error:
        raise ConfigurationError(f"split: {error.filename}: cannot be read ({error.strerror})") from error


def with_splits(
    items: Iterable[SourceUtterance | Failure], lists: Mapping[str, Path]
) -> Iterator[SourceUtterance | Failure]:
    """Add the column ``split`` to the utterances of a corpus: the name of the list that has the id, or ``"rest"``.

    Args:
        items: the rows of the corpus.
        lists: split → a file with one id per line; of fields separated by ``|``, the first is the id.

    Raises:
        CorpusError: a list cannot be read, or has an id that is not in the corpus.
        ConfigurationError: an id is in two lists.
    """
    splits: dict[str, tuple[str, str]] = {}
    for name, path in lists.items():
        for where, line in read_lines(path):
            if isinstance(line, Failure):
                raise CorpusError(line.reason)
            identifier = line.partition("|")[0].strip()
            if splits.setdefault(identifier, (name, where))[0] != name:
                other, location = splits[identifier]
                raise ConfigurationError(f"{where}: '{identifier}' is already in the split '{other}', by {location}")
    missing = dict(splits)
    for item in items:
        missing.pop(item.id, None)
        if isinstance(item, SourceUtterance):
            yield replace(item, meta={**item.meta, "split": splits.get(item.id, (REST, ""))[0]})
        else:
            yield item
    for identifier, (_, where) in missing.items():
        raise CorpusError(f"{where}: the corpus has no utterance '{identifier}'")
