"""Make one shard: a pure function of its plan and the settings."""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tts_prep.errors import CorpusChangedError, CorruptStoreError, TtsPrepError, UtteranceError, WorkerError
from tts_prep.format.contents.shard import (
    HEADER,
    CheckedShard,
    ShardHeader,
    header_text,
    inspect_shard,
    read_shard_header,
)
from tts_prep.format.files.atomic import replacing, sync, syncing, writing
from tts_prep.format.files.checksums import seal_file
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.hdf5.writer import (
    create_file,
    write_arrays,
    write_number,
    write_string,
    write_texts,
)
from tts_prep.format.layout import (
    ARRAYS,
    CATEGORY,
    FIXED_COLUMNS,
    FRAME,
    NUMBER,
    NUMBER_DTYPES,
    PHONEME,
    TEXT,
    shard_name,
)
from tts_prep.format.records.failures import Failure
from tts_prep.format.records.manifest import FileEntry
from tts_prep.format.records.remarks import Remarks
from tts_prep.format.statistics import MelStatistics
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.audio.framing import n_frames as frame_count
from tts_prep.preprocess.audio.mel import compile_kernels
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.configuration.software import FUSED_MULTIPLY_ADD, fused_multiply_add
from tts_prep.preprocess.corpora.source_utterance import SourceUtterance
from tts_prep.preprocess.features.feature import FeatureInput
from tts_prep.preprocess.runs.array_files import (
    ShardRows,
    StoredRows,
    complete_array_files,
    write_array_files,
)
from tts_prep.preprocess.runs.examples import Example, make_example, read_recording
from tts_prep.preprocess.runs.phonemizing import frontend_of
from tts_prep.preprocess.runs.plan import PlannedUtterance, ShardPlan, recording_size
from tts_prep.preprocess.runs.recipe import ShardRecipe
from tts_prep.preprocess.workers.processes import Note


@dataclass(frozen=True)
class ShardSummary:
    """The result of making one shard.

    Attributes:
        made: False if the shard already existed.
        arrays: the entry of each added array's file by name.
        compiling: the seconds spent compiling the mel kernel before; 0 unless this call compiled it.
    """

    number: int
    entry: FileEntry
    header: ShardHeader
    made: bool
    arrays: Mapping[str, FileEntry] = field(default_factory=dict)
    compiling: float = 0.0

    def sharing(self, settings: Mapping[str, Any]) -> ShardSummary:
        """Return the summary with a header that shares its settings with other shards, to save memory."""
        return replace(self, header=self.header.without_statistics(settings))


def make_shard(
    plan: ShardPlan,
    recipe: ShardRecipe,
    store: Path,
    source: Path | None = None,
    broken: Collection[str] = (),
    report: Callable[[int], None] = lambda _: None,
    beside_others: bool = False,
    note: Note = lambda _: None,
) -> ShardSummary:
    """Make one shard, unless it exists with the same key.

    Args:
        source: another store, whose shard is reused if it has the same key.
        broken: shards of that store that must not be reused.
        report: called with the number of every row before it is processed.
        beside_others: other shards are made at the same time.
        note: called when the mel kernel is compiled; see `compile_kernels`.

    Raises:
        MemoryError: a row needs too much memory while other shards are made. Without others, the row fails instead.
        WriteError: the shard cannot be written.
        CorpusChangedError: a recording has changed since the run was planned.
    """
    name = shard_name(plan.number)
    path = store / name
    key = recipe.key(plan)
    _check_processor(recipe)
    finished = finished_shard(path, plan.number, key)
    if finished is None and source and name not in broken:
        finished = finished_shard(source / name, plan.number, key)
        if finished is not None:
            take_over(source, store, name)
    if finished is not None:
        header, digest = finished.header, finished.digest
        entry = FileEntry(name, digest.size, header.rows, digest.sha256)
        files = complete_array_files(store, finished, recipe.features, RecordedInputs(plan, recipe, report))
        return ShardSummary(plan.number, entry, replace(header, mel_statistics={}), made=False, arrays=files)
    with writing(path):
        path.parent.mkdir(exist_ok=True)
    compiling = compile_kernels(recipe.extractor.config, note)
    header, examples = _make_examples(plan, key, recipe, report, beside_others)
    columns = {**plan.columns, **dict.fromkeys(recipe.cleaning.columns, NUMBER)}
    with replacing(path) as partial:
        _write(columns, header, examples, partial)
        with syncing(partial):
            digest = seal_file(partial)
    entry = FileEntry(name, digest.size, header.rows, digest.sha256)
    arrays: dict[str, FileEntry] = {}
    if recipe.features:
        rows = _rows_of(header, examples)
        for position, feature in enumerate(recipe.features):
            values = [example.features[position] for example in examples]
            arrays.update(write_array_files(store, rows, feature, values))
    without = replace(header, mel_statistics={})
    return ShardSummary(plan.number, entry, without, made=True, arrays=arrays, compiling=compiling)


