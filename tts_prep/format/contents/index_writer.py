"""Write the index, with one row per utterance, from the shards and the array files."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from tts_prep.errors import CorruptStoreError
from tts_prep.format.contents.shard import FindLocations, read_header
from tts_prep.format.files.atomic import replacing
from tts_prep.format.hdf5.columns import TextColumn, check_columns, column_datasets, column_kind
from tts_prep.format.hdf5.datasets import Location, Locations, dataset_at, read_dataset
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.hdf5.writer import create_dataset, create_file, set_kind, write_dataset, write_number, write_rows
from tts_prep.format.layout import CATEGORY, INDEX, NUMBER
from tts_prep.format.statistics import ArrayStatistics, MelStatistics

if TYPE_CHECKING:
    from tts_prep.format.contents.array_writer import AddedArray

_COLUMNS = "columns"
_SHARDS = "shards"
_SPEAKERS = "speakers"


@dataclass
class ShardDatasets:
    """The locations of one dataset of a column in all shards, as plain numbers to save memory."""

    dtype: np.dtype[Any]
    offsets: array[int] = field(default_factory=lambda: array("q"))
    counts: array[int] = field(default_factory=lambda: array("q"))

    def add(self, place: Location) -> None:
        """Add that of the next shard."""
        self.offsets.append(place.offset)
        self.counts.append(place.shape[0])

    def place(self, shard: int) -> Location:
        """Return the location in a shard."""
        return Location(self.offsets[shard], (self.counts[shard],), self.dtype)


@dataclass
class Column:
    """A column after the first pass over the shards.

    Attributes:
        datasets: its datasets by their names within the column (``""`` for a column of numbers).
        values: the distinct values of a category.
    """

    kind: str
    datasets: dict[str, ShardDatasets]
    values: set[str] = field(default_factory=set)

    def texts(self, path: Path, shard: int) -> list[str]:
        """Return the texts of a shard."""
        data, offsets = (read_dataset(path, self.datasets[name].place(shard)) for name in ("bytes", "offsets"))
        return TextColumn(data, offsets).take(np.arange(len(offsets) - 1))


@dataclass(frozen=True)
class IndexSummary:
    """Totals of an index.

    Attributes:
        rows: the number of utterances.
        mel: the statistics of all frames.
        arrays: the statistics of all rows of each added array.
        places: the locations of its datasets, with their checksums.
    """

    rows: int
    mel: MelStatistics
    arrays: Mapping[str, ArrayStatistics]
    places: Locations


@dataclass(frozen=True)
class _Shards:
    """What the first pass over the shards finds.

    Attributes:
        rows: the number of rows of each shard.
        columns: the columns by name.
        places: for each shard, the place of each array.
        statistics: the mel statistics of each speaker.
        total: the mel statistics of all speakers.
    """

    rows: list[int]
    columns: dict[str, Column]
    places: list[dict[str, Location]]
    statistics: dict[str, MelStatistics]
    total: MelStatistics


def _scan_shards(shards: Sequence[Path], find: FindLocations) -> _Shards:
    """Return the sizes, columns and statistics of shards, without their values."""
    rows: list[int] = []
    by_name: dict[str, Column] = {}
    places: list[dict[str, Location]] = []
    statistics: dict[str, MelStatistics] = {}
    total = MelStatistics.empty(0)
    for path in shards:
        locations = find(path)
        header = read_header(path, locations)
        _add_columns(path, locations, by_name, header.rows, first=not rows)
        rows.append(header.rows)
        for speaker, moments in header.mel_statistics.items():
            of_shard = MelStatistics.from_dict(moments)
            earlier = statistics.get(speaker)
            statistics[speaker] = earlier.merged(of_shard) if earlier else of_shard
            total = total.merged(of_shard)
        places.append({name: dataset_at(path, locations, name) for name in header.arrays})
        for name, column in by_name.items():
            if column.kind == CATEGORY:
                values = set(column.texts(path, len(rows) - 1))
                if name == "speaker" and not values <= header.mel_statistics.keys():
                    raise CorruptStoreError(f"{path}: has speakers without mel statistics")
                column.values |= values
    return _Shards(rows, by_name, places, statistics, total)


def build_index(
    store: Path, shards: Sequence[Path], arrays: Sequence[str] = (), find: FindLocations = read_locations
) -> IndexSummary:
    """Write ``index.h5`` from the shards and the array files.

    Memory is bounded by the columns of one shard and the tables of categories: the first pass collects sizes, the
    second copies values.

    Args:
        arrays: the names of the added arrays, sorted; each has one file per shard.
        find: finds the datasets of an HDF5 file.
    """
    found = _scan_shards(shards, find)
    rows = found.rows
    added: dict[str, AddedArray] = {}
    if arrays:
        from tts_prep.format.contents.array_writer import scan_array

        added = {name: scan_array(store, name, len(shards), find) for name in arrays}
    places: dict[str, Location] = {}
    with replacing(store / INDEX) as partial, create_file(partial, places=places) as file:
        columns = file.create_group(_COLUMNS)
        write_number(columns, "shard", np.repeat(np.arange(len(rows)), rows), "<i4")
        tables = {}
        for name, column in found.columns.items():
            table = write_column(columns, name, column, shards, rows)
            if column.kind == CATEGORY:
                tables[name] = table
        group = file.create_group(_SHARDS)
        speakers = file.create_group(_SPEAKERS)
        for name in found.places[0] if found.places else ():
            _write_places(group, name, [place[name] for place in found.places])
        _write_speakers(speakers, [found.statistics[name] for name in tables.get("speaker", ())])
        for name, array_ in added.items():
            _write_places(group, name, array_.places)
            array_.write_columns(columns, store, name, rows)
            array_.write_speakers(speakers, name, tables.get("speaker", ()))
    return IndexSummary(sum(rows), found.total, {name: array_.total for name, array_ in added.items()}, places)


def create_offsets(group: h5py.Group, rows: int) -> h5py.h5d.DatasetID:
    """Create the dataset of where each text starts."""
    return create_dataset(group, "offsets", (rows + 1,), "<i8")


def _write_places(group: h5py.Group, name: str, places: Sequence[Location]) -> None:
    write_number(group, f"{name}_offset", [place.offset for place in places], "<i8")
    write_number(group, f"{name}_rows", [place.shape[0] for place in places], "<i8")


def _write_speakers(group: h5py.Group, statistics: Sequence[MelStatistics]) -> None:
    write_dataset(group, "frames", np.array([one.count for one in statistics], np.int64))
    for name, values in (("mel_mean", [one.mean for one in statistics]), ("mel_std", [one.std for one in statistics])):
        write_dataset(group, name, np.array(values, np.float64).reshape(len(statistics), -1 if statistics else 0))


def _add_columns(path: Path, locations: Locations, by_name: dict[str, Column], rows: int, *, first: bool) -> None:
    """Add the locations of a shard's columns."""
    columns = column_datasets(locations)
    check_columns(path, columns, rows, in_index=False, integers=())
    if not first and set(columns) != set(by_name):
        raise CorruptStoreError(f"{path}: its columns differ from those of earlier shards")
    for name in sorted(columns):
        places = columns[name]
        kind = column_kind(name, places)
        if first:
            by_name[name] = Column(kind, {key: ShardDatasets(place.dtype) for key, place in places.items()})
        column = by_name[name]
        if column.kind != kind or {key: place.dtype for key, place in places.items()} != {
            key: known.dtype for key, known in column.datasets.items()
        }:
            raise CorruptStoreError(f"{path}: column '{name}' has another kind than in earlier shards")
        for key, place in places.items():
            column.datasets[key].add(place)


