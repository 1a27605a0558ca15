"""Days, months, years and times of the day: ``Mar. 3, 2021``, ``2021-03-03``, ``3/14/2021``, ``10:45``, ``7 p.m.``."""

import re
from typing import Final

from tts_prep.english.numbers import cardinal, decimal, ordinal, year

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
    rf"\b(?P<the>[Tt]he )?{_DAY}{_SUFFIX}? (?P<of>of )?(?P<month>(?i:{_NO_WORD})|March|May|(?i:{_SHORT})\b\.?|"
    rf"(?i:march|may)(?=,? {_YEAR}\b))(?P<year>,? {_YEAR}\b)?(?![\w-])"
)
_MONTH_FIRST: Final = re.compile(
    rf"\b(?P<month>(?i:{_SHORT})\b\.?|{_NO_WORD.lower()}|{_NO_WORD.upper()}|(?:march|may)(?= \d\d?,? {_YEAR}\b))"
    rf"(?P<gap>[ -]){_DAY}(?:{_SUFFIX})?(?![\d:.]*\d)(?P<year>(?:,? |-){_YEAR}\b)?(?!\w)"
)
_FULL_OR_SHORT: Final = rf"(?:(?:{'|'.join(_MONTHS)})\b|(?:{_SHORT})\b\.?)"
_OF_MONTH: Final = "(?:[12]\\d|3[01]|0?[1-9])"
# "June 25-26", "3-5 May": from a day to another.
_FROM_DAY: Final = re.compile(
    rf"\b({_FULL_OR_SHORT}) ({_OF_MONTH})(?:{_SUFFIX})?[-–—](?:({_OF_MONTH})(?:{_SUFFIX})?\b(?![-–/.:]?\d)|"
    rf"(?={_FULL_OR_SHORT} \d))"
)
_DAY_TO: Final = re.compile(
    rf"(?P<the>\b[Tt]he )?(?<![\w/.:–-])(?P<day>{_OF_MONTH})(?:{_SUFFIX})?[-–]"
    rf"(?={_OF_MONTH}(?:{_SUFFIX})? {_FULL_OR_SHORT})"
)
_ISO: Final = re.compile(rf"(?<![\w/.-])(?P<year>{_YEAR})([-/.])(?P<month>1[0-2]|0?[1-9])\2{_DAY}(?![\w/-])(?!\.\d)")
# "2023/24", a season or a financial year.
_SEASON: Final = re.compile(r"(?<![\w/.-])(1[1-9]\d\d|20\d\d)/(\d\d)(?![\w/-])(?!\.\d)")
# Years before 1100 look like other numbers; these follow "in" and the like.
_EARLY: Final = re.compile(
    r"\b((?:[Ii]n|[Ss]ince|[Uu]ntil|[Yy]ear|[Cc]irca|AD|A\.D\.) )(10[1-9]\d)"
    r"(?=[,.;:)]|$| [A-Z]| [a-z]*[a-rt-z]\b)(?![.,]\d)"
)
_NUMERIC: Final = re.compile(rf"(?<![\w/.-])(\d\d?)([-/.])(\d\d?)\2({_YEAR}|\d\d)(?![\w/-])(?!\.\d)")


def dates(text: str) -> str:
    """Return a text with dates in words. Years alone are left to `tts_prep.english.numbers`.

    ``January 15``, with a capitalized full month, becomes ``January fifteen``, as in LJ Speech.
    """
    if not any(character.isdigit() for character in text):
        return text
    text = _ISO.sub(lambda match: _month_day(int(match["month"]), int(match["day"]), match["year"]), text)
    text = _NUMERIC.sub(_numeric, text)
    text = _SEASON.sub(_season, text)
    text = _EARLY.sub(lambda match: match[1] + year(int(match[2])), text)
    if "-" in text or "–" in text or "—" in text:
        text = _FROM_DAY.sub(_from_day, text)
        text = _DAY_TO.sub(lambda match: f"{match['the'] or 'the '}{ordinal(int(match['day']))} to ", text)
    text = _DAY_FIRST.sub(_day_first, text)
    return _MONTH_FIRST.sub(_month_first, text)


