"""The index, as a reader opens it: where every column and every array of every shard lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tts_prep.errors import CorruptStoreError
from tts_prep.format.arrays import ArraySpec
from tts_prep.format.columns import Column, check_columns, column_datasets, map_column
from tts_prep.format.datasets import Array, Location, Locations, dataset_at, map_dataset
from tts_prep.format.decoding import shown
from tts_prep.format.hdf5_process import locations_apart
from tts_prep.format.layout import ARRAYS, FIXED_COLUMNS, INDEX, OWN, UTTERANCE
from tts_prep.format.manifest import Manifest


@dataclass(frozen=True)
class Index:
    """Where everything lies in ``index.h5``; opening reads no column.

    Attributes:
        path: the file.
        rows: number of utterances.
        columns: name → the datasets of the column.
        speaker_statistics: ``frames`` [n_speakers], ``mel_mean`` and ``mel_std`` [n_speakers, n_mels]; of an added
            array A ``A_count`` [n_speakers], ``A_mean``, ``A_std``, ``A_min``, ``A_max`` [n_speakers, n].
        arrays: array name → (byte offsets [n_shards], rows [n_shards]).
    """

    path: Path
    rows: int
    columns: Mapping[str, Mapping[str, Location]]
    speaker_statistics: Mapping[str, Location]
    arrays: Mapping[str, tuple[Array, Array]]

    def column(self, name: str) -> Column:
        """Map a column."""
        return map_column(self.path, self.columns[name])


def index_locations(store: Path, manifest: Manifest) -> Locations:
    """Return where the datasets of the index lie, from the manifest.

    Stores of format 1.0 and 1.1 do not have that in their manifest: another process finds out by HDF5.
    """
    return manifest.datasets.get(INDEX) or locations_apart(store / INDEX)


def open_index(path: Path, locations: Locations, rows: int, specs: Mapping[str, ArraySpec], n_shards: int) -> Index:
    """Check the columns of an index against the manifest; no column is read.

    Args:
        locations: where the index's datasets lie.
        rows: the number of utterances that the manifest says.
        specs: the arrays that the manifest says.
        n_shards: the number of shards that the manifest says.

    Raises:
        CorruptStoreError: a column is missing, or not as long as the manifest says.
    """
    columns = column_datasets(locations)
    spans = [column for spec in specs.values() for column in spec.columns or ()]
    for name in ("id", "text", "phoneme_text", "shard", "seconds", "speaker", *spans):
        if name not in columns:
            raise CorruptStoreError(f"{path}: the column '{name}' is missing")
    check_columns(path, columns, rows, in_index=True, integers=[name for name in spans if name not in FIXED_COLUMNS])
    size = path.stat().st_size
    for name, place in locations.items():
        if not place.within(size):
            raise CorruptStoreError(f"{path}: {shown(name)} does not lie within the file's {size:,} bytes")
    maps = {}
    for name in specs:
        offsets, counts = (dataset_at(path, locations, f"shards/{name}_{what}") for what in ("offset", "rows"))
        for place in (offsets, counts):
            if place.shape != (n_shards,) or place.dtype.kind != "i":
                raise CorruptStoreError(
                    f"{path}: '{name}' of the shards is {place.dtype} {list(place.shape)}, not [{n_shards}] integers"
                )
        maps[name] = map_dataset(path, offsets), map_dataset(path, counts)
    prefix = "speakers/"
    speakers = {name.removeprefix(prefix): place for name, place in locations.items() if name.startswith(prefix)}
    for name in ("frames", "mel_mean", "mel_std"):
        dataset_at(path, locations, f"{prefix}{name}")
    return Index(path, rows, columns, speakers, maps)


def check_places(index: Index, manifest: Manifest) -> None:
    """Check where the index says that the arrays lie: within the shards, and not one over the other.

    Raises:
        CorruptStoreError: the message names the shard and the array.
    """
    spans: list[tuple[str, Array, Array]] = []
    for name, (offsets, rows) in index.arrays.items():
        spec = manifest.specs[name]
        files = manifest.array_files.get(name, manifest.shards)
        sizes = np.array([entry.size for entry in files], np.int64)
        starts, counts = offsets.astype(np.int64), rows.astype(np.int64)
        # Divided rather than multiplied: a count near 2**63 would wrap around.
        bad = (counts < 0) | (counts > sizes // spec.row_bytes) | ((counts > 0) & (starts < 0))
        lengths = np.where(bad, 0, counts) * spec.row_bytes
        bad |= (counts > 0) & (starts > sizes - lengths)
        if bad.any():
            number = int(np.flatnonzero(bad)[0])
            raise CorruptStoreError(
                f"{index.path}: '{name}' of shard {number}: {int(counts[number]):,} rows from byte "
                f"{int(starts[number]):,} on do not lie within its {int(sizes[number]):,} bytes; run 'tts-prep verify'"
            )
        _check_counts(index, name, spec, counts, manifest)
        if spec.added:
            continue
        for other, begin, length in spans:
            over = (lengths > 0) & (length > 0) & (starts < begin + length) & (begin < starts + lengths)
            if over.any():
                raise CorruptStoreError(
                    f"{index.path}: '{name}' and '{other}' of shard {int(np.flatnonzero(over)[0])} overlap; "
                    "run 'tts-prep verify'"
                )
        spans.append((name, starts, lengths))


def _check_counts(index: Index, name: str, spec: ArraySpec, counts: Array, manifest: Manifest) -> None:
    """Check that an added array has as many rows in each file as its axis asks for."""
    if not spec.added or spec.axis == OWN:
        return
    if spec.axis == UTTERANCE:
        due = np.array([entry.rows for entry in manifest.shards], np.int64)
    else:
        due = next(index.arrays[other][1] for other, layout in ARRAYS.items() if layout.axis == spec.axis)
    if not np.array_equal(counts, due):
        number = int(np.flatnonzero(counts != due)[0])
        raise CorruptStoreError(
            f"{index.path}: '{name}' of shard {number} has {int(counts[number]):,} rows, expected {int(due[number]):,}"
        )
