"""Columns of numbers and categories from a table, joined with the utterances of a store."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, CorpusError, one_line
from tts_prep.format.layout import FIXED_COLUMNS

MAX_CATEGORIES: Final = 256
"""The maximum number of different values of a category; a column with more is text, which is not added."""

_MAX_CATEGORY: Final = 200
"""The maximum length of a category in characters."""

_AUDIO: Final = ("audio", "audio_filepath", "file", "file_name", "filename", "path", "wav")
"""The names of columns by which rows are joined if there is no column ``id``."""

_SHOWN: Final = 3


@dataclass
class _Column:
    """One column while its table is read.

    Attributes:
        where: the row of the first value.
        numbers: [n], NaN where missing.
        is_number: whether the first value is a number.
        codes: category → its number, in the order of appearance.
        is_text: whether it has more categories than are possible.
        number, first_number: the row of the first number in a category, and that number.
    """

    where: str
    numbers: npt.NDArray[np.float64]
    is_number: bool
    codes: dict[str, int] = field(default_factory=dict)
    is_text: bool = False
    number: str = ""
    first_number: Any = None


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """Columns that are joined with a store.

    Attributes:
        values: name → [n] float64; NaN is a missing number, and of a category the index of its value.
        categories: name → the sorted values of a category, with an empty one if some are missing.
        missing: name → number of utterances without a value.
        unknown: ids or paths of the table that the store does not have, up to three, and their number.
        texts: columns that are not added, because they have too many different texts.
        own: columns that are not added, because every store has them.
    """

    values: Mapping[str, npt.NDArray[np.float64]]
    categories: Mapping[str, tuple[str, ...]]
    missing: Mapping[str, int]
    unknown: tuple[tuple[str, ...], int] = ((), 0)
    texts: tuple[str, ...] = ()
    own: tuple[str, ...] = ()


def read_column_table(source: Path | Mapping[str, Sequence[Any]], ids: Sequence[str]) -> ColumnTable:
    """Read a table and join it with the utterances of a store by its column ``id``, or by the names of recordings.

    Memory depends on the number of utterances and columns only.

    Args:
        source: a CSV, TSV, JSON lines, parquet or arrow file; or column name → values.
        ids: the ids of the store.

    Raises:
        CorpusError: a row is damaged, repeated or has a value of another kind than before; nothing can be joined.
    """
    where = str(source) if isinstance(source, Path) else "columns"
    reader = _Reader(where, ids)
    for place, values in _rows(source):
        reader.add(place, values)
    return reader.table()


def _rows(source: Path | Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(source, Mapping):
        lengths = {name: len(values) for name, values in source.items()}
        if len({*lengths.values()}) > 1:
            raise CorpusError(f"columns: expected as many values in each, found {lengths}")
        for number, row in enumerate(zip(*source.values(), strict=True)):
            yield f"row {number}", dict(zip(source, row, strict=True))
        return
    from tts_prep.preprocess.corpora.manifests.containers import table_rows

    try:
        yield from table_rows(source)
    except CorpusError as error:
        raise CorpusError(f"{error}; nothing was added") from error


class _Reader:
    """Collects the values of a table."""

    def __init__(self, where: str, ids: Sequence[str]) -> None:
        self._where = where
        self._rows = {id_: row for row, id_ in enumerate(ids)}
        # Where each row was read, for messages about repeated ones; empty if it was not.
        self._places = [""] * len(ids)
        self._columns: dict[str, _Column] = {}
        self._names: dict[str, str] = {}
        self._own: dict[str, None] = {}
        self._unknown: list[str] = []
        self._n_unknown = 0

    def add(self, where: str, values: Mapping[str, Any]) -> None:
        """Add a row of the table."""
        key = "id" if "id" in values else next((name for name in _AUDIO if name in values), None)
        if key is None:
            found = ", ".join(values)
            raise CorpusError(one_line(f"{where}: expected a column 'id', or 'audio' with paths, found {found}"))
        name = _plain(values[key])
        row = self._rows.get(name) if key == "id" else self._row_of_path(name)
        if row is None:
            self._n_unknown += 1
            if len(self._unknown) < _SHOWN:
                self._unknown.append(name)
            return
        if self._places[row]:
            raise CorpusError(
                one_line(f"{where}: '{name}' is repeated, first in {self._places[row]}; nothing was added")
            )
        self._places[row] = where
        for column, value in values.items():
            if column != key:
                self._put(where, column, row, value)

    def _row_of_path(self, path: str) -> int | None:
        """Return the row of a recording: its path without suffix, or the end of it, is an id."""
        parts = PurePosixPath(path.replace("\\", "/")).parts
        names = ["/".join(parts[first:]) for first in range(len(parts))]
        candidates = [*names, *(str(PurePosixPath(name).with_suffix("")) for name in names if name.strip("./"))]
        return next((self._rows[name] for name in candidates if name in self._rows), None)

    def _put(self, where: str, name: str, row: int, value: Any) -> None:
        column = self._names.get(name)
        if column is None:
            column = self._names[name] = column_name(name)
            if [*self._names.values()].count(column) > 1:
                raise CorpusError(f"{where}: two columns are both named '{column}'; rename one of them")
        if column in FIXED_COLUMNS:
            self._own[name] = None
            return
        if _is_missing(value):
            return
        number = _number(value)
        known = self._columns.get(column)
        if known is None:
            values = np.full(len(self._places), np.nan)
            known = self._columns[column] = _Column(where, values, number is not None)
        if known.is_number and number is None:
            raise _mixed(name, where, known.where, value)
        if not known.is_number and number is not None and not known.number:
            known.number, known.first_number = where, value
        known.numbers[row] = number if number is not None and known.is_number else self._code(known, _plain(value))

    def _code(self, column: _Column, text: str) -> int:
        if (len(column.codes) >= MAX_CATEGORIES and text not in column.codes) or len(text) > _MAX_CATEGORY:
            column.is_text = True
        return 0 if column.is_text else column.codes.setdefault(text, len(column.codes))

    def table(self) -> ColumnTable:
        """Return what was read."""
        if not any(self._places):
            example = f"such as '{self._unknown[0]}'" if self._unknown else "because it has no rows"
            ids = f"; the store has ids such as '{next(iter(self._rows))}'" if self._rows else ""
            raise CorpusError(one_line(f"{self._where}: names no utterance of the store, {example}{ids}"))
        values, categories, missing = {}, {}, {}
        for name, column in self._columns.items():
            if column.is_text:
                continue
            if column.number:
                raise _mixed(name, column.where, column.number, next(iter(column.codes)))
            absent = np.isnan(column.numbers)
            missing[name] = int(absent.sum())
            if column.is_number:
                values[name] = column.numbers
                continue
            table = sorted({*column.codes, *([""] if missing[name] else [])})
            order = np.array([table.index(text) for text in column.codes], np.float64)
            # NaN has no integer, so it is replaced before.
            codes = order[np.where(absent, 0, column.numbers).astype(np.int64)]
            values[name] = np.where(absent, 0.0, codes)
            categories[name] = tuple(table)
        texts = tuple(name for name, column in self._columns.items() if column.is_text)
        if not values:
            raise CorpusError(f"{self._where}: no column to add, expected one of numbers or categories beside the ids")
        unknown = (tuple(self._unknown), self._n_unknown)
        return ColumnTable(values, categories, missing, unknown, texts, tuple(self._own))


def _mixed(name: str, where: str, number: str, text: Any) -> CorpusError:
    message = (
        f"{where}: column '{name}': found {_plain(text)!r}, but a number in {number}; expected numbers or texts only"
    )
    return CorpusError(one_line(f"{message}, and nothing for a missing value; nothing was added"))


def column_name(text: str) -> str:
    """Return the name of a column in lower case with ``_`` for all characters but letters of ASCII and digits.

    Raises:
        ConfigurationError: no letter is left, or the name is too long.
    """
    name = re.sub("[^a-z0-9]+", "_", text.strip().lower()).strip("_")
    if not re.fullmatch("[a-z][a-z0-9_]{0,63}", name):
        raise ConfigurationError(
            one_line(f"column {text[:80]!r}: expected a name that starts with a letter, of at most 64; rename it")
        )
    return name


def _plain(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool | np.bool_) else str(value).strip()


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan")
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def _number(value: Any) -> float | None:
    """Return a value as a finite number, or None if it is none."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | str | np.number):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and (not isinstance(value, str) or value.isascii()) else None
