"""Loudness of one channel by Recommendation ITU-R BS.1770-5: K-weighting and two gates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.compiler import Compiled

BLOCK, STEP = 0.4, 0.1
"""The length and the hop of gating blocks in seconds; blocks overlap by 75 %."""

ABSOLUTE_GATE = -70.0
"""The absolute gate in LUFS."""

RELATIVE_GATE = -10.0
"""The relative gate in LU, relative to the mean of the blocks above the absolute gate."""

_OFFSET = -0.691
"""The offset in dB that compensates for the gain of the K-weighting at 997 Hz."""

_SHELF_HZ, _SHELF_DB, _SHELF_Q = 1681.974450955533, 3.999843853973347, 0.7071752369554196
_BAND = 0.4996667741545416
_PASS_HZ, _PASS_Q = 38.13547087602444, 0.5003270373238773
"""The analogue filters whose bilinear transforms at 48 kHz are the coefficients of the Recommendation's tables 1 and 2.

The Recommendation only has coefficients for 48 kHz. The values are those of libebur128 and FFmpeg's ebur128.
"""

_DECAY = 0.06
"""The settling time of the filters in seconds, after which the response to a step is less than 1e-5 of it."""

_LANES = 16
"""The number of stretches of a recording that are filtered side by side, in vector registers.

