"""The cells of tables as numbers: those that are the same again as numbers of 64 bits, and no names of digits."""

import math
import re
from typing import Any, Final

import numpy as np

_EXACT: Final = 1 << 53
"""The largest integer up to which each one is a number of 64 bits."""

_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?", re.ASCII | re.IGNORECASE)
_DIGITS: Final = re.compile(r"[+-]?\d+", re.ASCII)
_LEADING_ZERO: Final = re.compile(r"[+-]?0\d")

_WORDS: Final = frozenset({"na", "n/a", "<na>", "null", "none"})
"""Words for a missing number in tables of R, pandas, databases and Python."""


def number_of(value: Any) -> float | None:
    """Return a cell as a number; None if it is none, is NaN, or would not be the same again.

    True and false are 1 and 0. An integer above 2⁵³ and the text ``007`` are names, which a number would change.
    """
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text) or is_name_of_digits(text):
            return None
        number = float(text)
        is_too_large = math.isinf(number) and text[-1].isdigit()
        return None if is_too_large else number
    if isinstance(value, bool | np.bool_):
        return float(value)
    if isinstance(value, int | np.integer):
        return None if is_name_of_digits(value) else float(value)
    if isinstance(value, float | np.floating):
        return None if math.isnan(value) else float(value)
    return None


def is_name_of_digits(value: Any) -> bool:
    """Return whether a cell has digits that a number would change: a leading zero, or an integer above 2⁵³."""
    if isinstance(value, str):
        text = value.strip()
        if not _DIGITS.fullmatch(text):
            return _LEADING_ZERO.match(text) is not None and _NUMBER.fullmatch(text) is not None
        # Longer integers take long to convert.
        return len(text) > 1 and (_LEADING_ZERO.match(text) is not None or len(text) > 20 or abs(int(text)) > _EXACT)
    return isinstance(value, int | np.integer) and abs(int(value)) > _EXACT


def is_missing(value: Any) -> bool:
    """Return whether a cell has no value: it is empty, null or NaN."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan")
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    # Those of pandas, which are equal to nothing.
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_word_for_missing(value: Any) -> bool:
    """Return whether a cell has a word that says, among numbers, that one is missing; among texts it is one of them."""
    return isinstance(value, str) and value.strip().lower() in _WORDS
