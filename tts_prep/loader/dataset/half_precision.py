"""Widening of mels that are stored as float16."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tts_prep.format.datasets import Array

# Of a float16 in the upper bits of a float32: all but the three copies of the sign above its exponent.
_KEPT: Final = np.int32(-0x70000001)
# The exponents of float32 are biased by 127, those of float16 by 15.
_SCALE: Final = np.float32(2.0 ** (127 - 15))


def widened(stored: Array, offset: float) -> npt.NDArray[np.float32]:
    """Return finite float16 values as float32, with an offset added.

    The same as ``stored.astype(np.float32) + np.float32(offset)``, in less than half of the time: numpy converts one
    number after the other, and does integer operations on whole vectors. Where the caller's thread flushes denormals,
    what is stored as less than 6.1e-5 counts as 0.
    """
    wide = np.empty(stored.shape, np.float32)
    bits = wide.view(np.int32)
    np.copyto(bits, stored.view("<i2"))
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, _KEPT, out=bits)
    np.multiply(wide, _SCALE, out=wide)
    np.add(wide, np.float32(offset), out=wide)
    return wide
