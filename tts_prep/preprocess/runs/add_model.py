"""Add what a function of batches of utterances returns to a complete store: arrays, and columns of the index."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from tts_prep.errors import ConfigurationError, TooManyFailuresError
from tts_prep.format.assembly import assemble_store
from tts_prep.format.contents.array_file import array_key
from tts_prep.format.contents.array_writer import write_array_file
from tts_prep.format.contents.index import index_locations
from tts_prep.format.contents.shard import CheckedShard
from tts_prep.format.hdf5.columns import column_datasets
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.layout import OWN, UTTERANCE, shard_name
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import FileEntry, Manifest, read_manifest
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.features.alignments.aligned_utterances import CorpusAlignments
from tts_prep.preprocess.models.batches import batches_of
from tts_prep.preprocess.models.function import WAVEFORMS, Description, Missing, ModelFunction
from tts_prep.preprocess.models.inputs import NAMES, Source
from tts_prep.preprocess.models.processes import ModelProcesses, Outcome, ShardWork
from tts_prep.preprocess.runs.add_arrays import intact_shard, is_intact, planned_again, stored_shards
from tts_prep.preprocess.runs.add_columns import check_column_names, index_values
from tts_prep.preprocess.runs.array_files import check_same
from tts_prep.preprocess.runs.failure_limit import FailureLimit
from tts_prep.preprocess.runs.feature_inputs import ShardRows, StoredRows, stored_values
from tts_prep.preprocess.runs.planned_store import CorpusRows, PlannedStore
from tts_prep.preprocess.runs.resuming import finished_array_file
from tts_prep.preprocess.runs.transaction import Change, StoreTransaction

ALLOWED: Final = FailureLimit.parse("1%")


@dataclass(frozen=True)
class ModelRun:
    """How a function is called on a store.

    Attributes:
        devices: a device for each process.
        corpus: the rows and recordings of the store; None for the stored waveforms.
        alignments: the alignments of the store, if they change its shards and recordings are read.
        timeout: seconds that a batch may take.
        allowed: the number of utterances that may have no value.
        progress: called with the number of finished shards and of all shards.
    """

    devices: tuple[str, ...] = ("cpu",)
    corpus: CorpusRows | None = None
    alignments: CorpusAlignments | None = None
    timeout: float = 600.0
    allowed: FailureLimit = ALLOWED
    progress: Callable[[int, int], None] = lambda _done, _total: None

    def __post_init__(self) -> None:
        if not self.devices:
            raise ConfigurationError("devices: expected at least one, such as cuda:0")
        if self.timeout <= 0:
            raise ConfigurationError(f"timeout: expected seconds greater than 0, found {self.timeout:g}")


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


@dataclass(frozen=True)
class Outputs:
    """The arrays in which the outputs of a function are stored.

    Attributes:
        arrays: those of its arrays.
        numbers: that of its numbers, or None.
        texts: that of its texts; the first of them is why an utterance has no value.
    """

    arrays: tuple[ArraySpec, ...]
    numbers: ArraySpec | None
    texts: ArraySpec

    @classmethod
    def of(cls, name: str, description: Description) -> Outputs:
        """Return the arrays of a function's outputs.

        Args:
            name: the name of the outputs together.
        """
        failure = f"{name}_failure"
        settings, software = description.settings, description.software
        numbers = tuple(sorted(name for name, kind in description.columns.items() if kind is float))
        texts = (failure, *sorted(name for name, kind in description.columns.items() if kind is str))
        of_numbers = ArraySpec(
            f"{name}_numbers",
            "float64",
            (len(numbers),),
            UTTERANCE,
            settings=settings,
            software=software,
            index_columns=numbers,
        )
        of_texts = ArraySpec(
            f"{name}_texts", "uint8", (), OWN, settings=settings, software=software, text_columns=texts
        )
        arrays = tuple(replace(spec, failures=failure) for spec in description.arrays)
        return cls(
            tuple(spec.checked() for spec in arrays), of_numbers.checked() if numbers else None, of_texts.checked()
        )

    @property
    def specs(self) -> dict[str, ArraySpec]:
        """All arrays by name."""
        found = (*self.arrays, *([self.numbers] if self.numbers else []), self.texts)
        specs = {spec.name: spec for spec in found}
        if len(specs) < len(found):
            raise ConfigurationError(f"two outputs have the same name: {', '.join(spec.name for spec in found)}")
        return specs

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the index."""
        return (*(self.numbers.index_columns if self.numbers else ()), *self.texts.text_columns)

    def values(self, spec: ArraySpec, outcome: Outcome, lengths: Mapping[str, int]) -> Array:
        """Return the value of an array for an utterance; without one, zeros, or no rows with the axis ``own``."""
        if spec is self.texts:
            reason, values = (outcome.reason, {}) if isinstance(outcome, Missing) else ("", outcome)
            texts = (reason, *(values.get(name, "") for name in spec.text_columns[1:]))
            return np.frombuffer("".join(f"{text}\0" for text in texts).encode(), np.uint8)
        if spec is self.numbers:
            numbers = {} if isinstance(outcome, Missing) else outcome
            return np.array([numbers.get(name, np.nan) for name in spec.index_columns], np.float64)
        if isinstance(outcome, Missing):
            rows = () if spec.axis == UTTERANCE else (0 if spec.axis == OWN else lengths[spec.axis],)
            return np.zeros((*rows, *spec.row_shape), spec.dtype)
        value: Array = outcome[spec.name]
        return value

    def write(self, folder: Path, rows: ShardRows, outcomes: Sequence[Outcome]) -> dict[str, FileEntry]:
        """Write the files of a shard."""
        lengths = [{axis: of_axis[row] for axis, of_axis in rows.lengths.items()} for row in range(len(outcomes))]
        entries = {}
        for spec in self.specs.values():
            values = [self.values(spec, outcome, of_row) for outcome, of_row in zip(outcomes, lengths, strict=True)]
            counted = [
                np.full(1 if spec.axis == UTTERANCE else len(value), not isinstance(outcome, Missing))
                for value, outcome in zip(values, outcomes, strict=True)
            ]
            entries[spec.name] = write_array_file(
                folder,
                spec,
                rows.number,
                rows.key,
                array_key(spec, rows.key),
                values,
                speakers=rows.speakers,
                lengths=rows.expected_lengths(spec.axis),
                counted=counted,
                is_numbered=rows.is_numbered,
            )
        return entries

    def missing(self, store: Path, stored: StoredRows) -> dict[str, str]:
        """Return the ids of the utterances of a finished shard without values, and the reasons."""
        texts = stored_values(store, self.texts, stored.rows.number, stored)
        reasons = (values.tobytes().decode("utf-8").split("\0")[0] for values in texts)
        return {uid: reason for uid, reason in zip(stored.rows.ids, reasons, strict=True) if reason}


