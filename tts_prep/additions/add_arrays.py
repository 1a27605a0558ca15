"""Add arrays to a complete store. Its shards do not change, and the store is complete at any time."""

from __future__ import annotations

import contextlib
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import starmap
from pathlib import Path
from typing import Any, ParamSpec, Protocol

import numpy as np

from tts_prep import doors
from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.format.assembly import StoredShard, assemble_store
from tts_prep.format.contents.shard import read_header
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.files.paths import stored_file
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.layout import shard_name
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import FileEntry, Manifest, read_manifest
from tts_prep.format.records.provenance import Provenance, write_provenance
from tts_prep.format.records.sources import read_sources
from tts_prep.format.records.store_plan import plan_sha256
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.features.feature import CorpusAlignments, Feature, FeatureInput, FeatureValues, specs_of
from tts_prep.preprocess.make.array_files import check_same, complete_array_files, outdated_arrays
from tts_prep.preprocess.make.asked import Asked
from tts_prep.preprocess.make.examples import needs_energy
from tts_prep.preprocess.make.feature_inputs import ShardRecordings, feature_inputs, intact_shard
from tts_prep.preprocess.make.resuming import check_recordings, planned_keys
from tts_prep.preprocess.make.shard_run import FailureLimit
from tts_prep.preprocess.make.shards import get_ready
from tts_prep.preprocess.make.transaction import Change, StoreTransaction
from tts_prep.preprocess.option import takes_fields
from tts_prep.preprocess.plan.planned_store import CorpusRows, PlannedStore, plan_store, stored_corrections
from tts_prep.preprocess.plan.shard_plans import ShardPlan
from tts_prep.preprocess.plan.shard_settings import ShardRecipe, extractor_of, make_recipe
from tts_prep.preprocess.workers.pool import Backend, WorkerPool, worker_pool
from tts_prep.progress import Progress, ShowProgress, in_notebooks


def add_features(
    store: Path,
    features: Sequence[Feature],
    corpus: CorpusRows | None = None,
    *,
    alignments: CorpusAlignments | None = None,
    jobs: int = 1,
    backend: Backend = Backend(),
    progress: ShowProgress = in_notebooks,
) -> Manifest:
    """Add the arrays of features to a complete store; return its new manifest.

    The bytes are the same as if the store had been prepared with the features. After an interruption the store is
    unchanged; the next call resumes with the missing shards. Broken files of an existing array are rebuilt.

    Args:
        corpus: the rows and recordings of the store; None if the features need no recordings.
        alignments: the alignments of the store, if they change its shards and the features need recordings.
        jobs: the number of worker processes.
        backend: where the workers run.
        progress: called with the number of finished shards.

    Raises:
        StoreError: the store is incomplete, was made from another corpus, or has an array of that name with other
            settings; or a feature of an utterance cannot be computed. The store is unchanged.
    """
    specs = specs_of(features)
    with StoreTransaction.begin(store, Change.ADD) as transaction:
        manifest = read_manifest(store)
        missing = _missing(store, manifest, features)
        if not missing:
            return manifest
        config = Configuration.from_dict(store, manifest.configuration)
        planned = planned_again(store, config, manifest, corpus, alignments) if corpus else None
        plans = planned.shards if planned else [None] * len(manifest.shards)
        with transaction.build([manifest.fingerprint, manifest.plan, sorted(specs)]) as folder:
            transaction.take_over(manifest)
            recipe, todo = planned.recipe if planned else None, list(starmap(_ShardJob, enumerate(plans)))
            make = partial(_make_array_files, store.absolute(), folder, missing, config, recipe)
            with worker_pool(jobs, backend, partial(get_ready, config, energy=needs_energy(missing))) as pool:
                added = _run(pool, make, todo, progress)
            return assemble_store(folder, stored_shards(folder, manifest), {**manifest.array_files, **added})


def add_provenance(store: str | Path, provenance: Provenance) -> Manifest:
    """Say licence and origin of the recordings and texts of a complete store; return its new manifest.

    Nothing else changes, and what is left out stays as it is.

    Raises:
        ConfigurationError: a text is too long, or has control characters.
        StoreError: the store is incomplete.
    """
    asked = Asked(provenance=provenance.checked())
    with StoreTransaction.begin(Path(store), Change.ADD, asked) as transaction:
        manifest, said = read_manifest(transaction.store), transaction.provenance()
        if said.as_dict() == manifest.provenance:
            return manifest
        with transaction.build([manifest.fingerprint, manifest.plan, said.as_dict()]) as folder:
            transaction.take_over(manifest)
            write_provenance(folder, said)
            return assemble_store(folder, stored_shards(folder, manifest), manifest.array_files)


