"""Adding arrays to a whole store: its shards are not touched, and it stays whole at every instant."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.format.arrays import ArraySpec
from tts_prep.format.assembly import assemble_store
from tts_prep.format.checksums import file_sha256, json_sha256
from tts_prep.format.datasets import Array
from tts_prep.format.files import stored_file
from tts_prep.format.hdf5_reader import read_locations
from tts_prep.format.layout import FAILURES, INDEX, MANIFEST, PLAN, shard_name
from tts_prep.format.manifest import FileEntry, Manifest, read_manifest
from tts_prep.format.shard import ShardHeader, inspect_shard, read_shard_header
from tts_prep.format.store_plan import plan_sha256
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.corpora.utterance import Failure, Utterance
from tts_prep.preprocess.features.alignments.applying import Alignments
from tts_prep.preprocess.features.feature import Feature, FeatureInput, FeatureValues
from tts_prep.preprocess.runs.array_files import (
    StoredInputs,
    check_same,
    complete_array_files,
    specs_of,
)
from tts_prep.preprocess.runs.folder import beside, locked_folder
from tts_prep.preprocess.runs.plan import ShardPlan, first_rows, make_plan
from tts_prep.preprocess.runs.prepare import recipe_of
from tts_prep.preprocess.runs.repair import configuration_of
from tts_prep.preprocess.runs.shards import RecordedInputs, ShardRecipe, get_ready, take_over
from tts_prep.preprocess.workers.cluster import Backend
from tts_prep.preprocess.workers.processes import WorkerPool, worker_pool
from tts_prep.preprocess.workers.scratch import scratch_folder


@dataclass(frozen=True)
class Corpus:
    """Where the rows and recordings of a store lie.

    Attributes:
        items: from the corpus reader that the store was made with.
        root: what relative audio paths are relative to.
    """

    items: Iterable[Utterance | Failure] = field(repr=False)
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
    """Add the arrays of features to a whole store; return its new manifest.

    The bytes are those that a run would have made that had the features from the beginning. An interrupted call leaves
    the store as it was; the next one goes on with the shards that are missing. Broken files of an array that the store
    has already are made again.

    Args:
        corpus: what the store was made from; None where the features need no recordings.
        alignments: where the store was made with alignments that change its shards, and features need recordings.
        jobs: worker processes.
        backend: where they run.
        progress: called with the number of shards that are done, and of all.

    Raises:
        StoreError: the store is not whole, was made from another corpus, or has an array of that name that was made
            with other settings; or a feature of an utterance cannot be computed. The store is as it was.
    """
    specs = specs_of(features)
    if not (store / MANIFEST).exists():
        raise StoreError(f"{store}: no whole store, there is no {MANIFEST}; expected one to add arrays to")
    with locked_folder(store), scratch_folder(store) as scratch:
        manifest = read_manifest(store)
        for name in specs.keys() & manifest.specs.keys():
            check_same(store, manifest.specs[name], specs[name])
        whole = {name for name in specs.keys() & manifest.array_files.keys() if _is_whole(store, manifest, name)}
        missing = tuple(feature for feature in features if not all(spec.name in whole for spec in feature.specs))
        if not missing:
            return manifest
        config = configuration_of(store, dict(manifest.configuration))
        recipe: ShardRecipe | None = None
        if corpus is None:
            jobs_of = [_Job(number, None) for number in range(len(manifest.shards))]
        else:
            recipe = replace(_recipe(store, config, manifest, corpus.root), alignments=_needed(config, alignments))
            jobs_of = [_Job(plan.number, plan) for plan in _plans(store, config, manifest, corpus, recipe)]
        purpose = json_sha256(["add", manifest.fingerprint, manifest.plan, sorted(specs)])
        with beside(store, purpose) as folder:
            for entry in manifest.files:
                there = (store / entry.file).is_file() and not (folder / entry.file).exists()
                if there and entry.file not in (INDEX, FAILURES, PLAN):
                    take_over(store, folder, entry.file)
            add = partial(_add, folder.absolute(), missing, recipe or MelExtractor(config.mel))
            with worker_pool(jobs, backend, partial(get_ready, config, scratch)) as pool:
                added = _run(pool, add, jobs_of, progress)
            arrays = {**manifest.array_files, **added}
            return assemble_store(folder, _headers(folder, manifest), arrays)


def _is_whole(store: Path, manifest: Manifest, name: str) -> bool:
    """Return whether the files of an array are as the manifest says."""
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
    """Return name of each new array → its file of every shard, in order."""
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
    """Add an array that a function computes from each utterance as the store has it; return the new manifest.

    It is made in parallel. An interrupted call can be repeated, and resumes. The store changes only when the array is
    complete.

    Args:
        name: of the array: lower-case letters, digits and underscores.
        function: of an utterance, with ``id``, ``speaker``, ``text``, ``phonemes`` and ``mel``, and ``waveform`` where
            the store keeps it; returns [rows, *row_shape], or [*row_shape] with the axis ``utterance``. With several
            jobs it has to be a function of a module, not a lambda.
        dtype, row_shape: of the array.
        axis: ``frame``, ``phoneme``, ``sample``, ``utterance`` or ``own``.
        rate: with the axis ``own``, rows for each second.
        settings: JSON: what the values depend on; kept in the manifest.
        jobs: worker processes.

    Raises:
        StoreError: see `add_features`.
        ConfigurationError: a store cannot have such an array.
    """
    spec = ArraySpec(name, dtype, tuple(row_shape), axis, rate=rate, settings=dict(settings or {}))
    return add_features(Path(store), [_FunctionFeature(spec.checked(), function)], jobs=jobs, backend=backend)


@dataclass(frozen=True, eq=False)
class _FunctionFeature:
    """A feature that a function of the user's computes."""

    spec: ArraySpec
    function: Callable[[FeatureInput], Array]

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        return (self.spec,)

    def source(self, utterance_id: str, speaker: str) -> None:
        """Return None: the settings say what the values depend on."""

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
    # Keys and values are those of the versions that made the store; others could make other values.
    differing = {
        name: (made, now)
        for name, made in manifest.software.items()
        if (now := recipe.settings["software"].get(name)) != made
    }
    if differing:
        name, (made, now) = min(differing.items())
        raise StoreError(
            f"{store}: made with {name} {made}, here is {now or 'none'}; install that, or make the store again"
        )
    return recipe


