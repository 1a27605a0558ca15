"""Days, months and years: ``Mar. 3, 2021``, ``3 March 2021``, ``2021-03-03``, ``3/14/2021``."""

from __future__ import annotations

import re
from typing import Final

from tts_prep.preprocess.text.english.number_words import cardinal, ordinal, year

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    *("November", "December"),
)
_ABBREVIATIONS: Final = ("Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sept?", "Oct", "Nov", "Dec")
_SUFFIX: Final = "(?:st|nd|rd|th)"
_DAY: Final = r"(?P<day>[12]\d|3[01]|0?[1-9])"
_YEAR: Final = r"(?:1[0-9]|20)\d\d"
_SHORT: Final = "|".join(_ABBREVIATIONS)
# "may" and "march" are also words, so in lower case they are months only with a year.
_NO_WORD: Final = "|".join(month for month in _MONTHS if month not in ("March", "May"))
_DAY_FIRST: Final = re.compile(
    rf"\b(?P<the>the )?{_DAY}{_SUFFIX}? (?P<of>of )?(?P<month>(?i:{_NO_WORD})|March|May|(?i:{_SHORT})\b\.?|"
    rf"(?i:march|may)(?=,? {_YEAR}\b))(?P<year>,? {_YEAR}\b)?(?![\w-])"
)
_MONTH_FIRST: Final = re.compile(
    rf"\b(?P<month>(?i:{_SHORT})\b\.?|{_NO_WORD.lower()}|{_NO_WORD.upper()}|(?:march|may)(?= \d\d?,? {_YEAR}\b))"
    rf"(?P<gap>[ -]){_DAY}(?:{_SUFFIX})?(?![\d:.]*\d)(?P<year>(?:,? |-){_YEAR}\b)?(?!\w)"
)
_ISO: Final = re.compile(rf"(?<![\w/.-])(?P<year>{_YEAR})([-/.])(?P<month>1[0-2]|0?[1-9])\2{_DAY}(?![\w/-])(?!\.\d)")
_NUMERIC: Final = re.compile(rf"(?<![\w/.-])(\d\d?)([-/.])(\d\d?)\2({_YEAR}|\d\d)(?![\w/-])(?!\.\d)")


def dates(text: str) -> str:
    """Return a text with dates in words. Years alone are left to `tts_prep.preprocess.text.english.figures`.

    ``January 15``, with a capitalized full month, becomes ``January fifteen``, as in LJ Speech.
    """
    if not any(character.isdigit() for character in text):
        return text
    text = _ISO.sub(lambda match: _month_day(int(match["month"]), int(match["day"]), match["year"]), text)
    text = _NUMERIC.sub(_numeric, text)
    text = _DAY_FIRST.sub(_day_first, text)
    return _MONTH_FIRST.sub(_month_first, text)


def _numeric(match: re.Match[str]) -> str:
    first, mark, second, full = int(match[1]), match[2], int(match[3]), match[4]
    month, day = (second, first) if first > 12 else (first, second)
    if not (1 <= month <= 12 and 1 <= day <= 31) or (mark == "." and len(full) == 2):
        return match[0]
    words = full if len(full) == 4 else f"'{full}"
    return f"the {ordinal(day)} of {_MONTHS[month - 1]} {_year(words)}" if first > 12 else _month_day(month, day, words)


def _year(text: str) -> str:
    if text.startswith("'"):
        number = int(text[1:])
        return cardinal(number) if number > 9 else f"oh {cardinal(number)}" if number else "two thousand"
    return year(int(text))


def _month_day(month: int, day: int, full: str | None) -> str:
    return f"{_MONTHS[month - 1]} {ordinal(day)}{f', {_year(full)}' if full else ''}"


def _name(text: str) -> str:
    """Return the full name of a month."""
    start = text.lower()[:3]
    return next(month for month in _MONTHS if month.lower().startswith(start))


def _day_first(match: re.Match[str]) -> str:
    day = int(match["day"])
    full = match[0].endswith(".") and not match["year"]
    dot = "." if full and match.end() == len(match.string) else ""
    suffixed = re.match(rf"(?:the )?\d+{_SUFFIX}", match[0])
    if suffixed and match["month"] in _MONTHS and not match["of"]:
        # "the 14th June" keeps its order.
        words = f"{match['the'] or ''}{ordinal(day)} {match['month']}"
    else:
        words = f"the {ordinal(day)} of {_name(match['month'])}"
    return f"{words}{_year_behind(match)}{dot}"


def _month_first(match: re.Match[str]) -> str:
    words = f"{_name(match['month'])} {ordinal(int(match['day']))}"
    return words + _year_behind(match)


def _year_behind(match: re.Match[str]) -> str:
    if not match["year"]:
        return ""
    return f"{',' * match['year'].startswith(',')} {year(int(match['year'][-4:]))}"
