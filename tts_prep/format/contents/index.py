"""The index of a store: the locations of its columns and of the arrays in its shards."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tts_prep.errors import CorruptStoreError, broken
from tts_prep.format.decoding import MAX_COUNT, shown
from tts_prep.format.hdf5.columns import Column, check_columns, column_datasets, column_of
from tts_prep.format.hdf5.datasets import Array, Location, Locations, MappedFile, dataset_at
from tts_prep.format.layout import ARRAYS, FIXED_COLUMNS, OWN, UTTERANCE
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import Manifest


@dataclass(frozen=True)
class Index:
    """The locations of everything in ``index.h5``. Opening it reads no column.

    Attributes:
        file: the memory-mapped file.
        rows: the number of utterances.
        columns: the datasets of each column.
        speaker_statistics: ``frames`` [n_speakers], ``mel_mean`` and ``mel_std`` [n_speakers, n_mels]; for an added
            array A ``A_count`` [n_speakers], ``A_mean``, ``A_std``, ``A_min``, ``A_max`` [n_speakers, n].
        arrays: for each array, byte offsets [n_shards] and numbers of rows [n_shards] in the shards.
    """

    file: MappedFile
    rows: int
    columns: Mapping[str, Mapping[str, Location]]
    speaker_statistics: Mapping[str, Location]
    arrays: Mapping[str, tuple[Array, Array]]

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.file.path

    def column(self, name: str) -> Column:
        """Return a column of the memory-mapped file."""
        return column_of(self.file, self.columns[name])


def open_index(
    file: MappedFile, locations: Locations, rows: int, specs: Mapping[str, ArraySpec], n_shards: int
) -> Index:
    """Check the columns of an index against the manifest. No column is read.

    Args:
        locations: the locations of the index's datasets.
        rows: the number of utterances according to the manifest.
        specs: the arrays according to the manifest.
        n_shards: the number of shards according to the manifest.

    Raises:
        CorruptStoreError: a column is missing, or its length contradicts the manifest.
    """
    path = file.path
    columns = column_datasets(locations)
    spans = [column for spec in specs.values() for column in spec.columns or ()]
    values = [column for spec in specs.values() for column in spec.own_names]
    for name in ("id", "text", "phoneme_text", "shard", "seconds", "speaker", *spans, *values):
        if name not in columns:
            raise CorruptStoreError(f"{path}: the column '{name}' is missing")
    check_columns(path, columns, rows, in_index=True, integers=[name for name in spans if name not in FIXED_COLUMNS])
    size = file.size
    for name, place in locations.items():
        if not place.within(size):
            raise CorruptStoreError(f"{path}: {shown(name)} exceeds the file's {size:,} bytes")
    maps = {}
    for name in specs:
        offsets, counts = (dataset_at(path, locations, f"shards/{name}_{what}") for what in ("offset", "rows"))
        for place in (offsets, counts):
            if place.shape != (n_shards,) or place.dtype.kind != "i":
                raise CorruptStoreError(
                    f"{path}: '{name}' of the shards is {place.dtype} {list(place.shape)}, expected {n_shards} integers"
                )
        maps[name] = file.dataset(offsets), file.dataset(counts)
    prefix = "speakers/"
    speakers = {name.removeprefix(prefix): place for name, place in locations.items() if name.startswith(prefix)}
    for name in ("frames", "mel_mean", "mel_std"):
        dataset_at(path, locations, f"{prefix}{name}")
    return Index(file, rows, columns, speakers, maps)


def check_places(index: Index, manifest: Manifest) -> None:
    """Check that the array locations in the index are within the shards and do not overlap.

    Raises:
        CorruptStoreError: an array exceeds its shard or overlaps another one.
    """
    spans: list[tuple[str, Array, Array]] = []
    for name, (offsets, rows) in index.arrays.items():
        spec = manifest.specs[name]
        files = manifest.array_files.get(name, manifest.shards)
        sizes = np.array([entry.size for entry in files], np.int64)
        starts, counts = offsets.astype(np.int64), rows.astype(np.int64)
        # Division rather than multiplication, because a count near 2**63 would overflow.
        most = sizes // spec.row_bytes if spec.row_bytes else np.full_like(sizes, MAX_COUNT)
        starts = starts if spec.row_bytes else np.zeros_like(starts)
        bad = (counts < 0) | (counts > most) | ((counts > 0) & (starts < 0))
        lengths = np.where(bad, 0, counts) * spec.row_bytes
        bad |= (counts > 0) & (starts > sizes - lengths)
        if bad.any():
            number = int(np.flatnonzero(bad)[0])
            raise broken(
                f"{index.path}: '{name}' of shard {number}: {int(counts[number]):,} rows from byte "
                f"{int(starts[number]):,} exceed its {int(sizes[number]):,} bytes"
            )
        _check_counts(index, name, spec, counts, manifest)
        if spec.added:
            continue
        for other, begin, length in spans:
            over = (lengths > 0) & (length > 0) & (starts < begin + length) & (begin < starts + lengths)
            if over.any():
                raise broken(f"{index.path}: '{name}' and '{other}' of shard {int(np.flatnonzero(over)[0])} overlap")
        spans.append((name, starts, lengths))


def _check_counts(index: Index, name: str, spec: ArraySpec, counts: Array, manifest: Manifest) -> None:
    """Check that the number of rows of an added array in each file is that of its axis."""
    if not spec.added or spec.axis == OWN:
        return
    if spec.axis == UTTERANCE:
        expected = np.array([entry.rows for entry in manifest.shards], np.int64)
    else:
        expected = next(index.arrays[other][1] for other, layout in ARRAYS.items() if layout.axis == spec.axis)
    if not np.array_equal(counts, expected):
        number = int(np.flatnonzero(counts != expected)[0])
        raise CorruptStoreError(
            f"{index.path}: '{name}' of shard {number} has {int(counts[number]):,} rows, expected "
            f"{int(expected[number]):,}"
        )
