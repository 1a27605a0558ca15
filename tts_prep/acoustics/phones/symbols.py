"""Classification of the symbols of a vocabulary as phones and pauses."""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_PAUSES = frozenset({"sil", "sp", "spn", "pau", "pause"})
"""Names of silence in the phone sets of aligners and Festival."""

_NAMES = _PAUSES | {"pad", "bos", "eos", "unk", "blank", "sos", "mask"}
_BRACKETS = {"<": ">", "[": "]", "{": "}"}
_MARKS = frozenset(",;:.?!…—–،؛؟、。，；：？！।")

STRESS = "'\",%="
"""Marks of stress before a phone in X-SAMPA and in espeak-ng's names of phones."""

_LONG = re.compile("[A-Za-z@]:")
"""A long vowel of X-SAMPA, which no other notation spells so."""
_WITHOUT_LETTER = re.compile(r"(?:[@{}&]|[136789](?=:)|[0126789]$|3)[\d:~_`\\@#-]*")
"""Vowels of X-SAMPA and espeak-ng without a letter, such as ``@``, ``3:``, ``{`` and ``9``."""

PHONE, PAUSE, BREAK = 1, 2, 3
"""Kinds of symbols: phones, pauses, and spaces between words. All other symbols have the kind 0."""


def is_phone(symbol: str) -> bool:
    """Return whether a symbol is a phone: it contains a letter and is not a special token.

    Modifier letters (``ˈ``, ``ː``, ``ʰ``), combining marks, tone digits, spaces and punctuation are not letters.
    A diphthong or affricate of two symbols counts as two.
    """
    if _name(symbol) in _NAMES or (len(symbol) > 2 and _BRACKETS.get(symbol[0]) == symbol[-1]):
        return False
    return any(unicodedata.category(character) in ("Ll", "Lu", "Lt", "Lo") for character in symbol)


def is_pause(symbol: str) -> bool:
    """Return whether a symbol is a pause: punctuation, or the name of a silence."""
    return _name(symbol) in _PAUSES or (bool(symbol) and set(symbol) <= _MARKS)


def _name(symbol: str) -> str:
    """Return the name of a symbol, without the ``@`` that the tables of Tacotron 2 and FastSpeech 2 put before it."""
    return symbol.lower().removeprefix("@")


def symbol_kinds(symbols: Sequence[str], pad_id: int) -> npt.NDArray[np.int64]:
    """Return PHONE, PAUSE, BREAK or 0 for each symbol of a vocabulary, [n_symbols].

    In a vocabulary of X-SAMPA, names without a letter such as ``@`` and ``3:`` are phones, too.
    """
    kinds = np.array([_kind(symbol) for symbol in symbols], np.int64)
    if is_x_sampa(symbols):
        kinds[[number for number, symbol in enumerate(symbols) if _is_vowel(symbol)]] = PHONE
    kinds[pad_id] = 0
    return kinds


def is_x_sampa(symbols: Sequence[str]) -> bool:
    """Return whether a vocabulary has names of phones in X-SAMPA, or those of espeak-ng: ``@`` and long vowels."""
    names = {symbol.lstrip(STRESS) for symbol in symbols}
    return "@" in names and any(_LONG.fullmatch(name) for name in names)


def _is_vowel(symbol: str) -> bool:
    return _WITHOUT_LETTER.fullmatch(symbol.lstrip(STRESS)) is not None


def _kind(symbol: str) -> int:
    return PHONE if is_phone(symbol) else PAUSE if is_pause(symbol) else BREAK if symbol.isspace() else 0
