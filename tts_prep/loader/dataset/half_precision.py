"""Conversion of mels stored as float16 to float32."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

# Bits of a shifted float16 to keep: all except three copies of its sign.
_KEPT: Final = np.int32(-0x70000001)
# Exponents are biased by 127 in float32 and by 15 in float16.
_SCALE: Final = np.float32(2.0 ** (127 - 15))


def is_half(array: npt.NDArray[Any]) -> bool:
    """Return whether an array holds float16 values."""
    return array.dtype == np.float16


def half_bits(array: npt.NDArray[Any]) -> npt.NDArray[np.int16]:
    """Return the bits of a float16 array as integers, without a copy."""
    return array.view("<i2")


def widen(bits: npt.NDArray[np.int32], offset: float) -> npt.NDArray[np.float32]:
    """Replace the bits of finite float16 values by those of their float32 values, plus an offset, in place.

    The result equals ``half.astype(np.float32) + np.float32(offset)``, in less than half of the time: numpy converts
    float16 one number at a time, but vectorizes integer operations. If the calling thread flushes denormals to zero,
    so are float16 values below 6.1e-5.

    Args:
        bits: `half_bits`, cast to int32.

    Returns:
        The same memory as float32.
    """
    values: npt.NDArray[Any] = bits.view(np.float32)
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, _KEPT, out=bits)
    np.multiply(values, _SCALE, out=values)
    np.add(values, np.float32(offset), out=values)
    return values


def widened(stored: npt.NDArray[Any], offset: float) -> npt.NDArray[np.float32]:
    """Return finite float16 values as a new float32 array, plus an offset; see `widen`."""
    return widen(half_bits(stored).astype(np.int32), offset)
