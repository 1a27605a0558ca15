"""Write the index, with one row per utterance, from the shards and the array files."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from tts_prep.errors import CorruptStoreError
from tts_prep.format.contents.array_file import read_array_header
from tts_prep.format.contents.shard import FindLocations, read_header
from tts_prep.format.files.atomic import replacing
from tts_prep.format.hdf5.columns import TextColumn, check_columns, column_datasets, column_kind
from tts_prep.format.hdf5.datasets import Location, Locations, dataset_at, read_dataset
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.hdf5.writer import create_dataset, create_file, set_kind, write_dataset, write_number, write_rows
from tts_prep.format.layout import CATEGORY, INDEX, NUMBER, TEXT, array_file_name
from tts_prep.format.statistics import ArrayStatistics, MelStatistics

_COLUMNS = "columns"
_SHARDS = "shards"
_SPEAKERS = "speakers"


@dataclass
class _ShardDatasets:
    """The locations of one dataset of a column in all shards, as plain numbers to save memory."""

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
    """A column after the first pass over the shards.

    Attributes:
        datasets: its datasets by their names within the column (``""`` for a column of numbers).
        values: the distinct values of a category.
    """

    kind: str
    datasets: dict[str, _ShardDatasets]
    values: set[str] = field(default_factory=set)

    def texts(self, path: Path, shard: int) -> list[str]:
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
    columns: dict[str, _Column]
    places: list[dict[str, Location]]
    statistics: dict[str, MelStatistics]
    total: MelStatistics


def _scan_shards(shards: Sequence[Path], find: FindLocations) -> _Shards:
    """Return the sizes, columns and statistics of shards, without their values."""
    rows: list[int] = []
    by_name: dict[str, _Column] = {}
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
    added = {name: _scan_array(store, name, len(shards), find) for name in arrays}
    places: dict[str, Location] = {}
    with replacing(store / INDEX) as partial, create_file(partial, places=places) as file:
        columns = file.create_group(_COLUMNS)
        write_number(columns, "shard", np.repeat(np.arange(len(rows)), rows), "<i4")
        tables = {}
        for name, column in found.columns.items():
            table = _write_column(columns, name, column, shards, rows)
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


@dataclass
class _AddedArray:
    """An added array after the first pass over its files.

    Attributes:
        places: the location of the array in each file.
        columns: with the axis ``own``, the datasets of ``start`` and ``length`` in each file.
        n: the number of values per row.
        total, speakers: statistics of all rows, and by speaker.
        index_columns: of the specification.
        categories: the values of the index columns that are categories, by name.
        text_columns: of the specification.
        text_bytes: [n_text_columns] int64, the number of bytes of all texts of each.
    """

    places: list[Location]
    columns: dict[str, _ShardDatasets]
    n: int
    total: ArrayStatistics
    speakers: dict[str, ArrayStatistics]
    index_columns: tuple[str, ...]
    categories: Mapping[str, Sequence[str]]
    text_columns: tuple[str, ...]
    text_bytes: npt.NDArray[np.int64]

    def write_columns(self, group: h5py.Group, store: Path, name: str, rows: Sequence[int]) -> None:
        files = [store / array_file_name(name, number) for number in range(len(rows))]
        for key, own in self.columns.items():
            target = {"start": f"{name}_start", "length": f"n_{name}"}[key]
            if target in group:
                raise CorruptStoreError(
                    f"{store}: array '{name}' needs a column '{target}', which the corpus already has"
                )
            _write_column(group, target, _Column(NUMBER, {"": own}), files, rows)
        for column in (*self.index_columns, *self.text_columns):
            if column in group:
                raise CorruptStoreError(
                    f"{store}: array '{name}' needs a column '{column}', which the store already has"
                )
        if self.index_columns:
            self._write_values(group, files, rows)
        if self.text_columns:
            self._write_texts(group, files, rows)

    def _write_texts(self, group: h5py.Group, files: Sequence[Path], rows: Sequence[int]) -> None:
        """Write each text of the rows as a column."""
        datasets = []
        for column, n_bytes in zip(self.text_columns, self.text_bytes.tolist(), strict=True):
            child = group.create_group(column)
            set_kind(child.id, TEXT)
            datasets.append((create_dataset(child, "bytes", (n_bytes,), "u1"), _create_offsets(child, sum(rows))))
        written = np.zeros(len(datasets), np.int64)
        start = 0
        for path, place, n in zip(files, self.places, rows, strict=True):
            texts = _texts(path, place, n, len(datasets))
            for number, (data, offsets) in enumerate(datasets):
                encoded = texts[number :: len(datasets)]
                ends = written[number] + np.cumsum([0, *map(len, encoded)], dtype="<i8")
                write_rows(data, int(written[number]), np.frombuffer(b"".join(encoded), np.uint8))
                write_rows(offsets, start, ends)
                written[number] = ends[-1]
            start += n

    def _write_values(self, group: h5py.Group, files: Sequence[Path], rows: Sequence[int]) -> None:
        """Write each number of the rows as a column."""
        columns = []
        for column in self.index_columns:
            if column in self.categories:
                columns.append(_create_category(group, column, self.categories[column], sum(rows)))
            else:
                columns.append(create_dataset(group, column, (sum(rows),), np.dtype("<f8")))
                set_kind(columns[-1], NUMBER)
        start = 0
        for path, place, n in zip(files, self.places, rows, strict=True):
            values = read_dataset(path, place)
            for number, (column, dataset) in enumerate(zip(self.index_columns, columns, strict=True)):
                written = values[:, number]
                if column in self.categories:
                    if not np.isin(written, np.arange(len(self.categories[column]))).all():
                        raise CorruptStoreError(
                            f"{path}: column '{column}' has a number that is none of its categories"
                        )
                    written = written.astype(np.int32)
                write_rows(dataset, start, np.ascontiguousarray(written))
            start += n

    def write_speakers(self, group: h5py.Group, name: str, table: Sequence[str]) -> None:
        statistics = [self.speakers.get(speaker, ArrayStatistics.empty(self.n)) for speaker in table]
        write_dataset(group, f"{name}_count", np.array([one.moments.count for one in statistics], np.int64))
        for what, values in (
            ("mean", [one.moments.mean for one in statistics]),
            ("std", [one.moments.std for one in statistics]),
            ("min", [one.low for one in statistics]),
            ("max", [one.high for one in statistics]),
        ):
            write_dataset(group, f"{name}_{what}", np.array(values, np.float64).reshape(len(table), self.n))


def _scan_array(store: Path, name: str, n_shards: int, find: FindLocations) -> _AddedArray:
    added: _AddedArray | None = None
    for number in range(n_shards):
        path = store / array_file_name(name, number)
        locations = find(path)
        header = read_array_header(path, locations)
        columns = {key: place[""] for key, place in column_datasets(locations).items() if "" in place}
        if added is None:
            n = int(np.prod(header.spec.row_shape, dtype=np.int64))
            own = {str(key): _ShardDatasets(columns[key].dtype) for key in ("start", "length") if key in columns}
            added = _AddedArray(
                places=[],
                columns=own,
                n=n,
                total=ArrayStatistics.empty(n),
                speakers={},
                index_columns=header.spec.index_columns,
                categories=header.spec.categories,
                text_columns=header.spec.text_columns,
                text_bytes=np.zeros(len(header.spec.text_columns), np.int64),
            )
        added.places.append(dataset_at(path, locations, name))
        if n_texts := len(added.text_columns):
            texts = _texts(path, added.places[-1], header.rows, n_texts)
            added.text_bytes += [sum(map(len, texts[number::n_texts])) for number in range(n_texts)]
        for key, known in added.columns.items():
            known.add(columns[key])
        for speaker, values in header.statistics.items():
            statistics = ArrayStatistics.from_dict(values)
            earlier = added.speakers.get(speaker)
            added.speakers[speaker] = earlier.merged(statistics) if earlier else statistics
            added.total = added.total.merged(statistics)
    assert added is not None
    return added


def _texts(path: Path, place: Location, rows: int, n_columns: int) -> list[bytes]:
    """Return the texts of an array file, those of a row one after another.

    Raises:
        CorruptStoreError: they are not as many as the rows need.
    """
    texts = read_dataset(path, place).tobytes().split(b"\0")
    if texts.pop() or len(texts) != rows * n_columns:
        raise CorruptStoreError(f"{path}: expected {n_columns:,} texts for each of {rows:,} rows, found {len(texts):,}")
    return texts


def _create_offsets(group: h5py.Group, rows: int) -> h5py.h5d.DatasetID:
    return create_dataset(group, "offsets", (rows + 1,), "<i8")


def _create_category(group: h5py.Group, name: str, table: Sequence[str], rows: int) -> h5py.h5d.DatasetID:
    """Write the values of a category, and return the dataset of its codes, which is not filled."""
    child = group.create_group(name)
    set_kind(child.id, CATEGORY)
    codes = create_dataset(child, "codes", (rows,), "<i4")
    encoded = TextColumn.encode(table)
    write_dataset(child, "bytes", encoded.data)
    write_dataset(child, "offsets", encoded.offsets)
    return codes


def _write_places(group: h5py.Group, name: str, places: Sequence[Location]) -> None:
    write_number(group, f"{name}_offset", [place.offset for place in places], "<i8")
    write_number(group, f"{name}_rows", [place.shape[0] for place in places], "<i8")


def _write_speakers(group: h5py.Group, statistics: Sequence[MelStatistics]) -> None:
    write_dataset(group, "frames", np.array([one.count for one in statistics], np.int64))
    for name, values in (("mel_mean", [one.mean for one in statistics]), ("mel_std", [one.std for one in statistics])):
        write_dataset(group, name, np.array(values, np.float64).reshape(len(statistics), -1 if statistics else 0))


def _add_columns(path: Path, locations: Locations, by_name: dict[str, _Column], rows: int, *, first: bool) -> None:
    """Add the locations of a shard's columns."""
    columns = column_datasets(locations)
    check_columns(path, columns, rows, in_index=False, integers=())
    if not first and set(columns) != set(by_name):
        raise CorruptStoreError(f"{path}: its columns differ from those of earlier shards")
    for name in sorted(columns):
        places = columns[name]
        kind = column_kind(name, places)
        if first:
            by_name[name] = _Column(kind, {key: _ShardDatasets(place.dtype) for key, place in places.items()})
        column = by_name[name]
        if column.kind != kind or {key: place.dtype for key, place in places.items()} != {
            key: known.dtype for key, known in column.datasets.items()
        }:
            raise CorruptStoreError(f"{path}: column '{name}' has another kind than in earlier shards")
        for key, place in places.items():
            column.datasets[key].add(place)


def _write_column(
    group: h5py.Group, name: str, column: _Column, shards: Sequence[Path], rows: Sequence[int]
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
    offsets = _create_offsets(child, sum(rows))
    start = n_bytes = 0
    for shard, path in enumerate(shards):
        write_rows(data, n_bytes, read_dataset(path, column.datasets["bytes"].place(shard)))
        write_rows(offsets, start, read_dataset(path, column.datasets["offsets"].place(shard)) + n_bytes)
        start += rows[shard]
        n_bytes += column.datasets["bytes"].counts[shard]
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
