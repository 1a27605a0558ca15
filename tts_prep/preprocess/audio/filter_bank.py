"""The mel filter bank, in the sparse form of the kernel."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.preprocess.audio.config import MelConfig

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class FilterBank:
    """A sparse filter bank.

    Attributes:
        starts: [n_mels] the first FFT bin of each filter.
        offsets: [n_mels + 1] the index in ``weights`` of each filter's first weight.
        weights: [n_weights] float32.
        n_bins: the number of FFT bins, from 0, up to the last one with a weight.
    """

    starts: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]
    n_bins: int


def dense_filter_bank(config: MelConfig) -> Array:
    """Return the dense filter bank, [n_mels, 1 + n_fft / 2] float64.

    Filters are triangles over the frequencies of the FFT bins (Kaldi's: over their mels, as in its
    mel-computations.cc), with corners equally spaced on the mel scale. Their height is 1, or 2 / (right - left) for
    equal areas, as in M. Slaney, Auditory Toolbox, 1998.
    """
    hertz_to_mel, mel_to_hertz = MEL_SCALES[config.mel_scale]
    low, high = hertz_to_mel(np.array([config.fmin, config.fmax], np.float64))
    corners = np.linspace(low, high, config.n_mels + 2)
    bins = np.fft.rfftfreq(config.n_fft, 1 / config.mel_rate)
    if config.mel_scale == "kaldi":
        bins = hertz_to_mel(bins)
    else:
        corners = mel_to_hertz(corners)
    distance = corners[:, None] - bins
    width = np.diff(corners)[:, None]
    rising, falling = -distance[:-2] / width[:-1], distance[2:] / width[1:]
    weights: Array = np.maximum(0, np.minimum(rising, falling))
    if config.mel_norm == "slaney":
        weights *= (2 / (corners[2:] - corners[:-2]))[:, None]
    return weights


# Slaney's scale: linear up to 1,000 Hz = 15 mels, then logarithmic, 27 mels per factor of 6.4.
_HERTZ_PER_MEL, _BREAK_HERTZ, _BREAK_MEL, _LOG_STEP = 200 / 3, 1000.0, 15.0, math.log(6.4) / 27


def _slaney_from_hertz(hertz: Array) -> Array:
    logarithmic = _BREAK_MEL + np.log(np.maximum(hertz, _BREAK_HERTZ) / _BREAK_HERTZ) / _LOG_STEP
    return np.where(hertz >= _BREAK_HERTZ, logarithmic, hertz / _HERTZ_PER_MEL)


def _slaney_to_hertz(mel: Array) -> Array:
    exponential = _BREAK_HERTZ * np.exp(_LOG_STEP * (mel - _BREAK_MEL))
    return np.where(mel >= _BREAK_MEL, exponential, mel * _HERTZ_PER_MEL)


# HTK's scale: S. Young et al., The HTK Book, section 5.4.
def _htk_from_hertz(hertz: Array) -> Array:
    return 2595.0 * np.log10(1.0 + hertz / 700.0)


def _htk_to_hertz(mel: Array) -> Array:
    return 700.0 * (np.power(10.0, mel / 2595.0) - 1.0)


MEL_SCALES: Final[Mapping[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]]] = {
    "slaney": (_slaney_from_hertz, _slaney_to_hertz),
    "htk": (_htk_from_hertz, _htk_to_hertz),
    "kaldi": (_htk_from_hertz, _htk_to_hertz),
}
"""The functions Hz to mels and mels to Hz of each mel scale."""


@lru_cache(maxsize=16)
def filter_bank(config: MelConfig) -> FilterBank:
    """Return the sparse filter bank."""
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
