"""Files of arrays that are columns of the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tts_prep.format.assembly import StoredShard
from tts_prep.format.contents.array_file import array_key
from tts_prep.format.contents.array_writer import ShardRows, write_array_file
from tts_prep.format.files.paths import stored_file
from tts_prep.format.hdf5.columns import TextColumn, column_datasets, column_of
from tts_prep.format.hdf5.datasets import Array, map_file
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import FileEntry


def index_array_files(
    folder: Path,
    array: ArraySpec,
    shards: Sequence[StoredShard],
    values: Callable[[slice], list[Array]],
    report: Callable[[int], None] = lambda _rows: None,
) -> list[FileEntry]:
    """Write the files of an array, whose values are made for the rows of one shard after another.

    Args:
        report: called with the number of rows before each shard is written.
    """
    entries, start = [], 0
    for shard in shards:
        report(start)
        rows = slice(start, start + shard.header.rows)
        entries.append(index_array_file(folder, array, shard, values(rows)))
        start = rows.stop
    return entries


def index_array_file(folder: Path, array: ArraySpec, shard: StoredShard, values: Sequence[Array]) -> FileEntry:
    """Write the file of an array of columns for one shard; return its entry."""
    header, path = shard.header, stored_file(folder, shard.entry.file)
    speakers = column_of(map_file(path), column_datasets(read_locations(path))["speaker"])
    assert isinstance(speakers, TextColumn)
    rows = ShardRows(shard.number, header.key, list(speakers))
    return write_array_file(folder, array, rows, array_key(array, header.key), values)
