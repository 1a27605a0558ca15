"""Parquet and arrow files of Hugging Face ``datasets``, with recordings as paths or as bytes in the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tts_prep.corpora.manifests.row import Row
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.recording_locations import ask_table, table_cell


class ParquetFile:
    """A parquet or arrow file, read by row groups or record batches, without the bytes of recordings.

    Another process reads it, because a damaged file can crash the library.

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
        schema, _ = ask_table(path, "schema", audio)
        self._audio: str = schema["audio"]
        self._n_groups: int = schema["groups"]
        self.arrays: tuple[str, ...] = tuple(schema["arrays"])
        self.holds_audio = bool(self._audio)

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order."""
        number = 0
        for group in range(self._n_groups):
            row, more = 0, True
            while more:
                found, _ = ask_table(self._path, "rows", self._audio, group, row)
                more = found["more"]
                for position, (is_held, path) in enumerate(zip(found["held"], found["paths"], strict=True)):
                    number += 1
                    where = f"{self._path.name}:{number}"
                    values = {name: cells[position] for name, cells in found["columns"].items()}
                    if not self._audio:
                        yield Row(where, values)
                    elif is_held:
                        yield Row(where, values, str(self._path), table_cell(group, row, self._audio, found["size"]))
                    elif path:
                        yield Row(where, values, path)
                    else:
                        yield Failure("", where, "corpus", f"{where}: '{self._audio}' has neither bytes nor a path")
                    row += 1
