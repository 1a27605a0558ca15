"""Make one shard: a pure function of its plan and the settings."""

import contextlib
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, Protocol

import h5py
import numpy as np

from tts_prep import doors
from tts_prep.errors import TtsPrepError, UtteranceError, WorkerError
from tts_prep.format import layout
from tts_prep.format.assembly import StoredShard
from tts_prep.format.contents.shard import HEADER, ShardHeader, header_text
from tts_prep.format.files.atomic import writing
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.hdf5.writer import write_arrays, write_dataset, write_file, write_number, write_string, write_texts
from tts_prep.format.records.failures import Failure
from tts_prep.format.records.manifest import FileEntry
from tts_prep.format.records.remarks import Remarks
from tts_prep.format.statistics import MelStatistics
from tts_prep.preprocess.audio.mel import compile_kernels
from tts_prep.preprocess.configuration.records import FUSED_MULTIPLY_ADD, Configuration, fused_multiply_add
from tts_prep.preprocess.make.examples import Example, make_example, needs_energy
from tts_prep.preprocess.make.phonemizing import frontend_of, read_ahead
from tts_prep.preprocess.plan.shard_plans import PlannedUtterance, ShardPlan
from tts_prep.preprocess.plan.shard_settings import ShardContents, ShardRecipe
from tts_prep.preprocess.workers.pool import Note


@dataclass(frozen=True)
class MadeShard:
    """The result of making one shard.

    Attributes:
        stored: the manifest entry and the header of the shard, without statistics.
        is_new: False if the shard already existed.
        arrays: the entry of each added array's file by name.
        compiling: the seconds spent compiling the mel kernel before; 0 unless this call compiled it.
    """

    stored: StoredShard
    is_new: bool
    arrays: Mapping[str, FileEntry] = field(default_factory=dict)
    compiling: float = 0.0


class Kept(Protocol):
    """The rows of a changed shard whose values the store that is replaced has."""

    def has(self, number: int) -> bool:
        """Return whether it has the row of a number."""

    def example(self, number: int, row: PlannedUtterance, remarks: Remarks) -> Example | None:
        """Return a row as it has it, and add its remarks; None if the row has to be made.

        Raises:
            UtteranceError: a feature that it does not have cannot be computed.
        """


def make_shard(
    plan: ShardPlan,
    recipe: ShardRecipe,
    store: Path,
    report: Callable[[int], None] = lambda _: None,
    beside_others: bool = False,
    note: Note = lambda _: None,
    advance: Callable[[tuple[int, float]], None] = lambda _: None,
) -> MadeShard:
    """Make one shard, unless it exists with the same key.

    Args:
        report: called with the number of every row before it is processed.
        beside_others: other shards are made at the same time.
        note: called when the mel kernel is compiled; see `compile_kernels`.
        advance: called with the number of rows that are done, and the seconds of their audio.

    Raises:
        MemoryError: a row needs too much memory while other shards are made. Without others, the row fails instead.
        WriteError: the shard cannot be written.
        CorpusChangedError: a recording has changed since the run was planned.
    """
    _check_processor(recipe)
    shard = _Shard(plan, recipe, store, report)
    if found := shard.finished():
        return found
    compiling = compile_kernels(recipe.config.mel, note, energy=needs_energy(recipe.features))
    return replace(shard.made(beside_others, advance), compiling=compiling)


