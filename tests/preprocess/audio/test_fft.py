from __future__ import annotations

import numpy as np
import pytest

from tts_prep.preprocess.audio.simd.fft import convolve, transform
from tts_prep.preprocess.audio.simd.tables import LANES, bin_positions, odd_factors, tables, twiddles

POWERS = [1, 2, 4, 8, 16, 32, 64, 128, 512, 2048]
# Halves of n_fft 400, 480, 960, 1200, 1920, 60, 90, 1102 (19 · 29) and 1094 (a prime), and small ones of each radix.
OTHERS = [200, 240, 480, 600, 960, 30, 45, 551, 547, 3, 5, 7, 6, 9, 10, 14, 49, 11 * 13, 36, 105]


@pytest.mark.parametrize("n", POWERS + OTHERS)
def test_every_lane_is_numpys_transform(n: int) -> None:
    rng = np.random.default_rng(n)
    z = rng.standard_normal((n, LANES)) + 1j * rng.standard_normal((n, LANES))
    re, im = z.real.ravel().copy(), z.imag.ravel().copy()
    odd = odd_factors(n)
    if len(odd):
        transform(re, im, *twiddles(n), odd, np.empty(2 * odd.max() * LANES))
    else:
        transform(re, im, *twiddles(n), None, None)
    found = (re + 1j * im).reshape(n, LANES)[bin_positions(n)]
    np.testing.assert_allclose(found, np.fft.fft(z, axis=0), rtol=0, atol=2e-13 * max(n, 10))


@pytest.mark.parametrize("n", [101, 499, 547, 3 * 211])
def test_a_length_with_a_large_prime_is_numpys_transform_by_a_convolution(n: int) -> None:
    rng = np.random.default_rng(n)
    z = rng.standard_normal((n, LANES)) + 1j * rng.standard_normal((n, LANES))
    re, im, found = z.real.ravel().copy(), z.imag.ravel().copy(), tables(n)
    assert found.chirp.shape == (2, n)
    convolve(re, im, found, np.empty(10 * LANES), np.empty(4 * len(found.wr) * LANES))
    np.testing.assert_allclose((re + 1j * im).reshape(n, LANES), np.fft.fft(z, axis=0), rtol=0, atol=2e-13 * n)


@pytest.mark.parametrize("n", [4, 8, 512, *OTHERS])
def test_every_bin_has_a_place_of_its_own(n: int) -> None:
    assert sorted(bin_positions(n)) == list(range(n))


@pytest.mark.parametrize(("n", "factors"), [(1, []), (512, []), (600, [3, 5, 5]), (551, [19, 29]), (2 * 547, [547])])
def test_odd_factors_are_the_primes_but_two(n: int, factors: list[int]) -> None:
    assert odd_factors(n).tolist() == factors
