"""The inner loops of the mel spectrogram: framing, transform, magnitude and filter bank, fused per block of frames."""

from typing import Any

import numpy as np
from numba import carray, cfunc, types  # type: ignore[attr-defined]

from tts_prep.preprocess.audio.simd import lanes
from tts_prep.preprocess.audio.simd.fft import convolve, transform
from tts_prep.preprocess.audio.simd.tables import GAP, LANES, Array, Tables


@lanes.jit
def _real_power(re: Array, im: Array, positions: Array, cr: Array, ci: Array, n_bins: int, power: Array) -> None:
    """Unpack the transform of packed real frames and store |X|² of bins [0, n_bins).

    X[k] = (Z[k] + Z*[H − k]) / 2 − i/2 · exp(−2πik/N) · (Z[k] − Z*[H − k]), with H = N / 2.
    """
    half = len(positions)
    ar, ai = lanes.load(re, 0), lanes.load(im, 0)
    dc = ar + ai
    lanes.store(power, 0, lanes.narrow(dc * dc))
    for k in range(1, min(n_bins, half)):
        row, mirror = positions[k] * LANES, positions[half - k] * LANES
        ar, ai, br, bi = lanes.load(re, row), lanes.load(im, row), lanes.load(re, mirror), lanes.load(im, mirror)
        sr, si, dr, di = ar + br, ai - bi, ai + bi, br - ar
        x, y = sr + dr * cr[k] - di * ci[k], si + di * cr[k] + dr * ci[k]
        lanes.store(power, k * LANES, lanes.narrow((x * x + y * y) * 0.25))
    if n_bins > half:
        nyquist = lanes.load(re, 0) - lanes.load(im, 0)
        lanes.store(power, half * LANES, lanes.narrow(nyquist * nyquist))


@lanes.jit
def _sum_of_squares(re: Array, im: Array, squares: Array) -> None:
    """Store the sum of the squared samples of each windowed frame."""
    a, b = lanes.load(re, 0), lanes.load(im, 0)
    total = a * a + b * b
    for i in range(LANES, len(re), LANES):
        a, b = lanes.load(re, i), lanes.load(im, i)
        total = total + (a * a + b * b)
    lanes.store(squares, 0, total)


@lanes.jit
def _spectrum_norm(re: Array, im: Array, half: int, squares: Array, norms: Array) -> None:
    """Store √Σ|X|² over the bins 0 to N / 2, by Parseval: Σ|X|² = (N · Σx² + |X[0]|² + |X[N / 2]|²) / 2.

    The first value of the packed transform is X[0] = re + im and X[N / 2] = re − im.
    """
    a, b = lanes.load(re, 0), lanes.load(im, 0)
    lanes.store(norms, 0, lanes.narrow(lanes.square_root(lanes.load(squares, 0) * float(half) + (a * a + b * b))))


@lanes.jit
def _bin_moments(mel: Array, mean: Array, m2: Array) -> None:
    """Add mean and sum of squared deviations of every bin to zeros."""
    n_frames, n_mels = mel.shape
    for t in range(n_frames):
        for m in range(n_mels):
            mean[m] += mel[t, m]
    for m in range(n_mels):
        mean[m] /= n_frames
    for t in range(n_frames):
        for m in range(n_mels):
            deviation = mel[t, m] - mean[m]
            m2[m] += deviation * deviation


