from __future__ import annotations

import numpy as np
import pytest

from tts_prep.preprocess.audio.simd.fft import bin_positions, transform, twiddles
from tts_prep.preprocess.audio.simd.lanes import LANES


@pytest.mark.parametrize("n", [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048])
def test_every_lane_is_numpys_transform(n: int) -> None:
    rng = np.random.default_rng(n)
    z = rng.standard_normal((n, LANES)) + 1j * rng.standard_normal((n, LANES))
    re, im = z.real.ravel().copy(), z.imag.ravel().copy()
    transform(re, im, *twiddles(n))
    found = (re + 1j * im).reshape(n, LANES)[bin_positions(n)]
    np.testing.assert_allclose(found, np.fft.fft(z, axis=0), rtol=0, atol=1e-12 * n)


@pytest.mark.parametrize("n", [4, 8, 16, 512, 1024])
def test_every_bin_has_a_place_of_its_own(n: int) -> None:
    assert sorted(bin_positions(n)) == list(range(n))
