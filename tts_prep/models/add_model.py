"""Add what a function of batches of utterances returns to a complete store: arrays, and columns of the index."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep.additions.add_arrays import ModelRun, is_intact, planned_again, stored_shards
from tts_prep.additions.add_columns import check_column_names, index_values
from tts_prep.errors import NO_WAVEFORMS, ConfigurationError, CorruptStoreError, TooManyFailuresError
from tts_prep.format.assembly import assemble_store
from tts_prep.format.contents.array_file import array_key
from tts_prep.format.contents.shard import CheckedShard
from tts_prep.format.hdf5.columns import column_datasets
from tts_prep.format.layout import INDEX
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import FileEntry, Manifest, read_manifest
from tts_prep.models.function import WAVEFORMS, Description, Missing, ModelFunction
from tts_prep.models.inputs import NAMES, Source, batches_of
from tts_prep.models.outputs import PENDING, Outputs
from tts_prep.models.processes import ModelProcesses, Outcome, ShardWork
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.features.feature import CorpusAlignments
from tts_prep.preprocess.make.array_files import check_same, finished_array_file
from tts_prep.preprocess.make.feature_inputs import StoredRows, intact_shard
from tts_prep.preprocess.make.transaction import Change, StoreTransaction
from tts_prep.preprocess.plan.planned_store import CorpusRows, PlannedStore
from tts_prep.progress import Progress, ShowProgress


@dataclass(frozen=True)
class AddedOutputs:
    """What was added.

    Attributes:
        arrays: the arrays.
        columns: the names of the columns.
        missing: the id of each utterance without a value, and the reason.
    """

    manifest: Manifest
    arrays: tuple[ArraySpec, ...]
    columns: tuple[str, ...]
    missing: Mapping[str, str]


def add_model(
    store: Path,
    model: ModelFunction,
    run: ModelRun = ModelRun(),
    corpus: CorpusRows | None = None,
    alignments: CorpusAlignments | None = None,
) -> AddedOutputs:
    """Call a function on all utterances of a complete store, and add what it returns.

    After an interruption the store is unchanged, and the next call resumes with the missing shards.

    Args:
        corpus: the rows and recordings of the store; None for the stored waveforms.
        alignments: the alignments of the store, if they change its shards and recordings are read.

    Raises:
        ConfigurationError: the function cannot be loaded, or asks for what the store does not have.
        StoreError: the store is incomplete, or has an array of one of the names with other settings.
        TooManyFailuresError: more utterances than allowed have no value. The store is unchanged.
    """
    run = run.on(1)
    with StoreTransaction.begin(store, Change.ADD) as transaction:
        manifest = read_manifest(store)
        config = Configuration.from_dict(store, manifest.configuration)
        planned = planned_again(store, config, manifest, corpus, alignments) if corpus else None
        arrays = {name: spec for name, spec in manifest.array_specs.items() if spec.added}
        columns = column_datasets(manifest.datasets[INDEX])
        source = Source(store.absolute(), config, planned.recipe if planned else None, arrays, tuple(columns))
        look = _Counter(run.progress, len(manifest.shards))
        processes = ModelProcesses(model, run, source, look)
        try:
            description = processes.describe()
            outputs = Outputs.of(model.name, description)
            _check_inputs(store, manifest, description, source)
            given = _columns(store, manifest, description, source)
            if not _is_missing(store, manifest, outputs):
                return AddedOutputs(manifest, outputs.arrays, outputs.columns, _all_missing(store, manifest, outputs))
            _check_columns(store, manifest, outputs)
            with transaction.build([manifest.fingerprint, manifest.plan, sorted(outputs.specs)]) as folder:
                transaction.take_over(manifest)
                making = _Making(store, folder, manifest, outputs, description, planned, given, run)
                added = making.make(processes, look)
                files = {**manifest.array_files, **added}
                manifest = assemble_store(folder, stored_shards(folder, manifest), files)
            return AddedOutputs(manifest, outputs.arrays, outputs.columns, making.missing)
        finally:
            processes.stop()


def add_array(store: Path, called: tuple[Any, ...], run: ModelRun, rows: CorpusRows | None) -> Manifest:
    """Add the array of a function of batches; ``called`` is what `ModelFunction` is made of."""
    return add_model(store, ModelFunction(*called), run, rows).manifest


class _Counter:
    """Tells the number of finished shards, also while nothing happens: what shows it ends an interrupted run."""

    def __init__(self, progress: ShowProgress, total: int) -> None:
        self._progress, self._total, self.done = progress, total, 0

    def __call__(self) -> None:
        self._progress(Progress(self.done, self._total, unit="shards"))


@dataclass
class _Making:
    """The files of a function's outputs, while they are made."""

    store: Path
    folder: Path
    manifest: Manifest
    outputs: Outputs
    description: Description
    planned: PlannedStore | None
    columns: Mapping[str, Sequence[Any]]
    run: ModelRun

    def __post_init__(self) -> None:
        self.missing: dict[str, str] = {}
        self._entries: dict[int, dict[str, FileEntry]] = {}
        self._known: dict[int, dict[int, Outcome]] = {}
        self._starts = np.cumsum([0, *(entry.rows for entry in self.manifest.shards)]).tolist()

    def make(self, processes: ModelProcesses, progress: _Counter) -> dict[str, tuple[FileEntry, ...]]:
        """Make all files that are missing; return the files of each array, one per shard, in order.

        Raises:
            TooManyFailuresError: more utterances than allowed have no value.
        """
        with contextlib.closing(processes.run(self._todo(progress))) as results:
            for work, found in results:
                rows = self._stored(work.number).rows
                found = {**self._known.pop(work.number), **found}
                outcomes = [found[position] for position in range(len(rows.ids))]
                self._entries[work.number] = self.outputs.write(self.folder, rows, outcomes)
                of_ids = zip(rows.ids, outcomes, strict=True)
                self._count({uid: outcome.reason for uid, outcome in of_ids if isinstance(outcome, Missing)})
                progress.done = len(self._entries)
                progress()
        numbers = range(len(self.manifest.shards))
        return {name: tuple(self._entries[number][name] for number in numbers) for name in sorted(self.outputs.specs)}

    def _todo(self, progress: _Counter) -> Iterator[ShardWork]:
        """Yield the shards that are not finished; count those that are."""
        for number, start in enumerate(self._starts[:-1]):
            shard = intact_shard(self.store, number)
            stored = StoredRows(self.store, shard)
            if entries := self._finished(shard, stored):
                self._entries[number] = entries
                self._count(self.outputs.missing(self.folder, stored))
                progress.done = len(self._entries)
                continue
            known, seconds = self._outcomes(stored), stored.numbers("seconds")
            new = [position for position in range(len(seconds)) if position not in known]
            self._known[number] = known
            batches = batches_of(seconds[new].tolist(), self.description.batch_seconds)
            yield ShardWork(
                number,
                self.planned.shards[number] if self.planned else None,
                [tuple(new[position] for position in batch) for batch in batches],
                {name: values[start : start + len(seconds)] for name, values in self.columns.items()},
            )

    def _outcomes(self, stored: StoredRows) -> dict[int, Outcome]:
        """Return what the store has of a shard by position, if its files are intact: an update leaves new rows out."""
        if not self.outputs.specs.keys() <= self.manifest.specs.keys():
            return {}
        with contextlib.suppress(CorruptStoreError):
            outcomes = self.outputs.outcomes(self.store, stored)
            return {position: outcome for position, outcome in enumerate(outcomes) if outcome != PENDING}
        return {}

    def _finished(self, shard: CheckedShard, stored: StoredRows) -> dict[str, FileEntry] | None:
        """Return the files of a shard if all of them are finished; the texts, written last, have no open rows then."""
        entries = {}
        for name, spec in self.outputs.specs.items():
            entry = finished_array_file(self.folder, name, partial(array_key, spec, shard.header.key), shard)
            if entry is None:
                return None
            entries[name] = entry
        is_open = PENDING.reason in self.outputs.missing(self.folder, stored).values()
        return None if is_open else entries

    def _stored(self, number: int) -> StoredRows:
        return StoredRows(self.store, intact_shard(self.store, number))

    def _count(self, missing: Mapping[str, str]) -> None:
        self.missing.update(missing)
        total, allowed = self.manifest.index.rows, self.run.allowed
        if len(self.missing) > allowed.of(total):
            uid, reason = next(iter(self.missing.items()))
            raise TooManyFailuresError(
                f"{len(self.missing):,} of {total:,} utterances have no '{self.outputs.name}' so far, more "
                f"than --max-failures {allowed.text} allows; the first is {uid}: {reason}; nothing was changed, and "
                "finished shards are kept: correct the function, or allow more by --max-failures"
            )


