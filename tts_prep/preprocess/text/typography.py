"""Normalization of characters: spaces, controls, quotes, dashes, punctuation of other scripts."""

import re
import unicodedata
from typing import Final

from tts_prep.toml_files import word_tables

# Zero-width characters, soft hyphens and direction marks, which are silent and break comparisons. A non-joiner between
# Arabic letters separates parts of Persian words.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b\u200d-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]|"
    "(?<![\u0620-\u06ff])\u200c|\u200c(?![\u0620-\u06ff])"
)
# Malayalam consonants without a vowel, as texts before Unicode 5.1 have them: a consonant, a virama and a joiner.
_CHILLUS: Final = dict(zip("ണനരലളക", "ൺൻർൽൾൿ", strict=True))
_CHILLU: Final = re.compile(f"([{''.join(_CHILLUS)}])\u0d4d\u200d")
_CONTROL: Final = re.compile("[\x01-\x1f\x7f-\x9f\u2028\u2029]")
# Punctuation of other scripts and full-width characters, mapped to the characters in symbol tables.
_TABLES: Final = word_tables(__package__)
_FULL_WIDTH: Final = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5E)}


def _by_character(table: str) -> dict[int, str]:
    """Return what replaces each character, of a table of the characters that each text replaces."""
    return {ord(character): text for text, characters in _TABLES[table].items() for character in characters}


_COUNTERPARTS: Final = _FULL_WIDTH | _by_character("counterparts")
# Marks after which scripts without spaces between words have no space.
_WITHOUT_SPACE: Final = re.compile(r"([。｡、､])(?=\w)|([．，！？：；])(?=[^\W\d_])")
# "It was –20 outside": a minus, unless a number before it makes a range of it.
_SHORT_MINUS: Final = re.compile(r"(?<![^\s(\[])(?<!\d )[‒–](?=[.,]?\d)")
_WORD_DASH: Final = re.compile("(?<!\\d)[‒–―]|[‒–―](?!\\d)")
_PLAIN: Final = _by_character("plain_marks")
_DASHES: Final = re.compile(r"-{2,}")
# Digits of other scripts, Unicode's category Nd.
_OTHER_DIGIT: Final = re.compile(r"[^\D0-9]")
_DOTS: Final = re.compile(r"\.{3,}|\. \. \.")
_WORDS: Final = r"[^\W_\u3040-\u30ff\u3400-\u9fff]"
_LOOSE_HYPHEN: Final = re.compile(rf"(?<!{_WORDS})-(?![.,]?\d)|-(?!{_WORDS}|[.,]\d)")
_HYPHEN_OF_DIGITS: Final = re.compile(r"(?<=\d)-(?=\d)")


def without_controls(text: str) -> str:
    """Return the text in NFC, without invisible characters, and with controls and white space as single spaces.

    Punctuation and digits of other scripts are mapped to Latin ones (``。`` to a full stop, ``؟`` to a question mark,
    ``١٬٥٠٠`` to ``1,500``), so that what reads numbers knows one form of them, and
    short dashes that are not between digits become ``—``, or a minus sign before a number.

    Control characters are commands to espeak-ng, so every text is processed, normalized or not. NUL is kept: it is a
    sign of a broken file, and every frontend rejects it.
    """
    if text.isascii() and text.isprintable():
        # Most English texts; nothing below changes them.
        return " ".join(text.split())
    spaced = _WITHOUT_SPACE.sub(lambda match: f"{match[0]} ", text)
    # Before NFC, which turns the Greek question mark into a semicolon.
    composed = unicodedata.normalize("NFC", spaced.translate(_COUNTERPARTS))
    composed = _OTHER_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), composed)
    composed = _WORD_DASH.sub("—", _SHORT_MINUS.sub("\u2212", composed))
    composed = _CHILLU.sub(lambda match: _CHILLUS[match[1]], composed)
    return " ".join(_CONTROL.sub(" ", _INVISIBLE.sub("", composed)).split())


def plain_marks(text: str) -> str:
    """Return the text with straight quotes and uniform hyphens (-), dashes (—) and ellipses (…)."""
    # Most texts have none of these; of ASCII, the table has this sign alone.
    text = text.translate(_PLAIN) if not text.isascii() or "`" in text else text
    text = _DASHES.sub("—", text) if "--" in text else text
    return _DOTS.sub("…", text) if "..." in text or ". . ." in text else text


def loose_hyphens(text: str) -> list[str]:
    """Return the hyphens of a text that join no words, and are the minus of no number: in ``a - b``, ``pre-``.

    Words of Chinese characters and kana have none.
    """
    return _LOOSE_HYPHEN.findall(text) if "-" in text else []


def hyphens_of_digits(text: str) -> list[str]:
    """Return the hyphens between digits of a text: in ``3-5``."""
    return _HYPHEN_OF_DIGITS.findall(text) if "-" in text else []


def without_accents(text: str) -> str:
    """Return the text without accents: ``café`` becomes ``cafe``, ``Æ`` becomes ``AE``."""
    decomposed = unicodedata.normalize("NFD", text.translate(_LIGATURES))
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if unicodedata.category(c) != "Mn"))


_LIGATURES: Final = str.maketrans({"æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ß": "ss", "ø": "o", "Ø": "O", "ł": "l"})
