"""Add columns to the index of a complete store, and remove columns and arrays from it."""

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace as replace_fields
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.additions.add_arrays import is_intact, stored_shards
from tts_prep.additions.column_table import ColumnTable, guessed_dependencies, read_column_table
from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.format.assembly import assemble_store
from tts_prep.format.files.atomic import remove_folder
from tts_prep.format.files.checksums import json_sha256
from tts_prep.format.files.paths import stored_file
from tts_prep.format.hdf5.columns import CategoryColumn, Column, TextColumn, column_datasets, column_of
from tts_prep.format.hdf5.datasets import Array, map_file
from tts_prep.format.layout import ADDED_ARRAYS, INDEX, OWN, UTTERANCE
from tts_prep.format.records.arrays import DEPENDENCIES, EXTERNAL, EXTERNAL_TEXTS, ArraySpec, is_reserved
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.preprocess.make.array_files import index_array_files
from tts_prep.preprocess.make.transaction import Change, StoreTransaction
from tts_prep.progress import Progress, ShowProgress, in_notebooks

_OWN_NAMES: Final = {EXTERNAL, EXTERNAL_TEXTS, f"{EXTERNAL_TEXTS}_start", f"n_{EXTERNAL_TEXTS}"}


def add_index_array(
    store: Path,
    spec: Callable[[Manifest], ArraySpec],
    values: Callable[[], npt.NDArray[np.float64]],
    progress: ShowProgress = in_notebooks,
) -> Manifest:
    """Add an array with index columns to a complete store; return the new manifest.

    An array of the same name with another specification is replaced. If interrupted, the store is unchanged.

    Args:
        spec: returns the specification for a manifest: float64, with the axis ``utterance`` and ``index_columns``.
        values: returns the values in the order of the index, [n_utterances, n_columns]; not called if the store
            already has the array.
        progress: called with the number of finished utterances of each step.

    Raises:
        StoreError: the store is incomplete, was replaced meanwhile, or has a column with one of the names. The store is
            unchanged.
    """
    with StoreTransaction.begin(store, Change.ADD) as transaction:
        manifest = read_manifest(store)
        array = spec(manifest).checked()
        if manifest.specs.get(array.name) == array and is_intact(store, manifest, array.name):
            return manifest
        check_column_names(store, manifest, array)
        with transaction.build([manifest.fingerprint, manifest.plan, array.as_dict()]) as folder:
            table = values()
            if table.shape != (manifest.index.rows, len(array.index_columns)):
                raise ConfigurationError(
                    f"array '{array.name}': expected {manifest.totals['utterances']:,} rows of "
                    f"{len(array.index_columns)} numbers, found {list(table.shape)}"
                )
            transaction.take_over(manifest)
            shards = stored_shards(folder, manifest)
            report = _report_of(progress, manifest, "writing columns")
            files = index_array_files(folder, array, shards, lambda rows: list(table[rows]), report)
            progress(Progress(manifest.index.rows, manifest.index.rows, step="writing the index"))
            return assemble_store(folder, shards, {**manifest.array_files, array.name: files})


def add_columns(
    store: str | Path,
    source: str | Path | Mapping[str, Sequence[Any]] | Any,
    *,
    replace: bool = False,
    depends_on: Collection[str] | None = None,
    progress: ShowProgress = in_notebooks,
) -> ColumnTable:
    """Add columns of numbers, categories or texts to the index of a complete store; return what was added.

    They are columns like any other: filters, `check`, reports and exports use them. Missing values of a column that was
    added before are filled. If interrupted, the store is unchanged.

    Example:
        >>> from tts_prep.loader import UtteranceDataset
        >>> from tts_prep.preprocess import add_columns
        >>> add_columns("scored", {"id": ["utterance-0", "utterance-2"], "wer": [0.1, 0.4]})
        <ColumnTable: wer>
        >>> UtteranceDataset("scored").wer.tolist()
        [0.1, nan, 0.4, nan]

    Args:
        store: the store.
        source: a CSV, TSV, JSON lines, parquet or arrow file; column name → values; or a table of pandas, polars or
            pyarrow. A column ``id`` has the ids of utterances, or ``audio`` the paths of recordings, or else
            ``speaker`` the speakers whose rows all get the values. An utterance without a row, and an empty value, or
            among numbers ``NA`` or ``null``, has NaN, or an empty text. True and false are 1 and 0. With a value such
            as ``007``, or an integer above 2⁵³, all of a column are texts. A column of more than 256 different texts
            is one of texts, not categories.
        replace: whether values that were added before are replaced, for the rows of the table, also by missing ones.
        depends_on: what the columns depend on, of their row: some of ``text``, ``audio`` and ``speaker``, or nothing;
            where that changes, an update clears the value. None keeps what a column had; of a new one, its name says
            it (``wer``, ``snr``, ``license``), or it depends on all.
        progress: called with the number of finished utterances of each step.

    Raises:
        CorpusError: a row is damaged, repeated or has a value of another kind than before; nothing can be joined.
        ConfigurationError: a column has an invalid name, or depends on something else.
        StoreError: the store is incomplete, or has a column with one of the names, of its own or with other values.
    """
    store = Path(store)
    if depends_on is not None and (isinstance(depends_on, str) or not {*depends_on} <= {*DEPENDENCIES}):
        raise ConfigurationError(
            f"depends-on: expected nothing, or some of {', '.join(DEPENDENCIES)}, found {depends_on!r}"
        )
    with StoreTransaction.begin(store, Change.ADD) as transaction:
        manifest = read_manifest(store)
        known = _external_columns(store, manifest)
        source = Path(source) if isinstance(source, str) else source
        ids, speakers = (index_values(store, manifest, name) for name in ("id", "speaker"))
        of_texts = set() if replace else {*known.texts, *known.categories}
        table = read_column_table(source, ids, progress, of_texts, speakers, known.names if replace else ())
        table = table.filled(store, known, ids, replaces=replace)
        depends = dict.fromkeys(table.names, depends_on)
        if depends_on is None:
            depends = {name: guessed_dependencies(name) for name in table.names if name not in known.names}
            depends |= {name: of for name, of in known.depends.items() if name in table.names}
        said = {name: tuple(sorted(of)) for name, of in depends.items() if of is not None}
        table = replace_fields(table, depends=said)
        _rewrite(transaction, manifest, known.joined(table), (), progress)
        return table


