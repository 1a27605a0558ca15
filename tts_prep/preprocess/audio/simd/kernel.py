"""The inner loops of the mel spectrogram: framing, transform, magnitude and filter bank, fused per block of frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.compiler import jit
from tts_prep.preprocess.audio.simd.fft import convolve, transform
from tts_prep.preprocess.audio.simd.lanes import (
    LANES,
    at_least,
    empty_aligned,
    load,
    load_windowed_frames,
    narrow,
    square_root,
    store,
    zeros,
)

__all__ = ["LANES", "bin_moments", "mel_frames"]

Array = npt.NDArray[Any]


@jit
def _real_power(re: Array, im: Array, positions: Array, cr: Array, ci: Array, n_bins: int, power: Array) -> None:
    """Unpack the transform of packed real frames and store |X|² of bins [0, n_bins).

    X[k] = (Z[k] + Z*[H − k]) / 2 − i/2 · exp(−2πik/N) · (Z[k] − Z*[H − k]), with H = N / 2.
    """
    half = len(positions)
    ar, ai = load(re, 0), load(im, 0)
    dc = ar + ai
    store(power, 0, narrow(dc * dc))
    for k in range(1, min(n_bins, half)):
        row, mirror = positions[k] * LANES, positions[half - k] * LANES
        ar, ai, br, bi = load(re, row), load(im, row), load(re, mirror), load(im, mirror)
        sr, si, dr, di = ar + br, ai - bi, ai + bi, br - ar
        x, y = sr + dr * cr[k] - di * ci[k], si + di * cr[k] + dr * ci[k]
        store(power, k * LANES, narrow((x * x + y * y) * 0.25))
    if n_bins > half:
        nyquist = load(re, 0) - load(im, 0)
        store(power, half * LANES, narrow(nyquist * nyquist))


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
    sums: Array,
    out: Array,
) -> None:
    """Apply offset and floor to powers, take square roots if the exponent is 1, and apply the filters."""
    for i in range(0, n_bins * LANES, LANES):
        bounded = at_least(load(power, i) + offset, floor)
        if exponent == 1:
            bounded = square_root(bounded)
        store(power, i, bounded)
    n_mels = len(starts)
    for m in range(n_mels):
        total = zeros()
        source = starts[m] * LANES
        for j in range(offsets[m], offsets[m + 1]):
            total = total + load(power, source) * weights[j]
            source += LANES
        store(sums, m * LANES, total)
    for frame in range(len(out)):
        for m in range(n_mels):
            out[frame, m] = sums[m * LANES + frame]


@jit
def _sum_of_squares(re: Array, im: Array, squares: Array) -> None:
    """Store the sum of the squared samples of each windowed frame."""
    a, b = load(re, 0), load(im, 0)
    total = a * a + b * b
    for i in range(LANES, len(re), LANES):
        a, b = load(re, i), load(im, i)
        total = total + (a * a + b * b)
    store(squares, 0, total)


@jit
def _spectrum_norm(re: Array, im: Array, half: int, squares: Array, norms: Array) -> None:
    """Store √Σ|X|² over the bins 0 to N / 2, by Parseval: Σ|X|² = (N · Σx² + |X[0]|² + |X[N / 2]|²) / 2.

    The first value of the packed transform is X[0] = re + im and X[N / 2] = re − im.
    """
    a, b = load(re, 0), load(im, 0)
    store(norms, 0, narrow(square_root(load(squares, 0) * float(half) + (a * a + b * b))))


@jit
def mel_frames(
    x: Array,
    x_16: Array,
    window: Array,
    hop: int,
    starts: Array,
    offsets: Array,
    weights: Array,
    n_bins: int,
    exponent: int,
    offset: float,
    floor: float,
    cr: Array,
    ci: Array,
    found: Any,
    fours: bool | None,
    odd: Array | None,
    chirp: Array | None,
    out: Array,
    energy: Array | None,
) -> None:
    """Fill ``out`` with mel magnitudes, and ``energy`` with the norms of spectra, for an even n_fft.

    For an argument that is None, the compiler leaves out the code that uses it: a newcomer waits for the compiler.

    Args:
        x: [n] float32, the samples of the frames. Full blocks of ``LANES`` frames are read, and of each frame as many
            samples as the window has.
        x_16: [n] int16, such samples instead; empty if they are float32. The window has their scale.
        window: [n_fft, rounded up to a multiple of LANES] float64, with zeros at its end.
        starts, offsets, weights, n_bins: the sparse filter bank; weights are float32.
        exponent, offset, floor: |X|² ↦ max(|X|² + offset, floor) ^ (exponent / 2); float32.
        cr, ci: [n_fft] twiddles of n_fft.
        found: the `Tables` of n_fft / 2.
        fours, odd: see `transform`; both None if it has a chirp.
        chirp: its chirp; None if it needs none.
        out: [n_frames, n_mels] float32.
        energy: [n_frames] float32, √Σ|X|² over the bins 0 to n_fft / 2; None if it is not wanted.
    """
    n_fft, n_read = len(cr), len(window)
    re, im = empty_aligned(n_read // 2 * LANES), empty_aligned(n_read // 2 * LANES)
    if chirp is not None:
        # The length of the convolution has no prime factor above 5.
        scratch, buffers = empty_aligned(10 * LANES), empty_aligned(4 * len(found.wr) * LANES).reshape(4, -1)
    elif odd is not None:
        scratch = empty_aligned(2 * odd[-1] * LANES)
    # Half as many float64 numbers take the space of the float32 numbers; LANES is even.
    power = empty_aligned((n_fft // 2 + 1) * LANES // 2).view(np.float32)
    sums = empty_aligned(len(starts) * LANES // 2).view(np.float32)
    if energy is not None:
        squares, norms = empty_aligned(LANES), empty_aligned(LANES // 2).view(np.float32)
    for first in range(0, len(out), LANES):
        if len(x_16):
            for k in range(0, n_read, LANES):
                load_windowed_frames(x_16, first * hop, hop, window, k, re, im)
        else:
            for k in range(0, n_read, LANES):
                load_windowed_frames(x, first * hop, hop, window, k, re, im)
        if energy is not None:
            _sum_of_squares(re, im, squares)
        if chirp is not None:
            convolve(re, im, found, scratch, buffers)
        elif odd is not None:
            transform(re, im, found.wr, found.wi, fours, odd, scratch)
            if hop < 0:
                # Never. LLVM moves a function that is called once into its caller, which takes 1.2 times as long here.
                transform(re, im, found.wr, found.wi, fours, odd, scratch)
        else:
            transform(re, im, found.wr, found.wi, fours, None, None)
            if hop < 0:
                transform(re, im, found.wr, found.wi, fours, None, None)
        if energy is not None:
            _spectrum_norm(re, im, len(cr) // 2, squares, norms)
            for frame in range(min(LANES, len(out) - first)):
                energy[first + frame] = norms[frame]
        _real_power(re, im, found.positions, cr, ci, n_bins, power)
        block = out[first : first + LANES]
        _filter(power, starts, offsets, weights, n_bins, exponent, offset, floor, sums, block)


@jit
def bin_moments(mel: Array) -> Any:
    """Return mean and sum of squared deviations of every bin, [n_mels] float64 each.

    Args:
        mel: [n_frames, n_mels] float32, at least one frame.
    """
    n_frames, n_mels = mel.shape
    mean, m2 = np.zeros(n_mels), np.zeros(n_mels)
    for t in range(n_frames):
        for m in range(n_mels):
            mean[m] += mel[t, m]
    for m in range(n_mels):
        mean[m] /= n_frames
    for t in range(n_frames):
        for m in range(n_mels):
            deviation = mel[t, m] - mean[m]
            m2[m] += deviation * deviation
    return mean, m2