def compiled(name: str) -> Any:
    """Compile "moments", or a kernel with the words of its name: "energy"; "chirp" or "odd".

    What a recipe does not need is not in its kernel: a newcomer waits for the compiler.

    Returns:
        A C function of pointers to arrays, their lengths, integers and other numbers. It fills some of the arrays, and
        needs nothing of the compiler or of Python. Those of a kernel, which fills ``out`` with mel magnitudes, for an
        even n_fft:

        x: [n] float32, the samples of the frames. Full blocks of ``LANES`` frames are read, and of each frame as many
            samples as the window has.
        x_16: [n] int16, such samples instead; empty if they are float32. The window has their scale.
        window: [n_fft, rounded up to a multiple of LANES] float64, with zeros at its end.
        starts, offsets, weights, n_bins: the sparse filter bank; weights are float32.
        cr, ci: [n_fft] twiddles of n_fft.
        found: the seven `Tables` of n_fft / 2.
        out: [n_frames, n_mels] float32.
        energy: [n_frames] float32, √Σ|X|² over the bins 0 to n_fft / 2; empty if it is not wanted.
        scratch: float64, as `machine_code.scratch` makes it.
        hop, n_bins, exponent, n_frames; offset, floor: |X|² ↦ max(|X|² + offset, floor) ^ (exponent / 2); float32.
    """
    has_energy, is_chirp, is_odd = (word in name for word in ("energy", "chirp", "odd"))
    f, d, n = np.float32, np.float64, np.int64

    def mel_frames(p: Any, m: Any, integers: Any, numbers: Any) -> None:
        x, x_16, window = carray(p[0], m[0], f), carray(p[1], m[1], np.int16), carray(p[2], m[2], d)
        starts, offsets, weights = carray(p[3], m[3], n), carray(p[4], m[4], n), carray(p[5], m[5], f)
        cr, ci, wr, wi = carray(p[6], m[6], d), carray(p[7], m[7], d), carray(p[8], m[8], d), carray(p[9], m[9], d)
        odd, chirp, inverse = (
            carray(p[10], m[10], n),
            carray(p[12], (2, m[12] // 2), d),
            carray(p[13], (2, m[13] // 2), d),
        )
        found = Tables(wr, wi, odd, carray(p[11], m[11], n), chirp, inverse, carray(p[14], m[14], n))
        hop, n_bins, exponent, n_frames = integers[0], integers[1], integers[2], integers[3]
        out, energy, scratch = carray(p[15], (n_frames, m[3]), f), carray(p[16], m[16], f), carray(p[17], m[17], d)
        n_fft, n_read, n_mels, offset, floor = len(cr), len(window), len(starts), f(numbers[0]), f(numbers[1])
        # Each part of the scratch starts at a cache line: all lengths are multiples of LANES.
        size = n_read // 2 * LANES
        re, im, rest = scratch[:size], scratch[size + GAP : 2 * size + GAP], scratch[2 * (size + GAP) :]
        # Half as many float64 numbers take the space of the float32 numbers.
        size = (n_fft // 2 + 2) // 2 * LANES
        power, rest = rest[:size].view(f), rest[size:]
        size = (n_mels + 1) // 2 * LANES
        sums, rest = rest[:size].view(f), rest[size:]
        squares, norms, rest = rest[:LANES], rest[LANES : 2 * LANES].view(f), rest[2 * LANES :]
        factors, pairs = odd if is_odd else None, rest if is_odd else None
        for first in range(0, n_frames, LANES):
            if len(x_16):
                for k in range(0, n_read, LANES):
                    lanes.load_windowed_frames(x_16, first * hop, hop, window, k, re, im)
            else:
                for k in range(0, n_read, LANES):
                    lanes.load_windowed_frames(x, first * hop, hop, window, k, re, im)
            if has_energy and len(energy):
                _sum_of_squares(re, im, squares)
            if is_chirp:
                # The length of the convolution has no prime factor above 5.
                convolve(re, im, found, rest[: 10 * LANES], rest[10 * LANES :])
            else:
                transform(re, im, wr, wi, factors, pairs)
                if hop < 0:
                    # Never. LLVM moves a function that is called once into its caller, which takes 1.2 times as long.
                    transform(re, im, wr, wi, factors, pairs)
            if has_energy and len(energy):
                _spectrum_norm(re, im, n_fft // 2, squares, norms)
                for frame in range(min(LANES, n_frames - first)):
                    energy[first + frame] = norms[frame]
            _real_power(re, im, found.positions, cr, ci, n_bins, power)
            for i in range(0, n_bins * LANES, LANES):
                bounded = lanes.at_least(lanes.load(power, i) + offset, floor)
                if exponent == 1:
                    bounded = lanes.square_root(bounded)
                lanes.store(power, i, bounded)
            for mel in range(n_mels):
                total = lanes.zeros()
                source = starts[mel] * LANES
                for j in range(offsets[mel], offsets[mel + 1]):
                    total = total + lanes.load(power, source) * weights[j]
                    source += LANES
                lanes.store(sums, mel * LANES, total)
            for frame in range(min(LANES, n_frames - first)):
                for mel in range(n_mels):
                    out[first + frame, mel] = sums[mel * LANES + frame]

    def moments(p: Any, m: Any, integers: Any, numbers: Any) -> None:  # noqa: ARG001 - as `mel_frames`
        _bin_moments(carray(p[0], (m[0] // m[1], m[1]), f), carray(p[1], m[1], d), carray(p[2], m[2], d))

    kind = types.void(*map(types.CPointer, (types.voidptr, types.int64, types.int64, types.float64)))
    return cfunc(kind)(moments if name == "moments" else mel_frames)