def _rows_of(header: ShardHeader, examples: Sequence[Example]) -> ShardRows:
    lengths = {
        layout.axis: [len(example.arrays[name]) for example in examples]
        for name, layout in ARRAYS.items()
        if name in header.arrays
    }
    ids, speakers = ([example.row[name] for example in examples] for name in ("id", "speaker"))
    return ShardRows(header.number, header.key, ids, speakers, lengths)


@dataclass(frozen=True)
class RecordedInputs:
    """Yields the inputs of features for a finished shard. Recordings are read if a feature needs them."""

    plan: ShardPlan
    recipe: ShardRecipe
    report: Callable[[int], None]

    def __call__(self, stored: StoredRows) -> Iterator[FeatureInput]:
        """Yield the input of features for each utterance.

        Raises:
            CorpusChangedError: a recording has changed since the shard was made.
        """
        recipe, rows = self.recipe, stored.rows
        planned = {
            row.utterance.id: (number, row)
            for number, row in enumerate(self.plan.rows)
            if isinstance(row, PlannedUtterance)
        }
        texts, phoneme_texts = stored.texts("text"), stored.texts("phoneme_text")
        phonemes = stored.array("phonemes", PHONEME)
        cuts = stored.cuts(recipe.extractor.config.sample_rate, trims=recipe.cleaning.trims)
        for position, uid in enumerate(rows.ids):
            number, row = planned[uid]
            self.report(number)
            _check_unchanged(row, recipe.root)
            n_frames = rows.lengths[FRAME][position]
            yield FeatureInput(
                *(uid, rows.speakers[position], texts[position], phoneme_texts[position]),
                np.asarray(phonemes[position]),
                n_frames,
                recipe.extractor,
                partial(_read_again, recipe, row.utterance, n_frames),
                cut=cuts[position],
            )


def _read_again(recipe: ShardRecipe, utterance: SourceUtterance, n_frames: int) -> Waveform:
    """Return the recording of an utterance whose mel is already stored, cut in the same way."""
    waveform = read_recording(recipe, utterance).waveform
    config = recipe.extractor.config
    if frame_count(len(waveform), config) < n_frames:
        raise CorpusChangedError(
            f"{recipe.root / utterance.audio}: has {frame_count(len(waveform), config):,} frames, its stored mel has "
            f"{n_frames:,}; use the recordings that the store was made from"
        )
    return waveform


def _check_processor(recipe: ShardRecipe) -> None:
    """Check that this worker, possibly on another machine, computes the same values as the planning process."""
    here, there = fused_multiply_add(), recipe.settings["software"][FUSED_MULTIPLY_ADD]
    if here != there:
        raise WorkerError(
            f"{platform.node()}: fused multiply-add: {here} on this worker's processor, {there} where the run was "
            "planned, which changes mels; exclude this machine, or set NUMBA_CPU_NAME=generic everywhere"
        )


def get_ready(config: Configuration, scratch: Path, note: Note) -> float:
    """Load the text frontend and compile the kernels in a worker process.

    A lock makes one process compile; the others load the result from the cache.

    Args:
        note: called when the kernel is compiled; see `compile_kernels`.

    Returns:
        The seconds that this process spent compiling.
    """
    with (scratch / "compiling").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        compiling = compile_kernels(config.mel, note)
    # Errors of the frontend are reported by the planning process or the first job.
    with contextlib.suppress(TtsPrepError):
        frontend_of(config.text).software()
    return compiling


