"""Blank symbols between phonemes, as VITS, Matcha-TTS and Piper have them."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from tts_prep.format.datasets import Array

Blanks: TypeAlias = Literal["between", "around"]


def with_blanks(values: Array, blank: int, blanks: Blanks) -> Array:
    """Return values with another one between all of them, and with ``"around"`` also at both ends.

    Args:
        values: [n], of any dtype: ids with the blank's id, or durations with 0.
        blank: the value to put there.
        blanks: ``"between"`` for [2 n − 1], as Piper; ``"around"`` for [2 n + 1], as VITS and Matcha-TTS.
    """
    spaced = np.full(length_with_blanks(len(values), blanks), blank, values.dtype)
    spaced[blanks == "around" :: 2] = values
    return spaced


def length_with_blanks(n: int, blanks: Blanks) -> int:
    """Return the length of n values with blanks."""
    return 2 * n + 1 if blanks == "around" else max(0, 2 * n - 1)
