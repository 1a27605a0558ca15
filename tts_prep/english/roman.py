"""Roman numerals after nouns and names: ``World War II``, ``Chapter IV``, ``Henry VIII``."""

from __future__ import annotations

import re
from typing import Final

from tts_prep.english.number_words import cardinal, ordinal

_VALUES: Final = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_NUMERAL: Final = r"(?=[IVXLC])C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
_NUMERAL_WORD: Final = re.compile(r" [IVXLC]+\b")
"""What every capital numeral is part of; few texts have it, and a search for nouns and rulers takes much longer."""
_NOUNS: Final = (
    "Chapter|Part|Section|Article|Volume|Vol|Book|Act|Scene|Phase|Stage|Type|Class|Grade|Level|Title|Appendix|Table|"
    "Figure|Canto|Corps|Division|War|Mark|Super Bowl|Group|Episode|Lesson|Unit|Plate|Psalm"
)
_RULERS: Final = (
    "Alexander|Alfonso|Benedict|Catherine|Charles|Clement|Edward|Elizabeth|Ferdinand|Francis|Frederick|George|Gregory|"
    "Gustavus|Henry|Innocent|James|John|Leo|Louis|Mary|Napoleon|Nebuchadnezzar|Nicholas|Paul|Peter|Philip|Pius|Richard|Sixtus|"
    "Urban|Victor|Wilhelm|William"
)
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
    return _LOWER.sub(_lower, text) if "i" in text or "v" in text or "x" in text else text


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