def _run(
    pool: WorkerPool[_ShardJob, _ArrayFiles],
    make: Callable[[_ShardJob], _ArrayFiles],
    todo: Sequence[_ShardJob],
    progress: ShowProgress,
) -> dict[str, tuple[FileEntry, ...]]:
    """Make the array files of all shards. Return the files of each new array, one per shard, in order."""
    made: dict[int, _ArrayFiles] = {}
    now = Progress(0, len(todo), unit="shards")
    progress(now)
    with contextlib.closing(pool.run(make, todo, lambda job: shard_name(job.number))) as results:
        for result in results:
            made[result.number] = result
            progress(replace(now, done=len(made)))
    return {name: tuple(made[number].entries[name] for number in sorted(made)) for name in sorted(made[0].entries)}


def _missing(store: Path, manifest: Manifest, features: Sequence[Feature]) -> tuple[Feature, ...]:
    """Return the features that a store does not have, or of which it has broken files."""
    specs = specs_of(features)
    for name in specs.keys() & manifest.specs.keys():
        check_same(store, manifest.specs[name], specs[name])
    intact = {name for name in specs.keys() & manifest.array_files.keys() if is_intact(store, manifest, name)}
    has_all = [feature for feature in features if all(spec.name in intact for spec in feature.specs)]
    intact -= outdated_arrays(store, manifest, has_all)
    return tuple(feature for feature in features if not all(spec.name in intact for spec in feature.specs))


def is_intact(store: Path, manifest: Manifest, name: str) -> bool:
    """Return whether the files of an array match their checksums in the manifest."""
    for entry in manifest.array_files[name]:
        path = store / entry.file
        if not path.is_file() or file_sha256(path) != entry.sha256:
            return False
    return True


@dataclass(frozen=True)
class _ShardJob:
    """A shard whose array files are to be made: from its recordings if it has a plan, else from its stored arrays."""

    number: int
    plan: ShardPlan | None


@dataclass(frozen=True)
class _ArrayFiles:
    """The array files of a shard by array name."""

    number: int
    entries: Mapping[str, FileEntry]


def planned_again(
    store: Path,
    config: Configuration,
    manifest: Manifest,
    corpus: CorpusRows,
    alignments: CorpusAlignments | None = None,
) -> PlannedStore:
    """Plan the shards of a complete store again, to read their recordings.

    Raises:
        StoreError: it was made from another corpus, or with other versions of libraries.
    """
    recipe = make_recipe(config, corpus.root, alignments=_needed_alignments(config, alignments))
    # Other versions of the libraries could compute other values.
    differing = sorted(name for name, made in manifest.software.items() if recipe.software.get(name) != made)
    if differing:
        name = differing[0]
        raise StoreError(
            f"{store}: made with {name} {manifest.software[name]}, found {recipe.software.get(name) or 'none'}; "
            "install it, or make the store again"
        )
    planned = plan_store(corpus, recipe).with_known(read_sources(store))
    if planned.keys == planned_keys(store, manifest):
        planned = planned.with_contents()
    if plan_sha256(planned.known) != manifest.plan:
        check_recordings(store, planned)
        raise StoreError(
            f"{store}: not made from the rows and recordings of this corpus, with audio paths relative to "
            f"{corpus.root}; pass the corpus that it was made from"
        )
    return planned


def _needed_alignments(config: Configuration, alignments: CorpusAlignments | None) -> CorpusAlignments | None:
    """Return the alignments of a store, if they change its shards."""
    if config.alignments is None:
        return None
    if alignments is None:
        settings = ",".join(f"{name}={value}" for name, value in config.alignments.items() if isinstance(value, str))
        raise ConfigurationError(
            "alignments: the store was made with alignments that change its shards; pass the same with --alignments "
            f"PATH --feature durations:{settings}"
        )
    if alignments.settings.as_dict() != config.alignments:
        raise ConfigurationError(
            f"alignments: the store was made with the settings {dict(config.alignments)}, found "
            f"{alignments.settings.as_dict()}"
        )
    return alignments


def _make_array_files(
    store: Path,
    folder: Path,
    features: tuple[Feature, ...],
    config: Configuration,
    recipe: ShardRecipe | None,
    job: _ShardJob,
    report: Callable[[int], None] = lambda _: None,
) -> _ArrayFiles:
    """Make the array files of one shard in the folder of the new store."""
    # The file of the store, which is the same as that of the new one, so that an error names it.
    shard = intact_shard(store, job.number)
    recordings = ShardRecordings(job.plan.rows, recipe, report) if job.plan and recipe else None
    inputs = partial(feature_inputs, config=config, extractor=extractor_of(config.mel), recordings=recordings)
    return _ArrayFiles(job.number, complete_array_files(folder, shard, features, inputs))


