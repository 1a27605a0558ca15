"""The inner loops of the mel spectrogram: framing, transform, magnitude and filter bank fused over blocks of frames."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.preprocess.audio.fft import LANES, complex_fft, jit

Array = npt.NDArray[Any]


@jit
def _load(x: Array, window: Array, start: int, hop: int, zr: Array, zi: Array) -> None:
    """Window LANES frames and pack even samples as real parts, odd ones as imaginary parts."""
    for k in range(len(window) // 2):
        even, odd = window[2 * k], window[2 * k + 1]
        row, sample = k * LANES, start + 2 * k
        for lane in range(LANES):
            zr[row + lane] = x[sample + lane * hop] * even
            zi[row + lane] = x[sample + lane * hop + 1] * odd


@jit
def _real_power(zr: Array, zi: Array, cr: Array, ci: Array, n_bins: int, power: Array) -> None:
    """Unpack the transform of packed real frames and take |X|² of bins [0, n_bins).

    X[k] = (Z[k] + Z*[H − k]) / 2 − i/2 · exp(−2πik/N) · (Z[k] − Z*[H − k]), with H = N / 2.
    """
    half = len(zr) // LANES
    for lane in range(LANES):
        dc = zr[lane] + zi[lane]
        power[lane] = dc * dc
    for k in range(1, min(n_bins, half)):
        wr, wi = cr[k], ci[k]
        row, mirror = k * LANES, (half - k) * LANES
        for lane in range(LANES):
            ar, ai, br, bi = zr[row + lane], zi[row + lane], zr[mirror + lane], zi[mirror + lane]
            er, ei = ar + br, ai - bi
            dr, di = ai + bi, br - ar
            re, im = er + wr * dr - wi * di, ei + wr * di + wi * dr
            power[row + lane] = 0.25 * (re * re + im * im)
    if n_bins > half:
        for lane in range(LANES):
            nyquist = zr[lane] - zi[lane]
            power[half * LANES + lane] = nyquist * nyquist


@jit
def _filter(
    power: Array,
    starts: Array,
    offsets: Array,
    weights: Array,
    n_bins: int,
    exponent: int,
    offset: float,
    floor: float,
    n_frames: int,
    sums: Array,
    out: Array,
) -> None:
    """Bound the powers, take the root where magnitudes are asked for, and sum them under each filter."""
    for i in range(n_bins * LANES):
        bounded = max(power[i] + offset, floor)
        power[i] = math.sqrt(bounded) if exponent == 1 else bounded
    n_mels = len(starts)
    for m in range(n_mels):
        row = m * LANES
        for lane in range(LANES):
            sums[row + lane] = 0.0
        for j in range(offsets[m + 1] - offsets[m]):
            weight, source = weights[offsets[m] + j], (starts[m] + j) * LANES
            for lane in range(LANES):
                sums[row + lane] += weight * power[source + lane]
    for frame in range(n_frames):
        for m in range(n_mels):
            out[frame, m] = sums[m * LANES + frame]


@jit
def mel_frames(
    x: Array,
    window: Array,
    hop: int,
    starts: Array,
    offsets: Array,
    weights: Array,
    n_bins: int,
    exponent: int,
    offset: float,
    floor: float,
    wr: Array,
    wi: Array,
    cr: Array,
    ci: Array,
    out: Array,
) -> None:
    """Fill ``out`` with mel magnitudes, for an n_fft that is a power of two.

    Args:
        x: [n] float32, padded waveform with at least LANES · hop samples after the last frame.
        window: [n_fft] float64.
        starts, offsets, weights, n_bins: the sparse filter bank.
        exponent, offset, floor: x ↦ max(|X|² + offset, floor) ^ (exponent / 2).
        wr, wi: [n_fft / 2] twiddles of n_fft / 2.
        cr, ci: [n_fft] twiddles of n_fft.
        out: [n_frames, n_mels] float32.
    """
    half = len(window) // 2
    ar, ai = np.empty(half * LANES), np.empty(half * LANES)
    br, bi = np.empty(half * LANES), np.empty(half * LANES)
    power, sums = np.empty((half + 1) * LANES), np.empty(len(starts) * LANES)
    for first in range(0, len(out), LANES):
        n_frames = min(LANES, len(out) - first)
        _load(x, window, first * hop, hop, ar, ai)
        zr, zi = complex_fft(ar, ai, br, bi, wr, wi, half)
        _real_power(zr, zi, cr, ci, n_bins, power)
        _filter(
            power,
            starts,
            offsets,
            weights,
            n_bins,
            exponent,
            offset,
            floor,
            n_frames,
            sums,
            out[first : first + n_frames],
        )


@jit
def mel_of_spectrum(
    re: Array,
    im: Array,
    starts: Array,
    offsets: Array,
    weights: Array,
    n_bins: int,
    exponent: int,
    offset: float,
    floor: float,
    out: Array,
) -> None:
    """Fill ``out`` with the mel magnitudes of a block of at most LANES spectra.

    Args:
        re, im: [n_bins, LANES] float64.
        out: [n_frames, n_mels] float32.
    """
    power, sums = np.empty(n_bins * LANES), np.empty(len(starts) * LANES)
    for k in range(n_bins):
        for lane in range(LANES):
            power[k * LANES + lane] = re[k, lane] * re[k, lane] + im[k, lane] * im[k, lane]
    _filter(power, starts, offsets, weights, n_bins, exponent, offset, floor, len(out), sums, out)
