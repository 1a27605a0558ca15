"""The index: one row an utterance, built from the shards alone."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tts_prep.errors import CorruptStoreError
from tts_prep.format.atomic import replacing
from tts_prep.format.columns import Column, column_kind, locate_column, map_column, write_number
from tts_prep.format.datasets import (
    Array,
    Location,
    create_dataset,
    create_file,
    locate,
    map_dataset,
    reading,
    write_dataset,
)
from tts_prep.format.layout import CATEGORY, FIXED_COLUMNS, INDEX, NUMBER, NUMBER_DTYPES, TEXT
from tts_prep.format.manifest import Manifest
from tts_prep.format.shard import read_header
from tts_prep.format.statistics import MelStatistics

_COLUMNS = "columns"
_SHARDS = "shards"
_SPEAKERS = "speakers"


@dataclass
class _Extent:
    """How large a column becomes, known after a first look at every shard."""

    kind: str
    dtype: str = ""
    n_bytes: int = 0
    values: set[str] = field(default_factory=set)


def build_index(store: Path, shards: Sequence[Path]) -> tuple[int, MelStatistics]:
    """Write ``index.h5`` from what the shards hold; return the number of rows and the statistics of all frames.

    Memory stays bounded by one shard's columns and the tables of the categories: a first pass finds out the sizes,
    a second one copies.
    """
    rows: list[int] = []
    extents: dict[str, _Extent] = {}
    locations: list[dict[str, Location]] = []
    statistics: dict[str, MelStatistics] = {}
    total = MelStatistics.empty(0)
    for path in shards:
        with reading(path) as file:
            header = read_header(file)
            _measure(file, extents, first=not rows)
            rows.append(header.rows)
            for speaker, part in header.mel_statistics.items():
                found = MelStatistics.from_dict(part)
                statistics[speaker] = statistics[speaker].merged(found) if speaker in statistics else found
                total = total.merged(found)
            locations.append({name: locate(file, name) for name in header.arrays})
    with replacing(store / INDEX) as partial, create_file(partial) as file:
        columns = file.create_group(_COLUMNS)
        tables = _create_columns(columns, extents, sum(rows))
        start = 0
        text_starts = dict.fromkeys(extents, 0)
        for number, path in enumerate(shards):
            with reading(path) as shard:
                _copy_rows(shard[_COLUMNS], columns, extents, tables, start, text_starts)
            columns["shard"][start : start + rows[number]] = number
            start += rows[number]
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


def _measure(file: h5py.File, extents: dict[str, _Extent], *, first: bool) -> None:
    group = file[_COLUMNS]
    if not first and set(group) != set(extents):
        raise CorruptStoreError(f"{file.filename}: its columns are not those of the shards before it")
    for name in sorted(group):
        kind = column_kind(group, name)
        extent = extents.setdefault(name, _Extent(kind))
        if extent.kind != kind:
            raise CorruptStoreError(
                f"{file.filename}: column '{name}' is a {kind}, in the shards before a {extent.kind}"
            )
        if kind == NUMBER:
            extent.dtype = group[name].dtype.str
        elif kind == TEXT:
            extent.n_bytes += group[name]["bytes"].size
        else:
            extent.values.update(_read_texts(group[name]))


def _create_columns(group: h5py.Group, extents: Mapping[str, _Extent], rows: int) -> dict[str, list[str]]:
    tables = {}
    create_dataset(group, "shard", (rows,), "<i4").attrs["kind"] = NUMBER
    for name, extent in extents.items():
        if extent.kind == NUMBER:
            create_dataset(group, name, (rows,), extent.dtype).attrs["kind"] = NUMBER
            continue
        child = group.create_group(name)
        child.attrs["kind"] = extent.kind
        if extent.kind == TEXT:
            create_dataset(child, "bytes", (extent.n_bytes,), "u1")
            create_dataset(child, "offsets", (rows + 1,), "<i8")
        else:
            create_dataset(child, "codes", (rows,), "<i4")
            tables[name] = sorted(extent.values)
            encoded = [value.encode("utf-8") for value in tables[name]]
            create_dataset(child, "bytes", (sum(map(len, encoded)),), "u1")[...] = np.frombuffer(
                b"".join(encoded), np.uint8
            )
            offsets = np.cumsum([0, *map(len, encoded)])
            create_dataset(child, "offsets", (len(offsets),), "<i8")[...] = offsets
    return tables


def _copy_rows(
    source: h5py.Group,
    target: h5py.Group,
    extents: Mapping[str, _Extent],
    tables: Mapping[str, list[str]],
    start: int,
    text_starts: dict[str, int],
) -> None:
    for name, extent in extents.items():
        if extent.kind == NUMBER:
            values = source[name][...]
            target[name][start : start + len(values)] = values
        elif extent.kind == TEXT:
            data, offsets = source[name]["bytes"][...], source[name]["offsets"][...]
            first = text_starts[name]
            target[name]["bytes"][first : first + len(data)] = data
            target[name]["offsets"][start : start + len(offsets)] = offsets + first
            text_starts[name] = first + len(data)
        else:
            code = {value: number for number, value in enumerate(tables[name])}
            codes = [code[value] for value in _read_texts(source[name])]
            target[name]["codes"][start : start + len(codes)] = codes


def _read_texts(group: h5py.Group) -> list[str]:
    data, offsets = group["bytes"][...].tobytes(), group["offsets"][...].tolist()
    return [data[a:b].decode("utf-8") for a, b in itertools.pairwise(offsets)]


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