@dataclass(frozen=True, eq=False)
class _Shard:
    """A shard while it is made; the attributes are arguments of `make_shard`."""

    plan: ShardPlan
    recipe: ShardRecipe
    store: Path
    report: Callable[[int], None]

    @cached_property
    def contents(self) -> ShardContents:
        """The contents of its recordings."""
        return ShardContents(self.plan, self.recipe, self.report)

    @cached_property
    def rows(self) -> tuple[PlannedUtterance | Failure, ...]:
        """Its rows, of which some are failures for this run."""
        return self.plan.with_failed(self.contents.rows)

    @cached_property
    def kept(self) -> Kept | None:
        """Those of its rows whose values the store that is replaced has."""
        old = self.plan.old_rows
        return doors.need("update", "kept")(old, self.recipe, self.contents) if old else None

    def finished(self) -> MadeShard | None:
        """Return the shard if it exists with the same key, with the array files that it lacked."""
        plan, recipe, store = self.plan, self.recipe, self.store
        if not (plan.old or (store / layout.shard_name(plan.number)).exists()):
            return None
        from tts_prep.preprocess.make.resuming import finished_shard

        shard = finished_shard(store, plan, recipe.key(plan), lambda: self.contents.key)
        if shard is None:
            return None
        arrays: dict[str, FileEntry] = {}
        if recipe.features:
            # Imported with the first feature, which most stores have not.
            from tts_prep.preprocess.make.array_files import complete_array_files
            from tts_prep.preprocess.make.feature_inputs import ShardRecordings, feature_inputs

            recordings = ShardRecordings(self.rows, recipe, self.report)
            inputs = partial(feature_inputs, config=recipe.config, extractor=recipe.extractor, recordings=recordings)
            arrays = complete_array_files(store, shard, recipe.features, inputs, plan.old)
        return MadeShard(StoredShard.of(shard), is_new=False, arrays=arrays)

    def made(self, beside_others: bool, advance: Callable[[tuple[int, float]], None]) -> MadeShard:
        """Make the rows, and write them and their arrays."""
        header, examples = self._examples(beside_others, advance)
        columns = {**self.plan.columns, **dict.fromkeys(self.recipe.config.cleaning.columns, layout.NUMBER)}
        name = layout.shard_name(self.plan.number)
        path = self.store / name
        with writing(path):
            path.parent.mkdir(exist_ok=True)
        digest = write_file(path, partial(write_rows, columns, header, examples))
        entry = FileEntry(name, digest.size, header.rows, digest.sha256)
        stored = StoredShard(entry, replace(header, mel_statistics={}))
        return MadeShard(stored, is_new=True, arrays=self._arrays(header, examples))

    def _arrays(self, header: ShardHeader, examples: Sequence[Example]) -> dict[str, FileEntry]:
        """Write the array files of the shard that has just been made; return their entries."""
        if not self.recipe.features:
            return {}
        from tts_prep.format.contents.array_writer import ShardRows
        from tts_prep.preprocess.make.array_files import write_array_files

        lengths = {
            array.axis: [len(example.arrays[name]) for example in examples]
            for name, array in layout.ARRAYS.items()
            if name in header.arrays
        }
        ids, speakers = ([example.row[name] for example in examples] for name in ("id", "speaker"))
        rows, arrays = ShardRows(self.plan.number, header.key, speakers, lengths, ids), dict[str, FileEntry]()
        for position, feature in enumerate(self.recipe.features):
            arrays |= write_array_files(self.store, rows, feature, [example.features[position] for example in examples])
        return arrays

    def _examples(
        self, beside_others: bool, advance: Callable[[tuple[int, float]], None]
    ) -> tuple[ShardHeader, list[Example]]:
        """Make the rows, and count them in the header of the shard."""
        found: dict[int, Example] = {}
        failures: list[Failure] = []
        of_rows: list[Remarks] = []
        row_remarks: dict[str, Any] = {}
        seconds = 0.0
        for number, row in enumerate(self.rows):
            if number % _TEXTS_AT_ONCE == 0 and not self.recipe.alignments:
                self._read_texts(number)
            self.report(number)
            if number:
                advance((number, seconds))
            remarks = Remarks()
            made = row if isinstance(row, Failure) else self._example(number, row, remarks, beside_others)
            of_rows.append(remarks)
            if isinstance(made, Failure):
                failures.append(made)
                continue
            seconds += made.row["seconds"]
            if counts := remarks.counts():
                row_remarks[str(len(found))] = counts
            found[number] = made
        # One after another, these take a third of the time that they would between mels.
        examples = [made._replace(key=self.contents.row_key(number)) for number, made in found.items()]
        statistics: dict[str, MelStatistics] = {}
        for made in examples:
            earlier = statistics.get(speaker := made.row["speaker"])
            statistics[speaker] = earlier.merged(made.statistics) if earlier else made.statistics
        header = ShardHeader(
            key=self.contents.key_of_made,
            planned=self.recipe.key(self.plan),
            rows=len(examples),
            seconds=float(sum(example.row["seconds"] for example in examples)),
            mel_statistics={speaker: of_speaker.as_dict() for speaker, of_speaker in statistics.items()},
            failures=tuple(asdict(failure) for failure in failures),
            remarks=Remarks.merged(remarks.as_dict() for remarks in of_rows).as_dict(),
            row_remarks=row_remarks,
            **self.recipe.settings,
        )
        return header, examples

    def _read_texts(self, first: int) -> None:
        """Read the texts of the rows that are made next."""
        for number, row in enumerate(self.rows[first : first + _TEXTS_AT_ONCE], first):
            if isinstance(row, PlannedUtterance) and not (self.kept and self.kept.has(number)):
                self.report(number)
                read_ahead(row.utterance, self.recipe.config.text)

    def _example(self, number: int, row: PlannedUtterance, remarks: Remarks, beside_others: bool) -> Example | Failure:
        utterance = row.utterance
        made: Example | Failure
        try:
            example = self.kept.example(number, row, remarks) if self.kept else self._read_once(number, row, remarks)
            # Known before it is decoded: arrays of older bytes than those of their key would never be made again.
            self.contents.of(number)
            made = example or make_example(utterance, self.recipe, remarks)
        except UtteranceError as error:
            # An audio error names the recording, but a text error does not name the place of the text.
            reason = f"{utterance.where}: {error}" if error.stage == "text" else str(error)
            made = Failure(utterance.id, utterance.where, error.stage, reason)
        except MemoryError:
            if beside_others:
                raise
            reason = f"{utterance.audio}: needs more memory than is available"
            made = Failure(utterance.id, utterance.where, "audio", reason)
        # Of what is made as of what fails, and once it is read, because it can grow until then.
        row.check_unchanged(self.recipe.root)
        return made

    def _read_once(self, number: int, row: PlannedUtterance, remarks: Remarks) -> Example | None:
        """Make a row and note its contents, reading the recording once; None where that does not give them."""
        found: list[str] = []
        example = None
        if row.utterance.is_whole_file:
            with contextlib.suppress(UtteranceError, MemoryError):
                example = make_example(row.utterance, self.recipe, remarks, found)
        if found and example:
            self.contents.note(number, found[0])
            return example
        # A failure, too, is of what was there before it.
        remarks.clear()
        return None


