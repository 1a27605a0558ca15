"""The words of a pronunciation dictionary in a text, and their phones in what the frontend makes of it.

So are words with two pronunciations placed, of which the words around choose.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from tts_prep.errors import TextError
from tts_prep.preprocess.configuration.records import Pronunciation
from tts_prep.preprocess.text.frontends.frontend import Frontend
from tts_prep.preprocess.text.language_codes import rules_of, subtags

WORD: Final = r"[^\W\d_]+(?:['’-][^\W\d_]+)*"
"""Letters, with apostrophes and hyphens inside; combining marks are composed before."""


def key_of(word: str) -> str:
    """Return a word as it is compared: without case, composed, with a plain apostrophe."""
    return unicodedata.normalize("NFC", word).casefold().replace("’", "'")


_WORD: Final = re.compile(WORD)
_STRESS: Final = frozenset("ˈˌ")
_TONES: Final = frozenset("→↗↓↘")
_STRESS_DIGIT: Final = re.compile(r"(?<=[A-Z])[012]$")
# Scripts without spaces, where a word is any part of a text.
UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# The last consonant of a Korean word before a particle: "사람이" is "사라미", and "한국만" "한궁만".
_LAST: Final = dict(zip("ᆨᆫᆮᆯᆷᆸ", "ᄀᄂᄃᄅᄆᄇ", strict=True)), dict(zip("ᆨᆮᆸ", "ᆼᆫᆷ", strict=True))
_OF_HYPHENS: Final = re.compile("[^-]+")
_LATIN: Final = re.compile(rf"(?<={UNSPACED.pattern})[A-Za-zÀ-ɏ]+|[A-Za-zÀ-ɏ]+(?={UNSPACED.pattern})")
# Each begins and ends with other sounds, so that what they share with a text is not of the word.
_STAND_INS: Final = ("bob", "mark", "anna"), ("さくら", "ねこ"), ("学生", "北京"), ("사람", "나무")


class Words:
    """Reads texts with a frontend, but for words whose phones are known.

    The frontend reads the whole text, so that the words around keep their context. The phones of a word are then those
    that it has alone, without regard to stress; where they are not found exactly once for each time that the text has
    the word, the text is read again with other words in its place, and what differs is the word's.

    Args:
        frontend: reads everything else.
        entries: a dictionary.
        heteronyms: whether words with two pronunciations get the one that the rules of their language choose.
    """

    NOT_PLACED: Final = "words_of_the_lexicon_not_found_in_phonemes"
    """The kind of a remark: the frontend's reading of the word stays."""

    def __init__(self, frontend: Frontend, entries: Sequence[Pronunciation], *, heteronyms: bool = False) -> None:
        self._frontend = frontend
        self._spaced = bool(getattr(frontend, "spaced", False))
        self._entries = {(word, *of): phones for word, phones, *of in entries}
        self._parts = sorted({word for word, *_ in entries if UNSPACED.search(word)}, key=len, reverse=True)
        self._alone = lru_cache(maxsize=4096)(self._read_alone)
        self._both = lru_cache(maxsize=4096)(self._read_both)
        self._heteronyms = heteronyms

    def found(self, text: str, language: str, speaker: str = "") -> list[tuple[int, int, str, str]]:
        """Return start and stop of each word of the dictionary in a text, the word, and its phones."""
        spans = [match.span() for match in _WORD.finditer(text)]
        if self._parts and (parts := [re.escape(part) for part in self._parts if part in text]):
            spans += [match.span() for match in re.finditer("|".join(parts), text)]
        # A word that is not in the dictionary may be joined to one that is, as in "Nguyen-led" and "用Python写".
        spans += [
            (start + match.start(), start + match.end())
            for start, stop in spans
            if self._phones(text[start:stop], language, speaker) is None
            for parts in (_OF_HYPHENS, _LATIN)
            for match in parts.finditer(text[start:stop])
            if match[0] != text[start:stop]
        ]
        entries = ((start, stop, key_of(text[start:stop])) for start, stop in sorted(set(spans)))
        return [
            (start, stop, word, phones)
            for start, stop, word in entries
            if (phones := self._phones(word, language, speaker)) is not None
        ]

    def _phones(self, word: str, language: str, speaker: str) -> str | None:
        # What holds for the speaker goes before what holds for the language.
        codes, key = (language, subtags(language)[0], None), key_of(word)
        keys = [(key, code, *who) for who in ((speaker,), ()) for code in codes]
        return next((self._entries[one] for one in keys if one in self._entries), None)

    def phoneticize(self, text: str, language: str, speaker: str = "") -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the phonemes of a text as text, and a remark for each word whose phones cannot be told from others.

        Raises:
            TextError: as the frontend.
        """
        phonemes = self._frontend.phoneticize(text, language)
        known = self.found(text, language, speaker) if self._entries else []
        alone = [self._readings(text[start:stop], language) for start, stop, *_ in known]
        found = [*known]
        for start, stop, phones, readings in self._chosen(text, language):
            if all(stop <= a or b <= start for a, b, *_ in known):
                found.append((start, stop, text[start:stop], phones))
                alone.append(readings)
        if not found:
            return phonemes, ()
        symbols = self._symbols(phonemes)
        spans: dict[int, tuple[int, int]] = {}
        for plain in set(alone):
            places = _places(symbols, plain, is_word=not UNSPACED.search(text))
            if len(places) == alone.count(plain):
                spans |= zip((i for i, other in enumerate(alone) if other == plain), places, strict=True)
        for i, (start, stop, *_) in enumerate(found):
            if i not in spans and (place := self._place(symbols, text, start, stop, language, alone[i])):
                spans[i] = place
        # Two words that the frontend joins, as espeak-ng "there is", may share a sound.
        whole = [(i, a, b) for i, (a, b) in spans.items()]
        spans = {i: (a, b) for i, a, b in whole if not any(i != j and a < d and c < b for j, c, d in whole)}
        for i, (first, last) in sorted(spans.items(), key=lambda item: item[1], reverse=True):
            start, stop, _, phones = found[i]
            own = self._symbols(phones)
            usual = self._alone(text[start:stop], language)[-1:]
            for change in _LAST:
                if change.get("".join(usual)) == symbols[last - 1]:
                    own[-1] = change.get(own[-1], own[-1])
            symbols[first:last] = own
        remarks = tuple((self.NOT_PLACED, word) for i, (*_, word, _) in enumerate(known) if i not in spans)
        return self._joined(symbols), remarks

    def _readings(self, word: str, language: str) -> frozenset[tuple[str, ...]]:
        """Return the phones that a word can have before what follows it, without stress and marks."""
        alone = self._alone(word, language)
        last = "".join(alone[-1:])
        return frozenset((alone, *((*alone[:-1], change[last]) for change in _LAST if last in change)))

    def _joined(self, symbols: Iterable[str]) -> str:
        return (" " if self._spaced else "").join(symbols)

    def _chosen(self, text: str, language: str) -> Iterator[tuple[int, int, str, frozenset[tuple[str, ...]]]]:
        """Yield start and stop of words with two pronunciations, the phones of one, and all that they can have."""
        if self._heteronyms and (spellings := rules_of(language, "heteronyms")):
            for start, stop, spelled, chosen in spellings(text):
                both, readings = self._both(spelled, language)
                if both[0] != both[1]:
                    yield start, stop, both[chosen], readings | {self._alone(text[start:stop], language)}

    def _read_both(self, spelled: tuple[str, str], language: str) -> tuple[tuple[str, str], frozenset[tuple[str, ...]]]:
        """Return the phones at the ends of two texts, and those without stress; two equal ones if one has none."""
        both = []
        for text, _, change in (one.partition("/") for one in spelled):
            try:
                phones = self._frontend.phoneticize(text, language).rpartition("▁ " if self._spaced else " ")[2]
            except TextError:
                return ("", ""), frozenset()
            respell = self._frontend.vocab.preparation.respell
            old, _, new = (self._joined(respell(part, language)) for part in change.partition("/"))
            both.append(phones.replace(old, new) if old else phones)
        readings = (tuple(symbol for _, symbol in _plain(self._symbols(phones))) for phones in both)
        return (both[0], both[1]), frozenset(readings)

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
        self, symbols: Sequence[str], text: str, start: int, stop: int, language: str, alone: frozenset[tuple[str, ...]]
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
                if middle and middle in alone:
                    return first, last
        return None


def _plain(symbols: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the symbols without stress, with their indices."""
    return (
        (i, _STRESS_DIGIT.sub("", symbol) if len(symbol) > 1 else symbol)
        for i, symbol in enumerate(symbols)
        if symbol not in _STRESS
    )


def _is_sound(symbol: str) -> bool:
    return symbol != "▁" and any(sign.isalnum() or unicodedata.combining(sign) or sign in _TONES for sign in symbol)


def _places(symbols: Sequence[str], any_of: Iterable[tuple[str, ...]], *, is_word: bool) -> list[tuple[int, int]]:
    """Return where phones are in others, with the stress before them; as a word if marks or spaces are around."""
    plain, found = [*_plain(symbols)], []
    sounds = tuple(symbol for _, symbol in plain)
    for wanted in filter(None, any_of):
        for i in range(len(plain) - len(wanted) + 1):
            j = i + len(wanted)
            if sounds[i] == wanted[0] and sounds[i:j] == wanted:
                beside = [sounds[k] for k in (i - 1, j) if 0 <= k < len(plain)]
                if not (is_word and any(map(_is_sound, beside))):
                    found.append((plain[i - 1][0] + 1 if i else 0, plain[j - 1][0] + 1))
    return sorted(found)


def _shared(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the number of equal symbols at the beginning of two texts."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