def remove_columns(
    store: str | Path, columns: Sequence[str] = (), arrays: Sequence[str] = (), *, progress: ShowProgress = in_notebooks
) -> Manifest:
    """Remove columns that `add_columns` has added, and added arrays, from a complete store; return the new manifest.

    Args:
        store: the store.
        columns: names of columns.
        arrays: names of arrays. What one model has made is removed together.
        progress: called with the number of finished utterances of each step.

    Raises:
        StoreError: the store is incomplete, or has no such column or array.
    """
    store = Path(store)
    with StoreTransaction.begin(store, Change.ADD) as transaction:
        manifest = read_manifest(store)
        known = _external_columns(store, manifest)
        _check_removable("column", columns, known.names, store)
        removable = _removable(manifest)
        _check_removable("array", arrays, removable, store)
        removed = {one for name in arrays for one in removable[name]}
        return _rewrite(transaction, manifest, known.without(columns), sorted(removed), progress)


def _removable(manifest: Manifest) -> dict[str, set[str]]:
    """Return the names by which arrays can be removed, and the arrays that each removes: all that its model has made.

    The numbers and texts of a model are stored as arrays whose names are not shown; one that has no other array is
    removed by the name of its outputs.
    """
    specs = {name: spec for name, spec in manifest.specs.items() if name in manifest.array_files}
    models = {name: _names_of_model(spec) for name, spec in specs.items()}
    found: dict[str, set[str]] = {}
    for name in specs.keys() - {EXTERNAL, EXTERNAL_TEXTS}:
        together = {name, *(other for other in specs if models[other] & models[name])}
        if not (models[name] and specs[name].holds_columns):
            found[name] = together
        elif all(specs[one].holds_columns for one in together):
            found[re.sub("_(texts|numbers)$", "", name)] = together
    return dict(sorted(found.items()))


def _names_of_model(spec: ArraySpec) -> frozenset[str]:
    """Return the model that made an array, and its checksum, which is all that its other arrays have."""
    model = spec.settings.get("model")
    return frozenset((str(model), json_sha256(model))) if model else frozenset()


def _check_removable(what: str, names: Sequence[str], known: Collection[str], store: Path) -> None:
    for name in names:
        if name not in known:
            found = ", ".join(known) or "none"
            raise StoreError(f"{store}: no {what} '{name[:64]}' was added; those that can be removed: {found}")


def _rewrite(
    transaction: StoreTransaction,
    manifest: Manifest,
    columns: ColumnTable,
    removed: Sequence[str],
    progress: ShowProgress,
) -> Manifest:
    """Write the columns in the place of those that were added before, without the removed arrays."""
    numbers, texts = _numbers_array(columns), _texts_array(columns)
    arrays = [array.checked() for array in (numbers, texts) if array.holds_columns]
    for name in columns.names:
        if is_reserved(name) or name in _OWN_NAMES:
            raise ConfigurationError(f"column '{name}': the format has a use for this name; rename it")
    for array in arrays:
        check_column_names(transaction.store, manifest, array)
    replaced = {EXTERNAL, EXTERNAL_TEXTS, *removed}
    files = {name: entries for name, entries in manifest.array_files.items() if name not in replaced}
    purpose = [manifest.fingerprint, manifest.plan, numbers.as_dict(), texts.as_dict(), sorted(removed)]
    with transaction.build(purpose) as folder:
        transaction.take_over(manifest)
        for name in replaced - {array.name for array in arrays}:
            remove_folder(folder / ADDED_ARRAYS / name)
        shards = stored_shards(folder, manifest)
        for array in arrays:
            report = _report_of(progress, manifest, "writing texts" if array.text_columns else "writing columns")
            values = partial(_values, columns, array)
            files[array.name] = tuple(index_array_files(folder, array, shards, values, report))
        progress(Progress(manifest.index.rows, manifest.index.rows, step="writing the index"))
        return assemble_store(folder, shards, files)


