"""Columns of numbers, categories and texts from a table, joined with the utterances of a store."""

from __future__ import annotations

import importlib.resources
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, CorpusError, StoreError, one_line
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.format.records.arrays import DEPENDENCIES
from tts_prep.preprocess.corpora.lines import table_rows
from tts_prep.progress import Progress, ShowProgress, in_notebooks
from tts_prep.quantities import count_text
from tts_prep.tables.process import is_missing, is_name_of_digits, is_word_for_missing, number_of

MAX_CATEGORIES: Final = 256
"""The maximum number of different values of a category; a column with more is one of texts."""

_MAX_CATEGORY: Final = 200
"""The maximum length of a category in characters."""

_AUDIO: Final = ("audio", "audio_filepath", "file", "file_name", "filename", "path", "wav")
"""The names of columns by which rows are joined if there is no column ``id``."""

_MAX_NAMES: Final = 8
"""The maximum number of names of a path that is shorter than the ids it is joined with; it limits the memory."""

_SHOWN: Final = 3

_REPORT_EVERY: Final = 5_000
"""The number of rows between two reports of progress."""

_OF_COLUMNS: Final = ("values", "categories", "texts", "depends")
_MAX_TEXT: Final = 1 << 16
"""The maximum length of a text in bytes of UTF-8."""


