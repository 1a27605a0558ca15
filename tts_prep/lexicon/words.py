"""Find the words of a dictionary in a text, and their phones in what the frontend makes of it."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from tts_prep.errors import TextError
from tts_prep.lexicon.files import WORD, key_of
from tts_prep.preprocess.configuration.records import Pronunciation
from tts_prep.preprocess.text.frontends.frontend import Frontend
from tts_prep.preprocess.text.language_codes import subtags

_WORD: Final = re.compile(WORD)
_STRESS: Final = frozenset("ˈˌ")
_STRESS_DIGIT: Final = re.compile(r"(?<=[A-Z])[012]$")
# Scripts without spaces, where a word is any part of a text.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# Each begins and ends with other sounds, so that what they share with a text is not of the word.
_STAND_INS: Final = ("bob", "mark", "anna"), ("さくら", "ねこ"), ("学生", "北京"), ("사람", "나무")


class Words:
    """Reads texts with a frontend, but for the words of a dictionary.

    The frontend reads the whole text, so that the words around keep their context. The phones of a word are then those
    that it has alone, without regard to stress; where they are not found exactly once for each time that the text has
    the word, the text is read again with other words in its place, and what differs is the word's.

    Args:
        frontend: reads everything else.
        entries: the dictionary.
    """

    NOT_PLACED: Final = "words_of_the_lexicon_not_found_in_phonemes"
    """The kind of a remark: the frontend's reading of the word stays."""

    def __init__(self, frontend: Frontend, entries: Sequence[Pronunciation]) -> None:
        self._frontend = frontend
        self._spaced = bool(getattr(frontend, "spaced", False))
        self._entries = {(word, language): phones for word, phones, language in entries}
        self._parts = sorted({word for word, *_ in entries if _UNSPACED.search(word)}, key=len, reverse=True)
        self._alone = lru_cache(maxsize=4096)(self._read_alone)

    def found(self, text: str, language: str) -> list[tuple[int, int, str, str]]:
        """Return start and stop of each word of the dictionary in a text, the word, and its phones."""
        spans = [match.span() for match in _WORD.finditer(text)]
        if self._parts and (parts := [re.escape(part) for part in self._parts if part in text]):
            spans += [match.span() for match in re.finditer("|".join(parts), text)]
        # A word that is not in the dictionary may be joined to one that is, as in "Nguyen-led".
        spans += [
            (start + match.start(), start + match.end())
            for start, stop in spans
            if "-" in text[start:stop] and self._phones(text[start:stop], language) is None
            for match in re.finditer("[^-]+", text[start:stop])
        ]
        entries = ((start, stop, key_of(text[start:stop])) for start, stop in sorted(set(spans)))
        return [
            (start, stop, word, phones)
            for start, stop, word in entries
            if (phones := self._phones(word, language)) is not None
        ]

    def _phones(self, word: str, language: str) -> str | None:
        codes = (language, subtags(language)[0], None)
        return next(
            (self._entries[key_of(word), code] for code in codes if (key_of(word), code) in self._entries), None
        )

    def phoneticize(self, text: str, language: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the phonemes of a text as text, and a remark for each word whose phones cannot be told from others.

        Raises:
            TextError: as the frontend.
        """
        phonemes = self._frontend.phoneticize(text, language)
        if not (found := self.found(text, language)):
            return phonemes, ()
        symbols = self._symbols(phonemes)
        spans: dict[int, tuple[int, int]] = {}
        alone = [self._alone(text[start:stop], language) for start, stop, *_ in found]
        for plain in set(alone):
            places = [*_places(symbols, plain, is_word=not _UNSPACED.search(text))] if plain else []
            if len(places) == alone.count(plain):
                spans |= zip((i for i, other in enumerate(alone) if other == plain), places, strict=True)
        for i, (start, stop, *_) in enumerate(found):
            if i not in spans and (place := self._place(symbols, text, start, stop, language, alone[i])):
                spans[i] = place
        # Two words that the frontend joins, as espeak-ng "there is", may share a sound.
        whole = [(i, a, b) for i, (a, b) in spans.items()]
        spans = {i: (a, b) for i, a, b in whole if not any(i != j and a < d and c < b for j, c, d in whole)}
        for i, (first, last) in sorted(spans.items(), key=lambda item: item[1], reverse=True):
            symbols[first:last] = self._symbols(found[i][3])
        remarks = tuple((self.NOT_PLACED, word) for i, (*_, word, _) in enumerate(found) if i not in spans)
        return (" " if self._spaced else "").join(symbols), remarks

    def _symbols(self, phonemes: str) -> list[str]:
        return phonemes.split(" ") if self._spaced else list(phonemes)

    def _read_alone(self, word: str, language: str) -> tuple[str, ...]:
        """Return the phones of a word without stress and marks; none if it cannot be read alone."""
        try:
            symbols = self._symbols(self._frontend.phoneticize(word, language))
        except TextError:
            return ()
        plain = [symbol for _, symbol in _plain(symbols)]
        kept = [i for i, symbol in enumerate(plain) if _is_sound(symbol)]
        return tuple(plain[kept[0] : kept[-1] + 1]) if kept else ()

    def _place(
        self, symbols: Sequence[str], text: str, start: int, stop: int, language: str, alone: tuple[str, ...]
    ) -> tuple[int, int] | None:
        """Return where the phones of a word are, by reading the text with others in its place; None if unsure."""
        for words in _STAND_INS:
            ends = []
            for word in words:
                try:
                    other = self._symbols(self._frontend.phoneticize(text[:start] + word + text[stop:], language))
                except TextError:
                    break
                ends.append((_shared(symbols, other), _shared(symbols[::-1], other[::-1])))
            if len(ends) == len(words):
                first, last = min(end[0] for end in ends), len(symbols) - min(end[1] for end in ends)
                middle = tuple(symbol for _, symbol in _plain(symbols[first:last]))
                if middle and middle == alone:
                    return first, last
        return None


def _plain(symbols: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the symbols without stress, with their indices."""
    return ((i, _STRESS_DIGIT.sub("", symbol)) for i, symbol in enumerate(symbols) if symbol not in _STRESS)


def _is_sound(symbol: str) -> bool:
    return symbol != "▁" and any(sign.isalnum() or unicodedata.combining(sign) for sign in symbol)


def _places(symbols: Sequence[str], wanted: tuple[str, ...], *, is_word: bool) -> Iterator[tuple[int, int]]:
    """Yield where phones are in others, with the stress before them; as a word if marks or spaces are around."""
    plain = [*_plain(symbols)]
    for i in range(len(plain) - len(wanted) + 1):
        j = i + len(wanted)
        if tuple(symbol for _, symbol in plain[i:j]) == wanted:
            beside = [plain[k][1] for k in (i - 1, j) if 0 <= k < len(plain)]
            if not (is_word and any(map(_is_sound, beside))):
                yield plain[i - 1][0] + 1 if i else 0, plain[j - 1][0] + 1


def _shared(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the number of equal symbols at the beginning of two texts."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
