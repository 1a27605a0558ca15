"""Read and validate parquet and arrow files, in the separate process of `tables.process.ask_table`.

A changed byte of such a file can crash the Arrow library.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from tts_prep.errors import CorpusError

# Arrow's other allocators reserve more memory than the process may have.
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"

import pyarrow as pa
import pyarrow.parquet as pq

_MAX_COLUMNS: Final = 1000

_BATCH: Final = 256
"""The number of rows that are decompressed before the size of what they take is looked at."""


def answer(path: Path, what: str, *values: Any) -> tuple[Any, bytes]:
    """Answer a request about a file, in the other process.

    ``"schema", audio`` gives the column of the recordings (``audio`` if it holds some, otherwise the first one that
    does, or an empty text), the dtypes of columns of lists, and of lists of lists, of numbers, the columns of deeper
    lists, and the number of groups of rows. ``"rows", audio, group, start, count`` gives the columns of some rows but
    deeper lists; for each row, whether it holds its recording, and the path of the recording; and the mean size of a
    recording. ``"cell", group, row, column`` gives the bytes of a recording.

    Raises:
        CorpusError: the file cannot be read.
    """
    file = _open(path, path.stat().st_mtime_ns)
    try:
        if what == "cell":
            return file.cell(*values)
        return (file.schema(*values) if what == "schema" else file.rows(*values)), b""
    except (CorpusError, MemoryError):
        raise
    except Exception as error:  # for a broken file, pyarrow raises many kinds of exceptions
        raise _fault(path, error) from error


def _fault(path: Path, error: Exception) -> CorpusError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return CorpusError(f"{path}: cannot be read as parquet or arrow ({reason[:200]})")


@lru_cache(maxsize=1)
def _open(path: Path, _version: int) -> _TableFile:
    try:
        file = _ArrowFile(path) if path.suffix == ".arrow" else _ParquetFile(path)
        file.check()
        return file
    except (CorpusError, MemoryError):
        raise
    except Exception as error:
        raise _fault(path, error) from error


class _TableFile:
    """An open file; groups are the row groups of parquet, or the record batches of arrow."""

    fields: Any
    n_groups: int

    def __init__(self, path: Path) -> None:
        self.path = path
        self._group: tuple[Any, ...] = ()
        self._table: Any = None
        self._held_group: tuple[int, str] = (-1, "")
        self._held: tuple[list[bool], int] = ([], 0)
        # A column of any length that repeats a value takes no bytes, so rows and their bytes need limits of their own.
        # Ids differ, and take more than a bit each.
        size = path.stat().st_size
        self._max_rows = 100_000 + 8 * size
        self._max_bytes = (1 << 28) + 100 * size

    def check(self) -> None:
        """Check the numbers of rows and columns, before any is read.

        Raises:
            CorpusError: there are too many.
        """
        if len(self.fields.names) > _MAX_COLUMNS:
            raise CorpusError(
                f"{self.path}: {len(self.fields.names):,} columns, expected at most {_MAX_COLUMNS:,}; leave out others"
            )
        total = sum(map(self.n_rows, range(self.n_groups)))
        if total > self._max_rows:
            raise CorpusError(f"{self.path}: {total:,} rows in so few bytes; is it damaged?")

    def read(self, group: int, columns: list[str]) -> Any:
        """Return columns of a group as a table."""
        raise NotImplementedError

    def n_rows(self, group: int) -> int:
        """Return the number of rows of a group."""
        raise NotImplementedError

    def held(self, group: int, audio: str) -> tuple[list[bool], int]:
        """Return for each row of a group whether it holds its recording, and the mean size of recordings in bytes."""
        raise NotImplementedError

    def columns(self, group: int, columns: list[str]) -> Any:
        """Return validated columns of a group; kept for the next request."""
        if self._group != (group, columns):
            self._group, self._table = (), None
            table = self.read(group, columns)
            table.validate(full=True)
            self._group, self._table = (group, columns), table
        return self._table

    def schema(self, audio: str | None) -> dict[str, Any]:
        names = [audio] if audio in self.fields.names else self.fields.names
        found = next(filter(None, (_bytes_column(self.fields.field(name)) for name in names)), "")
        numbers = {field.name: _numbers(field.type) for field in self.fields}
        lists = {name: dtype for name, (depth, dtype) in numbers.items() if 1 <= depth <= 2}
        arrays = [name for name, (depth, _) in numbers.items() if depth > 2]
        return {"audio": found, "lists": lists, "arrays": arrays, "groups": self.n_groups}

    def rows(self, audio: str, group: int, start: int, count: int) -> dict[str, Any]:
        total = self.n_rows(group)
        name, _, field = audio.partition(".")
        names = [field.name for field in self.fields if field.name != name and _numbers(field.type)[0] <= 2]
        has_paths = bool(field) and "path" in {inner.name for inner in self.fields.field(name).type}
        table = self.columns(group, [*names, *([f"{name}.path"] if has_paths else [])])
        count = min(count, total - start)
        values = {column: table.column(column).slice(start, count).to_pylist() for column in names}
        paths: list[Any] = [None] * count
        if has_paths:
            paths = table.column(name).slice(start, count).combine_chunks().field("path").to_pylist()
        if (group, audio) != self._held_group:
            self._held_group, self._held = (group, audio), self.held(group, audio) if audio else ([False] * total, 0)
        held, size = self._held
        return {
            "columns": {column: [_plain(value) for value in cells] for column, cells in values.items()},
            "held": held[start : start + count],
            "paths": [_plain(path) for path in paths],
            "size": max(0, min(size, 100 * self.path.stat().st_size)),
            "more": start + count < total,
        }

    def cell(self, group: int, row: int, column: str) -> tuple[dict[str, Any], bytes]:
        if not 0 <= group < self.n_groups:
            raise CorpusError(f"{self.path.name}: {self.n_groups:,} row groups, expected more than {group:,}")
        name, _, field = column.partition(".")
        values = self.columns(group, [name]).column(name)
        if row >= len(values):
            raise CorpusError(
                f"{self.path.name}: row group {group} has {len(values):,} rows, expected more than {row:,}"
            )
        value = values[row].as_py()
        value = value.get(field) if field and isinstance(value, dict) else value
        if not isinstance(value, bytes):
            raise CorpusError(f"{self.path.name}: column '{column}' of row {row:,} of group {group} is not a recording")
        return {}, value


class _ParquetFile(_TableFile):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file = pq.ParquetFile(path, memory_map=False)
        self.fields = self._file.schema_arrow
        self.n_groups = self._file.num_row_groups

    def n_rows(self, group: int) -> int:
        return int(self._file.metadata.row_group(group).num_rows)

    def read(self, group: int, columns: list[str]) -> Any:
        metadata = self._file.metadata.row_group(group)
        of_group = (metadata.column(i) for i in range(metadata.num_columns))
        read = (one for one in of_group if any(f"{one.path_in_schema}.".startswith(f"{name}.") for name in columns))
        self._check_bytes(sum(one.total_uncompressed_size for one in read))
        batches, size = [], 0
        # A text that is stored once and repeated is not in the size that the file tells.
        for batch in self._file.iter_batches(_BATCH, row_groups=[group], columns=columns, use_threads=False):
            size += batch.nbytes
            self._check_bytes(size)
            batches.append(batch)
        if not batches:
            return self._file.read_row_group(group, columns=columns, use_threads=False)
        table = pa.Table.from_batches(batches)
        if table.num_rows != self.n_rows(group):
            raise CorpusError(f"{self.path}: {table.num_rows:,} rows in group {group}, expected {self.n_rows(group):,}")
        return table

    def _check_bytes(self, size: int) -> None:
        if size > self._max_bytes:
            raise CorpusError(
                f"{self.path}: takes more than {self._max_bytes:,} bytes of memory, unlike its own; is it damaged?"
            )

    def held(self, group: int, audio: str) -> tuple[list[bool], int]:
        # By the statistics of the column if they exist, otherwise by its values.
        metadata = self._file.metadata.row_group(group)
        columns = (metadata.column(i) for i in range(metadata.num_columns))
        column = next(column for column in columns if column.path_in_schema == audio)
        size = column.total_uncompressed_size // max(1, metadata.num_rows)
        statistics = column.statistics
        n_missing = statistics.null_count if statistics is not None and statistics.has_null_count else None
        if n_missing in (0, metadata.num_rows):
            return [n_missing == 0] * metadata.num_rows, size
        name, _, field = audio.partition(".")
        table = self.read(group, [audio])
        table.validate(full=True)
        values = table.column(name).combine_chunks()
        return (values.field(field) if field else values).is_valid().to_pylist(), size


class _ArrowFile(_TableFile):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._batches = list(_arrow_batches(path))
        self.fields = self._batches[0].schema
        self.n_groups = len(self._batches)

    def n_rows(self, group: int) -> int:
        return int(self._batches[group].num_rows)

    def read(self, group: int, columns: list[str]) -> Any:
        # The fields of structs are not read alone.
        names = list(
            dict.fromkeys(name.partition(".")[0] if name not in self.fields.names else name for name in columns)
        )
        return pa.Table.from_batches([self._batches[group]]).select(names)

    def held(self, group: int, audio: str) -> tuple[list[bool], int]:
        name, _, field = audio.partition(".")
        values = self.columns(group, [name]).column(name).combine_chunks()
        size = values.nbytes // max(1, len(values))
        return (values.field(field) if field else values).is_valid().to_pylist(), size


def _arrow_batches(path: Path) -> Iterator[Any]:
    """Yield the record batches of an arrow stream or file, which share the memory of the mapped file."""
    source = pa.memory_map(str(path))
    try:
        yield from list(pa.ipc.open_stream(source))
    except pa.ArrowInvalid:
        reader = pa.ipc.open_file(source)
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)


def _bytes_column(field: Any) -> str:
    types = pa.types
    if types.is_struct(field.type):
        names = [inner.name for inner in field.type]
        return f"{field.name}.bytes" if "bytes" in names else ""
    return str(field.name) if types.is_binary(field.type) or types.is_large_binary(field.type) else ""


def _numbers(kind: Any) -> tuple[int, str]:
    """Return how deep a type is a list of numbers, 0 if it is none, and the dtype of the numbers."""
    depth, types = 0, pa.types
    while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        depth, kind = depth + 1, kind.value_type
    is_number = types.is_integer(kind) or types.is_floating(kind)
    return (depth, kind.to_pandas_dtype().__name__) if is_number else (0, "")


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; dates and the like are texts."""
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | dict):
        return json.loads(json.dumps(value, ensure_ascii=False, default=str))
    return str(value)
