"""File lists: one recording per line, fields separated by ``|`` or tabs, as used by NVIDIA's models, VITS and MLS."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

from tts_prep.corpora.transcripts import AUDIO_SUFFIXES, files_below
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import ANONYMOUS, SourceUtterance
from tts_prep.quantities import count_text

MAX_ROWS: Final = 10_000
"""The maximum number of rows to examine."""

_MOSTLY: Final = 0.9
"""The share of rows that must match a rule, because lists have a few invalid lines."""
_CLEARLY: Final = 1.5
"""The ratio from which a statistic of two columns counts as evidence."""
_MIN_IDS: Final = 10
"""The number of different values from which a field is an id instead of a speaker."""
_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d+)?([eE][+-]?\d{1,2})?")


@dataclass(frozen=True)
class _Column:
    """Statistics of a field over many rows, without empty values."""

    filled: int
    distinct: int
    audio_share: float
    digit_share: float
    spaced_share: float
    mean_words: float
    mean_length: float

    @classmethod
    def of(cls, values: Sequence[str]) -> _Column:
        """Compute the statistics of the values of a field."""
        filled = [value for value in values if value]
        n = max(1, len(filled))
        return cls(
            len(filled),
            len(set(filled)),
            sum(PurePosixPath(value).suffix.lower() in AUDIO_SUFFIXES for value in filled) / n,
            sum(value.isdigit() for value in filled) / n,
            sum(" " in value for value in filled) / n,
            sum(len(value.split()) for value in filled) / n,
            sum(map(len, filled)) / n,
        )


def field_separator(lines: Sequence[str], n_fields: int | None = None) -> str:
    """Return the separator of the fields of a list: ``|``, or a tab if more lines have the same number of fields by it.

    Args:
        lines: lines of the list.
        n_fields: the number of fields, if it is known.
    """

    def agreeing(separator: str) -> int:
        counts = Counter(line.count(separator) + 1 for line in lines)
        del counts[1]
        return counts[n_fields] if n_fields else max(counts.values(), default=0)

    return "\t" if agreeing("\t") > agreeing("|") else "|"


def guess_columns(lines: Sequence[str], separator: str = "|", *, texts: bool = True) -> str:
    """Guess the columns of a list, such as ``"path|text|speaker"``.

    The path is the field whose values have the suffix of an audio file, or the only field whose values are unique and
    have no spaces. Of the other two, the speaker is the field that has only digits, or whose values repeat more and
    have fewer and shorter words. In a list of ten rows or more, a field beside the path whose values are all different
    and have no spaces is the id.

    Args:
        lines: lines of the list; more lines give more evidence.
        separator: the separator of fields.
        texts: whether texts are required. If False, a single field is the path.

    Raises:
        CorpusError: most rows have neither two nor three fields, or the evidence is missing or contradictory.
    """
    rows = [[field.strip() for field in line.split(separator)] for line in lines]
    if not rows:
        raise CorpusError("no line is UTF-8; expected 'path|text' or 'path|text|speaker'")
    n_fields = Counter(map(len, rows)).most_common(1)[0][0]
    if n_fields == 1 and not texts:
        return "path"
    if n_fields not in (2, 3):
        raise CorpusError(
            f"most lines have {n_fields} field{'s' * (n_fields != 1)}, separated by '|' or tabs, expected 'path|text' "
            "or 'path|text|speaker'; name the columns with --columns; 'tts-prep manifest' reads CSV and TSV"
        )
    columns = [_Column.of(values) for values in zip(*(row for row in rows if len(row) == n_fields), strict=True)]
    names = [""] * n_fields
    names[_path_field(columns)] = "path"
    others = [i for i, name in enumerate(names) if not name]
    if len(others) == 1:
        names[others[0]] = "text"
    else:
        speaker = _speaker_field(columns, others)
        first = "id" if _is_id(columns[speaker]) else "speaker"
        for i in others:
            names[i] = first if i == speaker else "text"
    return "|".join(names)


def number_columns(rows: Sequence[Sequence[str]], names: Sequence[str]) -> frozenset[str]:
    """Return the names of the columns whose nonempty values are all numbers.

    A code with a leading zero, such as ``007``, is not a number.
    """
    numeric = set()
    for i, name in enumerate(names):
        values = [row[i] for row in rows if row[i]]
        if values and all(_NUMBER.fullmatch(value) for value in values):
            numeric.add(name)
    return frozenset(numeric)


def _is_id(column: _Column) -> bool:
    return column.filled >= _MIN_IDS and column.distinct == column.filled and not column.spaced_share


def _path_field(columns: Sequence[_Column]) -> int:
    audio = [i for i, column in enumerate(columns) if column.audio_share >= _MOSTLY]
    if not audio:
        audio = [i for i, column in enumerate(columns) if not column.spaced_share and column.distinct == column.filled]
    if len(audio) == 1:
        return audio[0]
    candidates = "more than one" if audio else "none"
    raise CorpusError(
        f"cannot tell which field is the path of the recording: {candidates} of {len(columns)} fields could be; name "
        "the columns with --columns"
    )


def _speaker_field(columns: Sequence[_Column], fields: Sequence[int]) -> int:
    """Return the index of the speaker among two fields."""
    first, second = (columns[i] for i in fields)
    if not first.filled or not second.filled:
        # The column for speakers is empty.
        return fields[0] if not first.filled else fields[1]
    digits = [first.digit_share == 1, second.digit_share == 1]
    if any(digits) and not all(digits):
        return fields[digits.index(True)]
    # Positive if the first field is the speaker.
    repeats = _compare(second.distinct / second.filled, first.distinct / first.filled)
    words = _compare(second.mean_words, first.mean_words)
    if first.mean_words < _CLEARLY and second.mean_words < _CLEARLY:
        # Chinese and Japanese texts are one word. Length alone is not evidence: the speaker "anna" may say "no".
        words = _compare(second.mean_length, first.mean_length) if repeats else 0
    evidence = (repeats, words)
    if sum(evidence) and not (1 in evidence and -1 in evidence):
        return fields[0] if sum(evidence) > 0 else fields[1]
    raise CorpusError(
        f"cannot tell text from speaker: fields {fields[0] + 1} and {fields[1] + 1} of "
        f"{count_text(first.filled, 'row')} have "
        f"{first.distinct:,} and {second.distinct:,} different values with {first.mean_words:.1f} and "
        f"{second.mean_words:.1f} words each; name the columns with --columns"
    )


def _compare(a: float, b: float) -> int:
    return (a >= _CLEARLY * b) - (b >= _CLEARLY * a)


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
    where: str, line: str, separator: str, names: tuple[str, ...], numbers: frozenset[str], recordings: _Recordings
) -> SourceUtterance | Failure:
    fields = [field.strip() for field in line.split(separator)]
    row = dict(zip(names, fields, strict=False))
    path = _without_placeholder(row.get("path", ""), recordings.root)
    identifier = row.pop("id", "") or _identifier(path, recordings.root)
    if len(fields) != len(names):
        between = "tabs" if separator == "\t" else "'|'"
        expected = f"expected {len(names)} fields separated by {between} ({'|'.join(names)}), found {len(fields)}"
        return Failure.of_row(identifier, where, expected)
    if not path:
        return Failure.of_row(identifier, where, "the path of the recording is empty")
    try:
        path = recordings.find(path)
        start, end = seconds(row.pop("start", ""), row.pop("end", ""))
    except ValueError as error:
        return Failure.of_row(identifier, where, str(error))
    meta: dict[str, str | float] = {}
    for name, value in row.items():
        if name in numbers:
            # A missing number is NaN in the store.
            meta.update({name: float(value)} if value else {})
        elif name not in _KNOWN:
            meta[name] = value
    speaker = row.get("speaker") or ANONYMOUS
    return SourceUtterance(identifier, row.get("text", ""), path, where, speaker, meta, start=start, end=end)


def seconds(start: str, end: str) -> tuple[float, float | None]:
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
