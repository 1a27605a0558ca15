"""How features are shown: one number for each utterance, of which a report makes histograms and means by speaker.

This module loads numpy only, so that a report needs no library that computes features.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from tts_prep.format.records.arrays import ArraySpec


def hertz(unit: object, pitch: npt.NDArray[Any], voiced: npt.NDArray[Any] | None) -> npt.NDArray[np.float64]:
    """Return pitch in Hz, NaN where unvoiced, [n_frames].

    Args:
        unit: ``ln_hz`` for natural logarithms; any other value is Hz.
        pitch: [n_frames] values.
        voiced: [n_frames], nonzero for voiced frames. If None, frames with zero pitch are unvoiced.
    """
    values = np.asarray(pitch, np.float64)
    mask = values > 0 if voiced is None else np.asarray(voiced) > 0
    if unit == "ln_hz":
        # Limit the exponent to avoid overflow; the limit is higher than any pitch.
        values = np.exp(np.minimum(values, 20))
    return np.where(mask & np.isfinite(values), values, np.nan)


@dataclass(frozen=True, eq=False)
class FeatureArrays:
    """The arrays of one utterance of which a `FeatureColumn` makes a number.

    Attributes:
        arrays: name → [n_frames] or [n_phonemes] values.
        specs: name → specification, with the settings of the feature.
        frame_seconds: the time from one mel frame to the next.
    """

    arrays: Mapping[str, npt.NDArray[Any]]
    specs: Mapping[str, ArraySpec]
    frame_seconds: float


def _mean(values: npt.NDArray[Any]) -> float:
    return float(values.mean(dtype=np.float64)) if len(values) else float("nan")


@dataclass(frozen=True)
class FeatureColumn:
    """One number for each utterance, made of arrays with one number per frame or phoneme.

    Attributes:
        array: the name of the array.
        unit: the unit of the number.
        meaning: one line for a page.
        name: the name in files; by default, that of the array.
        label: the displayed name; by default, the name with spaces.
        axis: the axis of the arrays.
        others: other arrays that the number is made of where a store has them.
        value: returns the number; by default, the mean of the array. NaN is a missing value.
    """

    array: str
    unit: str
    meaning: str = ""
    name: str = ""
    label: str = ""
    axis: Literal["frame", "phoneme"] = "frame"
    others: tuple[str, ...] = ()
    value: Callable[[FeatureArrays], float] | None = None

    def __post_init__(self) -> None:
        name = self.name or self.array
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "label", self.label or name.replace("_", " ").capitalize())

    def number(self, given: FeatureArrays) -> float:
        """Return the number of an utterance."""
        return self.value(given) if self.value else _mean(given.arrays[self.array])


def _mean_pitch(given: FeatureArrays) -> float:
    unit = given.specs["pitch"].settings.get("unit")
    track = hertz(unit, given.arrays["pitch"], given.arrays.get("voiced"))
    return _mean(track[np.isfinite(track)])


def _mean_length(given: FeatureArrays) -> float:
    durations = given.arrays["durations"]
    return _mean(durations[durations > 0]) * given.frame_seconds * 1000


PITCH: Final = FeatureColumn("pitch", "Hz", "Mean of the voiced frames.", others=("voiced",), value=_mean_pitch)
ENERGY: Final = FeatureColumn("energy", "L2 norm", "Mean of the frames.")
SYMBOL_LENGTH: Final = FeatureColumn(
    "durations",
    "ms",
    "Mean of the symbols with a duration.",
    name="symbol_length",
    label="Length of a symbol",
    axis="phoneme",
    value=_mean_length,
)

COLUMNS: Final = (PITCH, ENERGY, SYMBOL_LENGTH)
"""The columns of the built-in features."""
