"""English words for numbers of any length, for what is left of figures in a text, and for Roman numerals."""

import re
from functools import lru_cache
from typing import Final

from tts_prep.toml_files import word_table, word_tables

_SMALL: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES: Final = (
    *("", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion", "septillion"),
    *("octillion", "nonillion", "decillion"),
)
_ORDINALS: Final = word_table("one=first two=second three=third five=fifth eight=eighth nine=ninth twelve=twelfth")
_MAX_DIGITS: Final = 3 * len(_SCALES)
"""The maximum length of a number in words; longer ones are read digit by digit."""
_MAX_PLAIN_DIGITS: Final = 15
"""The same for numbers without commas."""


@lru_cache(maxsize=4096)
def cardinal(number: int | str) -> str:
    """Return ``two hundred eighty-nine`` for 289; more than 36 digits are read one by one.

    Args:
        number: a non-negative number; digits as a string can have any length.
    """
    text = str(number).lstrip("0") or "0"
    if len(text) > _MAX_DIGITS:
        return digits(text)
    if text == "0":
        return "zero"
    groups = [text[max(0, end - 3) : end] for end in range(len(text), 0, -3)]
    named = [f"{_hundreds(int(group))} {_SCALES[i]}".rstrip() for i, group in enumerate(groups) if int(group)]
    # "one million, two thousand five": no comma before a last group without hundreds.
    joint = " " if 0 < int(groups[0]) < 100 else ", "
    return joint.join((", ".join(named[:0:-1]), named[0])) if len(named) > 1 else named[0]


def _hundreds(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    words = [f"{_SMALL[hundreds]} hundred"] if hundreds else []
    if 0 < rest < 20:
        words.append(_SMALL[rest])
    elif rest:
        words.append(_TENS[rest // 10] + (f"-{_SMALL[rest % 10]}" if rest % 10 else ""))
    return " ".join(words)


def ordinal(number: int | str) -> str:
    """Return ``twenty-first`` for 21."""
    words = cardinal(number)
    start = max(words.rfind(" "), words.rfind("-")) + 1
    last = words[start:]
    if last in _ORDINALS:
        return words[:start] + _ORDINALS[last]
    return f"{words[:-1]}ieth" if last.endswith("y") else f"{words}th"


def digits(text: str) -> str:
    """Return ``two seven six six`` for ``"2766"``."""
    return " ".join(_SMALL[int(digit)] for digit in text)


def year(number: int) -> str:
    """Return ``eighteen forty-three`` for 1843, ``nineteen oh five`` for 1905, ``two thousand one`` for 2001."""
    high, low = divmod(number, 100)
    if high and high % 10 == 0 and low < 10:
        return cardinal(number)
    if low == 0:
        return f"{cardinal(high)} hundred"
    return f"{cardinal(high)} {'oh ' if low < 10 else ''}{cardinal(low)}"


def label(text: str) -> str:
    """Return the number of an item as it is spoken: ``two``, ``one fifty``, ``two nine one five``."""
    if len(text) == 3 and text[0] != "0" and not text.endswith("00"):
        return year(int(text))
    return digits(text) if len(text) > 3 else plain_number(text)


def decimal(whole: str, fraction: str) -> str:
    """Return ``eight point two five`` for ``"8"``, ``"25"``, and ``point three eight`` for ``""``, ``"38"``."""
    return f"{cardinal(whole)} point {digits(fraction)}" if whole else f"point {digits(fraction)}"


def plain_number(text: str) -> str:
    """Return a cardinal; digit by digit if the number has a leading zero or is very long."""
    if (len(text) > 1 and text.startswith("0")) or len(text) > _MAX_PLAIN_DIGITS:
        return digits(text)
    return cardinal(text)


def plural(words: str) -> str:
    """Return ``nineteen sixties`` for ``nineteen sixty``, ``eighteen hundreds`` for ``eighteen hundred``."""
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}{'es' if words.endswith('x') else 's'}"


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
_MILLIONS: Final = {"M": "million", "bn": "billion", "B": "billion"}
_DIGITS: Final = re.compile(_NUMBER)


def labels(text: str) -> str:
    """Return a text with ``No. 5``, ``#5`` and the numbers of boxes and houses in words."""
    text = _NUMBER_SIGN.sub(_number_sign, text)
    if " hours" in text:
        text = _HOURS.sub(_hours, text)
    text = _SCALED.sub(lambda match: f"{match[1] or match[3]} {_MILLIONS[match[2] or match[4]]}", text)
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
    text = _MODEL.sub(lambda match: f"{match[1].rstrip()} {label(match[2])}", text)
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


_VALUES: Final = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_NUMERAL: Final = r"(?=[IVXLC])C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
_NUMERAL_WORD: Final = re.compile(r" [IVXLC]+\b")
_LOWER_WORD: Final = re.compile(r" [ivxl]{2,8}\b")
"""What every numeral is part of; few texts have it, and a search for nouns and rulers takes much longer."""
_TABLES: Final = word_tables(__package__)
_NOUNS: Final = "|".join(_TABLES["numbered"])
_RULERS: Final = "|".join(_TABLES["rulers"])
_COUNTED: Final = re.compile(rf"\b((?i:{_NOUNS})s?\.? )({_NUMERAL})\b(?!')")
# "Scene ii", "page iv" in lower case; "i" alone is rather a letter.
_LOWER: Final = re.compile(
    r"\b((?i:act|scene|chapter|page|p\.|pp\.|part|book|canto|note) )(?=[ivxl]{2})([ivxl]{2,8})\b"
)
_REIGN: Final = re.compile(rf"\b({_RULERS}) ([IVX]+)\b(?:\.(?=[,;:—)]| \S|$))?")
_MAX_REIGN: Final = 39
_RANK: Final = re.compile(r"\b(?:King|Queen|Pope|Emperor|Empress|Tsar|Czar|Kaiser|Prince|Sultan) $")
_NO_PRONOUN: Final = re.compile(r"'s\b|[,;:)]| (?:(?:is|has|does)\b|of [A-Z])")


def roman(text: str) -> str:
    """Return a text with Roman numerals in words: cardinals after nouns, ordinals after names of rulers."""
    if _NUMERAL_WORD.search(text):
        text = _COUNTED.sub(_counted, _REIGN.sub(_reign, text))
    return _LOWER.sub(_lower, text) if _LOWER_WORD.search(text) else text


def _counted(match: re.Match[str]) -> str:
    # "In this chapter I": the pronoun. "Type C", "Table L": letters.
    if not match[2] or match[2] in ("C", "L") or (match[2] == "I" and match[1][0].islower()):
        return match[0]
    return match[1] + cardinal(_value(match[2]))


def _lower(match: re.Match[str]) -> str:
    numeral = match[2].upper()
    return match[1] + cardinal(_value(numeral)) if re.fullmatch(_NUMERAL, numeral) else match[0]


def _value(numeral: str) -> int:
    values = [_VALUES[letter] for letter in numeral]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < following else value for value, following in pairs)


def _is_first(match: re.Match[str]) -> bool:
    """Return whether a name's ``I`` is the numeral: "King James I was", "William I of Scotland"."""
    before = match.string[max(0, match.start() - 10) : match.start()]
    return bool(_RANK.search(before) or _NO_PRONOUN.match(match.string, match.end()))


def _reign(match: re.Match[str]) -> str:
    if not re.fullmatch(_NUMERAL, match[2]) or _value(match[2]) > _MAX_REIGN:
        return match[0]
    # "John V. Lindsay": an initial.
    if (
        len(match[2]) == 1
        and re.match(r"\.? [A-Z]", match.string[match.end(2) :])
        and match.string[match.end(2)] == "."
    ):
        return match[0]
    number = _value(match[2])
    # "I" after a name is usually the pronoun, unless a dot follows, or what does not go with the pronoun.
    if number == 1 and not match[0].endswith(".") and not _is_first(match):
        return match[0]
    end = "." if match[0].endswith(".") and match.end() == len(match.string) else ""
    return f"{match[1]} the {ordinal(number)}{end}"
