"""Make one shard: a pure function of its plan and the settings."""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tts_prep.errors import AudioError, CorpusChangedError, CorruptStoreError, TtsPrepError, UtteranceError, WorkerError
from tts_prep.format.contents.shard import (
    HEADER,
    CheckedShard,
    ShardHeader,
    header_text,
    inspect_shard,
    read_shard_header,
)
from tts_prep.format.files.atomic import replacing, sync, syncing, writing
from tts_prep.format.files.checksums import json_sha256, seal_file
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
from tts_prep.preprocess.audio.cleaning.config import CleaningConfig
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.framing import Waveform, aligned_waveform
from tts_prep.preprocess.audio.framing import n_frames as frame_count
from tts_prep.preprocess.audio.mel import Mel, MelExtractor, bin_moments, compile_kernels, peak_scale
from tts_prep.preprocess.audio.reading import ReadingConfig
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.configuration.software import FUSED_MULTIPLY_ADD, fused_multiply_add
from tts_prep.preprocess.corpora.utterance import Utterance
from tts_prep.preprocess.features.alignments.applying import Alignments
from tts_prep.preprocess.features.energy import EnergyFeature
from tts_prep.preprocess.features.feature import Feature, FeatureInput, FeatureValues
from tts_prep.preprocess.runs.array_files import (
    ShardRows,
    StoredRows,
    complete_array_files,
    computed,
    write_array_files,
)
from tts_prep.preprocess.runs.cleaned import CleanedRecording, read_cleaned
from tts_prep.preprocess.runs.phonemizing import encode_labels, frontend_of, phonemize
from tts_prep.preprocess.runs.plan import PlannedUtterance, ShardPlan, recording_size
from tts_prep.preprocess.workers.processes import Note

_BLOCK = 1 << 16


@dataclass(frozen=True)
class ShardRecipe:
    """The settings of all shards of a store, sent to the workers.

    Attributes:
        root: the folder of relative audio paths.
        settings: the fields that are equal in the headers of all shards: ``configuration``, ``software``, ``arrays``,
            ``vocabulary``.
        features: the features of added arrays.
        alignments: the alignments, if they change shards.
    """

    root: Path
    settings: Mapping[str, Any]
    extractor: MelExtractor
    reading: ReadingConfig
    text: TextConfig
    cleaning: CleaningConfig = field(default_factory=CleaningConfig)
    features: tuple[Feature, ...] = ()
    alignments: Alignments | None = None

    @cached_property
    def settings_sha256(self) -> str:
        """SHA-256 of the settings."""
        return json_sha256(self.settings)

    def key(self, plan: ShardPlan) -> str:
        """Return the key of a planned shard."""
        return plan.key(self.settings_sha256)


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


@dataclass(frozen=True)
class _Example:
    """One finished utterance: its arrays, its index row without starts, and the statistics of its mel."""

    arrays: Mapping[str, Array]
    row: Mapping[str, Any]
    statistics: MelStatistics
    features: tuple[FeatureValues, ...] = ()


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


def _rows_of(header: ShardHeader, examples: Sequence[_Example]) -> ShardRows:
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


def _read_again(recipe: ShardRecipe, utterance: Utterance, n_frames: int) -> Waveform:
    """Return the recording of an utterance whose mel is already stored, cut in the same way."""
    waveform = _read(recipe, utterance).waveform
    config = recipe.extractor.config
    if frame_count(len(waveform), config) < n_frames:
        raise CorpusChangedError(
            f"{recipe.root / utterance.audio}: has {frame_count(len(waveform), config):,} frames, its stored mel has "
            f"{n_frames:,}; use the recordings that the store was made from"
        )
    return waveform


def _read(recipe: ShardRecipe, utterance: Utterance) -> CleanedRecording:
    aligned = recipe.alignments.read(utterance) if recipe.alignments else None
    config = recipe.extractor.config
    return read_cleaned(recipe.root, utterance, config, recipe.reading, recipe.cleaning, aligned)


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
) -> tuple[ShardHeader, list[_Example]]:
    examples: list[_Example] = []
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
            example = _make_example(utterance, recipe, remarks)
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


def _write(columns: Mapping[str, str], header: ShardHeader, examples: list[_Example], path: Path) -> None:
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


