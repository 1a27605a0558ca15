"""File lists: one line a recording, fields separated by ``|``, as NVIDIA's, VITS's and StyleTTS2's lists are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.corpora.utterance import Failure, Utterance

ANONYMOUS = "0"
"""The speaker of a list without speakers, as StyleTTS2 has it."""

_KNOWN = ("path", "text", "speaker", "id", "-")


def read_filelist(file: Path, root: Path | None = None, columns: str | None = None) -> Iterator[Utterance | Failure]:
    """Yield the utterances of a file list.

    Args:
        file: the list.
        root: what relative paths are relative to; absolute ones are taken as they stand. Default: the list's folder.
        columns: the names of the fields, such as ``"path|text|speaker"``. ``path`` and ``text`` are needed; ``id`` is
            the path without its suffix where it is missing, ``speaker`` is ``"0"``; ``-`` is not used; any other name
            becomes a column. By default `guess_columns` of the first line.

    Raises:
        CorpusError: the list cannot be read, or holds no line.
        ConfigurationError: the columns cannot be those of a list.
    """
    root = root or file.parent
    lines = read_lines(file)
    first = next(lines)
    if columns is None:
        columns = guess_columns(first[1]) if isinstance(first[1], str) else "path|text"
    names = parse_columns(columns)
    for where, line in itertools.chain([first], lines):
        yield line if isinstance(line, Failure) else _parse(where, line, names, root)


def guess_columns(line: str) -> str:
    """Return the columns that a line most likely has.

    Two fields are a path and a text. Of three, the speaker is last, as in NVIDIA's and StyleTTS2's lists, unless the
    middle one is a number and the last one is not, as in VITS's.

    Raises:
        CorpusError: the line has neither two nor three fields.
    """
    fields = [field.strip() for field in line.split("|")]
    if len(fields) == 2:
        return "path|text"
    if len(fields) == 3:
        return "path|speaker|text" if fields[1].isdigit() and not fields[2].isdigit() else "path|text|speaker"
    raise CorpusError(
        f"the first line has {len(fields)} field{'s' * (len(fields) != 1)}, expected 'path|text' or "
        "'path|text|speaker'; name its columns with --columns"
    )


def parse_columns(columns: str) -> tuple[str, ...]:
    """Return the names of the columns of a list.

    Raises:
        ConfigurationError: a name is missing, stands twice or is one that the store uses for something else.
    """
    names = tuple(name.strip() for name in columns.split("|"))
    for name in names:
        if name not in _KNOWN and (name in FIXED_COLUMNS or not name.isidentifier()):
            raise ConfigurationError(f"columns: a column of a list cannot be called {name!r}, in {columns!r}")
        if name != "-" and names.count(name) > 1:
            raise ConfigurationError(f"columns: {name!r} stands twice in {columns!r}")
    for name in ("path", "text"):
        if name not in names:
            raise ConfigurationError(f"columns: expected '{name}' among {columns!r}, such as 'path|text|speaker'")
    return names


def _parse(where: str, line: str, names: tuple[str, ...], root: Path) -> Utterance | Failure:
    fields = [field.strip() for field in line.split("|")]
    row = dict(zip(names, fields, strict=False))
    path = row.get("path", "")
    identifier = row.pop("id", "") or _identifier(path, root)
    if len(fields) != len(names):
        expected = f"expected {len(names)} fields separated by '|' ({'|'.join(names)}), found {len(fields)}"
        return Failure(identifier, where, "corpus", f"{where}: {expected}")
    if not path:
        return Failure(identifier, where, "corpus", f"{where}: expected the path of a recording, found none")
    meta = {name: value for name, value in row.items() if name not in _KNOWN}
    return Utterance(identifier, row["text"], path, where, row.get("speaker") or ANONYMOUS, meta)


def _identifier(path: str, root: Path) -> str:
    """Return the path without suffix, relative to the root where it lies below it."""
    pure = PurePosixPath(path)
    if pure.is_absolute() and pure.is_relative_to(root.absolute().as_posix()):
        pure = pure.relative_to(root.absolute().as_posix())
    return str(pure.with_suffix("")) if pure.name else path
