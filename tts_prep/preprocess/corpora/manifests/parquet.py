"""Parquet and arrow files of Hugging Face ``datasets``, with recordings as paths or as bytes in the file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.manifests.row import Row
from tts_prep.preprocess.recording_locations import arrow_batches, import_pyarrow, is_arrow, table_cell


class ParquetFile:
    """A parquet or arrow file, read by row groups or record batches, without the bytes of recordings.

    Raises:
        CorpusError: the file cannot be read.
        MissingPackageError: pyarrow is not installed.
    """

    def __init__(self, path: Path, audio: str | None = None) -> None:
        """Open a file.

        Args:
            audio: the column of the recordings; default: the first column of recordings as bytes.
        """
        self._path = path
        self._pyarrow = import_pyarrow("")
        schema = self._read(lambda: arrow_batches(path)[0].schema if is_arrow(path) else self._parquet().schema_arrow)
        names = [audio] if audio in schema.names else schema.names
        self._audio = next(filter(None, (self._bytes_column(schema.field(name)) for name in names)), "")
        self.arrays = tuple(field.name for field in schema if self._is_array(field.type))
        self._columns = [name for name in schema.names if name not in (self._audio.partition(".")[0], *self.arrays)]
        self.holds_audio = bool(self._audio)
        inner = schema.field(self._audio.partition(".")[0]).type if "." in self._audio else ()
        self._has_paths = "path" in {field.name for field in inner}

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order."""
        number = 0
        for group, (rows, size) in enumerate(self._groups()):
            for row, (values, is_held, path) in enumerate(rows):
                number += 1
                where = f"{self._path.name}:{number}"
                if not self._audio:
                    yield Row(where, values)
                elif is_held:
                    yield Row(where, values, str(self._path), table_cell(group, row, self._audio, size))
                elif path:
                    yield Row(where, values, path)
                else:
                    yield Failure("", where, "corpus", f"{where}: '{self._audio}' has neither bytes nor a path")

    def _groups(self) -> Iterator[tuple[Iterator[tuple[dict[str, Any], bool, str | None]], int]]:
        """Yield for each group its rows without recordings, and the mean size of its recordings in bytes."""
        column, _, field = self._audio.partition(".")
        if is_arrow(self._path):
            for batch in self._read(lambda: arrow_batches(self._path)):
                audio: Any = batch.column(column) if column else None
                held = (audio.field("bytes") if field else audio).is_valid().to_pylist() if column else None
                paths = audio.field("path").to_pylist() if self._has_paths else None
                size = audio.nbytes // max(1, batch.num_rows) if column else 0
                yield self._rows(batch, held, paths), size
            return
        file = self._parquet()
        for group in range(file.num_row_groups):
            columns = [*self._columns, *([f"{column}.path"] if self._has_paths else [])]
            table = self._read(lambda group=group, columns=columns: file.read_row_group(group, columns=columns))
            paths = None
            if self._has_paths:
                paths = [None if value is None else value["path"] for value in table.column(column).to_pylist()]
            held, size = self._held(file, group) if column else (None, 0)
            yield self._rows(table, held, paths), size

    def _held(self, file: Any, group: int) -> tuple[list[bool], int]:
        """Return for each row of a row group whether it has its recording as bytes, and the mean size of recordings.

        Uses the statistics of the column if they exist, otherwise its values.
        """
        metadata = file.metadata.row_group(group)
        columns = (metadata.column(i) for i in range(metadata.num_columns))
        column = next(column for column in columns if column.path_in_schema == self._audio)
        size = column.total_uncompressed_size // max(1, metadata.num_rows)
        statistics = column.statistics
        n_missing = statistics.null_count if statistics is not None and statistics.has_null_count else None
        if n_missing in (0, metadata.num_rows):
            return [n_missing == 0] * metadata.num_rows, size
        name, _, field = self._audio.partition(".")
        values = self._read(lambda: file.read_row_group(group, columns=[self._audio])).column(name).combine_chunks()
        return (values.field(field) if field else values).is_valid().to_pylist(), size

    def _rows(
        self, table: Any, held: list[bool] | None, paths: list[str | None] | None
    ) -> Iterator[tuple[dict[str, Any], bool, str | None]]:
        values = [table.column(name).to_pylist() for name in self._columns]
        for row, is_held, path in zip(
            range(table.num_rows), held or repeat(False), paths or repeat(None), strict=False
        ):
            yield {name: column[row] for name, column in zip(self._columns, values, strict=True)}, is_held, path

    def _bytes_column(self, field: Any) -> str:
        types = self._pyarrow.types
        if types.is_struct(field.type):
            names = [inner.name for inner in field.type]
            return f"{field.name}.bytes" if "bytes" in names else ""
        return str(field.name) if types.is_binary(field.type) or types.is_large_binary(field.type) else ""

    def _is_array(self, kind: Any) -> bool:
        """Return whether a type is a list of numbers, or of such lists."""
        types = self._pyarrow.types
        is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        inner = kind.value_type if is_list else None
        return is_list and (types.is_integer(inner) or types.is_floating(inner) or self._is_array(inner))

    def _parquet(self) -> Any:
        return self._read(lambda: import_pyarrow("parquet").ParquetFile(self._path))

    def _read(self, read: Any) -> Any:
        try:
            return read()
        except FileNotFoundError:
            raise CorpusError(f"{self._path}: no such file") from None
        except (OSError, self._pyarrow.ArrowException, IndexError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise CorpusError(f"{self._path}: cannot be read as parquet or arrow ({reason})") from error
