"""Codes of languages, such as ``en-us``, and what espeak-ng's phones of a language lack."""

from __future__ import annotations

from typing import Final

_COUNTRIES: Final = {"jp": "ja", "cn": "zh", "kr": "ko", "cz": "cs", "dk": "da", "gr": "el", "ua": "uk"}
"""Codes of countries that are written for languages, and are the code of none."""
ESPEAK_LACKS: Final = {
    "ar": "short vowels are guessed where the text has no marks for them",
    "he": "no vowels, which the script does not write",
    "fa": "short vowels are guessed",
    "ur": "short vowels are guessed",
    "th": "most vowels and some tones are missing",
    "my": "most vowels and tones are missing",
    "shn": "most vowels and tones are missing",
    "cmn": "tones 1 and 4 are one; --frontend mandarin has all",
    "zh": "tones 1 and 4 are one; --frontend mandarin has all",
    "ja": "Chinese characters are not read; --frontend japanese reads them",
}
"""What is missing in the phones of espeak-ng 1.52, by language; it is complete in the others that were tried."""


def subtags(language: str) -> list[str]:
    """Return the parts of a language code in lower case: ``pt_BR`` is ``["pt", "br"]``, and ``JP`` is ``["ja"]``."""
    first, *others = language.lower().replace("_", "-").split("-")
    return [_COUNTRIES.get(first, first), *others]


def espeak_lacks(language: str) -> str:
    """Return what espeak-ng's phones of a language lack; an empty text where nothing is known."""
    parts = subtags(language)
    # Pinyin has all tones.
    return "" if "pinyin" in parts else ESPEAK_LACKS.get(parts[0], "")