def write_column(
    group: h5py.Group, name: str, column: Column, shards: Sequence[Path], rows: Sequence[int]
) -> list[str]:
    """Write one column of all shards; return the table of a category, [] for other kinds."""
    if column.kind == NUMBER:
        numbers = create_dataset(group, name, (sum(rows),), column.datasets[""].dtype)
        set_kind(numbers, NUMBER)
        start = 0
        for shard, path in enumerate(shards):
            write_rows(numbers, start, read_dataset(path, column.datasets[""].place(shard)))
            start += rows[shard]
        return []
    child = group.create_group(name)
    set_kind(child.id, column.kind)
    if column.kind == CATEGORY:
        return _write_category(child, column, shards, rows)
    data = create_dataset(child, "bytes", (sum(column.datasets["bytes"].counts),), "u1")
    offsets = create_offsets(child, sum(rows))
    start = n_bytes = 0
    for shard, path in enumerate(shards):
        write_rows(data, n_bytes, read_dataset(path, column.datasets["bytes"].place(shard)))
        write_rows(offsets, start, read_dataset(path, column.datasets["offsets"].place(shard)) + n_bytes)
        start += rows[shard]
        n_bytes += column.datasets["bytes"].counts[shard]
    return []


def _write_category(group: h5py.Group, column: Column, shards: Sequence[Path], rows: Sequence[int]) -> list[str]:
    table = sorted(column.values)
    code = {value: number for number, value in enumerate(table)}
    codes = create_dataset(group, "codes", (sum(rows),), "<i4")
    start = 0
    for shard, path in enumerate(shards):
        write_rows(codes, start, np.array([code[value] for value in column.texts(path, shard)], np.int32))
        start += rows[shard]
    encoded = TextColumn.encode(table)
    write_dataset(group, "bytes", encoded.data)
    write_dataset(group, "offsets", encoded.offsets)
    return table
