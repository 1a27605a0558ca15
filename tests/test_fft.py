from __future__ import annotations

import numpy as np
import pytest

from tts_prep.preprocess.audio.fft import LANES, complex_fft, twiddles


@pytest.mark.parametrize("n", [2, 4, 8, 16, 32, 128, 512, 1024, 2048])
def test_every_lane_is_numpys_transform(n: int) -> None:
    rng = np.random.default_rng(n)
    z = rng.standard_normal((n, LANES)) + 1j * rng.standard_normal((n, LANES))
    re, im = complex_fft(
        z.real.ravel().copy(), z.imag.ravel().copy(), np.empty(n * LANES), np.empty(n * LANES), *twiddles(n), n
    )
    np.testing.assert_allclose((re + 1j * im).reshape(n, LANES), np.fft.fft(z, axis=0), rtol=0, atol=1e-12 * n)
