"""The discrete Fourier transform of ``LANES`` frames at once, in float64.

Library transforms are not used: in float32, rounding errors of loud bins mask quiet ones (log-mels of speech are off
by up to 1e-3, those of a pure tone by 0.25), and float64 transforms compute one frame at a time.

The algorithm is decimation in frequency, in place (J. Cooley and J. Tukey, An Algorithm for the Machine Calculation of
Complex Fourier Series, 1965; C. Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992, section 1.3):
the odd prime factors of a length first, then radix 4. The result is not reordered; `bin_positions`
gives the row of each bin. A block that fits into the first-level cache is transformed completely before the
next block. A prime factor above 5 is a direct sum, up to `LARGEST_PRIME`. A length with a larger one is a convolution
with a chirp, by transforms of a longer length with small factors (L. Bluestein, A Linear Filtering Approach to the
Computation of Discrete Fourier Transform, 1970).
"""

from typing import Any

import numpy as np

from tts_prep.preprocess.audio.simd.lanes import jit, load, store
from tts_prep.preprocess.audio.simd.tables import LANES, Array

_CACHED = 128
"""The number of rows of LANES complex numbers that fit into the first-level cache: 32 KiB with 16 lanes."""

_SQRT_HALF = 0.7071067811865476


_COS_3, _SIN_3 = float(np.cos(2 * np.pi / 3)), float(np.sin(2 * np.pi / 3))
_COS_5, _SIN_5 = float(np.cos(2 * np.pi / 5)), float(np.sin(2 * np.pi / 5))
_COS_25, _SIN_25 = float(np.cos(4 * np.pi / 5)), float(np.sin(4 * np.pi / 5))


