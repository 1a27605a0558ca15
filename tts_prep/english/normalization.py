"""Normalization of English texts: numbers, money, dates, times, units, addresses, abbreviations and signs.

Each step is a function of the full text. Steps are applied in order, so that a later step sees the results of earlier
ones.
"""

import re
from collections.abc import Callable
from typing import Final

from tts_prep.english.addresses import electronic, telephone
from tts_prep.english.dates import dates, times
from tts_prep.english.numbers import cardinals, codes, decimals, labels, ordinals, roman, years
from tts_prep.english.quantities import measures, money
from tts_prep.english.rules import apply
from tts_prep.english.signs import arithmetic, around_the_clock, fractions, music, pairs, ranges, ratios
from tts_prep.preprocess.text.typography import plain_marks, without_controls


def normalize_english(text: str) -> str:
    """Expand an English text to words. A text that is already in words is unchanged."""
    text = pairs(electronic(without_controls(text)))
    has_numbers = _has_numbers(text)
    if has_numbers:
        # Before `plain_marks`, because a short dash between numbers is a range, and a date may have hyphens.
        text = around_the_clock(ratios(telephone(apply("early", text))))
        text = ranges(_MINUS.sub("minus ", dates(text)))
    text = roman(_abbreviations(plain_marks(music(text)), has_numbers))
    if has_numbers:
        # Most texts have no digits, and these steps take most of the time.
        text = apply("figures", text)
        for step in _NUMBER_STEPS:
            text = step(text)
        text = apply("late", text)
    said = _SIGN.sub(lambda match: _SIGNS.get(match[0], "et cetera"), text)
    # A hyphen between spaces, which no step has read, is typed for a dash.
    text = _LOOSE_HYPHEN.sub(" — ", said) if " - " in text else said
    return _BEFORE_MARK.sub(r"\1", " ".join(text.split()))


def _abbreviations(text: str, has_numbers: bool) -> str:
    text = apply("short", text)
    # Most texts have one dot, at the end, and behind a word that is no abbreviation.
    last = text[text.rfind(" ") + 1 :]
    is_short = len(last) < len("Thurs..") and (last[:1].isupper() or last in ("ed.", "etc.", "fl.", "vs."))
    dotted = is_short or "." in text[:-1]
    if dotted:
        text = apply("dotted", text)
    if dotted or has_numbers:
        text = apply("streets", text)
    text = apply("names", text)
    return apply("titles", text) if dotted else text


def _has_numbers(text: str) -> bool:
    """Return whether a text has a character of a number: a digit of any script, ``½``, ``Ⅳ`` or ``五``."""
    # The expression takes a fifth of the time, and the other numbers are not ASCII.
    return bool(_DIGIT.search(text)) or (not text.isascii() and any(map(str.isnumeric, text)))


_DIGIT: Final = re.compile("[0-9]")
_SIGNS: Final = {"&": " and ", "@": " at ", "%": " percent ", "°": " degrees ", "+": " plus ", "=": " equals "}
_SIGN: Final = re.compile(rf"[{re.escape(''.join(_SIGNS))}](?:(?<=&)c\.)?")
_LOOSE_HYPHEN: Final = re.compile(r"(?<=\S) - (?=\S)")
_MINUS: Final = re.compile(r"(?<![\w.,)\]°%-])[-\u2212](?=[$£€]?\.?\d)")
_NUMBER_STEPS: Final[tuple[Callable[[str], str], ...]] = (
    *(labels, money, times, measures, fractions, ordinals, codes, arithmetic, decimals, years, cardinals),
)
_BEFORE_MARK: Final = re.compile(r" ([.,;:!?](?!\w)|\))(?<=[a-z] .)")