A filter depends on its last value, so a single stretch is no faster than the delay of the processor's arithmetic.
"""

_V1, _V2, _W1, _W2, _SLOPE, _SUM = (number * _LANES for number in range(6))
"""Where the numbers of all lanes begin: the two last values of each filter, the last slope, and the sum of squares."""

_TINY = 1e-40
"""The magnitude below which the state of a filter is set to 0. Denormal numbers, to which it decays, are slow."""


def loudness(samples: npt.NDArray[Any], sample_rate: int, full_scale: float = 1.0) -> float:
    """Return the integrated loudness of a mono recording in LUFS.

    Equivalent to ``pyloudnorm.Meter(sample_rate, filter_class="DeMan").integrated_loudness``, in which the last block
    may also extend beyond the recording by up to half a step. pyloudnorm's default filters deviate by 0.04 dB at
    48 kHz, 0.12 dB at 16 kHz and 0.22 dB at 8 kHz.

    Args:
        samples: [n_samples], integers or float.
        sample_rate: Hz.
        full_scale: the sample value of full scale.

    Returns:
        NaN if the recording is shorter than BLOCK, for which loudness is not defined; −∞ if no block is above the
        absolute gate.
    """
    powers = block_powers(samples, sample_rate, full_scale)
    if not len(powers):
        return math.nan
    heard = powers[powers >= _power(ABSOLUTE_GATE)]
    if not len(heard):
        return -math.inf
    gate = max(float(heard.mean()) * 10 ** (RELATIVE_GATE / 10), _power(ABSOLUTE_GATE))
    return _OFFSET + 10 * math.log10(float(heard[heard > gate].mean()))


def _power(level: float) -> float:
    return float(10 ** ((level - _OFFSET) / 10))


def block_powers(samples: npt.NDArray[Any], sample_rate: int, full_scale: float = 1.0) -> npt.NDArray[np.float64]:
    """Return the mean square of each gating block after K-weighting, [n_blocks]; empty below BLOCK seconds."""
    if len(samples) < BLOCK * sample_rate:
        return np.empty(0)
    per_block = round(BLOCK / STEP)
    n_blocks = round((len(samples) / sample_rate - BLOCK) / STEP) + 1
    edges = (np.arange(n_blocks + per_block) * STEP * sample_rate + 1e-6).astype(np.int64)
    edges[-1] = min(len(samples), round((n_blocks - 1 + per_block) * STEP * sample_rate))
    steps = weighted_energies(samples, edges, sample_rate, full_scale)
    powers: npt.NDArray[np.float64] = np.convolve(steps, np.ones(per_block), "valid") / (BLOCK * sample_rate)
    return powers


def weighted_energies(
    samples: npt.NDArray[Any], edges: npt.NDArray[np.int64], sample_rate: int, full_scale: float = 1.0
) -> npt.NDArray[np.float64]:
    """Return the sum of the squared K-weighted samples from each edge to the next one, [n_edges - 1].

    Args:
        edges: ascending positions, the last at most the number of samples.
    """
    before = math.ceil(_DECAY * sample_rate)
    (b, a), (_, c) = k_weighting(sample_rate)
    energies = np.empty(len(edges) - 1)
    _sum_weighted(samples, edges, before, _LANES, _TINY, b[1] / b[0], b[2] / b[0], *a[1:], *c[1:], energies)
    energies *= (b[0] / full_scale) ** 2
    return energies


@Compiled
def _sum_weighted(
    samples: Any,
    edges: Any,
    before: int,
    lanes: int,
    tiny: float,
    b1: float,
    b2: float,
    a1: float,
    a2: float,
    c1: float,
    c2: float,
    energies: Any,
) -> None:
    """Filter samples by (1 + b1/z + b2/z²) / (1 + a1/z + a2/z²), then (1 - 2/z + 1/z²) / (1 + c1/z + c2/z²).

    Args:
        before: the number of samples before a stretch from which on it is filtered, so that the filters settle.
        lanes: _LANES; an argument, because the compiler does not vectorize a loop of known length.
        tiny: the magnitude below which states are set to 0.
        energies: [len(edges) - 1] float64, filled with sums of squares.
    """
    block = 256
    n_steps = len(energies)
    per_lane = -(-n_steps // lanes)
    step, stop_step = np.empty(lanes, np.int64), np.empty(lanes, np.int64)
    first, longest = np.empty(lanes, np.int64), 0
    for lane in range(lanes):
        step[lane], stop_step[lane] = min(lane * per_lane, n_steps), min((lane + 1) * per_lane, n_steps)
        first[lane] = edges[step[lane]]
        longest = max(longest, edges[stop_step[lane]] - first[lane])
    # The states of both filters in direct form II, which takes the fewest operations, and the sums of squares. They are
    # in one array: whether several arrays overlap would be checked for each sample, which takes as long as the filters.
    states = np.zeros(6 * _LANES)
    x = np.empty((block, lanes), samples.dtype)
    start = -before
    while start < longest:
        # Up to where a step of a lane ends.
        stop = min(start + block, longest if start >= 0 else 0)
        for lane in range(lanes):
            if start >= 0 and step[lane] < stop_step[lane]:
                stop = min(stop, edges[step[lane] + 1] - first[lane])
        rows = x[: stop - start]
        for lane in range(lanes):
            low, high = first[lane] + start, first[lane] + stop
            inside = samples[max(low, 0) : max(high, 0)]
            # Zeros before and after the recording.
            skipped = min(max(-low, 0), len(rows))
            rows[:skipped, lane] = 0
            rows[skipped : skipped + len(inside), lane] = inside
            rows[skipped + len(inside) :, lane] = 0
        for row in rows:
            for lane in range(lanes):
                v1, v2 = states[_V1 + lane], states[_V2 + lane]
                w1, w2 = states[_W1 + lane], states[_W2 + lane]
                v = row[lane] - a2 * v2 - a1 * v1
                w = v + b2 * v2 + b1 * v1 - c2 * w2 - c1 * w1
                difference = w - w1
                weighted = difference - states[_SLOPE + lane]
                states[_SUM + lane] += weighted * weighted
                states[_V1 + lane], states[_V2 + lane] = v, v1
                states[_W1 + lane], states[_W2 + lane] = w, w1
                states[_SLOPE + lane] = difference
        start = stop
        for lane in range(lanes):
            if abs(states[_V1 + lane]) + abs(states[_V2 + lane]) < tiny:
                states[_V1 + lane] = states[_V2 + lane] = 0
            if abs(states[_W1 + lane]) + abs(states[_W2 + lane]) < tiny:
                states[_W1 + lane] = states[_W2 + lane] = states[_SLOPE + lane] = 0
            if start == 0:
                states[_SUM + lane] = 0
            elif start > 0 and step[lane] < stop_step[lane] and first[lane] + start == edges[step[lane] + 1]:
                energies[step[lane]] = states[_SUM + lane]
                states[_SUM + lane] = 0
                step[lane] += 1


Coefficients = tuple[float, float, float]


def k_weighting(sample_rate: int) -> tuple[tuple[Coefficients, Coefficients], tuple[Coefficients, Coefficients]]:
    """Return the coefficients (b, a) of the shelf and the high-pass, which equal the Recommendation's at 48 kHz."""
    k = math.tan(math.pi * _SHELF_HZ / sample_rate)
    high = 10 ** (_SHELF_DB / 20)
    band = high**_BAND
    scale = 1 + k / _SHELF_Q + k * k
    shelf = (
        (
            (high + band * k / _SHELF_Q + k * k) / scale,
            2 * (k * k - high) / scale,
            (high - band * k / _SHELF_Q + k * k) / scale,
        ),
        (1.0, 2 * (k * k - 1) / scale, (1 - k / _SHELF_Q + k * k) / scale),
    )
    k = math.tan(math.pi * _PASS_HZ / sample_rate)
    scale = 1 + k / _PASS_Q + k * k
    return shelf, ((1.0, -2.0, 1.0), (1.0, 2 * (k * k - 1) / scale, (1 - k / _PASS_Q + k * k) / scale))
