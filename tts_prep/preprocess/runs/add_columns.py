"""Add columns to the index of a complete store, and remove columns and arrays from it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.format.assembly import StoredShard, assemble_store
from tts_prep.format.contents.array_file import array_key
from tts_prep.format.contents.array_writer import write_array_file
from tts_prep.format.contents.index import index_locations
from tts_prep.format.files.paths import stored_file
from tts_prep.format.files.replacement import remove_folder
from tts_prep.format.hdf5.columns import CategoryColumn, Column, TextColumn, column_datasets, column_of
from tts_prep.format.hdf5.datasets import map_file
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.layout import ADDED_ARRAYS, INDEX, UTTERANCE
from tts_prep.format.records.arrays import ArraySpec, is_reserved
from tts_prep.format.records.manifest import FileEntry, Manifest, read_manifest
from tts_prep.preprocess.runs.add_arrays import is_intact, stored_shards
from tts_prep.preprocess.runs.column_table import ColumnTable, read_column_table
from tts_prep.preprocess.runs.transaction import Change, StoreTransaction

EXTERNAL: Final = "external_columns"
"""The array of all columns that `add_columns` has added."""


def add_index_array(
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
            return assemble_store(
                folder, shards, {**manifest.array_files, **_array_files(folder, array, shards, table)}
            )


def add_columns(
    store: str | Path, source: str | Path | Mapping[str, Sequence[Any]], *, replace: bool = False
) -> ColumnTable:
    """Add columns of numbers or categories to the index of a complete store; return what was added.

    They are columns like any other: filters, `check`, reports and exports use them. If interrupted, the store is
    unchanged.

    Args:
        store: the store.
        source: a CSV, TSV, JSON lines, parquet or arrow file, or column name → values. A column ``id`` has the ids of
            utterances, or a column ``audio`` the paths of recordings; an utterance without a row, and an empty value,
            has NaN, or the category ``""``.
        replace: whether columns that were added before are replaced.

    Raises:
        CorpusError: a row is damaged, repeated or has a value of another kind than before; nothing can be joined.
        ConfigurationError: a column has an invalid name.
        StoreError: the store is incomplete, or has a column with one of the names.
    """
    store = Path(store)
    with StoreTransaction.begin(store, Change.ADD) as transaction:
        manifest = read_manifest(store)
        known = _external_columns(store, manifest)
        table = read_column_table(source if isinstance(source, Mapping) else Path(source), _ids(store, manifest))
        if (again := sorted(table.values.keys() & known.values.keys())) and not replace:
            raise StoreError(
                f"{store}: has the columns {', '.join(again)} already; --replace (replace=True) replaces them"
            )
        # A column that was a category can become one of numbers.
        categories = {name: known.categories[name] for name in known.categories.keys() - table.values.keys()}
        joined = ColumnTable({**known.values, **table.values}, {**categories, **table.categories}, {})
        _rewrite(transaction, manifest, joined, ())
        return table


def remove_columns(store: str | Path, columns: Sequence[str] = (), arrays: Sequence[str] = ()) -> Manifest:
    """Remove columns that `add_columns` has added, and added arrays, from a complete store; return the new manifest.

    Raises:
        StoreError: the store is incomplete, or has no such column or array.
    """
    store = Path(store)
    with StoreTransaction.begin(store, Change.ADD) as transaction:
        manifest = read_manifest(store)
        known = _external_columns(store, manifest)
        _check_removable("column", columns, known.values, store)
        _check_removable("array", arrays, [name for name in manifest.array_files if name != EXTERNAL], store)
        kept = {name: values for name, values in known.values.items() if name not in columns}
        return _rewrite(transaction, manifest, ColumnTable(kept, known.categories, {}), arrays)


def _check_removable(what: str, names: Sequence[str], known: Collection[str], store: Path) -> None:
    for name in names:
        if name not in known:
            found = ", ".join(known) or "none"
            raise StoreError(f"{store}: no {what} '{name[:64]}' was added; those that can be removed: {found}")


def _rewrite(
    transaction: StoreTransaction, manifest: Manifest, columns: ColumnTable, removed: Sequence[str]
) -> Manifest:
    """Write the columns in the place of those that were added before, without the removed arrays."""
    names = tuple(sorted(columns.values))
    rows = manifest.index.rows
    table = np.stack([columns.values[name] for name in names], axis=1) if names else np.empty((rows, 0))
    tables = {name: list(columns.categories[name]) for name in names if name in columns.categories}
    digest = hashlib.sha256(np.ascontiguousarray(table, "<f8").tobytes()).hexdigest()
    settings = {"sha256": digest, **({"categories": tables} if tables else {})}
    array = ArraySpec(EXTERNAL, "float64", (len(names),), UTTERANCE, settings=settings, index_columns=names)
    if names:
        for name in names:
            if is_reserved(name):
                raise ConfigurationError(f"column '{name}': the format has a use for this name; rename it")
        _check_names(transaction.store, manifest, array.checked())
    files = {name: entries for name, entries in manifest.array_files.items() if name not in (EXTERNAL, *removed)}
    with transaction.build([manifest.fingerprint, manifest.plan, array.as_dict(), sorted(removed)]) as folder:
        transaction.take_over(manifest)
        for name in removed if names else (*removed, EXTERNAL):
            remove_folder(folder / ADDED_ARRAYS / name)
        shards = stored_shards(folder, manifest)
        return assemble_store(folder, shards, {**files, **_array_files(folder, array, shards, table)})


def _array_files(
    folder: Path, array: ArraySpec, shards: Sequence[StoredShard], table: npt.NDArray[np.float64]
) -> dict[str, list[FileEntry]]:
    if not array.index_columns:
        return {}
    entries, start = [], 0
    for shard in shards:
        entries.append(_write(folder, array, shard, table[start : start + shard.header.rows]))
        start += shard.header.rows
    return {array.name: entries}


def _ids(store: Path, manifest: Manifest) -> list[str]:
    column = _index_column(store, manifest, "id")
    return column.take(np.arange(manifest.index.rows)) if isinstance(column, TextColumn) else []


def _index_column(store: Path, manifest: Manifest, name: str) -> Column:
    return column_of(map_file(stored_file(store, INDEX)), column_datasets(index_locations(store, manifest))[name])


def _external_columns(store: Path, manifest: Manifest) -> ColumnTable:
    """Return the columns that were added before."""
    values: dict[str, npt.NDArray[np.float64]] = {}
    categories: dict[str, tuple[str, ...]] = {}
    spec = manifest.specs.get(EXTERNAL)
    for name in spec.index_columns if spec else ():
        column = _index_column(store, manifest, name)
        if isinstance(column, CategoryColumn):
            values[name], categories[name] = np.array(column.codes, np.float64), tuple(column.table)
        else:
            values[name] = np.array(column, np.float64)
    return ColumnTable(values, categories, {})


def _check_names(store: Path, manifest: Manifest, array: ArraySpec) -> None:
    replaced = manifest.specs[array.name].index_columns if array.name in manifest.specs else ()
    for name in column_datasets(index_locations(store, manifest)):
        if name in array.index_columns and name not in replaced:
            raise StoreError(
                f"{store}: has a column '{name}' from its corpus, which array '{array.name}' needs; rename it in the "
                "corpus, and make the store again"
                if array.name != EXTERNAL
                else f"{store}: has a column '{name}' of its own; rename the one to be added"
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
        folder,
        array,
        shard.number,
        header.key,
        key,
        list(rows),
        speakers=list(speakers),
        counted=uncounted,
        is_numbered=header.is_numbered,
    )
