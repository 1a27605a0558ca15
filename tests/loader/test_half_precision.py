"""Every finite float16 becomes the float32 of the same value."""

import numpy as np
import pytest

from tts_prep.loader.dataset.half_precision import widened


@pytest.mark.parametrize("offset", [0.0, -5.25, 1e-3])
def test_every_finite_number_is_widened_as_numpy_does(offset):
    every = np.arange(1 << 16, dtype="<u2").view("<f2")
    finite = every[np.isfinite(every)].reshape(-1, 8)
    expected = finite.astype(np.float32) + np.float32(offset)
    np.testing.assert_array_equal(widened(finite, offset).view(np.int32), expected.view(np.int32))
