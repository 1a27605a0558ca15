"""The index columns of a dataset, restricted to its selected rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, broken
from tts_prep.format.hdf5.columns import CategoryColumn, Column, TextColumn
from tts_prep.loader.dataset.selection import Positions, Rows, gather, row_at, select_rows
from tts_prep.loader.dataset.store import Store

_ROWS_AT_A_TIME = 4096
_SHOWN = 3
"""The number of categories that are named where a column is printed."""

Mask: TypeAlias = "npt.NDArray[np.bool_]"


class TextValues(Sequence[str]):
    """The texts of selected rows, decoded on access.

    ``==`` and ``!=`` with a string compare every row and return a mask [n].
    """

    def __init__(self, column: TextColumn, rows: Rows) -> None:
        self._column = column
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice | Positions) -> TextValues: ...
    def __getitem__(self, position: Any) -> Any:
        """Return the text at an integer, or the texts at a slice, at positions or where a mask is true."""
        if isinstance(position, int | np.integer):
            return self._column[row_at(self._rows, int(position))]
        return TextValues(self._column, select_rows(self._rows, position))

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self._rows), _ROWS_AT_A_TIME):
            yield from self._column.take(np.asarray(self._rows[start : start + _ROWS_AT_A_TIME], np.int64))

    def isin(self, values: Collection[str]) -> Mask:
        """Return a mask [n] of the rows whose text is one of the values."""
        wanted = set(values)
        return np.fromiter((text in wanted for text in self), np.bool_, len(self))

    def __eq__(self, value: object) -> Mask:  # type: ignore[override]
        return self.isin((value,)) if isinstance(value, str) else NotImplemented

    def __ne__(self, value: object) -> Mask:  # type: ignore[override]
        return ~self.isin((value,)) if isinstance(value, str) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<TextValues: {len(self):,} texts>"


class CategoryValues(Sequence[str]):
    """The categories of selected rows.

    ``==`` and ``!=`` with a string compare every row by its code and return a mask [n].

    Attributes:
        codes: [n] int32, indices into `table`.
        table: the distinct values in the store, sorted.
    """

    def __init__(self, codes: npt.NDArray[Any], table: Sequence[str]) -> None:
        self.codes = codes
        self.table = tuple(table)

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice | Positions) -> CategoryValues: ...
    def __getitem__(self, position: Any) -> Any:
        """Return the category at an integer, or the categories at a slice, at positions or where a mask is true."""
        if isinstance(position, int | np.integer):
            return self._value(int(self.codes[position]))
        return CategoryValues(gather(self.codes, select_rows(range(len(self)), position)), self.table)

    def __iter__(self) -> Iterator[str]:
        return map(self._value, self.codes.tolist())

    def _value(self, code: int) -> str:
        if not 0 <= code < len(self.table):
            raise broken(f"category code {code} is out of range for {len(self.table)} categories")
        return self.table[code]

    def checked_codes(self) -> npt.NDArray[Any]:
        """Check that all codes are in the table, and return them.

        Raises:
            CorruptStoreError: a code is not in the table.
        """
        # As unsigned integers, negative codes are larger than any other.
        bad = self.codes.astype(np.uint64) >= len(self.table)
        if bad.any():
            self._value(int(self.codes[bad][0]))
        return self.codes

    def isin(self, values: Collection[str]) -> Mask:
        """Return a mask [n] of the rows whose category is one of the values."""
        wanted = set(values)
        codes = [code for code, value in enumerate(self.table) if value in wanted]
        return np.isin(self.codes, codes)

    def __eq__(self, value: object) -> Mask:  # type: ignore[override]
        return self.isin((value,)) if isinstance(value, str) else NotImplemented

    def __ne__(self, value: object) -> Mask:  # type: ignore[override]
        return ~self.isin((value,)) if isinstance(value, str) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.table[:_SHOWN])) + (", …" if len(self.table) > _SHOWN else "")
        return f"<CategoryValues: {len(self):,} of {{{names}}}>"


ColumnValues: TypeAlias = "npt.NDArray[Any] | TextValues | CategoryValues"


class FixedColumns:
    """The types of the columns of every store; those of a corpus depend on it."""

    id: TextValues
    text: TextValues
    phoneme_text: TextValues
    speaker: CategoryValues
    seconds: npt.NDArray[np.float64]
    n_frames: npt.NDArray[np.int32]
    n_phonemes: npt.NDArray[np.int32]
    n_samples: npt.NDArray[np.int32]


class Columns(FixedColumns):
    """The columns of a dataset by name: ``columns.seconds`` or ``columns["seconds"]``.

    Each column is mapped on first access. Numbers are read-only arrays [n]; texts and categories compare with strings.
    This class has no methods, so that no column name of a corpus can collide with one.
    """

    def __init__(
        self,
        store: Store,
        rows: Rows,
        tables: Mapping[str, Callable[[CategoryValues], CategoryValues]] = MappingProxyType({}),
    ) -> None:
        self._store = store
        self._rows = rows
        # By name of a column, what puts its values into a table that several stores share.
        self._tables = tables
        self._selected: dict[str, ColumnValues] = {}

    def __getitem__(self, name: str) -> ColumnValues:
        values = self._selected.get(name)
        if values is None:
            values = self._select(self._store.column(name))
            if name in self._tables and isinstance(values, CategoryValues):
                values = self._tables[name](values)
            self._selected[name] = values
        return values

    def _select(self, column: Column) -> ColumnValues:
        if isinstance(column, TextColumn):
            return TextValues(column, self._rows)
        if isinstance(column, CategoryColumn):
            return CategoryValues(gather(column.codes, self._rows), column.table)
        return gather(column, self._rows)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except ConfigurationError as error:
            message = str(error)
            if name in self._store.manifest.specs or name == "waveform":
                message = (
                    f"'{name}' is an array of each utterance, and these are columns, with one value for each "
                    "utterance, such as n_frames, n_phonemes and seconds; FilterDataset calls a function with each "
                    "utterance"
                )
            raise AttributeError(message, name=name, obj=self) from None

    def __contains__(self, name: object) -> bool:
        return name in self._store.index.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._store.column_names)

    def __dir__(self) -> list[str]:
        return list(self._store.column_names)

    def __repr__(self) -> str:
        return f"<Columns: {len(self._store.column_names)} of {len(self._rows):,} utterances>"
