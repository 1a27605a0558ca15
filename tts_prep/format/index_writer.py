"""Write the index: one row an utterance, from the shards and the array files alone."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tts_prep.errors import CorruptStoreError
from tts_prep.format.array_file import read_array_header
from tts_prep.format.atomic import replacing
from tts_prep.format.columns import TextColumn, check_columns, column_datasets, column_kind
from tts_prep.format.datasets import Location, Locations, dataset_at, read_dataset
from tts_prep.format.hdf5_reader import read_locations
from tts_prep.format.hdf5_writer import create_dataset, create_file, write_dataset, write_number, write_rows
from tts_prep.format.layout import CATEGORY, INDEX, NUMBER, array_file_name
from tts_prep.format.shard import FindLocations, read_header
from tts_prep.format.statistics import ArrayStatistics, MelStatistics

_COLUMNS = "columns"
_SHARDS = "shards"
_SPEAKERS = "speakers"


@dataclass
class _Part:
    """A dataset of a column, in every shard: where it lies, and how many elements it has. Plain numbers, for memory."""

    dtype: np.dtype[Any]
    offsets: array[int] = field(default_factory=lambda: array("q"))
    counts: array[int] = field(default_factory=lambda: array("q"))

    def add(self, place: Location) -> None:
        self.offsets.append(place.offset)
        self.counts.append(place.shape[0])

    def place(self, shard: int) -> Location:
        return Location(self.offsets[shard], (self.counts[shard],), self.dtype)


@dataclass
class _Column:
    """What is known of a column after a first look at every shard.

    Attributes:
        parts: its datasets, by their names within it (``""`` for the one of a number column).
        values: the different ones of a category.
    """

    kind: str
    parts: dict[str, _Part]
    values: set[str] = field(default_factory=set)

    def texts(self, path: Path, shard: int) -> list[str]:
        data, offsets = (read_dataset(path, self.parts[part].place(shard)) for part in ("bytes", "offsets"))
        return TextColumn(data, offsets).take(np.arange(len(offsets) - 1))


@dataclass(frozen=True)
class IndexSummary:
    """What the index was made from.

    Attributes:
        rows: utterances.
        mel: statistics of all frames.
        arrays: name of an added array → statistics of all rows.
    """

    rows: int
    mel: MelStatistics
    arrays: Mapping[str, ArrayStatistics]


def build_index(
    store: Path, shards: Sequence[Path], arrays: Sequence[str] = (), find: FindLocations = read_locations
) -> IndexSummary:
    """Write ``index.h5`` from what the shards and the array files hold.

    Memory stays bounded by one shard's columns and the tables of the categories: a first pass finds out the sizes,
    a second one copies.

    Args:
        arrays: the names of the added arrays, sorted; each has a file for every shard.
        find: finds the datasets of an HDF5 file.
    """
    rows: list[int] = []
    found: dict[str, _Column] = {}
    places: list[dict[str, Location]] = []
    statistics: dict[str, MelStatistics] = {}
    total = MelStatistics.empty(0)
    for path in shards:
        locations = find(path)
        header = read_header(path, locations)
        _add_columns(path, locations, found, header.rows, first=not rows)
        rows.append(header.rows)
        for speaker, values in header.mel_statistics.items():
            part = MelStatistics.from_dict(values)
            statistics[speaker] = statistics[speaker].merged(part) if speaker in statistics else part
            total = total.merged(part)
        places.append({name: dataset_at(path, locations, name) for name in header.arrays})
        for column in found.values():
            if column.kind == CATEGORY:
                column.values.update(column.texts(path, len(rows) - 1))
    added = {name: _look_at_array(store, name, len(shards), find) for name in arrays}
    with replacing(store / INDEX) as partial, create_file(partial) as file:
        columns = file.create_group(_COLUMNS)
        write_number(columns, "shard", np.repeat(np.arange(len(rows)), rows), "<i4")
        tables = {}
        for name, column in found.items():
            table = _write_column(columns, name, column, shards, rows)
            if column.kind == CATEGORY:
                tables[name] = table
        group = file.create_group(_SHARDS)
        speakers = file.create_group(_SPEAKERS)
        for name in places[0] if places else ():
            _write_places(group, name, [place[name] for place in places])
        _write_speakers(speakers, [statistics[name] for name in tables.get("speaker", ())])
        for name, array_ in added.items():
            _write_places(group, name, array_.places)
            array_.write_columns(columns, store, name, rows)
            array_.write_speakers(speakers, name, tables.get("speaker", ()))
    return IndexSummary(sum(rows), total, {name: array_.total for name, array_ in added.items()})


@dataclass
class _AddedArray:
    """What is known of an added array after a first look at its files.

    Attributes:
        places: of the array, in each file.
        columns: with the axis ``own``: start and length of each row, in every file.
        n: numbers of a row.
        total, speakers: statistics.
    """

    places: list[Location]
    columns: dict[str, _Part]
    n: int
    total: ArrayStatistics
    speakers: dict[str, ArrayStatistics]

    def write_columns(self, group: h5py.Group, store: Path, name: str, rows: Sequence[int]) -> None:
        files = [store / array_file_name(name, number) for number in range(len(rows))]
        for part, column in self.columns.items():
            target = {"start": f"{name}_start", "length": f"n_{name}"}[part]
            if target in group:
                raise CorruptStoreError(f"{store}: array '{name}' needs a column '{target}', the corpus has one")
            _write_column(group, target, _Column(NUMBER, {"": column}), files, rows)

    def write_speakers(self, group: h5py.Group, name: str, table: Sequence[str]) -> None:
        parts = [self.speakers.get(speaker, ArrayStatistics.empty(self.n)) for speaker in table]
        write_dataset(group, f"{name}_count", np.array([part.moments.count for part in parts], np.int64))
        for what, values in (
            ("mean", [part.moments.mean for part in parts]),
            ("std", [part.moments.std for part in parts]),
            ("min", [part.low for part in parts]),
            ("max", [part.high for part in parts]),
        ):
            write_dataset(group, f"{name}_{what}", np.array(values, np.float64).reshape(len(parts), self.n))


def _look_at_array(store: Path, name: str, n_shards: int, find: FindLocations) -> _AddedArray:
    found: _AddedArray | None = None
    for number in range(n_shards):
        path = store / array_file_name(name, number)
        locations = find(path)
        header = read_array_header(path, locations)
        columns = {part: place[""] for part, place in column_datasets(locations).items() if "" in place}
        if found is None:
            n = int(np.prod(header.spec.row_shape, dtype=np.int64))
            parts = {str(part): _Part(columns[part].dtype) for part in ("start", "length") if part in columns}
            found = _AddedArray([], parts, n, ArrayStatistics.empty(n), {})
        found.places.append(dataset_at(path, locations, name))
        for part, known in found.columns.items():
            known.add(columns[part])
        for speaker, values in header.statistics.items():
            statistics = ArrayStatistics.from_dict(values)
            earlier = found.speakers.get(speaker)
            found.speakers[speaker] = earlier.merged(statistics) if earlier else statistics
            found.total = found.total.merged(statistics)
    assert found is not None
    return found


def _write_places(group: h5py.Group, name: str, places: Sequence[Location]) -> None:
    write_number(group, f"{name}_offset", [place.offset for place in places], "<i8")
    write_number(group, f"{name}_rows", [place.shape[0] for place in places], "<i8")


def _write_speakers(group: h5py.Group, statistics: Sequence[MelStatistics]) -> None:
    write_dataset(group, "frames", np.array([part.count for part in statistics], np.int64))
    for name, values in (
        ("mel_mean", [part.mean for part in statistics]),
        ("mel_std", [part.std for part in statistics]),
    ):
        write_dataset(group, name, np.array(values, np.float64).reshape(len(statistics), -1 if statistics else 0))


def _add_columns(path: Path, locations: Locations, found: dict[str, _Column], rows: int, *, first: bool) -> None:
    """Note where a shard's columns lie."""
    columns = column_datasets(locations)
    check_columns(path, columns, rows, in_index=False, integers=())
    if not first and set(columns) != set(found):
        raise CorruptStoreError(f"{path}: its columns are not those of the shards before it")
    for name in sorted(columns):
        places = columns[name]
        kind = column_kind(name, places)
        if first:
            found[name] = _Column(kind, {part: _Part(place.dtype) for part, place in places.items()})
        column = found[name]
        if column.kind != kind or {part: place.dtype for part, place in places.items()} != {
            part: known.dtype for part, known in column.parts.items()
        }:
            raise CorruptStoreError(f"{path}: column '{name}' is of another kind than in the shards before")
        for part, place in places.items():
            column.parts[part].add(place)


