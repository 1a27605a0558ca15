"""Energy: the L2 norm of each frame of the magnitude spectrogram or of the log-mel."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.preprocess.features.feature import FeatureInput, FeatureValues
from tts_prep.preprocess.features.kinds import ENERGY, FeatureKind, setting, settings_of


@dataclass(frozen=True)
class EnergyConfig:
    """The settings of energy."""

    of: str = setting(
        "magnitude",
        "magnitude, the norm over all magnitudes of the spectrum (ming024/FastSpeech2, ESPnet, PaddleSpeech, Coqui "
        "TTS), or log_mel, the norm over the stored mel bins (FastPitch, NeMo)",
    )

    def __post_init__(self) -> None:
        if self.of not in ("magnitude", "log_mel"):
            raise ConfigurationError(f"energy: of: expected magnitude or log_mel, found {self.of!r}")


@dataclass(frozen=True)
class EnergyFeature:
    """The energy of every mel frame."""

    settings: EnergyConfig

    @property
    def needs_energy(self) -> bool:
        """Whether it is computed in the same pass as the mel."""
        return self.settings.of == "magnitude"

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """``energy`` [n_frames] float32."""
        return (ArraySpec("energy", "float32", (), "frame", settings=settings_of(self.settings)),)

    def source(self, utterance_id: str, speaker: str) -> None:
        """Return None: energy is computed from the recording."""

    def restored(self, arrays: Mapping[str, npt.NDArray[Any]]) -> FeatureValues:
        """Return the values of one utterance from its arrays."""
        return FeatureValues(arrays)

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the energy of one utterance."""
        if self.settings.of == "log_mel":
            return FeatureValues({"energy": norms(utterance.mel)})
        return FeatureValues({"energy": utterance.energy})


KIND: Final = FeatureKind(
    "energy",
    "energy, the L2 norm of every mel frame",
    lambda _, settings: EnergyFeature(settings),
    EnergyConfig,
    columns=(ENERGY,),
)


def norms(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the L2 norm of each row, [n_rows] float32, computed in double precision."""
    values = rows.astype(np.float64)
    squares: npt.NDArray[np.float64] = np.einsum("tm,tm->t", values, values)
    return np.sqrt(squares).astype(np.float32)