def take_over(source: Path, store: Path, name: str) -> None:
    """Reuse a file of another store: by a hard link, or by a copy if the file system has no hard links.

    Raises:
        WriteError: the file can be neither linked nor copied.
    """
    path = store / name
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        try:
            # Resolve links, because a hard link to a symbolic link could point anywhere.
            os.link(os.path.realpath(source / name), path)
            sync(path.parent)
        except OSError:
            with replacing(path) as partial:
                shutil.copyfile(source / name, partial)


def finished_shard(path: Path, number: int, key: str) -> CheckedShard | None:
    """Return an existing intact shard with this key, else None."""
    if not path.exists():
        return None
    try:
        shard = inspect_shard(path, number, read_locations)
    except CorruptStoreError:
        return None
    return shard if shard.header.key == key else None


def existing_header(path: Path) -> ShardHeader | None:
    """Return the header of an existing intact shard, else None."""
    if not path.exists():
        return None
    try:
        return read_shard_header(path, read_locations)
    except CorruptStoreError:
        return None


def _make_examples(
    plan: ShardPlan, key: str, recipe: ShardRecipe, report: Callable[[int], None], beside_others: bool
) -> tuple[ShardHeader, list[Example]]:
    examples: list[Example] = []
    failures: list[Failure] = []
    remarks = Remarks()
    statistics: dict[str, MelStatistics] = {}
    for number, row in enumerate(plan.rows):
        report(number)
        if isinstance(row, Failure):
            failures.append(row)
            continue
        utterance = row.utterance
        _check_unchanged(row, recipe.root)
        try:
            example = make_example(utterance, recipe, remarks)
        except UtteranceError as error:
            # An audio error names the recording, but a text error does not name the place of the text.
            reason = f"{utterance.where}: {error}" if error.stage == "text" else str(error)
            failures.append(Failure(utterance.id, utterance.where, error.stage, reason))
            continue
        except MemoryError:
            if beside_others:
                raise
            reason = f"{utterance.audio}: needs more memory than is available"
            failures.append(Failure(utterance.id, utterance.where, "audio", reason))
            continue
        # Again, in case the recording grew while it was read.
        _check_unchanged(row, recipe.root)
        earlier = statistics.get(utterance.speaker)
        statistics[utterance.speaker] = earlier.merged(example.statistics) if earlier else example.statistics
        examples.append(example)
    header = ShardHeader(
        number=plan.number,
        key=key,
        rows=len(examples),
        seconds=float(sum(example.row["seconds"] for example in examples)),
        mel_statistics={speaker: of_speaker.as_dict() for speaker, of_speaker in statistics.items()},
        failures=tuple(asdict(failure) for failure in failures),
        remarks=remarks.as_dict(),
        **recipe.settings,
    )
    return header, examples


def _write(columns: Mapping[str, str], header: ShardHeader, examples: list[Example], path: Path) -> None:
    checksums: dict[str, str] = {}
    with create_file(path, sealed=False, checksums=checksums) as file:
        write_string(file, HEADER, header_text(header))
        starts = {
            name: write_arrays(
                file, name, [example.arrays[name] for example in examples], spec["row_shape"], spec["dtype"], checksums
            )
            for name, spec in header.arrays.items()
        }
        _write_columns(file.create_group("columns"), columns, examples, starts)


def _check_unchanged(row: PlannedUtterance, root: Path) -> None:
    """Check that a recording has not changed. A failed row instead would persist after the recording is fixed."""
    path = root / row.utterance.audio
    size = recording_size(path)
    if size != row.size:
        now, planned = ("missing" if n < 0 else f"{n:,} bytes" for n in (size, row.size))
        raise CorpusChangedError(
            f"{path}: {now} now, {planned} when the run was planned; do not modify the corpus while a store is made, "
            "run again to resume"
        )


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
