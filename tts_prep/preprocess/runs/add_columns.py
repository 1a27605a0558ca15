"""Add numeric columns to the index of a complete store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.format.assembly import StoredShard, assemble_store
from tts_prep.format.contents.array_file import array_key
from tts_prep.format.contents.array_writer import write_array_file
from tts_prep.format.contents.index import index_locations
from tts_prep.format.files.paths import stored_file
from tts_prep.format.hdf5.columns import TextColumn, column_datasets, column_of
from tts_prep.format.hdf5.datasets import map_file
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import FileEntry, Manifest, read_manifest
from tts_prep.preprocess.runs.add_arrays import is_intact, stored_shards
from tts_prep.preprocess.runs.transaction import Change, StoreTransaction


def add_columns(
    store: Path, spec: Callable[[Manifest], ArraySpec], values: Callable[[], npt.NDArray[np.float64]]
) -> Manifest:
    """Add an array with index columns to a complete store; return the new manifest.

    An array of the same name with another specification is replaced. If interrupted, the store is unchanged.

    Args:
        spec: returns the specification for a manifest: float64, with the axis ``utterance`` and ``index_columns``.
        values: returns the values in the order of the index, [n_utterances, n_columns]; not called if the store
            already has the array.

    Raises:
        StoreError: the store is incomplete, was replaced meanwhile, or has a column with one of the names. The store is
            unchanged.
    """
    with StoreTransaction.begin(store, Change.ADD) as transaction:
        manifest = read_manifest(store)
        array = spec(manifest).checked()
        if manifest.specs.get(array.name) == array and is_intact(store, manifest, array.name):
            return manifest
        _check_names(store, manifest, array)
        with transaction.build([manifest.fingerprint, manifest.plan, array.as_dict()]) as folder:
            table = values()
            if table.shape != (manifest.index.rows, len(array.index_columns)):
                raise ConfigurationError(
                    f"array '{array.name}': expected {manifest.totals['utterances']:,} rows of "
                    f"{len(array.index_columns)} numbers, found {list(table.shape)}"
                )
            transaction.take_over(manifest)
            shards = stored_shards(folder, manifest)
            entries = []
            start = 0
            for shard in shards:
                entries.append(_write(folder, array, shard, table[start : start + shard.header.rows]))
                start += shard.header.rows
            return assemble_store(folder, shards, {**manifest.array_files, array.name: entries})


def _check_names(store: Path, manifest: Manifest, array: ArraySpec) -> None:
    replaced = manifest.specs[array.name].index_columns if array.name in manifest.specs else ()
    for name in column_datasets(index_locations(store, manifest)):
        if name in array.index_columns and name not in replaced:
            raise StoreError(
                f"{store}: has a column '{name}' from its corpus, which array '{array.name}' needs; rename it in the "
                "corpus, and make the store again"
            )


def _write(folder: Path, array: ArraySpec, shard: StoredShard, rows: npt.NDArray[np.float64]) -> FileEntry:
    path = stored_file(folder, shard.entry.file)
    header = shard.header
    speakers = column_of(map_file(path), column_datasets(read_locations(path))["speaker"])
    assert isinstance(speakers, TextColumn)
    # Missing values (NaN) have no statistics, so no row is counted.
    uncounted = [np.zeros(1, np.bool_)] * len(rows)
    key = array_key(array, header.key)
    return write_array_file(
        folder, array, header.number, header.key, key, list(rows), speakers=list(speakers), counted=uncounted
    )
