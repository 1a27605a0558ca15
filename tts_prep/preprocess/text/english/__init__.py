"""Written English as it is spoken: numbers, money, times, abbreviations and signs in words.

Each step is one function over the whole text, in the order of `_STEPS`; a later step sees what the earlier ones left.
"""

from __future__ import annotations

import re
from collections.abc import Callable
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
from tts_prep.preprocess.text.tables import word_table
from tts_prep.preprocess.text.typography import plain_marks, without_controls

Match = re.Match[str]


def is_english(language: str) -> bool:
    """Return whether a language code, such as ``en-us``, is one of English."""
    return language.lower().replace("_", "-").split("-")[0] == "en"


def normalize_english(text: str) -> str:
    """Return a written English text as it is to be spoken; a text that is in words already stays as it is."""
    text = plain_marks(_MINUS.sub("minus ", without_controls(text)))
    for step in _STEPS:
        text = step(text)
    return " ".join(text.split())


# Abbreviations that stand before a name; a bare "Mr" is British spelling.
_TITLES: Final = word_table(
    """
    Mr=Mister Mrs=Missus Ms=Miz Dr=Doctor Drs=Doctors St=Saint Prof=Professor Rev=Reverend Hon=Honorable
    Gen=General Col=Colonel Maj=Major Capt=Captain Lt=Lieutenant Lieut=Lieutenant Sgt=Sergeant Gov=Governor
    Sen=Senator Rep=Representative Ft=Fort Mt=Mount
    """
)
_WORDS: Final = word_table(
    """
    Jr=Junior Sr=Senior Co=Company Ltd=Limited Inc=Incorporated Bros=Brothers Esq=Esquire vs=versus
    etc=et+cetera Ave=Avenue Blvd=Boulevard Dept=Department Jan=January Feb=February Aug=August Sept=September
    Oct=October Nov=November Dec=December
    """
)
_TITLE = re.compile(rf"\b({'|'.join(_TITLES)})(?:\.(?= ?[A-Z])| (?=[A-Z]))")
_BARE_TITLES: Final = frozenset(("Mr", "Mrs", "Ms", "Dr"))
_STREET = re.compile(r"\bSt\.(?= [a-z]|,)|\bSt(?=\.$)")
_WORD = re.compile(rf"\b({'|'.join(_WORDS)})\.( [A-Z]|$)?")


def _abbreviations(text: str) -> str:
    def title(match: Match) -> str:
        if not match[0].endswith(".") and match[1] not in _BARE_TITLES:
            return match[0]
        return _TITLES[match[1]] + ("" if match[0].endswith(".") and match.string[match.end()] == " " else " ")

    def word(match: Match) -> str:
        # The dot also ended the sentence where nothing follows.
        return _WORDS[match[1]] + ("." if match[2] == "" else match[2] or "")

    return _STREET.sub("Street", _WORD.sub(word, _TITLE.sub(title, text)))


_NUMBER: Final = r"(\d{1,3}(?:,\d{3})+|\d+)"
_NUMBER_SIGN = re.compile(r"\b([Nn]os?)\. ?(?=[A-Z]{0,3}\d)|#(?=\d)")
_LABEL = re.compile(rf"\b(Numbers? |[Bb]ox ){_NUMBER}\b(?![.:]\d)")


def _number_signs(text: str) -> str:
    text = _NUMBER_SIGN.sub(lambda match: "Numbers " if match[1] in ("Nos", "nos") else "Number ", text)
    return _LABEL.sub(lambda match: match[1] + label(match[2].replace(",", "")), text)


_NUMERALS: Final = "I,II,III,IV,V,VI,VII,VIII,IX,X,XI,XII,XIII,XIV,XV,XVI,XVII,XVIII"
_REIGNS: Final = {numeral: number for number, numeral in enumerate(_NUMERALS.split(","), 1)}
_RULERS: Final = (
    "Alexander|Alfonso|Benedict|Catherine|Charles|Clement|Edward|Elizabeth|Ferdinand|Francis|Frederick|George|Gregory|"
    "Gustavus|Henry|Innocent|James|John|Leo|Louis|Mary|Napoleon|Nebuchadnezzar|Nicholas|Paul|Peter|Philip|Pius|Richard|Sixtus|"
    "Urban|Victor|Wilhelm|William"
)
_REIGN = re.compile(rf"\b({_RULERS}) ([IVX]+)\b(?:\.(?=[,;:—)]| \S|$))?")


def _reigns(text: str) -> str:
    def reign(match: Match) -> str:
        number = _REIGNS.get(match[2])
        if number is None:
            return match[0]
        # "I" after a name is more often the pronoun, unless a dot says that it is a numeral.
        if number == 1 and not match[0].endswith("."):
            return match[0]
        end = "." if match[0].endswith(".") and match.end() == len(match.string) else ""
        return f"{match[1]} the {ordinal(number)}{end}"

    return _REIGN.sub(reign, text)


_CURRENCIES: Final = {"$": ("dollar", "cent"), "£": ("pound", "pence"), "€": ("euro", "cent")}
_MONEY = re.compile(rf"([$£€]) ?{_NUMBER}(?:\.(\d+))?( (?:hundred|thousand|[mb]illion|trillion)\b)?")