@jit
def _radix_3(re: Array, im: Array, base: int, n: int, stride: int, wr: Array, wi: Array) -> None:
    """Split the rows [base, base + n) into three parts whose transforms interleave to theirs."""
    d = n // 3 * LANES
    for q in range(n // 3):
        i, t = (base + q) * LANES, q * stride
        ar, ai = load(re, i), load(im, i)
        br, bi, cr, ci = load(re, i + d), load(im, i + d), load(re, i + 2 * d), load(im, i + 2 * d)
        sr, si, dr, di = br + cr, bi + ci, (br - cr) * _SIN_3, (bi - ci) * _SIN_3
        store(re, i, ar + sr)
        store(im, i, ai + si)
        mr, mi = ar + sr * _COS_3, ai + si * _COS_3
        r, s = mr + di, mi - dr
        store(re, i + d, r * wr[t] - s * wi[t])
        store(im, i + d, r * wi[t] + s * wr[t])
        r, s = mr - di, mi + dr
        store(re, i + 2 * d, r * wr[2 * t] - s * wi[2 * t])
        store(im, i + 2 * d, r * wi[2 * t] + s * wr[2 * t])


@jit
def _radix_5(re: Array, im: Array, base: int, n: int, stride: int, wr: Array, wi: Array) -> None:
    """Split the rows [base, base + n) into five parts whose transforms interleave to theirs."""
    d = n // 5 * LANES
    for q in range(n // 5):
        i, t = (base + q) * LANES, q * stride
        ar, ai = load(re, i), load(im, i)
        br, bi, er, ei = load(re, i + d), load(im, i + d), load(re, i + 4 * d), load(im, i + 4 * d)
        cr, ci, dr, di = load(re, i + 2 * d), load(im, i + 2 * d), load(re, i + 3 * d), load(im, i + 3 * d)
        br, bi, er, ei = br + er, bi + ei, br - er, bi - ei
        cr, ci, dr, di = cr + dr, ci + di, cr - dr, ci - di
        store(re, i, ar + br + cr)
        store(im, i, ai + bi + ci)
        mr, mi = ar + br * _COS_5 + cr * _COS_25, ai + bi * _COS_5 + ci * _COS_25
        nr, ni = er * _SIN_5 + dr * _SIN_25, ei * _SIN_5 + di * _SIN_25
        r, s = mr + ni, mi - nr
        store(re, i + d, r * wr[t] - s * wi[t])
        store(im, i + d, r * wi[t] + s * wr[t])
        r, s = mr - ni, mi + nr
        store(re, i + 4 * d, r * wr[4 * t] - s * wi[4 * t])
        store(im, i + 4 * d, r * wi[4 * t] + s * wr[4 * t])
        mr, mi = ar + br * _COS_25 + cr * _COS_5, ai + bi * _COS_25 + ci * _COS_5
        nr, ni = er * _SIN_25 - dr * _SIN_5, ei * _SIN_25 - di * _SIN_5
        r, s = mr + ni, mi - nr
        store(re, i + 2 * d, r * wr[2 * t] - s * wi[2 * t])
        store(im, i + 2 * d, r * wi[2 * t] + s * wr[2 * t])
        r, s = mr - ni, mi + nr
        store(re, i + 3 * d, r * wr[3 * t] - s * wi[3 * t])
        store(im, i + 3 * d, r * wi[3 * t] + s * wr[3 * t])


@jit
def _odd_radix(
    re: Array, im: Array, base: int, n: int, stride: int, wr: Array, wi: Array, prime: int, pairs: Any
) -> None:
    """Split the rows [base, base + n) into ``prime`` parts, by direct sums over sums and differences of opposite rows.

    Args:
        pairs: [2 · (prime - 1) · LANES] float64, scratch.
    """
    half, rows, total = prime // 2, n // prime, n * stride
    turn = total // prime
    for q in range(rows):
        i = (base + q) * LANES
        ar, ai = load(re, i), load(im, i)
        zr, zi = ar, ai
        for j in range(1, half + 1):
            a, b, p = i + j * rows * LANES, i + (prime - j) * rows * LANES, (j - 1) * 4 * LANES
            xr, xi, yr, yi = load(re, a), load(im, a), load(re, b), load(im, b)
            zr, zi = zr + xr + yr, zi + xi + yi
            store(pairs, p, xr + yr)
            store(pairs, p + LANES, xi + yi)
            store(pairs, p + 2 * LANES, xr - yr)
            store(pairs, p + 3 * LANES, xi - yi)
        store(re, i, zr)
        store(im, i, zi)
        for k in range(1, half + 1):
            mr, mi, nr, ni = ar, ai, ar * 0.0, ai * 0.0
            step, t = k * turn, 0
            for p in range(0, half * 4 * LANES, 4 * LANES):
                t += step
                if t >= total:
                    t -= total
                c, s = wr[t], wi[t]
                mr, mi = mr + load(pairs, p) * c, mi + load(pairs, p + LANES) * c
                nr, ni = nr + load(pairs, p + 2 * LANES) * s, ni + load(pairs, p + 3 * LANES) * s
            # wi is −sin.
            a, b, t, u = i + k * rows * LANES, i + (prime - k) * rows * LANES, q * k * stride, q * (prime - k) * stride
            r, s = mr - ni, mi + nr
            store(re, a, r * wr[t] - s * wi[t])
            store(im, a, r * wi[t] + s * wr[t])
            r, s = mr + ni, mi - nr
            store(re, b, r * wr[u] - s * wi[u])
            store(im, b, r * wi[u] + s * wr[u])


@jit
def _radix_4(re: Array, im: Array, base: int, n: int, stride: int, wr: Array, wi: Array) -> None:
    """Split the rows [base, base + n) into four parts whose transforms interleave to theirs."""
    d = n // 4 * LANES
    for q in range(n // 4):
        i, t = (base + q) * LANES, q * stride
        ar, ai, br, bi = load(re, i), load(im, i), load(re, i + d), load(im, i + d)
        cr, ci, dr, di = load(re, i + 2 * d), load(im, i + 2 * d), load(re, i + 3 * d), load(im, i + 3 * d)
        er, ei, fr, fi = ar + cr, ai + ci, ar - cr, ai - ci
        gr, gi, hr, hi = br + dr, bi + di, br - dr, bi - di
        store(re, i, er + gr)
        store(im, i, ei + gi)
        r, s = fr + hi, fi - hr
        store(re, i + d, r * wr[t] - s * wi[t])
        store(im, i + d, r * wi[t] + s * wr[t])
        r, s = er - gr, ei - gi
        store(re, i + 2 * d, r * wr[2 * t] - s * wi[2 * t])
        store(im, i + 2 * d, r * wi[2 * t] + s * wr[2 * t])
        r, s = fr - hi, fi + hr
        store(re, i + 3 * d, r * wr[3 * t] - s * wi[3 * t])
        store(im, i + 3 * d, r * wi[3 * t] + s * wr[3 * t])


@jit
def _last_2(re: Array, im: Array, start: int, stop: int) -> None:
    """Transform pairs of rows."""
    for row in range(start, stop, 2):
        i = row * LANES
        ar, ai, br, bi = load(re, i), load(im, i), load(re, i + LANES), load(im, i + LANES)
        store(re, i, ar + br)
        store(im, i, ai + bi)
        store(re, i + LANES, ar - br)
        store(im, i + LANES, ai - bi)


@jit
def _last_4(re: Array, im: Array, start: int, stop: int) -> None:
    """Transform groups of four rows."""
    for row in range(start, stop, 4):
        i = row * LANES
        ar, ai, br, bi = load(re, i), load(im, i), load(re, i + LANES), load(im, i + LANES)
        cr, ci = load(re, i + 2 * LANES), load(im, i + 2 * LANES)
        dr, di = load(re, i + 3 * LANES), load(im, i + 3 * LANES)
        er, ei, fr, fi = ar + cr, ai + ci, ar - cr, ai - ci
        gr, gi, hr, hi = br + dr, bi + di, br - dr, bi - di
        store(re, i, er + gr)
        store(im, i, ei + gi)
        store(re, i + LANES, fr + hi)
        store(im, i + LANES, fi - hr)
        store(re, i + 2 * LANES, er - gr)
        store(im, i + 2 * LANES, ei - gi)
        store(re, i + 3 * LANES, fr - hi)
        store(im, i + 3 * LANES, fi + hr)


@jit
def _last_8(re: Array, im: Array, start: int, stop: int) -> None:
    """Transform groups of eight rows: sums of opposite rows give the even bins, differences the odd ones."""
    for row in range(start, stop, 8):
        i = row * LANES
        ar, ai, br, bi = load(re, i), load(im, i), load(re, i + LANES), load(im, i + LANES)
        cr, ci = load(re, i + 2 * LANES), load(im, i + 2 * LANES)
        dr, di = load(re, i + 3 * LANES), load(im, i + 3 * LANES)
        er, ei = load(re, i + 4 * LANES), load(im, i + 4 * LANES)
        fr, fi = load(re, i + 5 * LANES), load(im, i + 5 * LANES)
        gr, gi = load(re, i + 6 * LANES), load(im, i + 6 * LANES)
        hr, hi = load(re, i + 7 * LANES), load(im, i + 7 * LANES)
        ar, ai, er, ei = ar + er, ai + ei, ar - er, ai - ei
        br, bi, fr, fi = br + fr, bi + fi, br - fr, bi - fi
        cr, ci, gr, gi = cr + gr, ci + gi, cr - gr, ci - gi
        dr, di, hr, hi = dr + hr, di + hi, dr - hr, di - hi
        pr, pi, qr, qi = ar + cr, ai + ci, ar - cr, ai - ci
        rr, ri, sr, si = br + dr, bi + di, br - dr, bi - di
        store(re, i, pr + rr)
        store(im, i, pi + ri)
        store(re, i + 2 * LANES, qr + si)
        store(im, i + 2 * LANES, qi - sr)
        store(re, i + 4 * LANES, pr - rr)
        store(im, i + 4 * LANES, pi - ri)
        store(re, i + 6 * LANES, qr - si)
        store(im, i + 6 * LANES, qi + sr)
        # times exp(−iπ/4), −i and exp(−3iπ/4)
        fr, fi = (fr + fi) * _SQRT_HALF, (fi - fr) * _SQRT_HALF
        hr, hi = (hi - hr) * _SQRT_HALF, (hr + hi) * -_SQRT_HALF
        pr, pi, qr, qi = er + gi, ei - gr, er - gi, ei + gr
        rr, ri, sr, si = fr + hr, fi + hi, fr - hr, fi - hi
        store(re, i + LANES, pr + rr)
        store(im, i + LANES, pi + ri)
        store(re, i + 3 * LANES, qr + si)
        store(im, i + 3 * LANES, qi - sr)
        store(re, i + 5 * LANES, pr - rr)
        store(im, i + 5 * LANES, pi - ri)
        store(re, i + 7 * LANES, qr - si)
        store(im, i + 7 * LANES, qi + sr)


@jit
def _split(
    re: Array, im: Array, start: int, stop: int, n: int, factor: int, wr: Array, wi: Array, scratch: Array | None
) -> None:
    """Split every n rows of [start, stop) into ``factor`` parts, an odd prime factor of n."""
    stride = len(wr) // n
    for base in range(start, stop, n):
        if factor == 3:
            _radix_3(re, im, base, n, stride, wr, wi)
        elif factor == 5:
            _radix_5(re, im, base, n, stride, wr, wi)
        else:
            _odd_radix(re, im, base, n, stride, wr, wi, factor, scratch)


@jit
def _split_by_4(re: Array, im: Array, start: int, stop: int, n: int, wr: Array, wi: Array) -> None:
    """Split every n rows of [start, stop) into four parts."""
    stride = len(wr) // n
    for base in range(start, stop, n):
        _radix_4(re, im, base, n, stride, wr, wi)


@jit
def transform(re: Array, im: Array, wr: Array, wi: Array, odd: Array | None, scratch: Array | None) -> None:
    """Transform ``LANES`` complex signals of length n in place.

    If ``odd`` is None, the compiler leaves out what a power of two does not need, most of its work.

    Args:
        re, im: [n · LANES] float64 or longer, sample-major. Bin k is at row ``bin_positions(n)[k]`` of the result.
        wr, wi: [n] the twiddles of n.
        odd: the `odd_factors` of n, none over `LARGEST_PRIME`; None for a power of two.
        scratch: [2 · max(odd) · LANES] float64; None for a power of two.
    """
    n = len(wr)
    part, level = n, 0
    if odd is not None:
        while part > _CACHED and level < len(odd):
            _split(re, im, 0, n, part, odd[level], wr, wi, scratch)
            part //= odd[level]
            level += 1
    while part > _CACHED:
        _split_by_4(re, im, 0, n, part, wr, wi)
        part //= 4
    for start in range(0, n, part):
        length = part
        if odd is not None:
            for factor in odd[level:]:
                _split(re, im, start, start + part, length, factor, wr, wi, scratch)
                length //= factor
        while length > 8:
            _split_by_4(re, im, start, start + part, length, wr, wi)
            length //= 4
        if length == 8:
            _last_8(re, im, start, start + part)
        elif length == 4:
            _last_4(re, im, start, start + part)
        elif length == 2:
            _last_2(re, im, start, start + part)


@jit
def convolve(re: Array, im: Array, found: Any, scratch: Array, buffers: Array) -> None:
    """Transform ``LANES`` complex signals of length n in place, by a convolution with a chirp; bins stay in order.

    Args:
        re, im: [n · LANES] float64 or longer, sample-major.
        found: the `Tables` of n, with a chirp.
        scratch: see `transform`, for m.
        buffers: [4 · m · LANES] float64.
    """
    cr, ci, n, m = found.chirp[0], found.chirp[1], found.chirp.shape[1], len(found.wr)
    size = m * LANES
    ar, ai, br, bi = buffers[:size], buffers[size : 2 * size], buffers[2 * size : 3 * size], buffers[3 * size :]
    for k in range(n):
        i = k * LANES
        x, y = load(re, i), load(im, i)
        store(ar, i, x * cr[k] - y * ci[k])
        store(ai, i, x * ci[k] + y * cr[k])
    ar[n * LANES :] = 0.0
    ai[n * LANES :] = 0.0
    transform(ar, ai, found.wr, found.wi, found.odd, scratch)
    for k in range(m):
        row, i = found.order[k] * LANES, k * LANES
        x, y, c, s = load(ar, row), load(ai, row), found.filter[0, k], found.filter[1, k]
        # The inverse transform is that of the conjugate, conjugated.
        store(br, i, x * c - y * s)
        store(bi, i, x * -s - y * c)
    transform(br, bi, found.wr, found.wi, found.odd, scratch)
    for k in range(n):
        row, i = found.order[k] * LANES, k * LANES
        x, y = load(br, row), load(bi, row)
        store(re, i, x * cr[k] + y * ci[k])
        store(im, i, x * ci[k] - y * cr[k])
