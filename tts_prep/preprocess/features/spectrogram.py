"""Linear spectrograms: the magnitudes before the mel filter bank, as VITS and Coqui TTS cache them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tts_prep.errors import ConfigurationError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.filter_bank import FilterBank
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.features.feature import FeatureInput, FeatureValues, settings_of
from tts_prep.preprocess.features.kind import FeatureKind, setting


@dataclass(frozen=True)
class SpectrogramConfig:
    """The settings of linear spectrograms."""

    dtype: str = setting("float32", "float32, or float16 with eleven bits of precision")
    power_offset: float | None = setting(
        None, "ε of √(|X|² + ε): 1e-6 in VITS and Coqui's VITS; by default, that of the mel settings"
    )

    def __post_init__(self) -> None:
        if self.dtype not in ("float32", "float16"):
            raise ConfigurationError(f"spectrogram: dtype: expected float32 or float16, found {self.dtype!r}")
        if self.power_offset is not None and not 0 <= self.power_offset < float("inf"):
            raise ConfigurationError(f"spectrogram: power_offset: expected a number >= 0, found {self.power_offset}")


@dataclass(frozen=True, eq=False)
class SpectrogramFeature:
    """The linear magnitude spectrogram, with the framing, padding, window and level of the mel."""

    settings: SpectrogramConfig
    extractor: MelExtractor

    @classmethod
    def of(cls, settings: SpectrogramConfig, recipe: MelConfig) -> SpectrogramFeature:
        """Return the feature for mel settings."""
        n_bins = recipe.n_fft // 2 + 1
        places = np.arange(n_bins + 1, dtype=np.int64)
        # A filter bank with one filter per bin, so that the mel kernel computes the spectrogram.
        bank = FilterBank(places[:-1].copy(), places, np.ones(n_bins, np.float32), n_bins)
        offset = recipe.power_offset if settings.power_offset is None else settings.power_offset
        linear = replace(recipe, power=1, power_offset=offset, n_mels=n_bins)
        return cls(replace(settings, power_offset=offset), MelExtractor(linear, bank))

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """``spectrogram`` [n_frames, n_fft / 2 + 1]."""
        settings = settings_of(self.settings)
        n_bins = self.extractor.config.n_mels
        return (ArraySpec("spectrogram", self.settings.dtype, (n_bins,), "frame", settings=settings),)

    def source(self, utterance_id: str, speaker: str) -> None:
        """Return None: the spectrogram is computed from the recording."""

    def restored(self, arrays: Mapping[str, Array]) -> FeatureValues:
        """Return the values of one utterance from its arrays."""
        return FeatureValues(arrays)

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the spectrogram of one utterance."""
        return FeatureValues({"spectrogram": self.magnitudes(utterance.waveform)[: utterance.n_frames]})

    def magnitudes(self, waveform: Waveform) -> Array:
        """Return the magnitudes of a waveform, [n_frames, n_fft / 2 + 1].

        Raises:
            AudioError: the waveform is too short for the framing.
        """
        return self.extractor.magnitudes(waveform).astype(self.settings.dtype)


KIND: Final = FeatureKind(
    "spectrogram",
    "spectrogram, the linear magnitudes of every mel frame",
    lambda recipe, settings: SpectrogramFeature.of(settings, recipe),
    SpectrogramConfig,
    other_names=("spec", "linear"),
)
