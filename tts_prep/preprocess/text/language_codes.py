"""Codes, names and scripts of languages, what espeak-ng lacks in them, and which language a text probably has."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, cast

from tts_prep import doors
from tts_prep.errors import TextError
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


@lru_cache(maxsize=256)
def subtags(language: str) -> tuple[str, ...]:
    """Return the parts of a language code in lower case: ``pt_BR`` is ``("pt", "br")``, and ``JP`` is ``("ja",)``."""
    first, *others = language.lower().replace("_", "-").split("-")
    return _COUNTRIES.get(first, first), *others


@lru_cache(maxsize=256)
def rules_of(language: str, door: str = "languages") -> Callable[[str], Any] | None:
    """Return the function that expands numbers and signs of a language, or that of another door; None without one."""
    row = doors.row(door, subtags(language)[0])
    return cast(Callable[[str], Any], doors.load(door, row)) if row else None


def normalize(text: str, language: str) -> str:
    """Expand a text by the rules of its language; without rules, only control characters are removed."""
    rules = rules_of(language)
    return str(rules(text)) if rules else without_controls(text)


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


# Scripts by language: the first word of the Unicode names of letters. Other languages use the Latin script.
_TABLES: Final = word_tables(__package__)
_SCRIPTS: Final = _TABLES["scripts"]
# Words that are common in one of these languages, and rare in the others.
COMMON: Final = {word: language for language, words in _TABLES["common"].items() for word in words.split()}
_COMMON_LANGUAGES: Final = frozenset(COMMON.values())
WORD: Final = re.compile(r"[^\W\d_]+")
_ASCII_WORD: Final = re.compile("[a-z]+")
"""The same in lower case and ASCII, in half of the time."""
_LONGEST_PHONE: Final = len("AXR0")
_ENOUGH: Final = 3
"""The number of common words of another language, or of phones, from which a text is suspicious."""


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    name = unicodedata.name(character, "")
    return "LATIN" if name.startswith("FULLWIDTH LATIN") else name.partition(" ")[0]


def check_script(text: str, language: str) -> None:
    """Check that a text has letters of the script of its language; if that is not Latin, no word of a third one.

    Raises:
        TextError: it has none, or such a word, of which espeak-ng would say the names of letters, or "Chinese letter".
    """
    if text.isascii() and _scripts_of(language) == ("LATIN",):
        return
    found = Counter(map(_script, filter(str.isalpha, text)))
    own = _scripts_of(language)
    # One or two letters may be symbols, as in "β" or "5 km".
    if sum(found.values()) > 2 and not any(found[script] for script in own):
        script = found.most_common(1)[0][0]
        raise TextError(
            f"the text is in {_name(script)} letters, but the language {language!r} is written in "
            f"{' or '.join(map(_name, own))} letters; set its language: {text[:40]!r}"
        )
    if "LATIN" not in own and (foreign := frozenset(foreign_letters("".join({*text}), language))):
        words = [word for word in WORD.findall(text) if len(word) > 1 and foreign.issuperset(word)]
        if words:
            script = _name(_script(words[0][0]))
            raise TextError(
                f"the word {words[0][:30]!r} is in {script} letters, which no voice of {language!r} reads; write it in "
                f"{' or '.join(map(_name, own))} or Latin letters: {text[:40]!r}"
            )


def _name(script: str) -> str:
    return "Chinese" if script == "CJK" else script.capitalize()


def foreign_letters(text: str, language: str) -> Iterator[str]:
    """Yield the letters of a text that belong neither to the Latin script nor to that of its language."""
    if text.isascii():
        return
    own = {*_scripts_of(language), "LATIN", "MODIFIER", "COMBINING", "MICRO", "FEMININE", "MASCULINE"}
    yield from (character for character in text if character.isalpha() and _script(character) not in own)


def likely_language(text: str, language: str) -> str | None:
    """Return the language whose common words are in a text, if the text has few common words of its own language.

    Only ten languages with Latin script are known. In a language of another script, a text with more letters of its own
    than Latin ones is none of them; None for other languages with Latin script. Pinyin with tones, also with numbers
    already read, is ``zh``.
    """
    own = subtags(language)[0]
    if own not in ("zh", "cmn") and is_pinyin(text):
        return "zh"
    if not is_comparable(text, language):
        return None
    found = [*filter(None, map(COMMON.get, (_ASCII_WORD if text.isascii() else WORD).findall(text.lower())))]
    # Most texts have hardly a common word of all other languages together.
    return other_language(Counter(found), own, _ENOUGH) if len(found) - found.count(own) >= _ENOUGH else None


def is_comparable(text: str, language: str) -> bool:
    """Return whether words of a text in Latin letters show that it is not in a language."""
    own = _scripts_of(language)
    if subtags(language)[0] in _COMMON_LANGUAGES or "LATIN" in own:
        return subtags(language)[0] in _COMMON_LANGUAGES
    if text.isascii():
        # Syllables of pinyin are words of other languages: "men2".
        return not _TONE.search(text)
    of_script = Counter(_script(character) for character in text if character.isalpha())
    return of_script["LATIN"] > sum(of_script[script] for script in own)


def other_language(found: Counter[str], own: str, enough: int) -> str | None:
    """Return the language of most common words, if they are enough, and more than twice as many as those of its own.

    Args:
        found: the number of common words of each language.
        own: the language that the words should have.
    """
    best, count = found.most_common(1)[0] if found else (own, 0)
    return best if best != own and count >= enough and count > 2 * found[own] else None


_TONED: Final = re.compile(
    r"\b(?:[zcs]h?|[bpmfdtnlgkhjqxryw])?(?:i?a(?:i|o|ng?)?|i?ou?|i?e(?:i|ng?|r)?|i(?:u|ng?)?|u(?:ai?|o|i|e|ang?|ng?)?|ü[ae]?n?"
    r"|i?ong|uan?)(?:[1-5]| (?:one|two|three|four|five))\b"
)


_TONES: Final = (*"12345", " one", " two", " three", " four", " five")
_TONE: Final = re.compile(r"[a-zü](?:[1-5]| (?:one|two|three|four|five))\b")


def is_pinyin(text: str) -> bool:
    """Return whether most words of a text are syllables of Mandarin with a tone: ``ni3 hao3``, ``ni three``."""
    # Most texts have hardly one of these, and the search for an expression takes longer to say so.
    if sum(map(text.lower().count, _TONES)) < _ENOUGH or not _TONE.search(text):
        return False
    toned: list[str] = _TONED.findall(text.lower())
    if len(toned) < _ENOUGH:
        return False
    words = WORD.findall(text)
    tones = sum(syllable[-1].isalpha() for syllable in toned)
    return 2 * len(toned) > len(words) - tones


_PHONES: Final = (
    "AA AE AH AO AW AX AXR AY B CH D DH DX EH EL EM EN ER EY F G HH IH IX IY JH K L M N NG OW OY P R S SH T TH UH UW "
    "UX V W Y Z ZH"
)
_ARPABET: Final = frozenset(_PHONES.split())
"""The phones of ARPAbet in two letters; vowels may have a digit of stress."""
_PAUSES: Final = frozenset((*",.!?;:-–—…|/_", "sil", "sp", "spn"))


_SECONDS: Final = r"\d{1,6}(?:[.,]\d{1,9})?"
# HTS's "0 1300000 sil" in units of 100 ns, Audacity's "0.25<tab>1.5<tab>text", SubRip's and WebVTT's
# "00:00:01,000 --> 00:00:02,500", "[00:01.20]" of lyrics, and Praat's TextGrids.
_LABELS: Final = re.compile(
    rf"\d+\s+\d+\s+\S+|{_SECONDS}\t{_SECONDS}(?:\t|\s*$)|\d{{1,6}}[.,]\d{{1,9}}\s+\d{{1,6}}[.,]\d{{1,9}}\b|"
    r"(?:\d+\s+)?[\d:]+[.,]\d{3}\s+-->|WEBVTT\b|\[\d\d?:\d\d(?:[.:]\d+)?\]|File type = \"ooTextFile"
)


def is_labels(text: str) -> bool:
    """Return whether a text, or a file of texts, begins as labels or captions with times do."""
    return bool(_LABELS.match(text.lstrip("\ufeff")))


def arpabet_phones(text: str) -> list[str]:
    """Return the phones of a text that consists of ARPAbet, separated by spaces; [] for any other text."""
    tokens = [token for token in text.strip("{} ").split() if token not in _PAUSES]
    are_phones = all(token.rstrip("012") in _ARPABET and len(token) <= _LONGEST_PHONE for token in tokens)
    return tokens if are_phones and len(tokens) >= _ENOUGH else []


@lru_cache(maxsize=256)
def _scripts_of(language: str) -> tuple[str, ...]:
    codes = subtags(language)
    return ("LATIN",) if "latn" in codes else tuple(_SCRIPTS.get(codes[0], "LATIN").split())