def _report_of(progress: ShowProgress, manifest: Manifest, step: str) -> Callable[[int], None]:
    """Return a function that reports the number of finished utterances of a step."""
    return lambda done: progress(Progress(done, manifest.index.rows, step=step))


def _numbers_array(columns: ColumnTable) -> ArraySpec:
    """Return the array of the columns of numbers and categories, which has no index columns if there are none."""
    names = tuple(sorted(columns.values))
    tables = {name: list(columns.categories[name]) for name in names if name in columns.categories}
    table = np.stack([columns.values[name] for name in names], axis=1) if names else np.empty(0)
    digest = hashlib.sha256(np.ascontiguousarray(table, "<f8").tobytes()).hexdigest()
    settings = {"sha256": digest, **({"categories": tables} if tables else {}), **_dependencies(columns, names)}
    return ArraySpec(EXTERNAL, "float64", (len(names),), UTTERANCE, settings=settings, index_columns=names)


def _texts_array(columns: ColumnTable) -> ArraySpec:
    """Return the array of the columns of texts, which has no text columns if there are none."""
    names = tuple(sorted(columns.texts))
    digest = hashlib.sha256()
    for name in names:
        for text in columns.texts[name]:
            digest.update(text.encode() + b"\0")
    settings = {"sha256": digest.hexdigest(), **_dependencies(columns, names)}
    return ArraySpec(EXTERNAL_TEXTS, "uint8", (), OWN, settings=settings, text_columns=names)


def _dependencies(columns: ColumnTable, names: Collection[str]) -> dict[str, dict[str, list[str]]]:
    found = {name: list(of) for name, of in sorted(columns.depends.items()) if name in names}
    return {"depends_on": found} if found else {}


def _values(columns: ColumnTable, array: ArraySpec, rows: slice) -> list[Array]:
    """Return the values of some rows, one array each."""
    if array.text_columns:
        texts = zip(*(columns.texts[name][rows] for name in array.text_columns), strict=True)
        return [np.frombuffer("".join(f"{text}\0" for text in row).encode(), np.uint8) for row in texts]
    return list(np.stack([columns.values[name][rows] for name in array.index_columns], axis=1))


def _index_column(store: Path, manifest: Manifest, name: str) -> Column:
    return column_of(map_file(stored_file(store, INDEX)), column_datasets(manifest.datasets[INDEX])[name])


def index_values(store: Path, manifest: Manifest, name: str) -> list[Any]:
    """Return the values of a column of the index: numbers or texts."""
    column = _index_column(store, manifest, name)
    if isinstance(column, TextColumn):
        return column.take(np.arange(len(column)))
    if isinstance(column, CategoryColumn):
        return [column[row] for row in range(len(column))]
    values: list[Any] = column.tolist()
    return values


def _external_columns(store: Path, manifest: Manifest) -> ColumnTable:
    """Return the columns that were added before."""
    values: dict[str, npt.NDArray[np.float64]] = {}
    categories: dict[str, tuple[str, ...]] = {}
    texts: dict[str, Sequence[str]] = {}
    specs = [manifest.specs[name] for name in (EXTERNAL, EXTERNAL_TEXTS) if name in manifest.specs]
    for name in (name for spec in specs for name in spec.own_names):
        column = _index_column(store, manifest, name)
        if isinstance(column, CategoryColumn):
            values[name], categories[name] = np.array(column.codes, np.float64), tuple(column.table)
        elif isinstance(column, TextColumn):
            texts[name] = column.take(np.arange(len(column)))
        else:
            values[name] = np.array(column, np.float64)
    depends = {name: of for spec in specs for name, of in spec.depends.items()}
    return ColumnTable(values, categories, {}, texts, depends=depends)


def check_column_names(store: Path, manifest: Manifest, array: ArraySpec) -> None:
    """Check that the store has no columns with names of an array, but those that the array replaces.

    Raises:
        StoreError: it has.
    """
    external = (EXTERNAL, EXTERNAL_TEXTS)
    names = external if array.name in external else (array.name,)
    specs = [manifest.specs[name] for name in names if name in manifest.specs]
    replaced = {name for spec in specs for name in spec.own_columns}
    own = column_datasets(manifest.datasets[INDEX]).keys() - replaced
    for name in array.own_columns:
        if name in own:
            raise StoreError(
                f"{store}: has a column '{name}' of its own; rename the one to be added"
                if array.name in external
                else f"{store}: has a column '{name}' from its corpus, which array '{array.name}' needs; rename it in "
                "the corpus, and make the store again"
            )