_TEXTS_AT_ONCE: Final = 128
"""The number of texts that are read one after another; the cache of texts holds more."""


def _check_processor(recipe: ShardRecipe) -> None:
    """Check that this worker, possibly on another machine, computes the same values as the planning process."""
    here, there = fused_multiply_add(), recipe.software[FUSED_MULTIPLY_ADD]
    if here != there:
        raise WorkerError(
            f"{platform.node()}: fused multiply-add: {here} on this worker's processor, {there} where the run was "
            "planned, which changes mels; exclude this machine, or set NUMBA_CPU_NAME=generic everywhere"
        )


def get_ready(config: Configuration, note: Note, *, energy: bool = False) -> float:
    """Load the text frontend and compile the kernels in a worker process.

    Args:
        note: called when the kernel is compiled; see `compile_kernels`.
        energy: see `compile_kernels`.

    Returns:
        The seconds that this process spent compiling.
    """
    compiling = compile_kernels(config.mel, note, energy=energy)
    # Errors of the frontend are reported by the planning process or the first job.
    with contextlib.suppress(TtsPrepError):
        frontend_of(config.text).software()
    return compiling


def write_rows(
    columns: Mapping[str, str], header: ShardHeader, examples: list[Example], file: h5py.File, checksums: dict[str, str]
) -> None:
    """Fill the file of a shard; ``columns``: the kinds of the corpus's own columns by name."""
    write_string(file, HEADER, header_text(header))
    starts = {
        name: write_arrays(
            file, name, [example.arrays[name] for example in examples], spec["row_shape"], spec["dtype"], checksums
        )
        for name, spec in header.arrays.items()
    }
    keys = np.frombuffer(b"".join(example.key for example in examples), np.uint8)
    write_dataset(file, layout.ROW_KEYS, keys.reshape(-1, layout.KEY_BYTES))
    _write_columns(file.create_group("columns"), columns, examples, starts)


def _write_columns(
    group: h5py.Group, extra: Mapping[str, str], examples: list[Example], starts: Mapping[str, Array]
) -> None:
    for name, kind in {**layout.FIXED_COLUMNS, **extra}.items():
        if kind in (layout.TEXT, layout.CATEGORY):
            write_texts(group, name, [str(example.row.get(name, "")) for example in examples], kind)
        elif name in ("seconds", *extra):
            values = [example.row.get(name, np.nan) for example in examples]
            write_number(group, name, values, layout.NUMBER_DTYPES["seconds"])
    for name, positions in starts.items():
        array = layout.ARRAYS[name]
        write_number(group, array.start_column, positions[:-1], layout.NUMBER_DTYPES[array.start_column])
        write_number(group, array.length_column, np.diff(positions), layout.NUMBER_DTYPES[array.length_column])
