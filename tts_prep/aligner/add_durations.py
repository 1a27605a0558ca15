"""Add durations to a complete store, by a model that is trained on the store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from tts_prep.acoustics.mels import decibels_of_unit
from tts_prep.aligner.durations import AlignedDurations, AlignerConfig
from tts_prep.aligner.model import AlignmentModel, Recording, Vocabulary
from tts_prep.errors import StoreError
from tts_prep.format.layout import FRAME, PHONEME
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.preprocess.add.add_arrays import add_features, intact_shard
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.make.feature_inputs import StoredRows
from tts_prep.preprocess.workers.backend import Backend
from tts_prep.progress import ShowProgress, hidden

_MAX_SECONDS: Final = 20.0
"""The maximum duration of an utterance of the sample."""


def add_durations(
    store: str | Path,
    *,
    sample: int = AlignerConfig.sample,
    jobs: int = 1,
    backend: Backend = Backend(),
    progress: ShowProgress = hidden,
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
    return add_features(
        path, [trained_durations(path, manifest, sample)], jobs=jobs, backend=backend, progress=progress
    )


def trained_durations(store: Path, manifest: Manifest, sample: int) -> AlignedDurations:
    """Train the aligner on a sample of a store."""
    config = Configuration.from_dict(store, manifest.configuration)
    decibels = decibels_of_unit(manifest.configuration["audio"])
    if decibels is None:
        raise StoreError(f"{store}: its mels have no logarithmic scale, which aligning needs; give --alignments PATH")
    vocabulary = Vocabulary(tuple(manifest.vocabulary["symbols"]), manifest.vocabulary["pad"])
    model = AlignmentModel.train(_sample(store, manifest, sample), vocabulary, decibels)
    # Through its text, so that the model is the same as that of an update, which reads it.
    settings = replace(AlignerConfig(sample), mel=config.store.mel_dtype, model=model.as_text())
    return AlignedDurations(settings, AlignmentModel.from_text(settings.model))


def _sample(store: Path, manifest: Manifest, size: int) -> list[Recording]:
    """Return the utterances with the smallest hashes of their ids, so that one more row changes at most one of them."""
    hashes = sorted(_hashes(store, manifest))[:size]
    chosen: dict[int, list[tuple[str, int]]] = {}
    for digest, number, position in hashes:
        chosen.setdefault(number, []).append((digest, position))
    found: dict[str, Recording] = {}
    for number, rows in chosen.items():
        stored = _stored_rows(store, number)
        phonemes, mels = stored.array("phonemes", PHONEME), stored.array("mel", FRAME)
        for digest, position in rows:
            found[digest] = Recording(np.asarray(phonemes[position]), np.asarray(mels[position]))
    return [found[digest] for digest, _, _ in hashes]


def _hashes(store: Path, manifest: Manifest) -> Iterator[tuple[str, int, int]]:
    """Yield hash of the id, number of the shard, and position in it of each utterance that may be in the sample."""
    hop_seconds = manifest.arrays["mel"]["hop_length"] / manifest.arrays["mel"]["sample_rate"]
    for number in range(len(manifest.shards)):
        stored = _stored_rows(store, number)
        for position, (uid, n_frames) in enumerate(zip(stored.rows.ids, stored.rows.lengths[FRAME], strict=True)):
            if n_frames * hop_seconds <= _MAX_SECONDS:
                yield hashlib.sha256(uid.encode()).hexdigest(), number, position


def _stored_rows(store: Path, number: int) -> StoredRows:
    return StoredRows(store, intact_shard(store, number))