@dataclass
class _Column:
    """What is known of a column once its table was read for the first time.

    Attributes:
        number: the row of the first number.
        text, first_text: the row of the first value that is neither a number nor a name of digits, and that value.
        has_names: whether a value is a name of digits, so that all are texts; see `is_name_of_digits`.
        numbers, texts: the different values that are numbers, and all others, up to one more than a category has.
        words: those that say, among numbers, that one is missing.
        is_long: whether one of them is too long for a category.
    """

    number: str = ""
    text: str = ""
    first_text: str = ""
    has_names: bool = False
    numbers: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    is_long: bool = False

    def add(self, where: str, value: Any) -> None:
        text = _plain(value)
        if number_of(value) is not None:
            self.number, of_kind = self.number or where, self.numbers
        elif is_word_for_missing(value):
            of_kind = self.words
        else:
            of_kind = self.texts
            if is_name_of_digits(value):
                self.has_names = True
            elif not self.text:
                self.text, self.first_text = where, text
            self.is_long = self.is_long or len(text) > _MAX_CATEGORY
        if len(of_kind) <= MAX_CATEGORIES:
            of_kind.add(text)

    @property
    def is_number(self) -> bool:
        return bool(self.number) and not self.texts and not self.has_names

    @property
    def is_mixed(self) -> bool:
        """Whether there are numbers among texts of which none is like a number."""
        return bool(self.number and self.text) and not (self.has_names or self.is_text)

    @property
    def values(self) -> set[str]:
        """The different texts."""
        return self.texts | self.words | (self.numbers if self.has_names else set())

    @property
    def is_text(self) -> bool:
        """Whether the texts are too many or too long for categories; then some of them can look like numbers."""
        return bool(self.texts or self.has_names) and (self.is_long or len(self.values) > MAX_CATEGORIES)


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """Columns that are joined with a store.

    Attributes:
        values: name → [n] float64; NaN is a missing number, and of a category the index of its value.
        categories: name → the sorted values of a category, with an empty one if some are missing.
        missing: name → number of utterances without a value.
        texts: name → [n] texts, of columns with too many different ones for a category; empty if missing.
        unknown: ids or paths of the table that the store does not have, up to three, and their number.
        own: columns that are not added, because every store has them.
        named: the utterances that the table names, [n].
        depends: name → what the column depends on, of its row: some of `DEPENDENCIES`; a column that is not here, on
            all.
        shared: columns with values of other utterances that the store had before.
    """

    values: Mapping[str, npt.NDArray[np.float64]]
    categories: Mapping[str, tuple[str, ...]]
    missing: Mapping[str, int]
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unknown: tuple[tuple[str, ...], int] = ((), 0)
    own: tuple[str, ...] = ()
    named: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    depends: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shared: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = self.names[:3]
        return f"<ColumnTable: {', '.join(shown) or 'no columns'}{', …' if len(self.names) > len(shown) else ''}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, sorted."""
        return tuple(sorted({*self.values, *self.texts}))

    def without(self, names: Collection[str]) -> ColumnTable:
        """Return the table without some columns."""
        kept: dict[str, Any] = {of: dict(getattr(self, of)) for of in _OF_COLUMNS}
        kept = {of: {name: value for name, value in kept[of].items() if name not in names} for of in kept}
        return ColumnTable(**kept, missing={})

    def joined(self, other: ColumnTable) -> ColumnTable:
        """Return the columns of both tables, with those of the other one in place of those of the same name."""
        rest = self.without(other.names)
        both: dict[str, Any] = {of: {**getattr(rest, of), **getattr(other, of)} for of in _OF_COLUMNS}
        return ColumnTable(**both, missing={})

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return the values of a column: numbers, or texts as objects."""
        if name in self.texts:
            return np.array(self.texts[name], object)
        values = self.values[name]
        return np.array(self.categories[name], object)[values.astype(np.int64)] if name in self.categories else values

    def filled(self, store: Path, old: ColumnTable, ids: Sequence[str], *, replaces: bool) -> ColumnTable:
        """Return the table with the values of an older one, in columns of both, for other utterances.

        Args:
            store, ids: the store of the older table and its ids.
            replaces: whether a row of the table replaces a value, also by none; otherwise it fills missing ones.

        Raises:
            StoreError: the older table has another value, or other rows of another kind.
        """
        values, texts, categories = {**self.values}, {**self.texts}, {**self.categories}
        missing, shared = {**self.missing}, []
        for name in sorted({*self.names} & {*old.names}):
            before, new = old.column(name), self.column(name)
            has_before, has_new = _is_given(before), _is_given(new)
            stays = has_before & ~self.named if replaces else has_before
            if is_empty := not has_new.any():
                new = np.full_like(before, "" if before.dtype == object else np.nan)
            _check_filled(store, name, ids, (before, new), stays, has_before & has_new & (not replaces))
            if before.dtype != new.dtype or not (is_empty or stays.any()):
                continue
            merged = np.where(self.named if replaces else has_new, new, before)
            missing[name] = int((~_is_given(merged)).sum())
            shared += [name] if replaces or (stays & ~has_new).any() else []
            for of in (values, texts, categories):
                of.pop(name, None)
            found = {*merged} - {""} if new.dtype == object else set()
            if new.dtype != object:
                values[name] = merged
            elif len(found) > MAX_CATEGORIES or max(map(len, found), default=0) > _MAX_CATEGORY:
                texts[name] = merged.tolist()
            else:
                table, codes = np.unique(merged, return_inverse=True)
                values[name], categories[name] = codes.astype(np.float64), tuple(table.tolist())
        return replace(self, values=values, texts=texts, categories=categories, missing=missing, shared=tuple(shared))


def _check_filled(store: Path, name: str, ids: Sequence[str], columns: tuple[Any, Any], stays: Any, both: Any) -> None:
    """Check that a column can get values of another one.

    Args:
        columns: its values, and the new ones.
        stays, both: where its values stay, and where both have one that must be the same.
    """
    (before, new), where = columns, f"{store}: column '{name}'"
    if before.dtype != new.dtype and stays.any():
        kinds = ["texts" if of.dtype == object else "numbers" for of in columns]
        raise StoreError(
            one_line(
                f"{where}: has {kinds[0]}, such as of '{ids[int(stays.argmax())]}', and the table has {kinds[1]}; "
                f"'tts-prep remove {store} --columns {name}' removes it"
            )
        )
    if (other := both & (before != new)).any():
        n = count_text(int(other.sum()), "utterance")
        raise StoreError(
            one_line(
                f"{where}: has other values for {n}, such as '{ids[int(other.argmax())]}'; --replace (replace=True) "
                "replaces those of the table's rows"
            )
        )


def read_column_table(
    source: Path | Mapping[str, Sequence[Any]] | Any,
    ids: Sequence[str],
    progress: ShowProgress = in_notebooks,
    texts: Collection[str] = (),
    speakers: Sequence[str] = (),
    emptied: Collection[str] = (),
) -> ColumnTable:
    """Read a table and join it with the utterances of a store by ``id``, the names of recordings, or ``speaker``.

    The table is read twice: once to know the kinds of its columns, and once for their values. Memory depends on the
    number of utterances and columns, and on the texts that are no categories.

    Args:
        source: a CSV, TSV, JSON lines, parquet or arrow file; column name → values; or a table of pandas, polars or
            pyarrow.
        ids: the ids of the store.
        progress: called with the number of joined utterances of each step.
        texts: the columns whose values are texts, also where they look like numbers.
        speakers: the speakers of the store, one for each id.
        emptied: the columns that are kept although no row has a value.

    Raises:
        CorpusError: a row is damaged, repeated or has a value of another kind than before; nothing can be joined.
    """
    if not isinstance(source, Path | Mapping):
        source = _columns_of(source)
    where = str(source) if isinstance(source, Path) else "columns"
    reader = _Reader(where, ids, texts, speakers)
    reader.emptied = emptied
    for number, (place, values) in enumerate(_rows(source)):
        if number % _REPORT_EVERY == 0:
            progress(Progress(reader.joined, len(ids), step="checking the table"))
        reader.add(place, values)
    reader.check()
    table = reader.empty_table()
    for number, (place, values) in enumerate(_rows(source)):
        if number % _REPORT_EVERY == 0:
            progress(Progress(reader.joined, len(ids), step="reading the table"))
        reader.fill(table, place, values)
    return reader.finished(table)


def _columns_of(table: Any) -> dict[str, list[Any]]:
    """Return the columns of a table of pandas, polars or pyarrow, none of which is imported.

    Raises:
        ConfigurationError: it is none.
    """
    names = getattr(table, "column_names", None) or getattr(table, "columns", None)
    if names is None or not hasattr(table, "__getitem__"):
        raise ConfigurationError(
            f"columns: expected a path, a dict of column names and values, or a table, found {type(table).__name__}"
        )
    columns = {str(name): table[name] for name in names}
    return {name: of.to_pylist() if hasattr(of, "to_pylist") else list(of) for name, of in columns.items()}


def _rows(source: Path | Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(source, Mapping):
        lengths = {name: len(values) for name, values in source.items()}
        if len({*lengths.values()}) > 1:
            raise CorpusError(f"columns: expected as many values in each, found {lengths}")
        for number, row in enumerate(zip(*source.values(), strict=True)):
            yield f"row {number}", dict(zip(source, row, strict=True))
        return
    try:
        yield from table_rows(source)
    except CorpusError as error:
        raise CorpusError(f"{error}; nothing was added") from error


class _Reader:
    """Collects the values of a table.

    Attributes:
        joined: the number of rows of the table that were joined since it was last opened.
        emptied: see `read_column_table`.
    """

    emptied: Collection[str] = ()

    def __init__(self, where: str, ids: Sequence[str], texts: Collection[str], speakers: Sequence[str]) -> None:
        self._where, self._texts = where, texts
        self._of_speakers: dict[str, list[int]] = {}
        for row, speaker in enumerate(speakers):
            self._of_speakers.setdefault(speaker, []).append(row)
        self.joined = 0
        self._rows = {id_: row for row, id_ in enumerate(ids)}
        # Where each row was read, for messages about repeated ones; empty if it was not.
        self._places = [""] * len(ids)
        # In their order.
        self._columns: dict[str, _Column] = {}
        self._names: dict[str, str] = {}
        self._own: dict[str, None] = {}
        self._unknown: list[str] = []
        self._n_unknown = 0
        self._codes: dict[str, dict[str, int]] = {}

    def add(self, where: str, values: Mapping[str, Any]) -> None:
        """Add a row of the table, when it is read for the first time."""
        key, rows = self._join(where, values)
        if not rows:
            self._n_unknown += 1
            if len(self._unknown) < _SHOWN:
                self._unknown.append(_plain(values[key]))
            return
        for row in rows:
            if self._places[row]:
                name = _plain(values[key])
                raise CorpusError(
                    one_line(f"{where}: '{name}' is repeated, first in {self._places[row]}; nothing was added")
                )
            self._places[row] = where
        self.joined += len(rows)
        for name, value in values.items():
            if name == key:
                continue
            column = self._named(where, name)
            if column in FIXED_COLUMNS:
                self._own[name] = None
            elif not is_missing(value):
                _check_value(where, name, value)
                self._columns.setdefault(column, _Column(has_names=column in self._texts)).add(where, value)
            elif column in self.emptied:
                self._columns.setdefault(column, _Column())

    def _join(self, where: str, values: Mapping[str, Any]) -> tuple[str, Sequence[int]]:
        """Return the column by which a row is joined, and the rows of the store."""
        key = next((name for name in ("id", *_AUDIO, "speaker") if name in values), None)
        if key is None:
            found = ", ".join(values)
            raise CorpusError(
                one_line(f"{where}: expected a column 'id', 'audio' with paths, or 'speaker', found {found}")
            )
        name = _plain(values[key])
        if key == "speaker":
            return key, self._of_speakers.get(name, ())
        row = self._rows.get(name) if key == "id" else self._row_of_path(name)
        return key, () if row is None else (row,)

    def _named(self, where: str, name: str) -> str:
        column = self._names.get(name)
        if column is None:
            column = self._names[name] = re.sub("^licence$", "license", column_name(name))
            if [*self._names.values()].count(column) > 1:
                raise CorpusError(f"{where}: two columns are both named '{column}'; rename one of them")
        return column

    def _row_of_path(self, path: str) -> int | None:
        """Return the row of a recording: its path without suffix, or the end of it, is an id, or the end of one id."""
        parts = PurePosixPath(path.replace("\\", "/")).parts
        names = [str(PurePosixPath(*parts[first:])) for first in range(len(parts))]
        candidates = [*names, *(str(PurePosixPath(name).with_suffix("")) for name in names if name.strip("./"))]
        found = next((self._rows[name] for name in candidates if name in self._rows), None)
        if found is not None or not names:
            return found
        whole = (names[0], candidates[len(names)] if len(candidates) > len(names) else "")
        return next((row for name in whole if (row := self._rows_of_ends.get(name)) is not None), None)

    @cached_property
    def _rows_of_ends(self) -> Mapping[str, int | None]:
        """The rows of the ends of ids that are paths; None for an end of several ids."""
        found: dict[str, int | None] = {}
        for id_, row in self._rows.items():
            parts = id_.split("/")
            for first in range(max(1, len(parts) - _MAX_NAMES), len(parts)):
                end = "/".join(parts[first:])
                found[end] = None if end in found else row
        return found

    def check(self) -> None:
        """Check that the table can be joined, and has columns of one kind each.

        Raises:
            CorpusError: it cannot, or has not.
        """
        if not any(self._places):
            example = f"such as '{self._unknown[0]}'" if self._unknown else "because it has no rows"
            ids = f"; the store has ids such as '{next(iter(self._rows))}'" if self._rows else ""
            ids += f" and speakers such as '{next(iter(self._of_speakers))}'" if self._of_speakers else ""
            raise CorpusError(one_line(f"{self._where}: names no utterance of the store, {example}{ids}"))
        if not self._columns:
            raise CorpusError(f"{self._where}: no column to add, expected one of numbers or texts beside the ids")
        for name, column in self._columns.items():
            if column.is_mixed:
                raise _mixed(name, column)

    def empty_table(self) -> ColumnTable:
        """Return the table before its values are read."""
        self.joined, n = 0, len(self._places)
        columns = self._columns.items()
        categories = {
            name: tuple(sorted(column.values))
            for name, column in columns
            if not column.is_number and not column.is_text
        }
        self._codes = {name: {text: code for code, text in enumerate(texts)} for name, texts in categories.items()}
        return ColumnTable(
            {name: np.full(n, np.nan) for name, column in columns if not column.is_text},
            categories,
            {},
            {name: [""] * n for name, column in columns if column.is_text},
        )

    def fill(self, table: ColumnTable, where: str, values: Mapping[str, Any]) -> None:
        """Put the values of a row into the table, when it is read for the second time.

        Raises:
            CorpusError: the row is not as it was.
        """
        key, rows = self._join(where, values)
        self.joined += len(rows)
        for name, value in values.items() if rows else ():
            column = self._names.get(name, "")
            is_number = column in table.values and column not in table.categories
            if name == key or name in self._own or is_missing(value) or (is_number and is_word_for_missing(value)):
                continue
            codes = self._codes.get(column)
            number = codes.get(_plain(value)) if codes is not None else number_of(value)
            if column in table.texts:
                for row in rows:
                    table.texts[column][row] = _plain(value)  # type: ignore[index]
            elif column in table.values and number is not None:
                table.values[column][list(rows)] = number
            else:
                raise CorpusError(f"{where}: changed while it was read; nothing was added")

    def finished(self, table: ColumnTable) -> ColumnTable:
        """Return the table with what is missing in it."""
        missing = {name: texts.count("") for name, texts in table.texts.items()}
        categories = dict(table.categories)
        for name, values in table.values.items():
            absent = np.isnan(values)
            missing[name] = int(absent.sum())
            if name in categories and missing[name]:
                # An empty text comes before all others.
                categories[name] = ("", *categories[name])
                values[:] = np.where(absent, 0, values + 1)
        unknown = (tuple(self._unknown), self._n_unknown)
        named = np.array([bool(place) for place in self._places], np.bool_)
        return ColumnTable(table.values, categories, missing, table.texts, unknown, tuple(self._own), named)


def _is_given(column: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return where a column has a value."""
    given: npt.NDArray[np.bool_] = column != "" if column.dtype == object else ~np.isnan(column)
    return given