def add_model(store: Path, model: ModelFunction, run: ModelRun = ModelRun()) -> AddedOutputs:
    """Call a function on all utterances of a complete store, and add what it returns.

    After an interruption the store is unchanged, and the next call resumes with the missing shards.

    Raises:
        ConfigurationError: the function cannot be loaded, or asks for what the store does not have.
        StoreError: the store is incomplete, or has an array of one of the names with other settings.
        TooManyFailuresError: more utterances than allowed have no value. The store is unchanged.
    """
    with StoreTransaction.begin(store, Change.ADD) as transaction:
        manifest = read_manifest(store)
        config = Configuration.from_dict(store, manifest.configuration)
        planned = planned_again(store, config, manifest, run.corpus, run.alignments) if run.corpus else None
        arrays, columns = _own_arrays(manifest), column_datasets(index_locations(store, manifest))
        source = Source(store.absolute(), config, planned.recipe if planned else None, arrays, tuple(columns))
        look = _Progress(run.progress, len(manifest.shards))
        processes = ModelProcesses(model, run.devices, source, run.timeout, look)
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


class _Progress:
    """Tells the number of finished shards, also while nothing happens: what shows it ends an interrupted run."""

    def __init__(self, progress: Callable[[int, int], None], total: int) -> None:
        self._progress, self._total, self.done = progress, total, 0

    def __call__(self) -> None:
        self._progress(self.done, self._total)


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
        self._starts = np.cumsum([0, *(entry.rows for entry in self.manifest.shards)]).tolist()

    def make(self, processes: ModelProcesses, progress: _Progress) -> dict[str, tuple[FileEntry, ...]]:
        """Make all files that are missing; return the files of each array, one per shard, in order.

        Raises:
            TooManyFailuresError: more utterances than allowed have no value.
        """
        with contextlib.closing(processes.run(self._todo(progress))) as results:
            for work, outcomes in results:
                rows = self._stored(work.number).rows
                self._entries[work.number] = self.outputs.write(self.folder, rows, outcomes)
                found = zip(rows.ids, outcomes, strict=True)
                self._count({uid: outcome.reason for uid, outcome in found if isinstance(outcome, Missing)})
                progress.done = len(self._entries)
                progress()
        numbers = range(len(self.manifest.shards))
        return {name: tuple(self._entries[number][name] for number in numbers) for name in sorted(self.outputs.specs)}

    def _todo(self, progress: _Progress) -> Iterator[ShardWork]:
        """Yield the shards that are not finished; count those that are."""
        for number, start in enumerate(self._starts[:-1]):
            shard = intact_shard(self.store, number)
            stored = StoredRows(self.store / shard_name(number), shard)
            if entries := self._finished(shard):
                self._entries[number] = entries
                self._count(self.outputs.missing(self.folder, stored))
                progress.done = len(self._entries)
                continue
            seconds = stored.numbers("seconds").tolist()
            yield ShardWork(
                number,
                self.planned.shards[number] if self.planned else None,
                batches_of(seconds, self.description.batch_seconds),
                len(seconds),
                {name: values[start : start + len(seconds)] for name, values in self.columns.items()},
            )

    def _finished(self, shard: CheckedShard) -> dict[str, FileEntry] | None:
        """Return the files of a shard if all of them are finished."""
        entries = {}
        for name, spec in self.outputs.specs.items():
            entry = finished_array_file(self.folder, name, partial(array_key, spec, shard.header.key), shard)
            if entry is None:
                return None
            entries[name] = entry
        return entries

    def _stored(self, number: int) -> StoredRows:
        return StoredRows(self.store / shard_name(number), intact_shard(self.store, number))

    def _count(self, missing: Mapping[str, str]) -> None:
        self.missing.update(missing)
        total, allowed = self.manifest.index.rows, self.run.allowed
        if len(self.missing) > allowed.of(total):
            uid, reason = next(iter(self.missing.items()))
            raise TooManyFailuresError(
                f"{len(self.missing):,} of {total:,} utterances have no '{self.outputs.texts.name[:-6]}' so far, more "
                f"than --max-failures {allowed.text} allows; the first is {uid}: {reason}; nothing was changed, and "
                "finished shards are kept: correct the function, or allow more by --max-failures"
            )


