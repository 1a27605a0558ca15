"""File lists: one line a recording, fields separated by ``|``, as NVIDIA's, VITS's and StyleTTS2's lists are."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.corpora.list_columns import MAX_ROWS, guess_columns, number_columns
from tts_prep.preprocess.corpora.utterance import Failure, Utterance

ANONYMOUS = "0"
"""The speaker of a list without speakers, as StyleTTS2 has it."""

_KNOWN = ("path", "text", "speaker", "id", "-")


def read_filelist(
    file: Path,
    root: Path | None = None,
    columns: str | None = None,
    texts: bool = True,
    report: Callable[[str], None] = lambda _: None,
) -> Iterator[Utterance | Failure]:
    """Yield the utterances of a file list.

    Args:
        file: the list.
        root: what relative paths are relative to; absolute ones are taken as they stand. Default: the list's folder.
        columns: the names of the fields, such as ``"path|text|speaker"``. ``path`` and ``text`` are needed; ``id`` is
            the path without its suffix where it is missing, ``speaker`` is ``"0"``; ``-`` is not used; any other name
            becomes a column, of numbers where all of its values are. By default what `guess_columns` makes of the
            list's rows.
        texts: False: ``text`` may be missing, and a list of paths alone is one.
        report: called with one line that says which field was taken for what.

    Raises:
        CorpusError: the list cannot be read, holds no line, or its columns cannot be guessed.
        ConfigurationError: the columns cannot be those of a list.
    """
    root = root or file.parent
    names = parse_columns(columns or _guess(file, texts), texts)
    report(f"columns: {'|'.join(names)}{'' if columns else ' (guessed; --columns names others)'}")
    numbers = _numbers(file, names)
    for where, line in read_lines(file):
        yield line if isinstance(line, Failure) else _parse(where, line, names, numbers, root)


def _guess(file: Path, texts: bool) -> str:
    lines = (line for _, line in read_lines(file) if isinstance(line, str))
    try:
        return guess_columns(list(itertools.islice(lines, MAX_ROWS)), texts=texts)
    except CorpusError as error:
        if str(file) in str(error):
            raise
        raise CorpusError(f"{file}: {error}") from None


def _numbers(file: Path, names: Sequence[str]) -> frozenset[str]:
    """Return the further columns of a list that hold numbers only."""
    further = [i for i, name in enumerate(names) if name not in _KNOWN and name != "language"]
    if not further:
        return frozenset()
    rows = (_fields(line) for _, line in read_lines(file) if isinstance(line, str))
    values = [[row[i] for i in further] for row in rows if len(row) == len(names)]
    return number_columns(values, [names[i] for i in further])


def parse_columns(columns: str, texts: bool = True) -> tuple[str, ...]:
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
        if name not in names and (texts or name != "text"):
            raise ConfigurationError(f"columns: expected '{name}' among {columns!r}, such as 'path|text|speaker'")
    return names


def _fields(line: str) -> list[str]:
    return [field.strip() for field in line.split("|")]


def _parse(where: str, line: str, names: tuple[str, ...], numbers: frozenset[str], root: Path) -> Utterance | Failure:
    fields = _fields(line)
    row = dict(zip(names, fields, strict=False))
    path = _without_placeholder(row.get("path", ""), root)
    identifier = row.pop("id", "") or _identifier(path, root)
    if len(fields) != len(names):
        expected = f"expected {len(names)} fields separated by '|' ({'|'.join(names)}), found {len(fields)}"
        return Failure(identifier, where, "corpus", f"{where}: {expected}")
    if not path:
        return Failure(identifier, where, "corpus", f"{where}: expected the path of a recording, found none")
    meta: dict[str, str | float] = {}
    for name, value in row.items():
        if name in numbers:
            # A number that is missing is NaN in the store.
            meta.update({name: float(value)} if value else {})
        elif name not in _KNOWN:
            meta[name] = value
    return Utterance(identifier, row.get("text", ""), path, where, row.get("speaker") or ANONYMOUS, meta)


def _without_placeholder(path: str, root: Path) -> str:
    """Return a path without the ``DUMMY1/`` of VITS's lists, which stands for the folder of the recordings."""
    placeholder, slash, rest = path.partition("/")
    if slash and re.fullmatch(r"DUMMY\d*", placeholder) and not (root / placeholder).is_dir():
        return rest
    return path


def _identifier(path: str, root: Path) -> str:
    """Return the path without suffix, relative to the root where it lies below it."""
    pure = PurePosixPath(path)
    if pure.is_absolute() and pure.is_relative_to(root.absolute().as_posix()):
        pure = pure.relative_to(root.absolute().as_posix())
    return str(pure.with_suffix("")) if pure.name else path
