"""English words for numbers, by the package inflect."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tts_prep.preprocess.lean_imports import unchecked_types

_LONGEST = 15
"""A number with more digits is read digit by digit."""


@lru_cache(maxsize=1)
def _engine() -> Any:
    # Over a second otherwise.
    with unchecked_types():
        import inflect

    return inflect.engine()


@lru_cache(maxsize=4096)
def cardinal(number: int) -> str:
    """Return ``two hundred eighty-nine`` for 289."""
    return str(_engine().number_to_words(number, andword=""))


@lru_cache(maxsize=4096)
def ordinal(number: int) -> str:
    """Return ``twenty-first`` for 21."""
    return str(_engine().ordinal(cardinal(number)))


def digits(text: str) -> str:
    """Return ``two seven six six`` for ``"2766"``."""
    return " ".join(cardinal(int(digit)) for digit in text)


def year(number: int) -> str:
    """Return ``eighteen forty-three`` for 1843, ``nineteen oh five`` for 1905, ``two thousand one`` for 2001."""
    high, low = divmod(number, 100)
    if high and high % 10 == 0 and low < 10:
        return cardinal(number)
    if low == 0:
        return f"{cardinal(high)} hundred"
    return f"{cardinal(high)} {'oh ' if low < 10 else ''}{cardinal(low)}"


def label(text: str) -> str:
    """Return the number of a thing, as people say it: ``two``, ``one fifty``, ``two nine one five``."""
    if len(text) == 3 and text[0] != "0" and not text.endswith("00"):
        return year(int(text))
    return digits(text) if len(text) > 3 else plain_number(text)


def decimal(whole: str, fraction: str) -> str:
    """Return ``eight point two five`` for ``"8"``, ``"25"``, and ``point three eight`` for ``""``, ``"38"``."""
    return f"{cardinal(int(whole))} point {digits(fraction)}" if whole else f"point {digits(fraction)}"


def plain_number(text: str) -> str:
    """Return a number as written: a cardinal, or digit by digit where it has a leading zero or is very long."""
    if (len(text) > 1 and text.startswith("0")) or len(text) > _LONGEST:
        return digits(text)
    return cardinal(int(text))


def plural(words: str) -> str:
    """Return ``nineteen sixties`` for ``nineteen sixty``, ``eighteen hundreds`` for ``eighteen hundred``."""
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}{'es' if words.endswith('x') else 's'}"