def _own_arrays(manifest: Manifest) -> dict[str, ArraySpec]:
    return {name: spec for name, spec in manifest.specs.items() if spec.added and not spec.holds_columns}


def _is_missing(store: Path, manifest: Manifest, outputs: Outputs) -> bool:
    """Return whether an array of the outputs is not in a store, or has a broken file."""
    specs = outputs.specs
    for name in sorted(specs.keys() & manifest.specs.keys()):
        check_same(store, manifest.specs[name], specs[name])
    return not all(name in manifest.specs and is_intact(store, manifest, name) for name in specs)


def _all_missing(store: Path, manifest: Manifest, outputs: Outputs) -> dict[str, str]:
    name = outputs.texts.text_columns[0]
    ids, reasons = (index_values(store, manifest, column) for column in ("id", name))
    return {uid: reason for uid, reason in zip(ids, reasons, strict=True) if reason}


def _check_columns(store: Path, manifest: Manifest, outputs: Outputs) -> None:
    for spec in (outputs.numbers, outputs.texts):
        if spec and spec.name not in manifest.specs:
            check_column_names(store, manifest, spec)


def _check_inputs(store: Path, manifest: Manifest, description: Description, source: Source) -> None:
    """Check that a function asks for nothing that its store does not have.

    Raises:
        ConfigurationError: it does.
    """
    if WAVEFORMS in description.inputs and source.recipe is None and "waveform" not in manifest.specs:
        raise ConfigurationError(
            f"{store}: has no waveforms; give --corpus CORPUS (corpus=), which it was made from, or prepare it with "
            "--waveform int16"
        )
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
