"""English words for numbers, given as digits of any length."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from tts_prep.preprocess.text.tables import word_table

_SMALL: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES: Final = (
    *("", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion", "septillion"),
    *("octillion", "nonillion", "decillion"),
)
_ORDINALS: Final = word_table("one=first two=second three=third five=fifth eight=eighth nine=ninth twelve=twelfth")
_MAX_DIGITS: Final = 3 * len(_SCALES)
"""The maximum length of a number in words; longer ones are read digit by digit."""
_MAX_PLAIN_DIGITS: Final = 15
"""The same for numbers without commas."""


@lru_cache(maxsize=4096)
def cardinal(number: int | str) -> str:
    """Return ``two hundred eighty-nine`` for 289; more than 36 digits are read one by one.

    Args:
        number: a non-negative number; digits as a string can have any length.
    """
    text = str(number).lstrip("0") or "0"
    if len(text) > _MAX_DIGITS:
        return digits(text)
    if text == "0":
        return "zero"
    groups = [text[max(0, end - 3) : end] for end in range(len(text), 0, -3)]
    named = [f"{_hundreds(int(group))} {_SCALES[i]}".rstrip() for i, group in enumerate(groups) if int(group)]
    # "one million, two thousand five": no comma before a last group without hundreds.
    joint = " " if 0 < int(groups[0]) < 100 else ", "
    return joint.join((", ".join(named[:0:-1]), named[0])) if len(named) > 1 else named[0]


def _hundreds(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    words = [f"{_SMALL[hundreds]} hundred"] if hundreds else []
    if 0 < rest < 20:
        words.append(_SMALL[rest])
    elif rest:
        words.append(_TENS[rest // 10] + (f"-{_SMALL[rest % 10]}" if rest % 10 else ""))
    return " ".join(words)


def ordinal(number: int | str) -> str:
    """Return ``twenty-first`` for 21."""
    words = cardinal(number)
    start = max(words.rfind(" "), words.rfind("-")) + 1
    last = words[start:]
    if last in _ORDINALS:
        return words[:start] + _ORDINALS[last]
    return f"{words[:-1]}ieth" if last.endswith("y") else f"{words}th"


def digits(text: str) -> str:
    """Return ``two seven six six`` for ``"2766"``."""
    return " ".join(_SMALL[int(digit)] for digit in text)


def year(number: int) -> str:
    """Return ``eighteen forty-three`` for 1843, ``nineteen oh five`` for 1905, ``two thousand one`` for 2001."""
    high, low = divmod(number, 100)
    if high and high % 10 == 0 and low < 10:
        return cardinal(number)
    if low == 0:
        return f"{cardinal(high)} hundred"
    return f"{cardinal(high)} {'oh ' if low < 10 else ''}{cardinal(low)}"


def label(text: str) -> str:
    """Return the number of an item as it is spoken: ``two``, ``one fifty``, ``two nine one five``."""
    if len(text) == 3 and text[0] != "0" and not text.endswith("00"):
        return year(int(text))
    return digits(text) if len(text) > 3 else plain_number(text)


def decimal(whole: str, fraction: str) -> str:
    """Return ``eight point two five`` for ``"8"``, ``"25"``, and ``point three eight`` for ``""``, ``"38"``."""
    return f"{cardinal(whole)} point {digits(fraction)}" if whole else f"point {digits(fraction)}"


def plain_number(text: str) -> str:
    """Return a cardinal; digit by digit if the number has a leading zero or is very long."""
    if (len(text) > 1 and text.startswith("0")) or len(text) > _MAX_PLAIN_DIGITS:
        return digits(text)
    return cardinal(text)


def plural(words: str) -> str:
    """Return ``nineteen sixties`` for ``nineteen sixty``, ``eighteen hundreds`` for ``eighteen hundred``."""
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}{'es' if words.endswith('x') else 's'}"
