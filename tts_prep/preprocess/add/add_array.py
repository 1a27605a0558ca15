"""Add an array to a complete store: that of a function, of a model, or durations by a model trained on the store."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep import doors
from tts_prep.errors import ConfigurationError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.preprocess.add.add_arrays import add_features
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.corpora.corrections import Corrections
from tts_prep.preprocess.features.feature import FeatureInput, FeatureValues
from tts_prep.preprocess.make.shard_run import FailureLimit
from tts_prep.preprocess.plan.planned_store import CorpusRows
from tts_prep.preprocess.workers.backend import Backend
from tts_prep.progress import ShowProgress, in_notebooks


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
    devices: Sequence[str] | None = None,
    timeout: float = 600.0,
    load_timeout: float = 3600.0,
    max_failures: str | int = "1%",
    backend: Backend = Backend(),
    progress: ShowProgress = in_notebooks,
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
        devices: a device for each process, such as ``["cuda:0", "cuda:1"]``; by default `jobs` times ``"cpu"``.
        timeout: seconds that a batch may take; after them it is tried again one utterance at a time.
        load_timeout: seconds that creating a class may take in each process; after them the call ends.
        max_failures: how many utterances may have no value: a number, or a share such as ``"1%"``.
        backend: where a function of one utterance runs; one of batches runs on this machine.
        progress: called with the number of finished shards; `ProgressBar` shows it.

    Raises:
        StoreError: see `add_features`.
        ConfigurationError: the array is not valid, or the function cannot be loaded or asks for what there is not.
        TooManyFailuresError: more utterances than `max_failures` have no value. The store is unchanged.
    """
    _check_arguments(function, settings, devices, jobs)
    spec = ArraySpec(name, dtype, tuple(row_shape) if isinstance(row_shape, list) else row_shape, axis, rate=rate)
    if not isinstance(function, type) and batch_seconds is None:
        spec = replace(spec, settings=dict(settings or {})).checked()
        return add_features(
            Path(store), [_FunctionFeature(spec, function)], jobs=jobs, backend=backend, progress=progress
        )
    if not backend.is_local:
        raise ConfigurationError("backend: a function of batches has its processes on this machine; give devices=")
    rows = _rows(Path(store), Path(corpus), root) if corpus is not None else None
    manifest: Manifest = doors.need("models", "add_array")(
        Path(store),
        (name, function, dict(settings or {}), (spec,), sample_rate, batch_seconds),
        ("cpu",) * jobs if devices is None else tuple(devices),
        rows,
        timeout=timeout,
        load_timeout=load_timeout,
        allowed=FailureLimit.parse(max_failures),
        progress=progress,
    )
    return manifest


def _check_arguments(function: object, settings: object, devices: object, jobs: object) -> None:
    """Check the types of arguments that would be misread, such as a text for a list of devices."""
    for name, value, kinds, expected in (
        ("settings", settings, Mapping, "a dict"),
        ("devices", devices, (list, tuple), "a list of names, such as ['cuda:0']"),
        ("jobs", jobs, int, "an integer"),
    ):
        if value is not None and not isinstance(value, kinds):
            raise ConfigurationError(f"{name}: expected {expected}, found {reprlib.repr(value)}")
    if not callable(function):
        raise ConfigurationError(f"function: expected a function or a class, found {reprlib.repr(function)}")


def _rows(store: Path, corpus: Path, root: Path | None) -> CorpusRows:
    """Return the rows of the corpus that a store was made from."""
    config = Configuration.from_dict(store, read_manifest(store).configuration)
    return CorpusRows.read(config, corpus, root=root, corrections=Corrections.of_store(store))


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
    jobs: int = 1,
    backend: Backend = Backend(),
    progress: ShowProgress = in_notebooks,
) -> Manifest:
    """Align the phonemes of a complete store with its mels, and add ``durations`` to it; return the new manifest.

    A normal distribution for each phone is trained on a sample of the store's utterances by the Viterbi algorithm, and
    then applied to all. The result does not depend on the number of jobs. The model is one of the settings of the
    array, so that an update aligns new rows with it. A store that has durations is not changed.

    The column ``alignment_score`` is added, too: the mean log-likelihood of the frames of phones, relative to that of
    the most likely phone of each frame.

    Args:
        sample: the maximum number of utterances to train on. They are chosen by their ids.
        jobs, backend: the number of worker processes, and where they run.
        progress: called with the number of finished shards.

    Raises:
        StoreError: the store is incomplete, or its mels have a scale of their own. The store is unchanged.
        FeatureError: no utterance has phones.
    """
    path = Path(store)
    manifest = read_manifest(path)
    if "durations" in manifest.specs:
        return manifest
    trained = doors.need("trained", "durations", is_record=True)
    settings = trained.settings(sample=sample)
    return add_features(path, [trained.train(path, manifest, settings)], jobs=jobs, backend=backend, progress=progress)