def _write_column(
    group: h5py.Group, name: str, column: _Column, shards: Sequence[Path], rows: Sequence[int]
) -> list[str]:
    """Write one column of all shards; return the table of a category."""
    if column.kind == NUMBER:
        numbers = create_dataset(group, name, (sum(rows),), column.parts[""].dtype)
        numbers.attrs["kind"] = NUMBER
        start = 0
        for shard, path in enumerate(shards):
            write_rows(numbers, start, read_dataset(path, column.parts[""].place(shard)))
            start += rows[shard]
        return []
    child = group.create_group(name)
    child.attrs["kind"] = column.kind
    if column.kind == CATEGORY:
        return _write_category(child, column, shards, rows)
    data = create_dataset(child, "bytes", (sum(column.parts["bytes"].counts),), "u1")
    offsets = create_dataset(child, "offsets", (sum(rows) + 1,), "<i8")
    start = n_bytes = 0
    for shard, path in enumerate(shards):
        write_rows(data, n_bytes, read_dataset(path, column.parts["bytes"].place(shard)))
        write_rows(offsets, start, read_dataset(path, column.parts["offsets"].place(shard)) + n_bytes)
        start += rows[shard]
        n_bytes += column.parts["bytes"].counts[shard]
    return []


def _write_category(group: h5py.Group, column: _Column, shards: Sequence[Path], rows: Sequence[int]) -> list[str]:
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
