"""Train the aligner on a complete store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from tts_prep.acoustics.mels import decibels_of_unit
from tts_prep.aligner.durations import AlignedDurations, AlignerConfig, make
from tts_prep.aligner.model import AlignmentModel, Recording, Vocabulary
from tts_prep.errors import StoreError
from tts_prep.format.layout import FRAME, PHONEME
from tts_prep.format.records.manifest import Manifest
from tts_prep.preprocess.add.add_arrays import intact_shard
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.features.kind import TrainedKind
from tts_prep.preprocess.make.feature_inputs import StoredRows

_MAX_SECONDS: Final = 20.0
"""The maximum duration of an utterance of the sample."""


def train(store: Path, manifest: Manifest, wanted: AlignerConfig) -> AlignedDurations:
    """Train the aligner on a sample of a complete store.

    Raises:
        StoreError: its mels have a scale of their own.
        FeatureError: no utterance has phones.
    """
    config = Configuration.from_dict(store, manifest.configuration)
    decibels = decibels_of_unit(manifest.configuration["audio"])
    if decibels is None:
        raise StoreError(f"{store}: its mels have no logarithmic scale, which aligning needs; give --alignments PATH")
    vocabulary = Vocabulary(tuple(manifest.vocabulary["symbols"]), manifest.vocabulary["pad"])
    model = AlignmentModel.train(_sample(store, manifest, wanted.sample), vocabulary, decibels)
    # From its text, from which an update reads it too, so that both have the same model.
    settings = replace(wanted, mel=config.store.mel_dtype, model=model.as_text())
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


TRAINED: Final = TrainedKind(AlignerConfig, make, train)
