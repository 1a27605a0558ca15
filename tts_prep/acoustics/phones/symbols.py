"""The symbols of a vocabulary as phones and pauses, and as the classes of frames: one for each frequent phone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.phones.viterbi import SILENCE, Transcript
from tts_prep.compiler import Compiled

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


MAX_CLASSES = 200
"""The maximum number of classes; the rarest phones of larger vocabularies share one class."""


@dataclass(frozen=True, eq=False)
class PhoneClasses:
    """The classes of the symbols of a vocabulary.

    Attributes:
        kinds: [n_symbols] int64, from `symbols.symbol_kinds`.
        classes: [n_symbols] int64, the class of each phone; SILENCE for other symbols.
        n_classes: the number of classes, including silence and that of rare phones.
    """

    kinds: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    n_classes: int

    @classmethod
    def of(cls, kinds: npt.NDArray[np.int64], phonemes: Sequence[npt.NDArray[np.int32]]) -> PhoneClasses:
        """Return the classes for a sample of transcripts.

        Phones that are not in the sample belong to the class of rare phones, which is the last one.

        Args:
            phonemes: the ids of each transcript.
        """
        counts = np.bincount(np.concatenate([*phonemes, [0]]).astype(np.int64), minlength=len(kinds)) * (kinds == PHONE)
        frequent = np.argsort(-counts, kind="stable")[: MAX_CLASSES - 2]
        frequent = frequent[counts[frequent] > 0]
        n_classes = len(frequent) + 2
        classes = np.where(kinds == PHONE, n_classes - 1, SILENCE)
        classes[frequent] = np.arange(1, n_classes - 1)
        return cls(kinds, classes, n_classes)

    def transcript(self, ids: npt.NDArray[np.int32]) -> Transcript:
        """Return the phones with optional silences between words, at punctuation and at both ends."""
        return self.located(ids)[0]

    def located(self, ids: npt.NDArray[np.int32]) -> tuple[Transcript, npt.NDArray[np.int64]]:
        """Return the transcript and the position in ``ids`` of each of its classes; −1 for silence without a symbol."""
        classes, optional = np.empty(len(ids) + 2, np.int64), np.empty(len(ids) + 2, np.bool_)
        places = np.empty(len(ids) + 2, np.int64)
        n = _fill_transcript(ids, self.kinds, self.classes, classes, optional, places)
        return Transcript(classes[:n], optional[:n]), places[:n]


@partial(Compiled, keeps_gil=True)
def _fill_transcript(ids: Any, kinds: Any, phone_classes: Any, classes: Any, optional: Any, places: Any) -> int:
    """Fill the attributes of a `Transcript` and the positions of its classes; return how many there are.

    Args:
        kinds, phone_classes: [n_symbols] int64, of `PhoneClasses`.
    """
    classes[0], optional[0], places[0], n = SILENCE, True, -1, 1
    for place in range(len(ids)):
        symbol = ids[place]
        if kinds[symbol] == PHONE:
            classes[n], optional[n], places[n] = phone_classes[symbol], False, place
            n += 1
        elif kinds[symbol] != 0:
            if not optional[n - 1]:
                classes[n], optional[n], places[n] = SILENCE, True, place
                n += 1
            elif places[n - 1] < 0:
                # The silence before the first phone belongs to the first symbol that can be a silence.
                places[n - 1] = place
    if not optional[n - 1]:
        classes[n], optional[n], places[n] = SILENCE, True, -1
        n += 1
    return n
