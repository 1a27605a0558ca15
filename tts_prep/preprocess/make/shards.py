"""Make one shard: a pure function of its plan and the settings."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import h5py
import numpy as np

from tts_prep import doors
from tts_prep.errors import TtsPrepError, UtteranceError, WorkerError
from tts_prep.format.assembly import StoredShard
from tts_prep.format.contents.shard import HEADER, CheckedShard, ShardHeader, header_text
from tts_prep.format.files.atomic import writing
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.hdf5.writer import write_arrays, write_dataset, write_file, write_number, write_string, write_texts
from tts_prep.format.layout import (
    ARRAYS,
    CATEGORY,
    FIXED_COLUMNS,
    KEY_BYTES,
    NUMBER,
    NUMBER_DTYPES,
    ROW_KEYS,
    TEXT,
    shard_name,
)
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
    contents = ShardContents(plan, recipe, report)
    if plan.old or (store / shard_name(plan.number)).exists():
        from tts_prep.preprocess.make.resuming import finished_shard

        finished = finished_shard(store, plan, recipe.key(plan), lambda: contents.key)
        if finished is not None:
            arrays = _completed_arrays(store, plan, recipe, finished, report)
            return MadeShard(StoredShard.of(finished), is_new=False, arrays=arrays)
    compiling = compile_kernels(recipe.config.mel, note, energy=needs_energy(recipe.features))
    header, examples = _make_examples(plan, recipe, contents, report, beside_others, advance)
    entry = _write_shard(store, plan, recipe, header, examples)
    stored = StoredShard(entry, replace(header, mel_statistics={}))
    arrays = _new_arrays(store, plan, recipe, header, examples)
    return MadeShard(stored, is_new=True, arrays=arrays, compiling=compiling)


def _completed_arrays(
    store: Path, plan: ShardPlan, recipe: ShardRecipe, finished: CheckedShard, report: Callable[[int], None]
) -> dict[str, FileEntry]:
    """Make the missing array files of a finished shard; return the entries of all of them."""
    if not recipe.features:
        return {}
    # Imported with the first feature, which most stores have not.
    from tts_prep.preprocess.make.array_files import complete_array_files
    from tts_prep.preprocess.make.feature_inputs import ShardRecordings, feature_inputs

    recordings = ShardRecordings(plan, recipe, report)
    inputs = partial(feature_inputs, config=recipe.config, extractor=recipe.extractor, recordings=recordings)
    return complete_array_files(store, finished, recipe.features, inputs, plan.old)


def _new_arrays(
    store: Path, plan: ShardPlan, recipe: ShardRecipe, header: ShardHeader, examples: Sequence[Example]
) -> dict[str, FileEntry]:
    """Write the array files of a shard that has just been made; return their entries."""
    if not recipe.features:
        return {}
    from tts_prep.format.contents.array_writer import ShardRows
    from tts_prep.preprocess.make.array_files import write_array_files

    lengths = {
        layout.axis: [len(example.arrays[name]) for example in examples]
        for name, layout in ARRAYS.items()
        if name in header.arrays
    }
    ids, speakers = ([example.row[name] for example in examples] for name in ("id", "speaker"))
    rows, arrays = ShardRows(plan.number, header.key, speakers, lengths, ids), dict[str, FileEntry]()
    for position, feature in enumerate(recipe.features):
        arrays |= write_array_files(store, rows, feature, [example.features[position] for example in examples])
    return arrays


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


def _make_examples(
    plan: ShardPlan,
    recipe: ShardRecipe,
    contents: ShardContents,
    report: Callable[[int], None],
    beside_others: bool,
    advance: Callable[[tuple[int, float]], None],
) -> tuple[ShardHeader, list[Example]]:
    examples: list[Example] = []
    failures: list[Failure] = []
    of_rows: list[Remarks] = []
    row_remarks: dict[str, Any] = {}
    kept: Kept | None = None
    if plan.old_rows:
        kept = doors.need("update", "kept")(plan.old_rows, recipe, contents)
    statistics: dict[str, MelStatistics] = {}
    rows, seconds = plan.rows, 0.0
    for number, row in enumerate(rows):
        if number % _TEXTS_AT_ONCE == 0 and not recipe.alignments:
            _read_texts(rows, range(number, min(number + _TEXTS_AT_ONCE, len(rows))), kept, recipe, report)
        report(number)
        if number:
            advance((number, seconds))
        remarks = Remarks()
        made: Example | Failure
        if isinstance(row, Failure):
            made = row
        else:
            made = _make_example(number, row, kept, recipe, contents, remarks, beside_others)
        of_rows.append(remarks)
        if isinstance(made, Failure):
            failures.append(made)
            continue
        speaker = made.row["speaker"]
        seconds += made.row["seconds"]
        earlier = statistics.get(speaker)
        statistics[speaker] = earlier.merged(made.statistics) if earlier else made.statistics
        if counts := remarks.counts():
            row_remarks[str(len(examples))] = counts
        examples.append(made)
    keys = (contents.key_of_made, recipe.key(plan))
    return _header(keys, recipe, examples, failures, statistics, of_rows, row_remarks), examples


def _header(
    keys: tuple[str, str],
    recipe: ShardRecipe,
    examples: Sequence[Example],
    failures: Sequence[Failure],
    statistics: Mapping[str, MelStatistics],
    of_rows: Sequence[Remarks],
    row_remarks: Mapping[str, Any],
) -> ShardHeader:
    return ShardHeader(
        key=keys[0],
        planned=keys[1],
        rows=len(examples),
        seconds=float(sum(example.row["seconds"] for example in examples)),
        mel_statistics={speaker: of_speaker.as_dict() for speaker, of_speaker in statistics.items()},
        failures=tuple(asdict(failure) for failure in failures),
        remarks=Remarks.merged(remarks.as_dict() for remarks in of_rows).as_dict(),
        row_remarks=row_remarks,
        **recipe.settings,
    )


_TEXTS_AT_ONCE: Final = 128
"""The number of texts that are read one after another; the cache of texts holds more."""


def _read_texts(
    rows: Sequence[PlannedUtterance | Failure],
    numbers: range,
    kept: Kept | None,
    recipe: ShardRecipe,
    report: Callable[[int], None],
) -> None:
    """Read the texts of rows that are made next."""
    for number in numbers:
        row = rows[number]
        if isinstance(row, PlannedUtterance) and not (kept and kept.has(number)):
            report(number)
            read_ahead(row.utterance, recipe.config.text)


def _make_example(
    number: int,
    row: PlannedUtterance,
    kept: Kept | None,
    recipe: ShardRecipe,
    contents: ShardContents,
    remarks: Remarks,
    beside_others: bool,
) -> Example | Failure:
    utterance = row.utterance
    row.check_unchanged(recipe.root)
    try:
        example = kept.example(number, row, remarks) if kept else None
        # Read before it is decoded, when it is then in the system's cache.
        key = contents.row_key(number)
        example = example or replace(make_example(utterance, recipe, remarks), key=key)
    except UtteranceError as error:
        # An audio error names the recording, but a text error does not name the place of the text.
        reason = f"{utterance.where}: {error}" if error.stage == "text" else str(error)
        return Failure(utterance.id, utterance.where, error.stage, reason)
    except MemoryError:
        if beside_others:
            raise
        return Failure(
            utterance.id, utterance.where, "audio", f"{utterance.audio}: needs more memory than is available"
        )
    # Again, in case the recording grew while it was read.
    row.check_unchanged(recipe.root)
    return example


def _write_shard(
    store: Path, plan: ShardPlan, recipe: ShardRecipe, header: ShardHeader, examples: list[Example]
) -> FileEntry:
    name = shard_name(plan.number)
    columns = {**plan.columns, **dict.fromkeys(recipe.config.cleaning.columns, NUMBER)}
    with writing(store / name):
        (store / name).parent.mkdir(exist_ok=True)
    digest = write_file(store / name, partial(write_rows, columns, header, examples))
    return FileEntry(name, digest.size, header.rows, digest.sha256)


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
    write_dataset(file, ROW_KEYS, keys.reshape(-1, KEY_BYTES))
    _write_columns(file.create_group("columns"), columns, examples, starts)


def _write_columns(
    group: h5py.Group, extra: Mapping[str, str], examples: list[Example], starts: Mapping[str, Array]
) -> None:
    for name, kind in {**FIXED_COLUMNS, **extra}.items():
        if kind in (TEXT, CATEGORY):
            write_texts(group, name, [str(example.row.get(name, "")) for example in examples], kind)
        elif name in ("seconds", *extra):
            values = [example.row.get(name, np.nan) for example in examples]
            write_number(group, name, values, NUMBER_DTYPES["seconds"])
    for name, positions in starts.items():
        layout = ARRAYS[name]
        write_number(group, layout.start_column, positions[:-1], NUMBER_DTYPES[layout.start_column])
        write_number(group, layout.length_column, np.diff(positions), NUMBER_DTYPES[layout.length_column])
