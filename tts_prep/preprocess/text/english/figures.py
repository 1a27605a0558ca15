"""The remaining numbers: labels, ordinals, decimals, years, codes, cardinals."""

from __future__ import annotations

import re
from typing import Final

from tts_prep.preprocess.text.english.number_words import (
    cardinal,
    decimal,
    digits,
    label,
    ordinal,
    plain_number,
    plural,
    year,
)

_NUMBER: Final = r"(\d{1,3}(?:,\d{3})+|\d+)"
_NUMBER_SIGN: Final = re.compile(r"\b([Nn]os?)\. ?(?=[A-Z]{0,3}\d)|#(?=\d)")
_LABEL: Final = re.compile(rf"\b(Numbers? |[Bb]ox ){_NUMBER}\b(?![.:]\d)")
_HOUSE: Final = re.compile(
    r"\b([1-9]\d)(\d\d)(?= (?:[NSEW] )?[A-Z][a-z]+ (?:Street|Avenue|Boulevard|Road|Court|Lane|Drive|Highway)\b)"
)
_ORDINAL: Final = re.compile(rf"\b{_NUMBER}(?:st|nd|rd|th)\b", re.IGNORECASE)
_CALIBER: Final = re.compile(r"(?<![\d.])\.(\d\d)(?=[- ]cal)")
_DECIMAL: Final = re.compile(rf"(?<![\d.]){_NUMBER}?\.(\d+)(?![\d.]*\.\d)")
_DECADE: Final = re.compile(r"\b(1[1-9]\d0|20[0-9]0)'? ?s\b|(?<![\d])'?\b([2-9]0)s\b")
_YEAR: Final = re.compile(
    r"(?<![\d,.])\b(?:(1[1-9]\d\d|20\d\d)\b(?!,\d{3}\b)|([1-9]\d{2})(?= (?:B\.? ?C|A\.? ?D|BCE|CE)\b))"
)
_EARLY_YEAR: Final = re.compile(
    r"\b((?:January|February|March|April|May|June|July|August|September|October|November|December),? )(1[0-9]\d\d)\b",
    re.IGNORECASE,
)
# A code such as C2766 or V510210 is read character by character.
_CODE: Final = re.compile(r"\b([A-Z]{1,3})(\d{2,})\b")
_DIGITS: Final = re.compile(_NUMBER)


def labels(text: str) -> str:
    """Return a text with ``No. 5``, ``#5`` and the numbers of boxes and houses in words."""
    text = _NUMBER_SIGN.sub(lambda match: "Numbers " if match[1] in ("Nos", "nos") else "Number ", text)
    text = _HOUSE.sub(lambda match: year(int(match[1] + match[2])), text)
    return _LABEL.sub(lambda match: match[1] + label(match[2].replace(",", "")), text)


def ordinals(text: str) -> str:
    """Return a text with ``2nd`` and ``1,000th`` in words."""
    return _ORDINAL.sub(_ordinal, text)


def _ordinal(match: re.Match[str]) -> str:
    words = ordinal(match[1].replace(",", ""))
    # "1th" is not an ordinal.
    suffix = match[0][-2:].lower()
    fits = words.endswith({"st": "first", "nd": "second", "rd": "third"}.get(suffix, "th"))
    return words if fits else match[0]


def codes(text: str) -> str:
    """Return a text with codes such as ``C2766`` read character by character."""
    return _CODE.sub(lambda match: f"{' '.join(match[1])} {digits(match[2])}", text)


def decimals(text: str) -> str:
    """Return a text with ``8.25`` and ``.38`` in words."""
    text = _CALIBER.sub(lambda match: cardinal(int(match[1])), text)
    return _DECIMAL.sub(lambda match: decimal((match[1] or "").replace(",", ""), match[2]), text)


def years(text: str) -> str:
    """Return a text with years and decades in words. A number from 1100 to 2099 without a comma is a year."""
    text = _EARLY_YEAR.sub(lambda match: match[1] + year(int(match[2])), text)
    text = _DECADE.sub(lambda match: plural(year(int(match[1])) if match[1] else cardinal(int(match[2]))), text)
    return _YEAR.sub(lambda match: year(int(match[1] or match[2])), text)


def cardinals(text: str) -> str:
    """Return a text with all remaining digits in words."""

    def number(match: re.Match[str]) -> str:
        words = cardinal(match[1].replace(",", "")) if "," in match[1] else plain_number(match[1])
        before, after = match.string[: match.start()], match.string[match.end() :]
        return f"{' ' * before[-1:].isalpha()}{words}{' ' * after[:1].isalpha()}"

    return _DIGITS.sub(number, text)
