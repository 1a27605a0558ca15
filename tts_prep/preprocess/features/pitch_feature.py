"""The arrays ``pitch`` and ``voiced``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import packages_distributions, version
from typing import Final

import numpy as np

from tts_prep.errors import ConfigurationError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.features.columns import PITCH
from tts_prep.preprocess.features.feature import FeatureInput, FeatureValues, settings_of
from tts_prep.preprocess.features.kind import FeatureKind
from tts_prep.preprocess.features.pitch import PitchConfig, import_pyworld, pitch_of


@dataclass(frozen=True)
class PitchFeature:
    """The pitch and the voicing of every mel frame.

    The statistics of ``pitch`` are over voiced frames.
    """

    settings: PitchConfig

    @classmethod
    def of(cls, settings: PitchConfig, recipe: MelConfig) -> PitchFeature:
        """Return the feature with defaults of floor and ceiling filled in.

        Raises:
            ConfigurationError: the settings are invalid for the sample rate.
            MissingPackageError: pyworld is required and not installed.
        """
        if settings.algorithm != "pyin":
            import_pyworld()
        return cls(settings.resolved(recipe.sample_rate))

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """``pitch`` [n_frames] float32 and ``voiced`` [n_frames] uint8."""
        settings = settings_of(self.settings)
        if self.settings.algorithm == "pyin":
            software = {"librosa": version("librosa")}
        else:
            settings.pop("frame_length")
            software = {"pyworld": _pyworld_version()}
        voicing = {name: settings[name] for name in settings if name not in ("unvoiced", "unit")}
        return (
            ArraySpec("pitch", "float32", (), "frame", settings=settings, software=software),
            ArraySpec("voiced", "uint8", (), "frame", settings=voicing, software=software),
        )

    def source(self, utterance_id: str, speaker: str) -> None:
        """Return None: pitch is computed from the recording."""

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return pitch and voicing of one utterance."""
        result = pitch_of(utterance.waveform, utterance.recipe, self.settings)
        pitch, voiced = result.pitch[: utterance.n_frames], result.voiced[: utterance.n_frames]
        return self.restored({"pitch": pitch, "voiced": voiced})

    def restored(self, arrays: Mapping[str, Array]) -> FeatureValues:
        """Return the values of one utterance from its arrays."""
        voiced = arrays["voiced"]
        remarks = () if voiced.any() else (("pitch", "no voiced frame"),)
        return FeatureValues(arrays, {"pitch": voiced.astype(np.bool_)}, remarks)


@lru_cache(maxsize=1)
def _pyworld_version() -> str:
    # pyworld and pyworld-prebuilt both provide the module.
    for name in packages_distributions().get("pyworld", []):
        return f"{name} {version(name)}"
    raise ConfigurationError("pitch: the version of pyworld is unknown; reinstall it")


KIND: Final = FeatureKind(
    "pitch",
    "pitch and voiced, the fundamental frequency and the voicing of every mel frame",
    lambda recipe, settings: PitchFeature.of(settings, recipe),
    PitchConfig,
    other_names=("f0",),
    columns=(PITCH,),
)
