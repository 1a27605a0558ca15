"""File lists: one recording per line, fields separated by ``|`` or tabs, as used by NVIDIA's models, VITS and MLS."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

from tts_prep.corpora.list_columns import MAX_ROWS, field_separator, guess_columns, number_columns
from tts_prep.corpora.transcripts import AUDIO_SUFFIXES, files_below
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.option import Option
from tts_prep.preprocess.source_utterance import ANONYMOUS, SourceUtterance

_KNOWN = ("path", "text", "speaker", "id", "start", "end", "-")


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
            defaults to the path without its suffix, and ``speaker`` to ``"0"``; ``start`` and ``end`` are seconds; a
            field named ``-`` is ignored; any other name becomes a column, numeric if all values are numbers. Default:
            the result of `guess_columns`. If a path is no file, the recording of its name below the root is used.
        texts: whether ``text`` is required. If False, a list of paths is valid.
        report: called with one line that describes the columns.

    Raises:
        CorpusError: the list cannot be read, is empty, or its columns cannot be guessed.
        ConfigurationError: ``columns`` is invalid.
    """
    root = root or file.parent
    first = list(itertools.islice((line for _, line in read_lines(file) if isinstance(line, str)), MAX_ROWS))
    separator = field_separator(first, columns.count("|") + 1 if columns else None)
    names = parse_columns(columns or _guess(file, first, separator, texts), texts)
    of_tabs = " separated by tabs" if separator == "\t" else ""
    report(f"columns: {'|'.join(names)}{of_tabs}{'' if columns else ' (guessed; override with --columns)'}")
    numbers = _numbers(file, names, separator)
    recordings = _Recordings(root)
    for where, line in read_lines(file):
        yield line if isinstance(line, Failure) else _parse(where, line, separator, names, numbers, recordings)


class _Recordings:
    """The recordings below a folder, by name; the folder is searched when a list has a path that is no file."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find(self, path: str) -> str:
        """Return the path of a recording, relative to the root; ``path`` itself if there is no other.

        Raises:
            ValueError: several recordings have the name.
        """
        # A path with a folder says where the recording is; only names and ids are searched.
        if not path or "/" in path or (self.root / path).is_file():
            return path
        found = self._by_name.get(path, [path])
        if len(found) > 1:
            raise ValueError(f"{len(found)} recordings are called {path!r}, such as {found[0]} and {found[1]}")
        return found[0]

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        try:
            paths = sorted(files_below(self.root, AUDIO_SUFFIXES))
        except CorpusError:
            # A folder that cannot be read: rows fail, as their recordings are missing.
            paths = []
        for path in paths:
            pure = PurePosixPath(path)
            for name in {pure.name, pure.stem}:
                names.setdefault(name, []).append(path)
        return names


def _guess(file: Path, lines: Sequence[str], separator: str, texts: bool) -> str:
    try:
        return guess_columns(lines, separator, texts=texts)
    except CorpusError as error:
        if str(file) in str(error):
            raise
        raise CorpusError(f"{file}: {error}") from None


def _numbers(file: Path, names: Sequence[str], separator: str) -> frozenset[str]:
    """Return the additional columns of a list that contain only numbers."""
    additional = [i for i, name in enumerate(names) if name not in _KNOWN and name != "language"]
    if not additional:
        return frozenset()
    rows = ([field.strip() for field in line.split(separator)] for _, line in read_lines(file) if isinstance(line, str))
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


def _parse(
    where: str,
    line: str,
    separator: str,
    names: tuple[str, ...],
    numbers: frozenset[str],
    recordings: _Recordings,
) -> SourceUtterance | Failure:
    fields = [field.strip() for field in line.split(separator)]
    row = dict(zip(names, fields, strict=False))
    path = _without_placeholder(row.get("path", ""), recordings.root)
    identifier = row.pop("id", "") or _identifier(path, recordings.root)
    if len(fields) != len(names):
        between = "tabs" if separator == "\t" else "'|'"
        expected = f"expected {len(names)} fields separated by {between} ({'|'.join(names)}), found {len(fields)}"
        return Failure(identifier, where, "corpus", f"{where}: {expected}")
    if not path:
        return Failure(identifier, where, "corpus", f"{where}: the path of the recording is empty")
    try:
        path = recordings.find(path)
        start, end = _seconds(row.pop("start", ""), row.pop("end", ""))
    except ValueError as error:
        return Failure(identifier, where, "corpus", f"{where}: {error}")
    meta: dict[str, str | float] = {}
    for name, value in row.items():
        if name in numbers:
            # A missing number is NaN in the store.
            meta.update({name: float(value)} if value else {})
        elif name not in _KNOWN:
            meta[name] = value
    speaker = row.get("speaker") or ANONYMOUS
    return SourceUtterance(identifier, row.get("text", ""), path, where, speaker, meta, start=start, end=end)


def _seconds(start: str, end: str) -> tuple[float, float | None]:
    """Return the segment of a recording; an end of None is that of the recording.

    Raises:
        ValueError: a value is not a number of seconds, or the end is not after the start.
    """
    try:
        first = float(start or 0)
        last = float(end) if end else None
    except ValueError:
        raise ValueError(f"expected seconds, found {start!r} and {end!r}") from None
    if not 0 <= first < (math.inf if last is None else last):
        raise ValueError(f"expected a start before an end, found {start} and {end} s")
    return first, last


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

    Lists of NVIDIA's, VITS's and StyleTTS2's repositories work unchanged. Fields can be separated by tabs instead.
    Fields in --columns are path, text, speaker, id, language, start, end, any name of a column of the store, or - for
    a field that is not used. A path that is no file is searched below --root by its name.

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
