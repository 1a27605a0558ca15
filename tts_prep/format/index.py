"""The index: one row an utterance, built from the shards alone."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tts_prep.errors import CorruptStoreError
from tts_prep.format.atomic import replacing
from tts_prep.format.columns import Column, TextColumn, column_kind, locate_column, map_column, write_number
from tts_prep.format.datasets import (
    Array,
    Location,
    create_dataset,
    create_file,
    locate,
    map_dataset,
    read_dataset,
    reading,
    write_dataset,
    write_rows,
)
from tts_prep.format.layout import CATEGORY, FIXED_COLUMNS, INDEX, NUMBER, NUMBER_DTYPES, TEXT
from tts_prep.format.manifest import Manifest
from tts_prep.format.shard import read_header
from tts_prep.format.statistics import MelStatistics

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


def build_index(store: Path, shards: Sequence[Path]) -> tuple[int, MelStatistics]:
    """Write ``index.h5`` from what the shards hold; return the number of rows and the statistics of all frames.

    Memory stays bounded by one shard's columns and the tables of the categories: a first pass finds out the sizes,
    a second one copies.
    """
    rows: list[int] = []
    found: dict[str, _Column] = {}
    locations: list[dict[str, Location]] = []
    statistics: dict[str, MelStatistics] = {}
    total = MelStatistics.empty(0)
    for path in shards:
        with reading(path) as file:
            header = read_header(file)
            _look(file, found, header.rows, first=not rows)
            rows.append(header.rows)
            for speaker, values in header.mel_statistics.items():
                part = MelStatistics.from_dict(values)
                statistics[speaker] = statistics[speaker].merged(part) if speaker in statistics else part
                total = total.merged(part)
            locations.append({name: locate(file, name) for name in header.arrays})
        for column in found.values():
            if column.kind == CATEGORY:
                column.values.update(column.texts(path, len(rows) - 1))
    with replacing(store / INDEX) as partial, create_file(partial) as file:
        columns = file.create_group(_COLUMNS)
        write_number(columns, "shard", np.repeat(np.arange(len(rows)), rows), "<i4")
        tables = {}
        for name, column in found.items():
            table = _write_column(columns, name, column, shards, rows)
            if column.kind == CATEGORY:
                tables[name] = table
        group = file.create_group(_SHARDS)
        for name in locations[0] if locations else ():
            write_number(group, f"{name}_offset", [place[name].offset for place in locations], "<i8")
            write_number(group, f"{name}_rows", [place[name].shape[0] for place in locations], "<i8")
        _write_speakers(file.create_group(_SPEAKERS), [statistics[name] for name in tables.get("speaker", ())])
    return sum(rows), total


def _write_speakers(group: h5py.Group, statistics: Sequence[MelStatistics]) -> None:
    write_dataset(group, "frames", np.array([part.count for part in statistics], np.int64))
    for name, values in (
        ("mel_mean", [part.mean for part in statistics]),
        ("mel_std", [part.std for part in statistics]),
    ):
        write_dataset(group, name, np.array(values, np.float64).reshape(len(statistics), -1 if statistics else 0))


def _look(file: h5py.File, found: dict[str, _Column], rows: int, *, first: bool) -> None:
    """Note where a shard's columns lie."""
    group = file[_COLUMNS]
    if not first and set(group) != set(found):
        raise CorruptStoreError(f"{file.filename}: its columns are not those of the shards before it")
    for name in sorted(group):
        places = locate_column(group, name)
        kind = column_kind(name, places)
        if first:
            found[name] = _Column(kind, {part: _Part(place.dtype) for part, place in places.items()})
        column = found[name]
        if column.kind != kind or {part: place.dtype for part, place in places.items()} != {
            part: known.dtype for part, known in column.parts.items()
        }:
            raise CorruptStoreError(f"{file.filename}: column '{name}' is of another kind than in the shards before")
        length = places[""] if kind == NUMBER else places.get("offsets")
        if length is None or ("bytes" not in places and kind != NUMBER) or length.shape != (rows + (kind != NUMBER),):
            raise CorruptStoreError(f"{file.filename}: column '{name}' has not the {rows:,} rows of its shard")
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


@dataclass(frozen=True)
class Index:
    """Where everything lies in ``index.h5``; opening reads no column.

    Attributes:
        path: the file.
        rows: number of utterances.
        columns: name → the datasets of the column.
        speaker_statistics: ``frames`` [n_speakers], ``mel_mean`` and ``mel_std`` [n_speakers, n_mels].
        arrays: array name → (byte offsets [n_shards], rows [n_shards]).
    """

    path: Path
    rows: int
    columns: Mapping[str, Mapping[str, Location]]
    speaker_statistics: Mapping[str, Location]
    arrays: Mapping[str, tuple[Array, Array]]

    def column(self, name: str) -> Column:
        """Map a column."""
        return map_column(self.path, dict(self.columns[name]))


