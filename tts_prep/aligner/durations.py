"""The arrays ``durations`` and ``alignment``: the frames of every phoneme, from a model trained on the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.phones.model import n_features
from tts_prep.aligner.model import AlignmentModel, Recording
from tts_prep.errors import ConfigurationError
from tts_prep.format.files.checksums import json_sha256
from tts_prep.format.layout import ALIGNMENT_SCORE, PHONEME, UTTERANCE
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.features.feature import FeatureInput, FeatureValues
from tts_prep.preprocess.features.kind import setting

_VERSION: Final = "3"
"""The version of the algorithm: the same model of another version could give other durations."""

_TRAIN_AGAIN: Final = (
    "train it again by 'tts-prep remove STORE --array durations' and 'tts-prep add STORE --feature durations'"
)


@dataclass(frozen=True)
class AlignerConfig:
    """The settings of durations that the store gives itself."""

    sample: int = setting(1000, "of a store that aligns itself: the number of utterances to train on")
    mel: str = setting("float32", "")
    model: str = setting("", "")
    version: str = setting(_VERSION, "")

    def __post_init__(self) -> None:
        if self.sample < 1:
            raise ConfigurationError(f"durations: sample: expected a positive number, found {self.sample}")


@dataclass(frozen=True)
class AlignedDurations:
    """The frames of every phoneme, whose sum is the number of frames of the mel, and the score of the alignment.

    Attributes:
        settings: the settings, with the model as text.
        model: the model.
    """

    settings: AlignerConfig
    model: AlignmentModel

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """``durations`` [n_phonemes] int32, and ``alignment`` [1] float64, the column `ALIGNMENT_SCORE`."""
        of_score = {"model": json_sha256(self.settings.model)}
        return (
            ArraySpec("durations", "int32", (), PHONEME, settings=vars(self.settings)),
            ArraySpec("alignment", "float64", (1,), UTTERANCE, settings=of_score, index_columns=(ALIGNMENT_SCORE,)),
        )

    def source(self, utterance_id: str, speaker: str) -> None:
        """Return None: the model determines the values."""

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the durations of one utterance.

        If they cannot be aligned, frames are divided evenly, which is counted as a remark.
        """
        found, score = self.model.align(Recording(utterance.phonemes, self._stored_mel(utterance)))
        is_aligned = np.isfinite(score)
        remarks = () if is_aligned else (("durations", "no phones or more phones than frames: divided evenly"),)
        arrays = {"durations": found.astype(np.int32), "alignment": np.array([score])}
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