def _money(text: str) -> str:
    def money(match: Match) -> str:
        unit, part = _CURRENCIES[match[1]]
        whole, fraction, scale = match[2].replace(",", "").lstrip("0") or "0", match[3], match[4]
        if scale:
            amount = decimal(whole, fraction) if fraction else cardinal(whole)
            return f"{amount}{scale} {unit}s"
        units = f"{cardinal(whole)} {unit}{'' if whole == '1' else 's'}"
        if not fraction:
            return units
        if len(fraction) != 2:
            return f"{decimal(whole, fraction)} {unit}s"
        parts = f"{cardinal(int(fraction))} {part}{'s' if part == 'cent' and int(fraction) != 1 else ''}"
        return units if fraction == "00" else parts if whole == "0" else f"{units}, {parts}"

    return _MONEY.sub(money, text)


_TIME = re.compile(r"\b([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?(?![\d:])( ?[ap]\.?m\b)?", re.IGNORECASE)


def _times(text: str) -> str:
    def time(match: Match) -> str:
        hour, minute, second, half = int(match[1]), match[2], match[3], match[4] or ""
        low = f"oh {cardinal(int(minute))}" if minute[0] == "0" else cardinal(int(minute))
        if minute == "00":
            low = "" if half or second else "o'clock"
        words = f"{cardinal(hour)} {low}".rstrip()
        half = f" {half.strip()}" if half else ""
        return f"{words}{f' and {cardinal(int(second))} seconds' if second else ''}{half}"

    return _TIME.sub(time, text)


_SIGNS: Final = {"&": " and ", "@": " at ", "%": " percent", "°": " degrees", "+": " plus ", "=": " equals "}
_SIGN = re.compile(rf"&c\.|[{re.escape(''.join(_SIGNS))}]")
_MINUS = re.compile(r"(?<![\w.,)\]°%])[-\u2212](?=[$£€]?\.?\d)")


def _signs(text: str) -> str:
    return _SIGN.sub(lambda match: _SIGNS.get(match[0], "et cetera"), text)


_FRACTION = re.compile(r"(?:\b(\d+)(?: +|-))?(?<![\d/.])\b(\d{1,2})/(\d{1,2})\b(?![/\d])")
_VULGAR: Final = str.maketrans({"½": " 1/2", "¼": " 1/4", "¾": " 3/4", "⅓": " 1/3", "⅔": " 2/3", "⅛": " 1/8"})


def _fractions(text: str) -> str:
    def fraction(match: Match) -> str:
        over, under = int(match[2]), int(match[3])
        if not 0 < over < under or under > 20:
            return match[0]
        part = {2: "half", 4: "quarter"}.get(under) or ordinal(under)
        words = f"{cardinal(over)} {part}{'s' if over > 1 else ''}"
        return f"{match[1]} and {words}" if match[1] else words

    return _FRACTION.sub(fraction, text.translate(_VULGAR))


_ORDINAL = re.compile(rf"\b{_NUMBER}(?:st|nd|rd|th)\b", re.IGNORECASE)


def _ordinals(text: str) -> str:
    return _ORDINAL.sub(lambda match: ordinal(match[1].replace(",", "")), text)


_CALIBER = re.compile(r"(?<![\d.])\.(\d\d)(?=[- ]cal)")
_DECIMAL = re.compile(rf"(?<![\d.]){_NUMBER}?\.(\d+)(?![\d.]*\.\d)")


def _decimals(text: str) -> str:
    text = _CALIBER.sub(lambda match: cardinal(int(match[1])), text)
    return _DECIMAL.sub(lambda match: decimal((match[1] or "").replace(",", ""), match[2]), text)


_DECADE = re.compile(r"\b(1[1-9]\d0|20[1-9]0)'?s\b|(?<!\d)'?\b([2-9]0)s\b")
_YEAR = re.compile(r"(?<![\d,.])\b(?:(1[1-9]\d\d|20\d\d)\b(?!,\d{3}\b)|([1-9]\d{2})(?= (?:B\.? ?C|A\.? ?D|BCE|CE)\b))")


def _years(text: str) -> str:
    text = _DECADE.sub(lambda match: plural(year(int(match[1])) if match[1] else cardinal(int(match[2]))), text)
    return _YEAR.sub(lambda match: year(int(match[1] or match[2])), text)


# A code such as C2766 or V510210 is read sign by sign.
_CODE = re.compile(r"\b([A-Z]{1,3})(\d{2,})\b")
_DIGITS = re.compile(_NUMBER)


def _codes(text: str) -> str:
    return _CODE.sub(lambda match: f"{' '.join(match[1])} {digits(match[2])}", text)


def _cardinals(text: str) -> str:
    def number(match: Match) -> str:
        words = plain_number(match[1].replace(",", ""))
        before, after = match.string[: match.start()], match.string[match.end() :]
        return f"{' ' * before[-1:].isalpha()}{words}{' ' * after[:1].isalpha()}"

    return _DIGITS.sub(number, text)


_STEPS: Final[tuple[Callable[[str], str], ...]] = (
    *(_abbreviations, _number_signs, _reigns, _money, _times, _signs, _fractions, _ordinals),
    *(_codes, _decimals, _years, _cardinals),
)
