"""The mean of each mel frame, which follows its loudness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tts_prep.preprocess import ArraySpec, FeatureColumn, FeatureInput, FeatureKind, FeatureValues, setting


@dataclass(frozen=True)
class LoudnessSettings:
    """The settings of ``--feature loudness:offset=60``."""

    offset: float = setting(0.0, "added to every value")


@dataclass(frozen=True)
class LoudnessFeature:
    """The array ``loudness``, one number per frame."""

    settings: LoudnessSettings

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """The arrays of the feature."""
        settings = {"offset": self.settings.offset}
        return (ArraySpec("loudness", "float32", (), "frame", settings=settings, software={"tts-prep-finnish": "1.0"}),)

    def source(self, utterance_id: str, speaker: str) -> None:
        """Return the file that an utterance's values come from: none."""

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the values of an utterance."""
        return FeatureValues({"loudness": (utterance.mel.mean(axis=1) + self.settings.offset).astype(np.float32)})


LOUDNESS = FeatureKind(
    "loudness",
    "loudness, the mean of every mel frame",
    lambda _, settings: LoudnessFeature(settings),
    LoudnessSettings,
    columns=(FeatureColumn("loudness", "mel units", "Mean of the frames."),),
)
