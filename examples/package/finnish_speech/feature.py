"""The mean of each mel frame, which follows its loudness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tts_prep import ConfigurationError
from tts_prep.preprocess import ArraySpec, FeatureInput, FeatureValues, MelConfig


@dataclass(frozen=True)
class LoudnessFeature:
    """The array ``loudness``, one number per frame."""

    offset: float

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """The arrays of the feature."""
        settings = {"offset": self.offset}
        return (ArraySpec("loudness", "float32", (), "frame", settings=settings, software={"tts-prep-finnish": "1.0"}),)

    def source(self, utterance_id: str, speaker: str) -> None:
        """Return the file that an utterance's values come from: none."""

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the values of an utterance."""
        return FeatureValues({"loudness": (utterance.mel.mean(axis=1) + self.offset).astype(np.float32)})


def make_loudness(_: MelConfig, settings: Mapping[str, str]) -> LoudnessFeature:
    """Return the feature for settings such as ``offset=60``; the first argument is the mel settings."""
    if unknown := sorted(settings.keys() - {"offset"}):
        raise ConfigurationError(f"loudness: expected the setting offset, found {unknown[0]!r}")
    return LoudnessFeature(float(settings.get("offset", 0)))
