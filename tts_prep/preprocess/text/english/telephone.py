"""Telephone and social security numbers, read digit by digit in groups."""

from __future__ import annotations

import re
from typing import Final

from tts_prep.preprocess.text.english.number_words import cardinal, digits

_COUNTRY: Final = r"(?:(?P<plus>\+)(?P<country>\d{1,3})[ -]?|(?P<trunk>1)-)?"
_PHONE: Final = re.compile(
    rf"(?<![\w$£€.,/-]){_COUNTRY}(?:\((?P<area>\d{{3}})\)[ -]?|(?P<area2>\d{{3}})[-. ])(?P<exchange>\d{{3}})[-. ]"
    r"(?P<line>\d{4})(?:-(?P<extension>\d{1,5}))?(?![\w-])"
)
_VANITY: Final = re.compile(r"(?<![\w-])1-(?P<area>[89]\d\d)-(?P<word>(?=[\dA-Z-]*[A-Z])[A-Z0-9]+(?:-[A-Z0-9]+)*)\b")
_SOCIAL: Final = re.compile(r"(?<![\w-])(\d{3})-(\d{2})-(\d{4})(?![\w-])")
_CODE: Final = re.compile(r"\b((?:[Cc]ode|PIN|pin|[Cc]ard|OTP|otp)(?: is| ending in|:)? )(\d{3,8})\b")


def telephone(text: str) -> str:
    """Return a text with telephone numbers in words: ``555-123-4567`` as ``five five five, one two three, …``."""
    text = _VANITY.sub(_vanity, _PHONE.sub(_phone, text))
    text = _SOCIAL.sub(lambda match: ", ".join(map(digits, match.groups())), text)
    return _CODE.sub(lambda match: match[1] + digits(match[2]), text)


def _phone(match: re.Match[str]) -> str:
    country = match["country"] or match["trunk"]
    groups = [f"{'plus ' if match['plus'] else ''}{digits(country)}"] if country else []
    groups += [digits(match["area"] or match["area2"]), digits(match["exchange"]), digits(match["line"])]
    return ", ".join(groups + ([digits(match["extension"])] if match["extension"] else []))


def _vanity(match: re.Match[str]) -> str:
    area = cardinal(match["area"]) if match["area"].endswith("00") else digits(match["area"])
    words = re.sub(r"\d", lambda digit: f" {digits(digit[0])} ", match["word"].replace("-", " "))
    return f"one, {area}, {' '.join(words.split())}"
