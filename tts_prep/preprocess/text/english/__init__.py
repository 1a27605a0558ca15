"""Normalization of English texts: numbers, money, dates, times, units, addresses, abbreviations and signs.

Each step is a function of the full text. Steps are applied in order, so that a later step sees the results of earlier
ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tts_prep.preprocess.text.english.abbreviations import abbreviations
from tts_prep.preprocess.text.english.dates import dates
from tts_prep.preprocess.text.english.electronic import electronic
from tts_prep.preprocess.text.english.figures import cardinals, codes, decimals, labels, ordinals, years
from tts_prep.preprocess.text.english.fractions import fractions
from tts_prep.preprocess.text.english.measures import measures
from tts_prep.preprocess.text.english.money import money
from tts_prep.preprocess.text.english.ranges import ranges
from tts_prep.preprocess.text.english.roman import roman
from tts_prep.preprocess.text.english.telephone import telephone
from tts_prep.preprocess.text.english.times import times
from tts_prep.preprocess.text.language_codes import subtags
from tts_prep.preprocess.text.typography import plain_marks, without_controls


def is_english(language: str) -> bool:
    """Return whether a language code, such as ``en-us``, is one of English."""
    return subtags(language)[0] == "en"


def normalize_english(text: str) -> str:
    """Expand an English text to words. A text that is already in words is unchanged."""
    text = electronic(without_controls(text))
    if any(map(str.isnumeric, text)):
        # Before `plain_marks`, because a short dash between numbers is a range.
        text = ranges(_MINUS.sub("minus ", dates(telephone(text))))
    text = plain_marks(text)
    for step in _WORD_STEPS:
        text = step(text)
    # Most texts have no digits, and these steps take half of the time.
    if any(map(str.isnumeric, text)):
        for step in _NUMBER_STEPS:
            text = step(text)
    return " ".join(text.split())


_SIGNS: Final = {"&": " and ", "@": " at ", "%": " percent", "°": " degrees", "+": " plus ", "=": " equals "}
_SIGN: Final = re.compile(rf"&c\.|[{re.escape(''.join(_SIGNS))}]")
_MINUS: Final = re.compile(r"(?<![\w.,)\]°%])[-\u2212](?=[$£€]?\.?\d)")


def _signs(text: str) -> str:
    return _SIGN.sub(lambda match: _SIGNS.get(match[0], "et cetera"), text)


_WORD_STEPS: Final[tuple[Callable[[str], str], ...]] = (
    *(abbreviations, labels, roman, money, times, measures, _signs),
)
_NUMBER_STEPS: Final[tuple[Callable[[str], str], ...]] = (fractions, ordinals, codes, decimals, years, cardinals)