def open_index(path: Path, rows: int, arrays: Sequence[str], n_shards: int) -> Index:
    """Locate every column of an index and check their lengths against each other.

    Args:
        rows: the number of utterances that the manifest says.
        arrays: the names of the arrays that the manifest says.
        n_shards: the number of shards that the manifest says.

    Raises:
        CorruptStoreError: a column is missing, or not as long as the manifest says.
    """
    with reading(path) as file:
        groups = [file.get(name) for name in (_COLUMNS, _SHARDS, _SPEAKERS)]
        if not all(isinstance(group, h5py.Group) for group in groups):
            raise CorruptStoreError(f"{path}: expected the groups '{_COLUMNS}', '{_SHARDS}' and '{_SPEAKERS}'")
        speakers = {name: locate(groups[2], name) for name in ("frames", "mel_mean", "mel_std")}
        columns = {str(name): locate_column(groups[0], name) for name in groups[0]}
        places = {}
        for name in arrays:
            pair = [locate(groups[1], f"{name}_{what}") for what in ("offset", "rows")]
            for place in pair:
                _expect(path, f"{name} of the shards", place, (n_shards,), "i")
            places[name] = pair
    for name, kind in FIXED_COLUMNS.items():
        if name not in columns and not (name in ("waveform_start", "n_samples") and "waveform" not in arrays):
            raise CorruptStoreError(f"{path}: the column '{name}' is missing")
        if name in columns and _kind(columns[name]) != kind:
            raise CorruptStoreError(f"{path}: the column '{name}' is a {_kind(columns[name])}, expected a {kind}")
    for name, parts in columns.items():
        if "" in parts:
            _expect(
                path, name, parts[""], (rows,), np.dtype(NUMBER_DTYPES[name]).kind if name in NUMBER_DTYPES else "if"
            )
            continue
        if not {"bytes", "offsets"} <= set(parts) or parts["bytes"].dtype != np.uint8 or len(parts["bytes"].shape) != 1:
            raise CorruptStoreError(f"{path}: column '{name}' should have 'bytes', uint8 [n], and 'offsets'")
        if "codes" in parts:
            _expect(path, name, parts["codes"], (rows,), "i")
            n_values = max(0, int(np.prod(parts["offsets"].shape)) - 1)
            _expect(path, name, parts["offsets"], (n_values + 1,), "i")
        else:
            _expect(path, name, parts["offsets"], (rows + 1,), "i")
    size = path.stat().st_size
    for name, parts in {**columns, _SPEAKERS: speakers}.items():
        for place in parts.values():
            if place.size and not 0 <= place.offset <= size - place.size:
                raise CorruptStoreError(f"{path}: column '{name}' does not lie within the file's {size:,} bytes")
    maps = {name: (map_dataset(path, pair[0]), map_dataset(path, pair[1])) for name, pair in places.items()}
    return Index(path, rows, columns, speakers, maps)


def array_row_bytes(manifest: Manifest, name: str) -> int:
    """Return the bytes of one row of an array."""
    spec = manifest.arrays[name]
    return int(np.dtype(spec["dtype"]).itemsize * np.prod(spec["row_shape"], dtype=object))


def check_places(index: Index, manifest: Manifest) -> None:
    """Check where the index says that the arrays lie: within the shards, and not one over the other.

    Raises:
        CorruptStoreError: the message names the shard and the array.
    """
    sizes = np.array([entry.size for entry in manifest.shards], np.int64)
    spans: list[tuple[str, Array, Array]] = []
    for name, (offsets, rows) in index.arrays.items():
        starts, counts = offsets.astype(np.int64), rows.astype(np.int64)
        row_bytes = array_row_bytes(manifest, name)
        # Divided rather than multiplied: a count near 2**63 would wrap around.
        bad = (counts < 0) | (counts > sizes // row_bytes) | ((counts > 0) & (starts < 0))
        lengths = np.where(bad, 0, counts) * row_bytes
        bad |= (counts > 0) & (starts > sizes - lengths)
        if bad.any():
            number = int(np.flatnonzero(bad)[0])
            raise CorruptStoreError(
                f"{index.path}: '{name}' of shard {number}: {int(counts[number]):,} rows from byte "
                f"{int(starts[number]):,} on do not lie within its {int(sizes[number]):,} bytes; run 'tts-prep verify'"
            )
        for other, begin, length in spans:
            over = (lengths > 0) & (length > 0) & (starts < begin + length) & (begin < starts + lengths)
            if over.any():
                raise CorruptStoreError(
                    f"{index.path}: '{name}' and '{other}' of shard {int(np.flatnonzero(over)[0])} overlap; "
                    "run 'tts-prep verify'"
                )
        spans.append((name, starts, lengths))


def _kind(parts: Mapping[str, Any]) -> str:
    return NUMBER if "" in parts else CATEGORY if "codes" in parts else TEXT


def _expect(path: Path, name: str, location: Location, shape: tuple[int, ...], kinds: str) -> None:
    if location.shape != shape or location.dtype.kind not in kinds:
        raise CorruptStoreError(
            f"{path}: column '{name}' is {location.dtype} {list(location.shape)}, "
            f"expected {list(shape)} of kind {kinds!r}"
        )
