"""Add arrays to a complete store. Its shards do not change, and the store is complete at any time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.format.assembly import assemble_store
from tts_prep.format.contents.shard import ShardHeader, inspect_shard, read_shard_header
from tts_prep.format.files.checksums import file_sha256, json_sha256
from tts_prep.format.files.paths import stored_file
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.layout import FAILURES, INDEX, MANIFEST, PLAN, shard_name
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.failures import Failure
from tts_prep.format.records.manifest import FileEntry, Manifest, read_manifest
from tts_prep.format.records.store_plan import plan_sha256
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.corpora.source_utterance import SourceUtterance
from tts_prep.preprocess.features.alignments.applying import Alignments
from tts_prep.preprocess.features.feature import Feature, FeatureInput, FeatureValues
from tts_prep.preprocess.runs.array_files import (
    StoredInputs,
    check_same,
    complete_array_files,
    specs_of,
)
from tts_prep.preprocess.runs.folder import beside, locked_folder
from tts_prep.preprocess.runs.plan import ShardPlan, first_rows, plan_shards
from tts_prep.preprocess.runs.recipe import ShardRecipe, recipe_of
from tts_prep.preprocess.runs.shards import RecordedInputs, get_ready, take_over
from tts_prep.preprocess.workers.cluster import Backend
from tts_prep.preprocess.workers.processes import WorkerPool, worker_pool
from tts_prep.preprocess.workers.scratch import scratch_folder


@dataclass(frozen=True)
class Corpus:
    """The rows and recordings that a store was made from.

    Attributes:
        items: the rows, from the corpus reader of the store.
        root: the folder of relative audio paths.
    """

    items: Iterable[SourceUtterance | Failure] = field(repr=False)
    root: Path


def add_features(
    store: Path,
    features: Sequence[Feature],
    corpus: Corpus | None = None,
    *,
    alignments: Alignments | None = None,
    jobs: int = 1,
    backend: Backend = Backend(),
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Manifest:
    """Add the arrays of features to a complete store; return its new manifest.

    The bytes are the same as if the store had been prepared with the features. After an interruption the store is
    unchanged; the next call resumes with the missing shards. Broken files of an existing array are rebuilt.

    Args:
        corpus: the rows and recordings of the store; None if the features need no recordings.
        alignments: the alignments of the store, if they change its shards and the features need recordings.
        jobs: the number of worker processes.
        backend: where the workers run.
        progress: called with the number of finished shards and of all shards.

    Raises:
        StoreError: the store is incomplete, was made from another corpus, or has an array of that name with other
            settings; or a feature of an utterance cannot be computed. The store is unchanged.
    """
    specs = specs_of(features)
    if not (store / MANIFEST).exists():
        raise StoreError(f"{store}: incomplete store without {MANIFEST}; arrays can be added to complete stores only")
    with locked_folder(store), scratch_folder(store) as scratch:
        manifest = read_manifest(store)
        for name in specs.keys() & manifest.specs.keys():
            check_same(store, manifest.specs[name], specs[name])
        intact = {name for name in specs.keys() & manifest.array_files.keys() if is_intact(store, manifest, name)}
        missing = tuple(feature for feature in features if not all(spec.name in intact for spec in feature.specs))
        if not missing:
            return manifest
        config = Configuration.from_dict(store, manifest.configuration)
        recipe: ShardRecipe | None = None
        if corpus is None:
            jobs_of = [_Job(number, None) for number in range(len(manifest.shards))]
        else:
            recipe = replace(_recipe(store, config, manifest, corpus.root), alignments=_needed(config, alignments))
            jobs_of = [_Job(plan.number, plan) for plan in _plans(store, config, manifest, corpus, recipe)]
        purpose = json_sha256(["add", manifest.fingerprint, manifest.plan, sorted(specs)])
        with beside(store, purpose) as folder:
            take_over_files(store, folder, manifest)
            source = recipe or StoredInputs(MelExtractor(config.mel), config.cleaning.trims)
            add = partial(_add, folder.absolute(), missing, source)
            with worker_pool(jobs, backend, partial(get_ready, config, scratch)) as pool:
                added = _run(pool, add, jobs_of, progress)
            arrays = {**manifest.array_files, **added}
            return assemble_store(folder, shard_headers(folder, manifest), arrays)


def take_over_files(store: Path, folder: Path, manifest: Manifest) -> None:
    """Reuse the shards, array files and other texts of a store in the folder of its replacement."""
    for entry in manifest.files:
        is_missing = (store / entry.file).is_file() and not (folder / entry.file).exists()
        if is_missing and entry.file not in (INDEX, FAILURES, PLAN):
            take_over(store, folder, entry.file)


def is_intact(store: Path, manifest: Manifest, name: str) -> bool:
    """Return whether the files of an array match their checksums in the manifest."""
    for entry in manifest.array_files[name]:
        path = store / entry.file
        if not path.is_file() or file_sha256(path) != entry.sha256:
            return False
    return True


def _run(
    pool: WorkerPool[_Job, tuple[int, Mapping[str, FileEntry]]],
    add: Callable[[_Job], tuple[int, Mapping[str, FileEntry]]],
    todo: Sequence[_Job],
    progress: Callable[[int, int], None],
) -> dict[str, tuple[FileEntry, ...]]:
    """Make the array files of all shards. Return the files of each new array, one per shard, in order."""
    made: dict[int, Mapping[str, FileEntry]] = {}
    progress(0, len(todo))
    with contextlib.closing(pool.run(add, todo, _text)) as results:
        for number, entries in results:
            made[number] = entries
            progress(len(made), len(todo))
    return {name: tuple(made[number][name] for number in sorted(made)) for name in sorted(made[0])}


def add_array(
    store: Path,
    name: str,
    function: Callable[[FeatureInput], Array],
    *,
    dtype: str = "float32",
    row_shape: tuple[int, ...] = (),
    axis: str = "frame",
    rate: float | None = None,
    settings: Mapping[str, Any] | None = None,
    jobs: int = 1,
    backend: Backend = Backend(),
) -> Manifest:
    """Add an array that a function computes from each stored utterance; return the new manifest.

    The array is computed in parallel. After an interruption, the next call resumes. The store changes only when the
    array is complete.

    Args:
        name: the name of the array: lower-case letters, digits and underscores.
        function: takes an utterance with ``id``, ``speaker``, ``text``, ``phonemes`` and ``mel``, and ``waveform`` if
            stored; returns [rows, *row_shape], or [*row_shape] with the axis ``utterance``. With several jobs it must
            be picklable: a function of a module, not a lambda.
        dtype, row_shape: the dtype and the row shape of the array.
        axis: ``frame``, ``phoneme``, ``sample``, ``utterance`` or ``own``.
        rate: rows per second, with the axis ``own``.
        settings: the settings that determine the values, as JSON; stored in the manifest.
        jobs: the number of worker processes.

    Raises:
        StoreError: see `add_features`.
        ConfigurationError: the array is not valid.
    """
    spec = ArraySpec(name, dtype, tuple(row_shape), axis, rate=rate, settings=dict(settings or {}))
    return add_features(Path(store), [_FunctionFeature(spec.checked(), function)], jobs=jobs, backend=backend)


@dataclass(frozen=True, eq=False)
class _FunctionFeature:
    """A feature computed by a user's function."""

    spec: ArraySpec
    function: Callable[[FeatureInput], Array]

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        return (self.spec,)

    def source(self, utterance_id: str, speaker: str) -> None:
        """Return None: the settings determine the values."""

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        return FeatureValues({self.spec.name: np.asarray(self.function(utterance))})