def stored_shards(store: Path, manifest: Manifest) -> list[StoredShard]:
    """Return the shards of a complete store."""
    shards: list[StoredShard] = []
    for entry in manifest.shards:
        path = stored_file(store, entry.file)
        shard = StoredShard(entry, read_header(path, read_locations(path)))
        shards.append(shard.sharing_settings(vars(shards[0].header if shards else shard.header)))
    return shards


def _check_type(name: str, value: object, kinds: Any, expected: str) -> None:
    """Check the type of an argument that would be misread, such as a text for a list of devices."""
    if value is not None and not isinstance(value, kinds):
        raise ConfigurationError(f"{name}: expected {expected}, found {reprlib.repr(value)}")


@dataclass(frozen=True, kw_only=True)
class ModelRun:
    """How a function of batches is called on a store.

    An option of ``tts-prep add`` for models whose name is that of a field needs no other line: it is passed on.

    Attributes:
        devices: a device for each process, such as ``["cuda:0", "cuda:1"]``; by default `jobs` times ``"cpu"``.
        timeout: seconds that a batch may take; after them it is tried again one utterance at a time.
        load_timeout: seconds that creating a class may take in each process; after them the call ends.
        max_failures: how many utterances may have no value: a number, or a share such as ``"1%"``.
        progress: called with the number of finished shards; `ProgressBar` shows it.
    """

    devices: Sequence[str] | None = None
    timeout: float = 600.0
    load_timeout: float = 3600.0
    max_failures: str | int = "1%"
    progress: ShowProgress = in_notebooks

    def on(self, jobs: int) -> ModelRun:
        """Return the run with its devices: as many processes as jobs, if none were given.

        Raises:
            ConfigurationError: a value is not valid.
        """
        FailureLimit.parse(self.max_failures)
        devices = ("cpu",) * jobs if self.devices is None else tuple(self.devices)
        if not devices:
            raise ConfigurationError("devices: expected at least one, such as cuda:0")
        if not all(isinstance(device, str) for device in devices):
            raise ConfigurationError(f"devices: expected names, such as ['cuda:0'], found {list(devices)}")
        for name, seconds in (("timeout", self.timeout), ("load_timeout", self.load_timeout)):
            if not isinstance(seconds, (int, float)) or not seconds > 0:
                raise ConfigurationError(f"{name}: expected seconds greater than 0, found {seconds!r}")
        return replace(self, devices=devices)

    @cached_property
    def allowed(self) -> FailureLimit:
        """The number of utterances that may have no value."""
        return FailureLimit.parse(self.max_failures)


P = ParamSpec("P")


class AddArray(Protocol[P]):
    """The parameters of `add_array` for type checkers, P being those of `ModelRun`."""

    def __call__(
        self,
        store: str | Path,
        name: str,
        function: Callable[..., Any],
        dtype: str = "float32",
        row_shape: tuple[int, ...] = (),
        axis: str = "frame",
        rate: float | None = None,
        settings: Mapping[str, Any] | None = None,
        batch_seconds: float | None = None,
        sample_rate: int | None = None,
        corpus: str | Path | None = None,
        root: Path | None = None,
        jobs: int = 1,
        backend: Backend = Backend(),
        *_: P.args,
        **run: P.kwargs,
    ) -> Manifest:
        """See `add_array`."""


def _takes(record: Callable[P, ModelRun]) -> Callable[[Callable[..., Manifest]], AddArray[P]]:
    return takes_fields(record)