def _needed(config: Configuration, alignments: Alignments | None) -> Alignments | None:
    if config.alignments is None:
        return None
    if alignments is None:
        raise ConfigurationError(
            "alignments: the store was made with alignments that change its recordings; give the same with --alignments"
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
    plans = make_plan(first_rows(items, config.limit), corpus.root, config.store)
    if plan_sha256(recipe.key(plan) for plan in plans) != manifest.plan:
        raise StoreError(
            f"{store}: made from other rows or recordings than the corpus has now, with audio paths relative to "
            f"{corpus.root}; give what it was made from"
        )
    return plans


def _add(
    folder: Path,
    features: tuple[Feature, ...],
    source: ShardRecipe | MelExtractor,
    job: _Job,
    report: Callable[[int], None] = lambda _: None,
) -> tuple[int, Mapping[str, FileEntry]]:
    """Make the array files of one shard, from its recordings where there is a plan, else from what the shard holds."""
    shard = inspect_shard(stored_file(folder, shard_name(job.number)), job.number, read_locations)
    if isinstance(source, MelExtractor):
        return job.number, complete_array_files(folder, shard, features, StoredInputs(source))
    assert job.plan is not None
    return job.number, complete_array_files(folder, shard, features, RecordedInputs(job.plan, source, report))


def _headers(store: Path, manifest: Manifest) -> list[tuple[FileEntry, ShardHeader]]:
    """Return the shards of a whole store, with headers in little memory."""
    shards: list[tuple[FileEntry, ShardHeader]] = []
    for entry in manifest.shards:
        header = read_shard_header(stored_file(store, entry.file), read_locations)
        shards.append((entry, header.without_statistics(vars(shards[0][1] if shards else header))))
    return shards
