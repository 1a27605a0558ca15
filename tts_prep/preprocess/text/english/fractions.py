"""Fractions: ``1/2``, ``2 3/4``, ``½``."""

from __future__ import annotations

import re
from typing import Final

from tts_prep.preprocess.text.english.number_words import cardinal, ordinal

_FRACTION: Final = re.compile(
    r"(?:\b(\d+)(?: +|-))?(?<![\d/.])\b(\d{1,5})/(\d{1,5})(?:(?:st|nd|rd|th)\b|TH\b|RD\b)?\b(?![/\d])"
)
_VULGAR: Final = str.maketrans({"½": " 1/2", "¼": " 1/4", "¾": " 3/4", "⅓": " 1/3", "⅔": " 2/3", "⅛": " 1/8"})
_KNOWN_DATES: Final = frozenset(("9/11", "7/7", "24/7"))
_MAX_UNDER: Final = 100


def fractions(text: str) -> str:
    """Return a text with fractions in words; ``9/11`` and ``24/7`` are not fractions."""
    return _FRACTION.sub(_fraction, text.translate(_VULGAR)) if "/" in text or not text.isascii() else text


def _fraction(match: re.Match[str]) -> str:
    over, under = int(match[2]), int(match[3])
    if f"{over}/{under}" in _KNOWN_DATES:
        return f"{match[1] or ''} {cardinal(over)} {cardinal(under)}".lstrip()
    if not over or under < 2 or (under > _MAX_UNDER and under % 10 ** (len(match[3]) - 1)):
        return match[0]
    part = {2: "half", 4: "quarter"}.get(under) or ordinal(under)
    plural = {"half": "halves"}.get(part, f"{part}s") if over > 1 else part
    if match[1]:
        return f"{match[1]} and {'a' if (over, under) == (1, 2) else cardinal(over)} {plural}"
    return f"{cardinal(over)} {plural}"