@_takes(ModelRun)
def add_array(
    store: str | Path,
    name: str,
    function: Callable[..., Any],
    *,
    dtype: str = "float32",
    row_shape: tuple[int, ...] = (),
    axis: str = "frame",
    rate: float | None = None,
    settings: Mapping[str, Any] | None = None,
    batch_seconds: float | None = None,
    sample_rate: int | None = None,
    corpus: str | Path | None = None,
    root: Path | None = None,
    jobs: int = 1,
    backend: Backend = Backend(),
    run: ModelRun,
) -> Manifest:
    """Add an array that a function computes from a complete store; return the new manifest.

    The array is computed in parallel. After an interruption, the next call resumes. The store changes only when the
    array is complete.

    A class, or a function with `batch_seconds`, gets batches of utterances of similar length, each argument a list:
    ``docs/models.md`` has the names of the arguments, and what a class may declare. An utterance for which it raises,
    returns a wrong value or takes too long has no value: the column ``NAME_failure`` says why.

    Args:
        name: the name of the array, or of all outputs together: lower-case letters, digits and underscores.
        function: a class, created once in each process with `settings`; or a picklable function. Without
            `batch_seconds`, it takes an utterance with ``id``, ``speaker``, ``text``, ``phonemes`` and ``mel``, and
            ``waveform`` if stored, and returns ``[rows, *row_shape]``, ``[*row_shape]`` with the axis ``utterance``.
        dtype, row_shape: the dtype and the row shape of the array.
        axis: ``frame``, ``phoneme``, ``sample``, ``utterance`` or ``own``.
        rate: rows per second, with the axis ``own``.
        settings: the settings that determine the values, as JSON; stored in the manifest.
        batch_seconds: the maximum number of utterances of a batch times its longest, in seconds.
        sample_rate: the sample rate of the waveforms, Hz; by default that of the store.
        corpus: the corpus of the store, to read recordings where it has no waveforms, cleaned as it was made.
        root: another folder of its recordings.
        jobs: the number of worker processes.
        backend: where a function of one utterance runs; one of batches runs on this machine.
        run: see `ModelRun`.

    Raises:
        StoreError: see `add_features`.
        ConfigurationError: the array is not valid, or the function cannot be loaded or asks for what there is not.
        TooManyFailuresError: more utterances than `max_failures` have no value. The store is unchanged.
    """
    _check_type("settings", settings, Mapping, "a dict")
    _check_type("jobs", jobs, int, "an integer")
    _check_type("devices", run.devices, (list, tuple), "a list of names, such as ['cuda:0']")
    if not callable(function):
        raise ConfigurationError(f"function: expected a function or a class, found {reprlib.repr(function)}")
    spec = ArraySpec(name, dtype, tuple(row_shape) if isinstance(row_shape, list) else row_shape, axis, rate=rate)
    if not isinstance(function, type) and batch_seconds is None:
        spec = replace(spec, settings=dict(settings or {})).checked()
        return add_features(
            Path(store), [_FunctionFeature(spec, function)], jobs=jobs, backend=backend, progress=run.progress
        )
    if not backend.is_local:
        raise ConfigurationError("backend: a function of batches has its processes on this machine; give devices=")
    rows = _rows(Path(store), Path(corpus), root) if corpus is not None else None
    manifest: Manifest = doors.need("models", "add_array")(
        Path(store),
        (name, function, dict(settings or {}), (spec,), sample_rate, batch_seconds),
        run.on(jobs),
        rows,
    )
    return manifest


def _rows(store: Path, corpus: Path, root: Path | None) -> CorpusRows:
    """Return the rows of the corpus that a store was made from."""
    config = Configuration.from_dict(store, read_manifest(store).configuration)
    return CorpusRows.read(config, corpus, root=root, corrections=stored_corrections(store))


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


def add_durations(
    store: str | Path,
    *,
    sample: int = 1000,
    least: float = 0.4,
    jobs: int = 1,
    backend: Backend = Backend(),
    progress: ShowProgress = in_notebooks,
) -> Manifest:
    """Align the phonemes of a complete store with its mels, and add ``durations`` to it; return the new manifest.

    A normal distribution for each phone is trained on a sample of the store's utterances by the Viterbi algorithm, and
    then applied to all. The result does not depend on the number of jobs. The model is one of the settings of the
    array, so that an update aligns new rows with it. A store that has durations is not changed.

    Two columns are added, too: ``alignment_score``, the mean log-likelihood of the frames of phones, relative to that
    of the most likely phone of each frame; and ``alignment_within_20_ms``, the estimated share of the boundaries that
    are within 20 ms of the true ones.

    Args:
        sample: the maximum number of utterances to train on. They are chosen by their ids.
        least: the estimated share of boundaries within 20 ms that the sample must have.
        jobs, backend: the number of worker processes, and where they run.
        progress: called with the number of finished shards.

    Raises:
        StoreError: the store is incomplete, its mels have a scale of their own, or the estimate is below ``least``. The
            store is unchanged.
        FeatureError: no utterance has phones.
    """
    path = Path(store)
    manifest = read_manifest(path)
    if "durations" in manifest.specs:
        return manifest
    trained = doors.need("trained", "durations", is_record=True)
    settings = trained.settings(sample=sample, least=least)
    return add_features(path, [trained.train(path, manifest, settings)], jobs=jobs, backend=backend, progress=progress)