def guessed_dependencies(name: str) -> tuple[str, ...] | None:
    """Return what a column of a name depends on, of its row; None if the name does not say it."""
    rows = json.loads(importlib.resources.files(__package__).joinpath("meanings.json").read_text("utf-8"))
    words = {name, *name.split("_")}
    fitting = [row["depends_on"] for row in rows if name in row.get("names", ()) or words & {*row.get("words", ())}]
    return tuple(sorted({*chain(*fitting), *words.intersection(DEPENDENCIES)})) if fitting else None


def _check_value(where: str, name: str, value: Any) -> None:
    text = _plain(value)
    try:
        length = len(text.encode())
    except UnicodeEncodeError:
        raise _refused(where, name, "contains a lone surrogate, which is no character") from None
    if length > _MAX_TEXT:
        raise _refused(where, name, f"expected at most {_MAX_TEXT:,} bytes, found {length:,}")
    if "\0" in text:
        raise _refused(where, name, "contains the character U+0000")


def _refused(where: str, name: str, why: str) -> CorpusError:
    return CorpusError(one_line(f"{where}: column '{name}': {why}; nothing was added"))


def _mixed(name: str, column: _Column) -> CorpusError:
    message = f"{column.text}: column '{name}': found {column.first_text!r}, but a number in {column.number}"
    return CorpusError(
        one_line(f"{message}; expected numbers or texts only, and nothing for a missing value; nothing was added")
    )


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
