"""File lists: one recording per line, fields separated by ``|``, as used by NVIDIA's models, VITS and StyleTTS2."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.corpora.list_columns import MAX_ROWS, guess_columns, number_columns
from tts_prep.preprocess.corpora.source_utterance import ANONYMOUS, SourceUtterance
from tts_prep.preprocess.option import Option

_KNOWN = ("path", "text", "speaker", "id", "-")


def read_filelist(
    file: Path,
    root: Path | None = None,
    columns: str | None = None,
    texts: bool = True,
    report: Callable[[str], None] = lambda _: None,
) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of a file list.

    Args:
        file: the list.
        root: folder of relative paths; absolute paths are used unchanged. Default: the list's folder.
        columns: the names of the fields, such as ``"path|text|speaker"``. ``path`` and ``text`` are required; ``id``
            defaults to the path without its suffix, and ``speaker`` to ``"0"``; a field named ``-`` is ignored; any
            other name becomes a column, numeric if all values are numbers. Default: the result of `guess_columns`.
        texts: whether ``text`` is required. If False, a list of paths is valid.
        report: called with one line that describes the columns.

    Raises:
        CorpusError: the list cannot be read, is empty, or its columns cannot be guessed.
        ConfigurationError: ``columns`` is invalid.
    """
    root = root or file.parent
    names = parse_columns(columns or _guess(file, texts), texts)
    report(f"columns: {'|'.join(names)}{'' if columns else ' (guessed; override with --columns)'}")
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
    """Return the additional columns of a list that contain only numbers."""
    additional = [i for i, name in enumerate(names) if name not in _KNOWN and name != "language"]
    if not additional:
        return frozenset()
    rows = (_fields(line) for _, line in read_lines(file) if isinstance(line, str))
    values = [[row[i] for i in additional] for row in rows if len(row) == len(names)]
    return number_columns(values, [names[i] for i in additional])


def parse_columns(columns: str, texts: bool = True) -> tuple[str, ...]:
    """Parse the names of the columns of a list.

    Raises:
        ConfigurationError: a name is missing, repeated or reserved for a column of the index.
    """
    names = tuple(name.strip() for name in columns.split("|"))
    for name in names:
        if name not in _KNOWN and (name in FIXED_COLUMNS or not name.isidentifier()):
            raise ConfigurationError(f"columns: a column of a list cannot be named {name!r}, in {columns!r}")
        if name != "-" and names.count(name) > 1:
            raise ConfigurationError(f"columns: {name!r} is repeated in {columns!r}")
    for name in ("path", "text"):
        if name not in names and (texts or name != "text"):
            raise ConfigurationError(f"columns: expected '{name}' among {columns!r}, such as 'path|text|speaker'")
    return names


def _fields(line: str) -> list[str]:
    return [field.strip() for field in line.split("|")]


def _parse(
    where: str, line: str, names: tuple[str, ...], numbers: frozenset[str], root: Path
) -> SourceUtterance | Failure:
    fields = _fields(line)
    row = dict(zip(names, fields, strict=False))
    path = _without_placeholder(row.get("path", ""), root)
    identifier = row.pop("id", "") or _identifier(path, root)
    if len(fields) != len(names):
        expected = f"expected {len(names)} fields separated by '|' ({'|'.join(names)}), found {len(fields)}"
        return Failure(identifier, where, "corpus", f"{where}: {expected}")
    if not path:
        return Failure(identifier, where, "corpus", f"{where}: the path of the recording is empty")
    meta: dict[str, str | float] = {}
    for name, value in row.items():
        if name in numbers:
            # A missing number is NaN in the store.
            meta.update({name: float(value)} if value else {})
        elif name not in _KNOWN:
            meta[name] = value
    return SourceUtterance(identifier, row.get("text", ""), path, where, row.get("speaker") or ANONYMOUS, meta)


def _without_placeholder(path: str, root: Path) -> str:
    """Remove the placeholder ``DUMMY1/`` of VITS's lists for the folder of the recordings."""
    placeholder, slash, rest = path.partition("/")
    if slash and re.fullmatch(r"DUMMY\d*", placeholder) and not (root / placeholder).is_dir():
        return rest
    return path


def _identifier(path: str, root: Path) -> str:
    """Return the path without suffix, relative to the root if it is below it."""
    pure = PurePosixPath(path)
    if pure.is_absolute() and pure.is_relative_to(root.absolute().as_posix()):
        pure = pure.relative_to(root.absolute().as_posix())
    return str(pure.with_suffix("")) if pure.name else path


CORPUS = Corpus(
    "filelist",
    read_filelist,
    r"""Make STORE of the recordings listed in FILE, one per line, with fields separated by '|'.

    Lists of NVIDIA's, VITS's and StyleTTS2's repositories work unchanged. Fields in --columns are path, text,
    speaker, id, language, any name of a column of the store, or - for a field that is not used.

    \b
    Example:
      tts-prep filelist train_list.txt store --root wavs --frontend phonemes
    """,
    options=(
        Option(
            "columns",
            "The names of the fields.  [default: path, text and speaker, in the order that is detected]",
            metavar="A|B|…",
        ),
    ),
    root="The folder of relative paths.  [default: the folder of FILE]",
    source="FILE",
)
