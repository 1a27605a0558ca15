"""Pitch in Hz from the values of an array of pitch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


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
