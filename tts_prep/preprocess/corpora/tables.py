"""Tables in files, whose readers are brought: CSV, TSV, JSON lines, parquet and arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tts_prep import doors


def is_table(path: Path) -> bool:
    """Return whether a file can only be a table, by its suffixes."""
    known = {suffix for row in doors.rows("tables").values() for suffix in row.keys}
    return not known.isdisjoint(path.suffixes[-2:])


def table_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the place and the values of each row of a table.

    Raises:
        CorpusError: the file cannot be read, or a row is damaged.
        MissingPackageError: nothing here reads tables.
    """
    yield from doors.need("tables", path.suffix)(path)