@dataclass(frozen=True)
class _Job:
    number: int
    plan: ShardPlan | None


def _text(job: _Job) -> str:
    return shard_name(job.number)


def _recipe(store: Path, config: Configuration, manifest: Manifest, root: Path) -> ShardRecipe:
    recipe = recipe_of(config, root.absolute())
    # Other versions of the libraries could compute other values.
    differing = {
        name: (made, now)
        for name, made in manifest.software.items()
        if (now := recipe.settings["software"].get(name)) != made
    }
    if differing:
        name, (made, now) = min(differing.items())
        raise StoreError(
            f"{store}: made with {name} {made}, found {now or 'none'}; install it, or make the store again"
        )
    return recipe


def _needed(config: Configuration, alignments: Alignments | None) -> Alignments | None:
    if config.alignments is None:
        return None
    if alignments is None:
        raise ConfigurationError(
            "alignments: the store was made with alignments that change its shards; pass the same with --alignments"
        )
    if alignments.settings.as_dict() != config.alignments:
        raise ConfigurationError(
            f"alignments: the store was made with the settings {dict(config.alignments)}, found "
            f"{alignments.settings.as_dict()}"
        )
    return alignments


def _plans(
    store: Path, config: Configuration, manifest: Manifest, corpus: Corpus, recipe: ShardRecipe
) -> list[ShardPlan]:
    items = recipe.alignments.marked(corpus.items) if recipe.alignments else corpus.items
    plans = list(plan_shards(first_rows(items, config.limit), corpus.root, config.store))
    if plan_sha256(recipe.key(plan) for plan in plans) != manifest.plan:
        raise StoreError(
            f"{store}: not made from the rows and recordings of this corpus, with audio paths relative to "
            f"{corpus.root}; pass the corpus that it was made from"
        )
    return plans


def _add(
    folder: Path,
    features: tuple[Feature, ...],
    source: ShardRecipe | StoredInputs,
    job: _Job,
    report: Callable[[int], None] = lambda _: None,
) -> tuple[int, Mapping[str, FileEntry]]:
    """Make the array files of one shard, from its recordings if it has a plan, else from its stored arrays."""
    shard = inspect_shard(stored_file(folder, shard_name(job.number)), job.number, read_locations)
    if isinstance(source, StoredInputs):
        return job.number, complete_array_files(folder, shard, features, source)
    assert job.plan is not None
    return job.number, complete_array_files(folder, shard, features, RecordedInputs(job.plan, source, report))


def shard_headers(store: Path, manifest: Manifest) -> list[tuple[FileEntry, ShardHeader]]:
    """Return entries and headers of all shards, without statistics, to save memory."""
    shards: list[tuple[FileEntry, ShardHeader]] = []
    for entry in manifest.shards:
        header = read_shard_header(stored_file(store, entry.file), read_locations)
        shards.append((entry, header.without_statistics(vars(shards[0][1] if shards else header))))
    return shards
