"""Detection of the columns of a file list from its rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from tts_prep.corpora.transcripts import AUDIO_SUFFIXES
from tts_prep.errors import CorpusError
from tts_prep.quantities import count_text

MAX_ROWS: Final = 10_000
"""The maximum number of rows to examine."""

# Recordings in .m4a fail later, with a reason.
_AUDIO_SUFFIXES: Final = frozenset((*AUDIO_SUFFIXES, ".m4a"))
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
            sum(PurePosixPath(value).suffix.lower() in _AUDIO_SUFFIXES for value in filled) / n,
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
