"""The remaining numbers: labels, ordinals, decimals, years, codes, cardinals."""

from __future__ import annotations

import re
from typing import Final

from tts_prep.english.number_words import (
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
# "He said no. 5 people left": the answer, not the abbreviation of number.
_ANSWER: Final = re.compile(
    r"\b(?:sa(?:y|ys|id|ying)|was|is|be|me|him|her|them|us|you|answer(?:s|ed)?|repl(?:y|ies|ied)|vot(?:e|es|ed)|"
    r"mean[st]?|shout(?:s|ed)?|told|tells?|cried|cries|whispered|and|or|oh|yes|absolutely|please)[,:]? [\"']?$"
)
_QUESTION: Final = re.compile(r"[?!][\"']? [\"']?$")
_LABEL: Final = re.compile(rf"\b(Numbers? |[Bb]ox ){_NUMBER}\b(?![.:]\d)")
_HOUSE: Final = re.compile(
    r"\b([1-9]\d)(\d\d)(?= (?:[NSEW] )?(?:[A-Z][a-z]+ ){1,3}"
    r"(?:Street|Avenue|Boulevard|Road|Court|Lane|Drive|Highway|Expressway)\b)"
)
_ORDINAL: Final = re.compile(rf"\b{_NUMBER}(?:st|nd|rd|th)\b", re.IGNORECASE)
_CALIBER: Final = re.compile(r"(?<![\d.])\.(\d\d)(?=[- ]cal)")
_VERSION: Final = re.compile(r"(?:\b[Vv](?=\d+\.\d))?(?<![\d.])\d+(?:\.\d+)+(?![\d.]*\d)")
_SPACED: Final = re.compile(r"(?<![\d.,:/-])(?<![\d.,:/-] )[1-9]\d{0,2}(?: \d{3}){2,}(?![\d.,:/-]*\d)(?! \d)")
_DECIMAL: Final = re.compile(rf"(?<![\d.]){_NUMBER}?\.(\d+)(?![\d.]*\.\d)")
_PLURAL: Final = re.compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d*00)s\b")
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
# "a 747", "Boeing 737", "Flight BA 117" are read as years are.
_MODEL: Final = re.compile(
    r"\b((?:Boeing|Airbus|[Ff]light(?: [A-Z]{2})?) ?|(?:[Aa]|[Tt]he) (?=7[0-8]7\b(?! [a-z]+s\b)))(\d{3})(?![\w,.]*\d)"
)
# "U-235", "F-150", "KC-135" are read as the numbers of flights are.
_TYPE: Final = re.compile(r"\b([A-Z]{1,3}|[A-Z][a-z])-(\d{3})(?![\w-]|[.,]\d)")
# "at 0800 hours"; "1500 hours of work" is a number.
_HOURS: Final = re.compile(
    r"(?:(?<=\b[Aa]t )|(?<=\b[Bb]y )|(?<=[Uu]ntil )|(?<=[Bb]efore )|(?<=[Aa]fter )|(?=0))([01]\d|2[0-3])([0-5]\d)"
    r"(?= hours\b(?! of\b))"
)
# "2M copies", "1.5bn users": before a plural noun.
_SCALED: Final = re.compile(
    r"(?<![\w.,$£€¥-])(?:(\d+\.\d+)(M|bn|B)(?![\w/]|\.\w)|(\d+)(M|bn|B)(?= (?:[a-z]+ )?(?:[a-z]{3,}s|people)\b))"
)
# "FY2025", a financial year.
_FINANCIAL: Final = re.compile(r"\b([FC]Y)(20\d\d)\b")
_SCALES: Final = {"M": "million", "bn": "billion", "B": "billion"}
_DIGITS: Final = re.compile(_NUMBER)


def labels(text: str) -> str:
    """Return a text with ``No. 5``, ``#5`` and the numbers of boxes and houses in words."""
    text = _NUMBER_SIGN.sub(_number_sign, text)
    if " hours" in text:
        text = _HOURS.sub(_hours, text)
    text = _SCALED.sub(lambda match: f"{match[1] or match[3]} {_SCALES[match[2] or match[4]]}", text)
    text = _FINANCIAL.sub(lambda match: f"{' '.join(match[1])} {year(int(match[2]))}", text)
    text = _HOUSE.sub(lambda match: year(int(match[1] + match[2])), text)
    return _LABEL.sub(lambda match: match[1] + label(match[2].replace(",", "")), text)


def _hours(match: re.Match[str]) -> str:
    hour, minute = match.groups()
    first = f"oh {cardinal(int(hour))}" if hour[0] == "0" and hour != "00" else cardinal(int(hour))
    if minute == "00":
        return f"{first} hundred"
    return f"{first} {'oh ' * (minute[0] == '0')}{cardinal(int(minute))}"


def _number_sign(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - 20) : match.start()]
    if (match[1] == "no" and _ANSWER.search(before)) or (match[1] in ("No", "no") and _QUESTION.search(before)):
        return match[0]
    # "2.5#7"
    return f"{' ' * before[-1:].isalnum()}{'Numbers' if match[1] in ('Nos', 'nos') else 'Number'} "


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
    """Return a text with codes such as ``C2766`` read character by character, and ``M25`` as a letter and a number."""
    text = _MODEL.sub(lambda match: match[1] + label(match[2]), text)
    if "-" in text:
        text = _TYPE.sub(lambda match: f"{match[1]}-{label(match[2])}", text)
    return _CODE.sub(_code, text)


def _code(match: re.Match[str]) -> str:
    return f"{' '.join(match[1])} {plain_number(match[2]) if len(match[2]) == 2 else digits(match[2])}"


def decimals(text: str) -> str:
    """Return a text with ``8.25``, ``.38`` and ``v2.3.1`` in words, and ``7 900 000`` joined."""
    text = _SPACED.sub(lambda match: match[0].replace(" ", ""), text)
    text = _VERSION.sub(_version, text)
    text = _CALIBER.sub(lambda match: cardinal(int(match[1])), text)
    return _DECIMAL.sub(_decimal, text)


def _decimal(match: re.Match[str]) -> str:
    words = decimal((match[1] or "").replace(",", ""), match[2])
    before, behind = match.string[: match.start()][-1:], match.string[match.end() :][:1]
    return f"{' ' * before.isalpha()}{words}{' ' * behind.isalpha()}"


def _version(match: re.Match[str]) -> str:
    named = match[0][0] in "Vv"
    if not named and match[0].count(".") < 2:
        return match[0]
    return f"{'version ' * named}{' point '.join(map(plain_number, match[0].lstrip('Vv').split('.')))}"


def years(text: str) -> str:
    """Return a text with years and decades in words. A number from 1100 to 2099 without a comma is a year."""
    text = _EARLY_YEAR.sub(lambda match: match[1] + year(int(match[2])), text)
    text = _DECADE.sub(lambda match: plural(year(int(match[1])) if match[1] else cardinal(int(match[2]))), text)
    text = _PLURAL.sub(lambda match: plural(cardinal(match[1].replace(",", ""))), text)
    return _YEAR.sub(lambda match: year(int(match[1] or match[2])), text)


def cardinals(text: str) -> str:
    """Return a text with all remaining digits in words."""

    def number(match: re.Match[str]) -> str:
        words = cardinal(match[1].replace(",", "")) if "," in match[1] else plain_number(match[1])
        before, after = match.string[: match.start()], match.string[match.end() :]
        return f"{' ' * before[-1:].isalpha()}{words}{' ' * after[:1].isalpha()}"

    return _DIGITS.sub(number, text)
