"""The mel filter bank, in the form that the kernel reads: only the weights that are not zero."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.lean_imports import import_later


@dataclass(frozen=True, eq=False)
class FilterBank:
    """A sparse filter bank.

    Attributes:
        starts: [n_mels] first FFT bin of each filter.
        offsets: [n_mels + 1] where each filter's weights start in ``weights``.
        weights: [n_weights] float32.
        n_bins: FFT bins from 0 that any filter looks at.
    """

    starts: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]
    n_bins: int


def dense_filter_bank(config: MelConfig) -> npt.NDArray[Any]:
    """Return librosa's filter bank for a recipe, [n_mels, 1 + n_fft / 2] float64."""
    # Only the process that plans the work needs it, and two thirds of the time to import it would go to these.
    with import_later("scipy.signal", "scipy.ndimage"):
        from librosa.filters import mel

    return np.asarray(
        mel(
            sr=config.mel_rate,
            n_fft=config.n_fft,
            n_mels=config.n_mels,
            fmin=config.fmin,
            fmax=config.fmax,
            htk=config.mel_scale == "htk",
            norm="slaney" if config.mel_norm else None,
            dtype=np.float64,
        )
    )


@lru_cache(maxsize=16)
def filter_bank(config: MelConfig) -> FilterBank:
    """Return the sparse filter bank of a recipe."""
    dense = dense_filter_bank(config)
    starts = np.zeros(len(dense), np.int64)
    offsets = np.zeros(len(dense) + 1, np.int64)
    weights = []
    for m, row in enumerate(dense):
        bins = np.flatnonzero(row)
        if len(bins):
            starts[m] = bins[0]
            weights.append(row[bins[0] : bins[-1] + 1])
        offsets[m + 1] = offsets[m] + (len(weights[-1]) if len(bins) else 0)
    n_bins = int(max(starts + np.diff(offsets), default=0))
    return FilterBank(starts, offsets, np.concatenate([*weights, np.empty(0)]).astype(np.float32), max(1, n_bins))
