"""The arrays ``durations`` and ``alignment``: the frames of every phoneme, from a model trained on the store."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.mels import decibels_of_unit
from tts_prep.acoustics.phones.model import n_features
from tts_prep.aligner.interval import LEAST_SECONDS
from tts_prep.aligner.model import AlignmentModel, Recording, Vocabulary
from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.format.files.checksums import json_sha256
from tts_prep.format.layout import ALIGNMENT_SCORE, ALIGNMENT_SILENCES, ALIGNMENT_WITHIN, FRAME, PHONEME, UTTERANCE
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import Manifest
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.features.feature import FeatureInput, FeatureValues
from tts_prep.preprocess.features.kinds import TrainedKind, setting
from tts_prep.preprocess.make.feature_inputs import StoredRows, intact_shard
from tts_prep.quantities import count_text

_VERSION: Final = "6"
"""The version of the algorithm: the same model of another version could give other durations."""

_TRAIN_AGAIN: Final = (
    "train it again by 'tts-prep remove STORE --array durations' and 'tts-prep add STORE --feature durations'"
)


@dataclass(frozen=True)
class AlignerConfig:
    """The settings of durations that the store gives itself."""

    sample: int = setting(1000, "of a store that aligns itself: the number of utterances to train on")
    least: float = setting(0.4, "the estimated share of boundaries within 20 ms below which the command ends")
    mel: str = setting("float32", "")
    model: str = setting("", "")
    version: str = setting(_VERSION, "")

    def __post_init__(self) -> None:
        if self.sample < 1:
            raise ConfigurationError(f"durations: sample: expected a positive number, found {self.sample}")
        if not 0 <= self.least <= 1:
            raise ConfigurationError(f"durations: least: expected a share from 0 to 1, found {self.least:g}")


@dataclass(frozen=True)
class AlignedDurations:
    """The frames of every phoneme, whose sum is the number of frames of the mel, and how good the alignment is.

    Attributes:
        settings: the settings, with the model as text.
        model: the model.
    """

    settings: AlignerConfig
    model: AlignmentModel

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """``durations`` [n_phonemes] int32, and ``alignment`` [4] float64, columns of the index."""
        columns = (ALIGNMENT_SCORE, ALIGNMENT_WITHIN, *ALIGNMENT_SILENCES)
        of_score = {"model": json_sha256(self.settings.model)}
        # The limit does not change values.
        settings = {name: value for name, value in vars(self.settings).items() if name != "least"}
        return (
            ArraySpec("durations", "int32", (), PHONEME, settings=settings),
            ArraySpec("alignment", "float64", (4,), UTTERANCE, settings=of_score, index_columns=columns),
        )

    def source(self, utterance_id: str, speaker: str) -> None:
        """Return None: the model determines the values."""

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the durations of one utterance.

        If they cannot be aligned, frames are divided evenly, which is counted as a remark.
        """
        found = self.model.align(Recording(utterance.phonemes, self._stored_mel(utterance)))
        is_aligned = np.isfinite(found.score)
        remarks = () if is_aligned else (("durations", "no phones or more phones than frames: divided evenly"),)
        columns = np.array([found.score, found.within, *found.silences])
        arrays = {"durations": found.durations.astype(np.int32), "alignment": columns}
        return FeatureValues(arrays, {"alignment": np.array([is_aligned])}, remarks)

    def _stored_mel(self, utterance: FeatureInput) -> npt.NDArray[np.floating]:
        """Return the mel as the store has it, also while its shard is made."""
        mel = utterance.mel
        if self.settings.mel == mel.dtype.name:
            return mel
        return (mel - np.float32(utterance.extractor.half_precision_offset())).astype(self.settings.mel)


def make(mel: MelConfig, settings: AlignerConfig) -> AlignedDurations:
    """Return the feature of a model that is recorded in a store.

    Raises:
        ConfigurationError: there is no model, or it is one of another version or of other mels.
    """
    if not settings.model:
        raise ConfigurationError(
            "durations: expected --alignments PATH, a folder of TextGrids or durations, or a CTM file; or a complete "
            "store, which 'tts-prep add STORE --feature durations' aligns without any"
        )
    if settings.version != _VERSION:
        raise ConfigurationError(
            f"durations: the aligner has version {_VERSION}, found a model of {settings.version}; {_TRAIN_AGAIN}"
        )
    model = AlignmentModel.from_text(settings.model)
    if model.n_features != (expected := n_features(mel.n_mels)):
        raise ConfigurationError(
            f"durations: the model of the aligner is for {model.n_features} features, a mel of {mel.n_mels} bins has "
            f"{expected}; {_TRAIN_AGAIN}"
        )
    return AlignedDurations(settings, model)


_CHECKED: Final = 200
"""The maximum number of utterances of the sample for which the estimate is made before all are aligned."""

_MAX_SECONDS: Final = 20.0
"""The maximum duration of an utterance of the sample."""


def train(store: Path, manifest: Manifest, wanted: AlignerConfig) -> AlignedDurations:
    """Train the aligner on a sample of a complete store.

    Raises:
        StoreError: its mels have a scale of their own, the estimate for the sample is below the limit, or the sample is
            too small for one.
        FeatureError: no utterance has phones.
    """
    config = Configuration.from_dict(store, manifest.configuration)
    decibels = decibels_of_unit(manifest.configuration["audio"])
    if decibels is None:
        raise StoreError(f"{store}: its mels have no logarithmic scale, which aligning needs; give --alignments PATH")
    vocabulary = Vocabulary(tuple(manifest.vocabulary["symbols"]), manifest.vocabulary["pad"])
    sample, array = _sample(store, manifest, wanted.sample), manifest.arrays["mel"]
    hop_seconds = array["hop_length"] / array["sample_rate"]
    model = AlignmentModel.train(sample, vocabulary, decibels, hop_seconds)
    share = float(np.mean([model.align(recording).within for recording in sample[:_CHECKED]]))
    seconds = sum(len(recording.mel) for recording in sample) * hop_seconds
    if wanted.least and not (share >= wanted.least and seconds >= LEAST_SECONDS):  # Nor is NaN.
        if seconds < LEAST_SECONDS:
            why = (
                f"its sample of {count_text(len(sample), 'utterance')} has {int(seconds)} s of speech, too little for "
                f"an estimate, expected {LEAST_SECONDS:.0f} s at least"
            )
        else:
            why = (
                f"an estimated {share:.0%} of the boundaries are within 20 ms of the true ones after training on "
                f"{count_text(len(sample), 'utterance')}, expected {wanted.least:.0%} at least: too little speech, or "
                "texts of other recordings"
            )
        raise StoreError(
            f"{store}: durations: {why} (try 'tts-prep check {store}'); nothing was added; give "
            "--alignments PATH, or --feature durations:least=0 to add them all the same"
        )
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