def _is_missing(store: Path, manifest: Manifest, outputs: Outputs) -> bool:
    """Return whether an array of the outputs is not in a store, has a broken file, or lacks rows since an update."""
    specs = outputs.specs
    for name in sorted(specs.keys() & manifest.specs.keys()):
        check_same(store, manifest.specs[name], specs[name])
    if not all(name in manifest.specs and is_intact(store, manifest, name) for name in specs):
        return True
    return PENDING.reason in index_values(store, manifest, outputs.failure)


def _all_missing(store: Path, manifest: Manifest, outputs: Outputs) -> dict[str, str]:
    ids, reasons = (index_values(store, manifest, column) for column in ("id", outputs.failure))
    return {uid: reason for uid, reason in zip(ids, reasons, strict=True) if reason}


def _check_columns(store: Path, manifest: Manifest, outputs: Outputs) -> None:
    for spec in outputs.specs.values():
        if spec.name not in manifest.specs:
            check_column_names(store, manifest, spec)


def _check_inputs(store: Path, manifest: Manifest, description: Description, source: Source) -> None:
    """Check that a function asks for nothing that its store does not have.

    Raises:
        ConfigurationError: it does.
    """
    if WAVEFORMS in description.inputs and source.recipe is None and "waveform" not in manifest.specs:
        raise ConfigurationError(f"{store}: {NO_WAVEFORMS}, or give --corpus CORPUS (corpus=), which it was made from")
    if unknown := [name for name in description.inputs if name not in source.names]:
        raise ConfigurationError(
            f"{store}: the function asks for '{unknown[0]}', there are {', '.join(sorted(source.names))}"
        )


def _columns(store: Path, manifest: Manifest, description: Description, source: Source) -> dict[str, Sequence[Any]]:
    """Return the columns of the index that a function asks for, and those that say which arrays it asks for lack."""
    asked = [name for name in description.inputs if name in source.columns and name not in NAMES]
    arrays = [source.arrays[name] for name in description.inputs if name in source.arrays and name not in asked]
    names = {*asked, *(spec.failures for spec in arrays if spec.failures in source.columns)}
    return {name: index_values(store, manifest, name) for name in names}