def _make_example(utterance: Utterance, recipe: ShardRecipe, remarks: Remarks) -> _Example:
    # Read first where the alignment may give the phonemes: trimming decides which.
    recording = _read(recipe, utterance) if recipe.alignments else None
    aligned = recording.aligned if recording else None
    labels = aligned.phonemes if aligned else None
    if labels is None:
        phoneme_text, phonemes = phonemize(
            utterance.text,
            utterance.id,
            recipe.text,
            remarks,
            language=utterance.language,
            normalized=utterance.normalized,
        )
    else:
        phoneme_text, phonemes = encode_labels(labels, utterance.id, recipe.text, remarks)
    config = recipe.extractor.config
    recording = recording or _read(recipe, utterance)
    waveform = recording.waveform
    for remark in recording.remarks:
        remarks.add("cleaning", remark, utterance.id)
    specs = recipe.settings["arrays"]
    mel, known = _mel_and_energy(waveform, recipe)
    if aligned:
        mel = mel[: aligned.n_frames(config.sample_rate, config.hop_length, len(mel))]
    moments = bin_moments(mel)
    # A single such value would make the statistics of the store useless.
    if not np.isfinite(moments).all():
        raise AudioError(f"{utterance.audio}: its mel spectrogram has NaN or infinite values")
    arrays = {"mel": _stored_mel(mel, specs["mel"]), "phonemes": phonemes}
    if "waveform" in specs:
        arrays["waveform"] = _stored_waveform(waveform, config, specs["waveform"]["dtype"])
    row = {
        "id": utterance.id,
        "text": utterance.text,
        "phoneme_text": phoneme_text,
        "seconds": len(waveform) / config.sample_rate,
        "speaker": utterance.speaker,
        **utterance.meta,
        **recording.columns,
    }
    values: tuple[FeatureValues, ...] = ()
    if recipe.features:
        source = FeatureInput(
            *(utterance.id, utterance.speaker, utterance.text, phoneme_text, phonemes, len(mel), recipe.extractor),
            lambda: waveform,
            {"mel": mel, **{name: values[: len(mel)] for name, values in known.items()}},
            recording.cut,
        )
        lengths = {layout.axis: len(arrays[name]) for name, layout in ARRAYS.items() if name in arrays}
        values = tuple(computed(feature, source, lengths) for feature in recipe.features)
    return _Example(arrays, row, MelStatistics(len(mel), *moments), values)


def _mel_and_energy(waveform: Waveform, recipe: ShardRecipe) -> tuple[Mel, dict[str, Array]]:
    """Return the mel, and the energy if a feature needs it, computed in the same pass."""
    if not any(isinstance(feature, EnergyFeature) for feature in recipe.features):
        return recipe.extractor(waveform), {}
    mel, energy = recipe.extractor.with_energy(waveform)
    return mel, {"energy": energy}


def _stored_mel(mel: Mel, spec: Mapping[str, Any]) -> Array:
    """Return mel values in the stored dtype. At half precision they are centred in their range."""
    if spec["dtype"] == "float32":
        return mel
    centred: Array = mel - np.float32(spec["offset"])
    largest = float(np.abs(centred).max())
    if largest > float(np.finfo(spec["dtype"]).max):
        raise AudioError(f"mel values of up to {largest:g} do not fit into {spec['dtype']}; store the mel as float32")
    return centred.astype(spec["dtype"])


def _stored_waveform(waveform: Waveform, config: MelConfig, dtype: str) -> Array:
    """Return the waveform in the stored dtype, at the level of the recipe, aligned with the frames of the mel."""
    aligned = aligned_waveform(waveform, config)
    scale = np.float32(peak_scale(waveform, config))
    if dtype == "float32":
        return aligned if scale == 1 else aligned * scale
    peak = float(max(aligned.max(), -aligned.min()) * scale)
    if peak > 1:
        raise AudioError(f"samples of up to {peak:.3f} do not fit into 16 bits; store the waveform as float32")
    stored = np.empty(len(aligned), np.int16)
    # In blocks: otherwise an hour of audio needs five temporary arrays of 300 MB.
    for first in range(0, len(aligned), _BLOCK):
        block = aligned[first : first + _BLOCK] * scale * np.float32(32768)
        np.minimum(np.rint(block, out=block), 32767, out=block)
        stored[first : first + _BLOCK] = block
    return stored


def _write_columns(
    group: h5py.Group, extra: Mapping[str, str], examples: list[_Example], starts: Mapping[str, Array]
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
