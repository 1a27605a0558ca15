"""Spectrograms beside the mel of a store: mels of other presets, and linear ones as VITS and Coqui TTS cache them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np

from tts_prep.errors import AudioError, ConfigurationError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.filter_bank import FilterBank
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.audio.presets import Preset, get_preset
from tts_prep.preprocess.features.feature import FeatureInput, FeatureValues
from tts_prep.preprocess.features.kinds import FeatureKind, setting, settings_of

NAME: Final = "mel"
"""The name of the feature; that of its array has the preset's, too."""


@dataclass(frozen=True)
class SecondMelConfig:
    """The settings of a second mel."""

    preset: str = setting("", "the preset, such as hifigan; 'tts-prep presets' lists them")
    fmax: float | None = setting(None, "another upper end of the filter bank in Hz, as in the mel of a vocoder's loss")


@dataclass(frozen=True)
class SecondMel:
    """The mel of a preset, as a store that is made with it has it.

    Attributes:
        preset: the preset, with `fmax`.
        fmax: the upper end of the filter bank if it is not that of the preset.
    """

    preset: Preset
    fmax: float | None = None

    @property
    def _name(self) -> str:
        return array_name(self.preset.name, self.fmax)

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """``mel_PRESET`` [n, n_mels] float32, n of its own."""
        config, reading = self.preset.config, self.preset.reading
        settings: dict[str, Any] = {"audio": config.as_dict(), "preset": self.preset.name, "reading": reading.as_dict()}
        if self.fmax is not None:
            settings["fmax"] = self.fmax
        rate = config.sample_rate / config.hop_length
        return (ArraySpec(self._name, "float32", (config.n_mels,), "own", rate, settings),)

    def source(self, utterance_id: str, speaker: str) -> None:
        """Return None: it is computed from the recording."""

    def restored(self, arrays: Mapping[str, Array]) -> FeatureValues:
        """Return the values of one utterance from its arrays."""
        return FeatureValues(arrays)

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the mel of one utterance, whose recording is read as the preset says.

        Raises:
            AudioError: the recording cannot be read, or its mel is not finite.
        """
        waveform = utterance.recorded(self.preset.config, self.preset.reading)
        mel = _extractor(self.preset.config)(waveform)
        if not np.isfinite(mel).all():
            raise AudioError("its mel spectrogram has NaN or infinite values")
        return FeatureValues({self._name: mel})


def array_name(preset: str, fmax: float | None = None) -> str:
    """Return the name of the array of a preset, whose filter bank ends at `fmax`."""
    end = "" if fmax is None else f"_to_{fmax:g}".replace(".", "_")
    return f"{NAME}_{preset.replace('-', '_')}{end}"


_extractor = lru_cache(maxsize=4)(MelExtractor)


def _make(_: MelConfig, settings: SecondMelConfig) -> SecondMel:
    if not settings.preset:
        raise ConfigurationError("mel: expected a preset, as in --feature mel:preset=hifigan")
    preset = get_preset(settings.preset)
    if settings.fmax is None:
        return SecondMel(preset)
    return SecondMel(replace(preset, config=replace(preset.config, fmax=settings.fmax)), settings.fmax)


def _of_array(spec: ArraySpec) -> dict[str, str] | None:
    preset, fmax = spec.settings.get("preset"), spec.settings.get("fmax")
    fmax = float(fmax) if isinstance(fmax, int | float) else None
    if not isinstance(preset, str) or spec.name != array_name(preset, fmax):
        return None
    return {"preset": preset, **({} if fmax is None else {"fmax": f"{fmax:g}"})}


SECOND_MEL: Final = FeatureKind(
    NAME,
    "mel_PRESET or mel_PRESET_to_FMAX, the mel of another preset, with its own rate and number of frames",
    _make,
    SecondMelConfig,
    other_names=("second-mel", "mel2"),
    of_array=_of_array,
)


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


SPECTROGRAM: Final = FeatureKind(
    "spectrogram",
    "spectrogram, the linear magnitudes of every mel frame",
    lambda recipe, settings: SpectrogramFeature.of(settings, recipe),
    SpectrogramConfig,
    other_names=("spec", "linear"),
)
