"""The discrete Fourier transform of many frames at once, in float64.

Why not a library's: at float32 the rounding of loud bins drowns quiet ones (on real speech, log-mels differ from exact
ones by up to 1e-3, on a pure tone by 0.25), and the float64 transforms at hand compute one frame after the other in
128-bit registers. Here ``LANES`` frames stand side by side, so that every operation of the transform is the same
operation on neighbouring numbers, and the compiler uses the widest registers that the processor has.

The algorithm is Stockham's, decimation in frequency, radix 4 with a last step of radix 2 where needed (C. Van Loan,
Computational Frameworks for the Fast Fourier Transform, 1992, section 1.7). Real frames of length N are transformed as
complex ones of length N / 2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

LANES: Final = 16
"""Frames computed side by side: two 512-bit registers of float64, or four of 256 bits."""

Array = npt.NDArray[Any]


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to machine code on its first call, or load it from the compiler's cache.

    Sums may be reordered: it is what lets them vectorise. The result is still the same for the same machine code,
    whatever block a frame falls in.
    """
    compiled: Callable[..., Any] = njit(cache=True, nogil=True, fastmath=True, boundscheck=False)(function)
    return compiled


@lru_cache(maxsize=16)
def twiddles(n: int) -> tuple[Array, Array]:
    """Return cos and −sin of 2πk/n for k in [0, n): exp(−2πik/n), as two arrays."""
    angle = 2 * np.pi * np.arange(n) / n
    return np.cos(angle), -np.sin(angle)


@jit
def _radix_4(xr: Array, xi: Array, yr: Array, yi: Array, wr: Array, wi: Array, n: int, s: int) -> None:
    """One Stockham step: ``n / 4`` butterflies on rows of ``s · LANES`` neighbours."""
    m = n // 4
    row = s * LANES
    for p in range(m):
        t = p * s
        w1r, w1i, w2r, w2i, w3r, w3i = wr[t], wi[t], wr[2 * t], wi[2 * t], wr[3 * t], wi[3 * t]
        a, b, c, d = p * row, (p + m) * row, (p + 2 * m) * row, (p + 3 * m) * row
        e, f, g, h, end = 4 * p * row, (4 * p + 1) * row, (4 * p + 2) * row, (4 * p + 3) * row, (4 * p + 4) * row
        ar, ai, br, bi = xr[a : a + row], xi[a : a + row], xr[b : b + row], xi[b : b + row]
        cr, ci, dr, di = xr[c : c + row], xi[c : c + row], xr[d : d + row], xi[d : d + row]
        er, ei, fr, fi = yr[e:f], yi[e:f], yr[f:g], yi[f:g]
        gr, gi, hr, hi = yr[g:h], yi[g:h], yr[h:end], yi[h:end]
        for q in range(row):
            apc_r, apc_i, amc_r, amc_i = ar[q] + cr[q], ai[q] + ci[q], ar[q] - cr[q], ai[q] - ci[q]
            bpd_r, bpd_i, bmd_r, bmd_i = br[q] + dr[q], bi[q] + di[q], br[q] - dr[q], bi[q] - di[q]
            er[q], ei[q] = apc_r + bpd_r, apc_i + bpd_i
            r, i = amc_r + bmd_i, amc_i - bmd_r
            fr[q], fi[q] = r * w1r - i * w1i, r * w1i + i * w1r
            r, i = apc_r - bpd_r, apc_i - bpd_i
            gr[q], gi[q] = r * w2r - i * w2i, r * w2i + i * w2r
            r, i = amc_r - bmd_i, amc_i + bmd_r
            hr[q], hi[q] = r * w3r - i * w3i, r * w3i + i * w3r


@jit
def _radix_2(xr: Array, xi: Array, yr: Array, yi: Array, row: int) -> None:
    """Do the last step where the length is not a power of four."""
    for q in range(row):
        ar, ai, br, bi = xr[q], xi[q], xr[row + q], xi[row + q]
        yr[q], yi[q] = ar + br, ai + bi
        yr[row + q], yi[row + q] = ar - br, ai - bi


@jit
def complex_fft(xr: Array, xi: Array, yr: Array, yi: Array, wr: Array, wi: Array, n: int) -> Any:
    """Transform ``LANES`` complex signals of length n, a power of two.

    Args:
        xr, xi: [n · LANES] float64, real and imaginary parts, sample-major; overwritten.
        yr, yi: [n · LANES] float64, overwritten.
        wr, wi: [n] the twiddles of n.

    Returns:
        The pair of these arrays, real and imaginary, that holds the result.
    """
    length, s = n, 1
    while length >= 4:
        _radix_4(xr, xi, yr, yi, wr, wi, length, s)
        xr, xi, yr, yi = yr, yi, xr, xi
        length //= 4
        s *= 4
    if length == 2:
        _radix_2(xr, xi, yr, yi, s * LANES)
        xr, xi, yr, yi = yr, yi, xr, xi
    return xr, xi
