"""Add durations to a complete store, by a model that is trained on the store."""

from __future__ import annotations

from pathlib import Path

from tts_prep import doors
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.preprocess.add.add_arrays import add_features
from tts_prep.preprocess.workers.backend import Backend
from tts_prep.progress import ShowProgress, in_notebooks


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
