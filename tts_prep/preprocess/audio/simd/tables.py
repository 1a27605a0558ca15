"""The tables of the transform in `fft`; this module does not import the compiler."""

import os
from functools import lru_cache
from typing import Any, Final, NamedTuple

import llvmlite.binding
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# With 512-bit registers, 16 lanes are two registers of float64 or one of float32. With 256 bits, sixteen registers hold
# the eight values of a radix-4 butterfly with 8 lanes, but not with 16.
# NUMBA_CPU_FEATURES can make the compiler target another processor.
_TOLD: Final = os.environ.get("NUMBA_CPU_FEATURES")
_HAS_512_BITS: Final = (
    bool(llvmlite.binding.get_host_cpu_features().get("avx512f")) if _TOLD is None else "+avx512f" in _TOLD.split(",")
)
LANES: Final = 16 if _HAS_512_BITS else 8

GAP: Final = 128
"""The float64 values between real and imaginary parts of frames in memory.

Without them, values that are read and written together are a multiple of 4 KiB apart, and a processor waits with a load
in case it is of what was just stored.
"""

LARGEST_PRIME: Final = 100
"""The largest prime factor that is transformed by a direct sum; for larger ones a convolution is faster."""


@lru_cache(maxsize=16)
def twiddles(n: int) -> tuple[Array, Array]:
    """Return cos and −sin of 2πk/n for k in [0, n): exp(−2πik/n), as two arrays."""
    angle = 2 * np.pi * np.arange(n) / n
    return np.cos(angle), -np.sin(angle)


@lru_cache(maxsize=16)
def odd_factors(n: int) -> Array:
    """Return the odd prime factors of n, ascending, [n_factors] int64."""
    factors, rest, prime = [], n // (n & -n), 3
    while rest > 1:
        if prime * prime > rest:
            prime = rest
        if rest % prime:
            prime += 2
        else:
            factors.append(prime)
            rest //= prime
    return np.array(factors, np.int64)


@lru_cache(maxsize=16)
def bin_positions(n: int) -> Array:
    """Return the row of each bin of a transform of length n, [n] int64: its digits in the radices, reversed."""
    bins, positions, size = np.arange(n), np.zeros(n, np.int64), n
    odd = odd_factors(n).tolist()
    while size > 1:
        radix = odd.pop(0) if odd else size if size <= 8 else 4
        size //= radix
        positions += bins % radix * size
        bins //= radix
    return positions


class Tables(NamedTuple):
    """The tables of the transform of one length.

    Attributes:
        wr, wi: [m] the `twiddles` of m: the length itself, or that of the convolution.
        odd: the `odd_factors` of m.
        order: [m] the `bin_positions` of m.
        chirp: [2, n] real and imaginary part of exp(-iπk²/n); [2, 0] if no convolution is needed.
        filter: [2, m] the transform of the chirp's conjugate, divided by m; [2, 0] if no convolution is needed.
        positions: [n] the row of each bin of the result.
    """

    wr: Array
    wi: Array
    odd: Array
    order: Array
    chirp: Array
    filter: Array
    positions: Array


@lru_cache(maxsize=16)
def tables(n: int) -> Tables:
    """Return the tables of a length."""
    none = np.zeros((2, 0))
    if odd_factors(n).max(initial=1) <= LARGEST_PRIME:
        positions = bin_positions(n)
        return Tables(*twiddles(n), odd_factors(n), positions, none, none, positions)
    m = 2 * n - 1
    while m % 8 or odd_factors(m).max(initial=1) > 5:
        m += 1
    angle = np.pi * (np.arange(n) ** 2 % (2 * n)) / n
    conjugate = np.zeros(m, complex)
    conjugate[:n] = np.exp(1j * angle)
    conjugate[m - n + 1 :] = conjugate[n - 1 : 0 : -1]
    spectrum = np.fft.fft(conjugate) / m
    return Tables(
        *twiddles(m),
        odd_factors(m),
        bin_positions(m),
        np.array([np.cos(angle), -np.sin(angle)]),
        np.array([spectrum.real, spectrum.imag]),
        np.arange(n),
    )
