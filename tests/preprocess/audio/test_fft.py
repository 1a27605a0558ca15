from __future__ import annotations

import numpy as np
import pytest

from tts_prep.preprocess.audio.simd import machine_code
from tts_prep.preprocess.audio.simd.tables import LANES, bin_positions, odd_factors, tables, twiddles

POWERS = [1, 2, 4, 8, 16, 32, 64, 128, 512, 2048]
# Halves of n_fft 400, 480, 960, 1200, 1920, 60, 90, 1102 (19 · 29) and 1094 (a prime), and small ones of each radix.
OTHERS = [200, 240, 480, 600, 960, 30, 45, 551, 547, 3, 5, 7, 6, 9, 10, 14, 49, 11 * 13, 36, 105]
# With a prime factor over 100.
CHIRPS = [101, 499, 547, 3 * 211]


def magnitudes(frames: np.ndarray) -> np.ndarray:
    """Return |X| of each bin, by a kernel with a filter for each bin, for ``LANES`` frames of twice a length."""
    n_fft = frames.shape[1]
    found, n_bins = tables(n_fft // 2), n_fft // 2 + 1
    window = np.zeros(-(-n_fft // LANES) * LANES)
    window[:n_fft] = 1
    x = np.append(frames.ravel(), np.zeros(LANES * (n_fft + 1), np.float32))
    out, energy = np.empty((LANES, n_bins), np.float32), np.empty(0, np.float32)
    bank = np.arange(n_bins), np.arange(n_bins + 1), np.ones(n_bins, np.float32)
    scratch = machine_code.scratch(len(window), n_fft, n_bins, found)
    arrays = (x, np.empty(0, np.int16), window, *bank, *twiddles(n_fft), *found, out, energy, scratch)
    kernel = machine_code.function(machine_code.mel_name(found, energy=False))
    kernel(machine_code.places(*arrays), (n_fft, n_bins, 1, LANES), (0.0, 0.0))
    return out


@pytest.mark.parametrize("n", sorted({*POWERS, *OTHERS, *CHIRPS}))
def test_every_lane_is_numpys_transform(n: int) -> None:
    rng = np.random.default_rng(n)
    noise = rng.standard_normal((LANES, 2 * n)).astype(np.float32)
    # The magnitudes between those of a loud tone are rounding errors of its samples, which float32 has exactly.
    bins = rng.integers(0, n + 1, LANES)[:, None]
    tones = np.cos(np.pi / n * bins * np.arange(2 * n) + rng.uniform(0, 6, LANES)[:, None]).astype(np.float32)
    for frames in (noise, tones):
        expected = np.abs(np.fft.rfft(frames.astype(np.float64), axis=1))
        np.testing.assert_allclose(magnitudes(frames), expected, rtol=2.4e-7, atol=2e-13 * max(n, 10))


@pytest.mark.parametrize("n", CHIRPS)
def test_a_length_with_a_large_prime_has_a_chirp(n: int) -> None:
    assert tables(n).chirp.shape == (2, n)


@pytest.mark.parametrize("n", [4, 8, 512, *OTHERS])
def test_every_bin_has_a_place_of_its_own(n: int) -> None:
    assert sorted(bin_positions(n)) == list(range(n))


@pytest.mark.parametrize(("n", "factors"), [(1, []), (512, []), (600, [3, 5, 5]), (551, [19, 29]), (2 * 547, [547])])
def test_odd_factors_are_the_primes_but_two(n: int, factors: list[int]) -> None:
    assert odd_factors(n).tolist() == factors
