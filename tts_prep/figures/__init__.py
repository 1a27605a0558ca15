"""Expansion of figures: one engine of ordered rules, and a table of words for each language.

``languages/CODE.toml`` has the words of a language; what each key means is said where it is read. Numbers are written
in words by the rules of Unicode's CLDR, from the package ``unicode-rbnf``. What a table does not know stays as it is:
the frontend reads or counts it.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from tts_prep.preprocess.text.typography import without_controls
from tts_prep.toml_files import read_toml

_LONGEST: Final = 15
"""Digits of the largest number that is read as one; longer ones, and those that begin with 0, are read by digits."""

_DIGIT: Final = re.compile("[0-9]")

_END: Final = r"(?![\w%°]|[.,:/-]\d)"
_START: Final = r"(?<![\w.,:/-])"


def __getattr__(name: str) -> Reader:
    """Return the reader of a language, by its code: what the room's rows name."""
    if re.fullmatch("[a-z]{2,3}", name):
        return _reader(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _reader(language: str) -> Reader:
    return Reader(language, read_toml(__package__, "languages", f"{language}.toml"))


class Reader:
    """Expands the figures of a language.

    Args:
        language: its code.
        table: its words.
    """

    def __init__(self, language: str, table: Mapping[str, Any]) -> None:
        from unicode_rbnf import RbnfEngine

        self._table = table
        self._engine = RbnfEngine.for_language(language)
        # A full stop or comma that is not followed by three digits is the decimal mark, also where English has it.
        group, digits = table["group"], table.get("grouping", r"\d{3}")
        self._number = rf"(?:\d{{1,3}}(?:{group}{digits}){{0,6}}{group}\d{{3}}(?!\d)|\d+)(?:[.,]\d+(?![.,]?\d))?"
        self._grouping = re.compile(rf"(?<=\d){group}(?={digits}(?!\d))")
        self._rules = [(re.compile(pattern), expand) for pattern, expand in self._all_rules()]

    @property
    def software(self) -> dict[str, str]:
        """The versions of what decides over words besides this package."""
        return {"unicode-rbnf": importlib.metadata.version("unicode-rbnf")}

    def __call__(self, text: str) -> str:
        """Return a text with its figures in words. A text without any is unchanged but for control characters."""
        text = without_controls(text)
        # Most texts have no digits, and only their abbreviations are looked for.
        rules = self._rules if _DIGIT.search(text) else self._rules[:1] if "." in text else []
        for pattern, expand in rules:
            text = pattern.sub(expand, text)
        return " ".join(text.split())

    def _all_rules(self) -> Iterator[tuple[str, Callable[[re.Match[str]], str]]]:
        """Yield patterns and what they become, in order: abbreviations first, numbers that no other rule knows last."""
        table, number = self._table, self._number
        yield rf"(?<!\w)(?:{_any(table['abbreviations'])})(?!\w)(?P<end>\s*$)?", self._abbreviation
        yield from self._rules_of_dates()
        yield from self._rules_of_times()
        money, units = _any(table["money"]), _any(table["units"])
        scale = rf"(?P<scale> (?:{_any(table.get('scales', ()))}))?"
        yield rf"(?<![\w.,)%])[-−](?=(?:{money})?\d)", lambda _: f"{table['minus']} "
        # "5 zł 50 gr": a word is no sign of the number behind it.
        before = _any([sign for sign in table["money"] if not sign[0].islower()])
        yield rf"(?P<sign>{before})\s?(?P<n>{number}){scale}(?!\w|[.,]\d)", self._money
        yield rf"{_START}(?P<n>{number}){scale}\s?(?P<sign>{money})(?!\w)", self._money
        for sign, word in table.get("signs_before", {}).items():
            yield rf"{sign} ?(?P<n>{number})|{_START}(?P<m>{number}) ?{sign}", self._after(word)
        yield rf"{_START}(?P<n>{number})\s?(?P<unit>{units})(?![\w²³]|\.\w)", self._unit
        if "%" in table["units"]:
            yield rf"(?P<unit>%)(?P<n>{number})(?!\w)", self._unit
        for mark, kind in table.get("ordinal_marks", {}).items():
            yield rf"{_START}(?P<d>\d{{1,4}}){mark}(?!\w)", self._ordinal(kind)
        for pattern, kind in table.get("ordinals", {}).items():
            yield pattern, self._ordinal(kind)
        if suffix := table.get("ordinal_suffix"):
            yield rf"{_START}(?P<n>\d{{1,4}})(?P<suffix>{suffix})(?!\w)", lambda m: self._words(m["n"]) + m["suffix"]
        yield rf"{_START}(?P<a>{number}) ?[-–—] ?(?P<b>{number}){_END}", self._range
        for pattern, kind in table.get("agreement", {}).items():
            yield rf"{_START}(?P<d>{pattern})", self._ordinal(kind)
        # What is part of a code, a version or a telephone number stays.
        yield rf"{_START}(?P<n>{number})(?![\w°]|[.,:/-]\d)", lambda match: self._words(match["n"])

    def _rules_of_dates(self) -> Iterator[tuple[str, Callable[[re.Match[str]], str]]]:
        """Yield rules of dates with figures or the name of a month, the day first but in ISO 8601, and of years."""
        table = self._table
        cases = table.get("day_cases", {})
        before = f"(?:(?<!\\w)(?P<before>{_any(cases)}) )?{_START}" if cases else _START
        day, month, year = r"(?P<d>0?[1-9]|[12]\d|3[01])", r"(?P<mm>0?[1-9]|1[0-2])", r"(?P<y>[12]\d{3})"
        yield rf"{_START}{year}-{month}-{day}{_END}", self._date
        yield rf"{before}{day}(?P<s>[./-]){month}(?P=s){year}{_END}", self._date
        if table.get("named_months", True):
            names = _any([*table["months"], *table.get("short_months", {})])
            with_year = rf"(?:{table.get('before_year', ' ')}{year}(?:{table.get('after_year', '(?!)')})?)?"
            yield rf"{before}{day}{table.get('after_day', '')} (?P<month>{names}){with_year}{_END}", self._date
        for noun in table.get("years", ()):
            around = rf"(?<!\w)(?P<before>{noun['before']} ){year}(?P<noun>{noun['noun']})(?!\w)"
            yield around, self._year_beside(noun["endings"], noun.get("as"))

    def _rules_of_times(self) -> Iterator[tuple[str, Callable[[re.Match[str]], str]]]:
        """Yield rules of times of the day, from one to another first."""
        table = self._table
        minutes = rf"(?:{table.get('clock', ':')})(?P<m>[0-5]\d)"
        # "9h" is a time where hours are written so.
        alone = f"|{hour}" if (hour := table.get("clock_hour")) else ""
        clock = rf"(?P<h>[01]?\d|2[0-4])(?:{minutes}{alone})"
        plain = re.sub(r"\?P<\w>", "?:", clock)
        if (word := table.get("time_range")) is not None:
            yield rf"{_START}({plain}) ?[-–—] ?(?={plain})", lambda match: f"{match[1]} {word} "
        yield rf"{_START}{clock}(?:{table.get('after_clock', '')})?(?!\w|:\d|[.,]\d)", self._time

    def _spell(self, number: float, kind: str = "plain") -> str:
        """Return a number in words.

        Args:
            kind: a key of ``rulesets``, the names of CLDR's rules.
        """
        rulesets = self._table["rulesets"]
        ruleset = rulesets.get(kind) or rulesets["plain"]
        text: str = self._engine.format_number(number, ruleset_names=[ruleset]).text
        for old, new in self._table.get("spelling", {}).items():
            text = text.replace(old, new)
        return text.replace("\u00ad", "")

    def _words(self, written: str, kind: str = "plain") -> str:
        """Return a number with figures in words."""
        whole, _, part = self._plain(written).partition(".")
        if len(whole) > _LONGEST or (len(whole) > 1 and whole.startswith("0")):
            words = self._digits(whole)
        elif not part and kind == "plain" and re.fullmatch("1[1-9]..|20..", written):
            words = self._spell(int(whole), "year")
        else:
            words = self._spell(int(whole), self._table.get("whole_gender", kind) if part else kind)
        if not part:
            return words
        if len(part) <= len(parts := self._table.get("parts", ())):
            # три целых пять десятых
            wholes, tenths = self._table["wholes"], parts[len(part) - 1]
            return f"{words} {wholes[_is_many(whole)]} {self._spell(int(part), 'f')} {tenths[_is_many(part)]}"
        by_digits = self._table.get("decimals") == "digits" or len(part) > 2 or part.startswith("0")
        return f"{words} {self._table['point']} {self._digits(part) if by_digits else self._spell(int(part))}"

    def _plain(self, written: str) -> str:
        return self._grouping.sub("", written).replace(",", ".")

    def _digits(self, digits: str) -> str:
        return " ".join(map({digit: self._spell(int(digit)) for digit in {*digits}}.__getitem__, digits))

    def _form(self, entry: Sequence[str], written: str) -> str:
        """Return the form of a noun after a number; `entry` is its gender, then forms by CLDR's plural categories."""
        value = float(self._plain(written))
        forms = entry[1:]
        return forms[min(_PLURALS[self._table["plural"]](value), len(forms) - 1)]

    def _counted(self, written: str, entry: Sequence[str]) -> str:
        return f"{self._words(written, entry[0])} {self._form(entry, written)}".strip()

    def _abbreviation(self, match: re.Match[str]) -> str:
        written = match[0].rstrip()
        words = self._table["abbreviations"][written]
        return f"{words}." if match["end"] is not None and written.endswith(".") else f"{words}{match['end'] or ''}"

    def _date(self, match: re.Match[str]) -> str:
        table, found = self._table, match.groupdict()
        if name := found.get("month"):
            short = table.get("short_months", {}).get(name)
            month = table["months"][short - 1] if short else name
        else:
            month = table["months"][int(found["mm"]) - 1]
        before = found.get("before")
        day = self._day(int(found["d"]), table["day_cases"][before] if before else "")
        year = self._year(int(found["y"])) if found.get("y") else ""
        words = table["date" if year else "day_and_month"].format(day=day, month=month, year=year)
        return f"{before} {words}" if before else words

    def _day(self, day: int, case: str) -> str:
        table = self._table
        if day == 1 and "first_day" in table:
            return str(table["first_day"])
        if "genitive" in table:
            return self._with_ordinal_end(day)
        return self._spell(day, case or table.get("day", "plain"))

    def _with_ordinal_end(self, number: int) -> str:
        """Return a day or a year whose end is an ordinal in the genitive: ``две тысячи двадцать четвёртого``."""
        table = self._table
        if exact := table["round"].get(str(number)):
            return str(exact)
        ones, tens = table["genitive"]["ones"], {20: table["genitive"]["ones"][19]}
        tens |= {30 + 10 * i: name for i, name in enumerate(table["genitive"]["tens"])}
        end = number % 100
        if end > 20 and end % 10:
            ten = tens[end - end % 10] if table.get("tens_inflect") else self._spell(end - end % 10)
            words = f"{ten} {ones[end % 10 - 1]}"
        else:
            words = tens.get(end) or (ones[end - 1] if end else "")
        # "тысяча девятьсот", not "одна тысяча девятьсот".
        rest = self._spell(number - end).removeprefix(f"{table['one']} ") if number > end else ""
        return f"{rest} {words}".strip()

    def _year(self, year: int) -> str:
        names, hundred = self._table.get("genitive"), self._table.get("hundred")
        if hundred and 1100 <= year < 2000:
            return f"{self._spell(year // 100)} {hundred} {self._spell(year % 100) if year % 100 else ''}".strip()
        return self._with_ordinal_end(year) if names else self._spell(year, "year")

    def _year_beside(self, endings: Mapping[str, str], noun: str | None) -> Callable[[re.Match[str]], str]:
        """Return what reads a year beside its noun, whose case gives the year other endings.

        Args:
            noun: the noun in words, if it is abbreviated.
        """

        def expand(match: re.Match[str]) -> str:
            words = self._year(int(match["y"]))
            for old, new in endings.items():
                words = re.sub(rf"{old}\b", new, words)
            return f"{match['before']}{words}{noun or match['noun']}"

        return expand

    def _after(self, word: str) -> Callable[[re.Match[str]], str]:
        return lambda match: f"{word} {self._words(match['n'] or match['m'])}"

    def _time(self, match: re.Match[str]) -> str:
        table, found = self._table, match.groupdict()
        hour, minutes = int(found["h"]), int(found.get("m") or 0)
        hours = table.get("hours")
        values = {
            "h": hours[hour % 24] if hours else self._spell(hour, table.get("hour_gender", "plain")),
            "m": self._spell(minutes, table.get("minute_gender", "plain")),
            "hours": self._form(table["hour"], str(hour)) if "hour" in table else "",
            "minutes": self._form(table["minute"], str(minutes)) if "minute" in table else "",
        }
        return str(table["full_hour" if minutes == 0 else "time"]).format(**values)

    def _money(self, match: re.Match[str]) -> str:
        sign, written = match["sign"], match["n"]
        entry, cents = self._table["money"][sign], self._table["cents"].get(sign)
        whole, _, part = self._plain(written).partition(".")
        of = self._table.get("of_millions", " ")
        # "un million d'euros"
        of = of.replace("e ", "'") if self._table.get("elides") and entry[-1][0] in "aeiou" else of
        if match["scale"]:
            return f"{self._words(written)}{match['scale']}{of}{entry[-1]}"
        if len(part) == 2 and cents and len(whole) <= _LONGEST:
            smaller = self._counted(str(int(part)), cents) if int(part) else ""
            larger = self._counted(whole, entry) if int(whole) or not smaller else ""
            return str(self._table.get("and_cents", " ")).join(filter(None, (larger, smaller)))
        if not part and len(whole) > 6 and int(whole) % 10**6 == 0:
            return f"{self._words(written)}{of}{self._form(entry, written)}"
        return self._counted(written, entry)

    def _unit(self, match: re.Match[str]) -> str:
        return self._counted(match["n"], self._table["units"][match["unit"]])

    def _ordinal(self, kind: str | Sequence[str]) -> Callable[[re.Match[str]], str]:
        """Return what spells a number by the name of a ruleset, or by a list of words, from 1 on."""

        def expand(match: re.Match[str]) -> str:
            number = int(match["d"])
            if isinstance(kind, str):
                return f"{match.groupdict().get('before') or ''}{self._spell(number, kind)}"
            return kind[number - 1] if 0 < number <= len(kind) else match[0]

        return expand

    def _range(self, match: re.Match[str]) -> str:
        a, b = match["a"], match["b"]
        # Numbers of other lengths, or that begin with 0, are parts of a code or of a telephone number.
        if "0" in (a[0], b[0]) or not 0 <= len(b) - len(a) <= 1 or float(self._plain(a)) >= float(self._plain(b)):
            return match[0]
        return " ".join(filter(None, (self._words(a), self._table["range"], self._words(b))))


def _any(words: Sequence[str] | Mapping[str, Any]) -> str:
    """Return the pattern of any of these words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or "(?!)"


def _is_many(number: str) -> bool:
    """Return whether a noun after a number is in the plural in Slavic languages."""
    return not (number.endswith("1") and not number.endswith("11"))


def _slavic(value: float) -> int:
    if not value.is_integer():
        return 1
    last, two = value % 10, value % 100
    return 0 if last == 1 and two != 11 else 1 if 2 <= last <= 4 and not 12 <= two <= 14 else 2


def _polish(value: float) -> int:
    last, two = value % 10, value % 100
    return 3 if not value.is_integer() else 0 if value == 1 else 1 if 2 <= last <= 4 and not 12 <= two <= 14 else 2


def _arabic(value: float) -> int:
    return 0 if value == 1 else 1 if value == 2 else 2 if value.is_integer() and 3 <= value % 100 <= 10 else 3


_PLURALS: Final[Mapping[str, Callable[[float], int]]] = {
    "none": lambda _: 0,
    "one": lambda value: int(value != 1),
    "french": lambda value: int(value >= 2),
    "slavic": _slavic,
    "polish": _polish,
    "arabic": _arabic,
}
"""The form of a noun after a number, by CLDR's plural rules; a form that is missing is the last one."""