def _from_day(match: re.Match[str]) -> str:
    month, day, last = match.groups()
    # The first day is read behind; the other has no month, but is read alike.
    return f"{month} {day} to {(last if month in _MONTHS else ordinal(last)) if last else ''}"


def _season(match: re.Match[str]) -> str:
    first, second = int(match[1]), _year(f"'{match[2]}")
    return f"{year(first)} {second}" if (first + 1) % 100 == int(match[2]) else match[0]


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
    suffixed = re.match(rf"(?:[Tt]he )?\d+{_SUFFIX}", match[0])
    if suffixed and match["month"] in _MONTHS and not match["of"]:
        # "the 14th June" keeps its order.
        words = f"{match['the'] or ''}{ordinal(day)} {match['month']}"
    else:
        words = f"{match['the'] or 'the '}{ordinal(day)} of {_name(match['month'])}"
    return f"{words}{_year_behind(match)}{dot}"


def _month_first(match: re.Match[str]) -> str:
    words = f"{_name(match['month'])} {ordinal(int(match['day']))}"
    return words + _year_behind(match)


def _year_behind(match: re.Match[str]) -> str:
    if not match["year"]:
        return ""
    return f"{',' * match['year'].startswith(',')} {year(int(match['year'][-4:]))}"


# The dot behind "pm" ends a sentence; it is that of "p.m." too.
_HALF: Final = r"(?:(?P<half> ?[ap](?:\.m\b\.?|m\b))(?:(?<=m)\.(?!\w))?)"
_ZONE: Final = r"(?: ?(?P<zone>(?:e|c|m|p)(?:\.[sd]\.t\.(?! [A-Z]|$)|\.[sd]\.t\b|[sd]t\b)|(?:gmt|utc)\b))?"
_CLOCK: Final = re.compile(
    rf"(?<![\d:.])([01]?\d|2[0-4])(?P<mark>[:.])([0-5]\d)(?::([0-5]\d))?(?![\d:]|\.\d){_HALF}?{_ZONE}", re.IGNORECASE
)
# "3:42.17", the time of a race.
_LAP: Final = re.compile(r"(?<![\d:.,])(\d{1,2}):([0-5]\d)\.(\d{1,3})(?![\d:.])")
_HOUR: Final = re.compile(rf"(?<![\d:.,])(1[0-2]|0?[1-9]){_HALF}(?![a-z]){_ZONE}", re.IGNORECASE)
_LETTERS: Final = re.compile("[a-z]")


def times(text: str) -> str:
    """Return a text with times in words: ``ten forty-five``, ``nine o'clock``, ``seven oh five p.m.`` and so on."""
    if ":" in text:
        text = _LAP.sub(_lap, text)
    return _HOUR.sub(lambda match: cardinal(match[1]) + _behind(match), _CLOCK.sub(_clock, text))


def _lap(match: re.Match[str]) -> str:
    low = "oh " * (match[2][0] == "0") + decimal(str(int(match[2])), match[3])
    return f"{cardinal(match[1])} {low}"


def _clock(match: re.Match[str]) -> str:
    hour, minute, second = int(match[1]), match[3], match[4]
    if match["mark"] == "." and not match["half"]:
        return match[0]
    behind = _behind(match)
    if second:
        parts = [_count(hour, "hour"), _count(int(minute), "minute"), f"and {_count(int(second), 'second')}"]
        return " ".join(parts) + behind
    low = f"oh {cardinal(int(minute))}" if minute[0] == "0" else cardinal(int(minute))
    if minute == "00":
        low = "" if match["half"] else "o'clock"
    return f"{cardinal(hour)} {low}".rstrip() + behind


def _count(number: int, noun: str) -> str:
    return f"{cardinal(number)} {noun}{'s' * (number != 1)}"


def _behind(match: re.Match[str]) -> str:
    written = (match["half"] or "").strip()
    # "9am" without dots would be read as the verb.
    half = f" {written if '.' in written else '.'.join(written) + '.'}" if written else ""
    zone = match["zone"]
    # The dot of "e.s.t." may end the sentence; that of "p.m." is kept.
    return half + (f" {' '.join(_LETTERS.findall(zone.lower())).upper()}" if zone else "")
