"""Blank symbols between phonemes, as in VITS, Matcha-TTS and Piper."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from tts_prep.format.hdf5.datasets import Array

Blanks: TypeAlias = Literal["between", "around"]


def with_blanks(values: Array, blank: int, blanks: Blanks) -> Array:
    """Insert a blank between all values, and with ``"around"`` also at both ends.

    Args:
        values: [n] of any dtype, such as phoneme ids or durations.
        blank: the value to insert: the blank's id, or the duration 0.
        blanks: ``"between"`` gives [2 n − 1], as in Piper; ``"around"`` gives [2 n + 1], as in VITS and Matcha-TTS.
    """
    spaced = np.full(length_with_blanks(len(values), blanks), blank, values.dtype)
    spaced[blanks == "around" :: 2] = values
    return spaced


def length_with_blanks(n: int, blanks: Blanks) -> int:
    """Return the length of n values with blanks."""
    return 2 * n + 1 if blanks == "around" else max(0, 2 * n - 1)
