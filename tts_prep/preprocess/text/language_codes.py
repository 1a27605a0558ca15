"""Codes and English names of languages, and what espeak-ng lacks in a language: phones, and the minus sign."""

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from tts_prep import doors
from tts_prep.preprocess.text.typography import without_controls
from tts_prep.toml_files import word_tables

_COUNTRIES: Final = {"jp": "ja", "cn": "zh", "kr": "ko", "cz": "cs", "dk": "da", "gr": "el", "ua": "uk"}
"""Codes of countries that are written for languages, and are the code of none."""

ESPEAK_LACKS: Final = {
    **word_tables(__package__)["espeak_lacks"],
    **dict.fromkeys(("cmn", "zh"), "tones 1 and 4 are one; --frontend mandarin has all"),
    "ja": "Chinese characters are not read; --frontend japanese reads them",
}
"""What is missing in the phones of espeak-ng 1.52, by language; it is complete in the others that were tried."""


def subtags(language: str) -> list[str]:
    """Return the parts of a language code in lower case: ``pt_BR`` is ``["pt", "br"]``, and ``JP`` is ``["ja"]``."""
    first, *others = language.lower().replace("_", "-").split("-")
    return [_COUNTRIES.get(first, first), *others]


@cache
def rules_of(language: str) -> Callable[[str], str] | None:
    """Return the function that expands numbers, abbreviations and signs of a language; None if there is none."""
    row = doors.row("languages", subtags(language)[0])
    rules: Callable[[str], str] | None = doors.load("languages", row) if row else None
    return rules


def normalize(text: str, language: str) -> str:
    """Expand a text by the rules of its language; without rules, only control characters are removed."""
    rules = rules_of(language)
    return rules(text) if rules else without_controls(text)


def espeak_lacks(language: str) -> str:
    """Return what espeak-ng's phones of a language lack; an empty text where nothing is known."""
    parts = subtags(language)
    # Pinyin has all tones.
    return "" if "pinyin" in parts else ESPEAK_LACKS.get(parts[0], "")


_CODES: Final = word_tables(__package__)["codes"]
"""Codes by the English names of languages, as in lhotse's manifests."""


def language_code(language: str) -> str:
    """Return the code of an English name of a language, and other values unchanged."""
    return _CODES.get(language.strip().lower(), language)


# In Chinese and Japanese, no space precedes it.
MINUS: Final = re.compile(r"(?<![^\W\u3040-\u30ff\u3400-\u9fff])(?<![.,)\]°%])[-\u2212](?=[.,]?\d)")
"""A hyphen or minus sign before a number that does not follow a word: not that of ``3-5`` or ``A-4``."""

_MINUS_WORDS: Final = word_tables(__package__)["minus_words"]


def with_minus_words(text: str, language: str) -> str:
    """Expand ``-5`` to ``moins 5`` where espeak-ng would drop the sign; return other texts unchanged."""
    word = _MINUS_WORDS.get(subtags(language)[0])
    return MINUS.sub(f"{word} ", text) if word else text
