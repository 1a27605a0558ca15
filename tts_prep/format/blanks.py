"""Blank symbols between the ids of an utterance."""

from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Blanks: TypeAlias = Literal["between", "around"]
"""Where blank symbols are inserted: between phonemes, as in Piper, or also at both ends, as in VITS and Matcha-TTS."""


def with_blanks(values: npt.NDArray[Any], blank: int, blanks: Blanks) -> npt.NDArray[Any]:
    """Insert a blank between all values, and with ``"around"`` also at both ends.

    Args:
        values: [n] of any dtype, such as phoneme ids or durations.
        blank: the value to insert: the blank's id, or the duration 0.
        blanks: ``"between"`` gives [2 n − 1], ``"around"`` gives [2 n + 1].
    """
    spaced = np.full(length_with_blanks(len(values), blanks), blank, values.dtype)
    spaced[blanks == "around" :: 2] = values
    return spaced


def without_blanks(values: npt.NDArray[Any], blanks: Blanks) -> npt.NDArray[Any]:
    """Return the values [n] into which `with_blanks` has inserted blanks."""
    return values[blanks == "around" :: 2]


def length_with_blanks(n: int, blanks: Blanks) -> int:
    """Return the length of n values with blanks."""
    return 2 * n + 1 if blanks == "around" else max(0, 2 * n - 1)
