"""How fast the sound of a recording decays: slowly in a reverberant room."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.mels import Mels
from tts_prep.acoustics.threads import product
from tts_prep.compiler import Compiled

_BANDS: Final = 6
"""The number of bands of adjacent mel bins."""

_SECONDS: Final = 0.1
"""The duration over which a slope is measured."""

_FLOOR, _ABOVE_FLOOR = 0.05, 5.0
"""The quantile of the levels of a band that is its noise, and the least level above it of the end of a decay, in dB."""

_BELOW_TOP, _RANGE = 30.0, 30.0
"""The largest distance of the start of a decay from the loudest frame, and the least distance of noise from it, in dB.

In a band with less range, noise ends decays before their slope can be told.
"""

_STEEPEST: Final = 0.05
"""The quantile of the slopes of decays: most are those of speech that becomes softer; the steepest are free decays."""

_LEAST_DECAYS, _LEAST_BANDS = 8, 2

Floats = npt.NDArray[np.float64]


def decay_seconds(mels: Mels, powers: npt.NDArray[np.float32], hop_seconds: float) -> Floats:
    """Return the time in which each recording decays by 60 dB, [n]; NaN if there is too much noise, or no decay.

    Speech ends more quickly than the sound of a room. Of the slopes of the levels of a band, those that begin near
    its loudest frame and end above its noise are taken; the steepest 5 % of them end there. The result is 60 dB
    divided by the median of the slopes of the bands. It is the reverberation time of long ones, but that of a recording
    without reverberation is 0.15 to 0.25 s, because of the frames.

    Args:
        powers: [n_frames, n_mels], from `mel_powers`.
        hop_seconds: the hop length.
    """
    length = max(3, round(_SECONDS / hop_seconds))
    positions = np.arange(length) - (length - 1) / 2
    slope = positions / np.square(positions).sum() / hop_seconds
    levels = _band_levels(powers)
    # The places of each recording in each band, [_BANDS, n].
    starts = mels.starts[:-1] + np.arange(_BANDS)[:, None] * levels.shape[1]
    stops = starts + np.diff(mels.starts)
    floors, slopes, n_slopes = np.empty(starts.shape), np.empty(levels.size), np.zeros(starts.shape, np.int64)
    find_quantiles(levels.ravel().copy(), starts, stops, _FLOOR, floors)
    _find_decays(levels.ravel(), starts, stops, slope, floors, slopes, n_slopes)
    steepest = np.empty(starts.shape)
    find_quantiles(slopes, starts, starts + np.where(n_slopes >= _LEAST_DECAYS, n_slopes, 0), _STEEPEST, steepest)
    times = np.full(len(mels.loudest), np.nan)
    enough = np.isfinite(steepest).sum(axis=0) >= _LEAST_BANDS
    times[enough] = -60 / np.nanmedian(steepest[:, enough], axis=0)
    return times


def _band_levels(powers: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the levels of bands in dB, up to a constant per recording, [_BANDS, n_frames]."""
    n_mels = powers.shape[1]
    edges = np.arange(_BANDS) * n_mels // _BANDS
    members = np.zeros((n_mels, _BANDS), np.float32)
    members[np.arange(n_mels), np.searchsorted(edges, np.arange(n_mels), side="right") - 1] = 1
    levels = product(powers, members)
    # 120 dB below the loudest value is less than any noise.
    np.maximum(levels, 1e-12, out=levels)
    np.log10(levels, out=levels)
    return np.ascontiguousarray(10 * levels.T)


@Compiled
def _find_decays(levels: Any, starts: Any, stops: Any, slope: Any, floors: Any, slopes: Any, n_slopes: Any) -> None:
    """Put the slopes of the decays of each recording in each band one after another, from its start on.

    Args:
        levels: float32, in dB.
        starts, stops: [n_bands, n] int64, the places of each recording in each band.
        slope: [length], weights whose sum of products with levels is a slope in dB/s.
        floors: [n_bands, n], the levels of noise.
        slopes: as many as levels, filled.
        n_slopes: [n_bands, n], zeros; filled with the number of decays.
    """
    length = len(slope)
    for place in np.ndindex(starts.shape):
        band = levels[starts[place] : stops[place]]
        n, found, n_found = len(band) - length + 1, slopes[starts[place] : stops[place]], 0
        top = band.max() if n >= _LEAST_DECAYS else -np.inf
        if not top > floors[place] + _RANGE:
            continue
        found[:n] = 0
        for j in range(length):
            for k in range(n):
                found[k] += band[k + j] * slope[j]
        for k in range(n):
            value = found[k]
            is_decay = value < 0 and band[k + length - 1] > floors[place] + _ABOVE_FLOOR and band[k] > top - _BELOW_TOP
            # The next slope replaces it if it is none.
            found[n_found] = value
            n_found += 1 if is_decay else 0
        n_slopes[place] = n_found


@Compiled
def find_quantiles(values: Any, starts: Any, stops: Any, share: float, quantiles: Any) -> None:
    """Fill in a quantile of the values from each start to each stop, which are put into another order; NaN for none.

    Values are interpolated between the two nearest, which Hoare's quickselect finds.
    """
    for place in np.ndindex(starts.shape):
        part = values[starts[place] : stops[place]]
        exact = share * (len(part) - 1)
        at, low, high = int(exact), 0, len(part) - 1
        while low < high:
            pivot, i, j = part[at], low, high
            while i <= j:
                while part[i] < pivot:
                    i += 1
                while pivot < part[j]:
                    j -= 1
                if i <= j:
                    part[i], part[j] = part[j], part[i]
                    i, j = i + 1, j - 1
            # All values up to j are at most the pivot, and those from i on are at least the pivot.
            low, high = (low, j) if at <= j else (i, high) if at >= i else (at, at)
        quantiles[place] = np.nan
        if len(part):
            above = part[at + 1 :].min() if at + 1 < len(part) else part[at]
            quantiles[place] = part[at] + (above - part[at]) * (exact - at)
