"""Frontends that need no library: characters, phonemes that are given, and none."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import TextError
from tts_prep.preprocess.text.frontends import frontend as frontends
from tts_prep.preprocess.text.language_codes import arpabet_phones, likely_language, normalize, rules_of
from tts_prep.preprocess.text.symbols import get_table, tables_with
from tts_prep.preprocess.text.typography import plain_marks, without_accents, without_controls
from tts_prep.preprocess.text.vocab import PADDING, OpenVocab, Vocab

_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_PREFIX: Final = "@"
"""The prefix of phones in FastSpeech2's table, which distinguishes them from letters."""


class PhonemesFrontend(frontends.VocabFrontend):
    """The text consists of phonemes. Nothing is normalized.

    With a vocabulary of single characters, each character is a symbol. With longer symbols, they are separated by
    spaces, and ``▁`` is the symbol space. Inside braces, symbols are always separated by spaces, as in FastSpeech2's
    lists: ``{HH AH0 L OW1}``. With a table that prefixes phones with ``@``, as FastSpeech2's, the prefix is added
    inside braces, and text outside of braces is characters.

    Args:
        language: ignored.
        options: see `frontend.VocabFrontend`.
    """

    def __init__(self, language: str = "", **options: Any) -> None:  # noqa: ARG002
        super().__init__(Vocab.from_table(get_table("styletts2")), **options)
        self.reads_marks = True
        self.spaced = self.vocab.has_long_symbols
        self._is_collected = isinstance(self.vocab, OpenVocab)
        self._prefixed = any(symbol.startswith(_PREFIX) and len(symbol) > 1 for symbol in self.vocab.symbols)

    def phoneticize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Return the symbols of the text, with punctuation as separate tokens if configured.

        Raises:
            TextError: the text is empty or punctuation only, or braces are unbalanced.
        """
        phonemes = text.strip()
        if self.spaced or "{" in phonemes:
            symbols = list(self._symbols(phonemes))
            phonemes = frontends.join_symbols(symbols) if self.spaced else "".join(symbols)
        else:
            if not self._is_collected:
                _check_characters(phonemes)
            symbols = list(phonemes)
        if frontends.NOT_SPOKEN.issuperset(symbols):
            raise TextError(f"nothing to speak in {phonemes[:60]!r}" if phonemes else "the text is empty")
        return frontends.separate_punctuation(phonemes) if self.separate and not self.spaced else phonemes

    def split(self, phonemes: str) -> list[str]:
        """Split phonemes as text into symbols. A table that is collected has ARPAbet's symbols, not their letters."""
        is_arpabet = self._is_collected and bool(arpabet_phones(phonemes))
        return frontends.split_symbols(phonemes) if is_arpabet else super().split(phonemes)

    def _symbols(self, text: str) -> Iterator[str]:
        for number, piece in enumerate(_BRACES.split(text)):
            if number % 2:
                yield from map(self._phone, piece.split())
            elif "{" in piece or "}" in piece:
                raise TextError(f"unbalanced braces in {piece[:60]!r}")
            elif self.spaced and not self._prefixed:
                yield from frontends.split_symbols(" ".join(piece.split()))
            else:
                yield from self.vocab.split(piece)

    def _phone(self, token: str) -> str:
        return _PREFIX + token if _PREFIX + token in self.vocab else token


def _check_characters(text: str) -> None:
    """Check that a text for a table of single characters is not ARPAbet, whose letters would be read as IPA.

    Raises:
        TextError: it is.
    """
    if phones := arpabet_phones(text):
        tables = tables_with(phones)
        table = "parakeet" if "parakeet" in tables else tables[0] if tables else "auto"
        raise TextError(
            f"the text is in ARPAbet, but the symbols of the table are single characters; give a table of ARPAbet, "
            f"--symbols {table}: {text[:40]!r}"
        )


# Marks that are not in the table are replaced by similar ones; quotes and brackets are not spoken.
_NOT_SPOKEN: Final = frozenset("\"“”«»()[]{}¿¡'")
_MARKS: Final = str.maketrans(
    {**dict.fromkeys(";:", ","), "—": "-", "…": ".", **dict.fromkeys(_NOT_SPOKEN, " "), "'": ""}
)
_LETTER: Final = re.compile(r"\w")
_PUNCTUATION: Final = re.compile(r" *([,.?!])")


class CharactersFrontend(frontends.VocabFrontend):
    """Lower-case letters and ``, . ? ! -``, as in Parakeet's ``EnglishCharacter``: ``don't`` is ``dont``.

    With another table, the text is lower-cased only if the table has no upper-case letters, and accents and marks that
    are in the table are kept.

    Args:
        language: decides over the rules by which texts are normalized.
        options: see `frontend.VocabFrontend`.
    """

    def __init__(self, language: str = "en-us", **options: Any) -> None:
        super().__init__(Vocab.from_table(get_table("parakeet-characters")), **options)
        self.language = language
        self._keeps_case = any(symbol.isupper() for symbol in self.vocab.symbols if len(symbol) == 1)

    def normalize(self, text: str, language: str | None = None) -> str:
        """Expand numbers, abbreviations and signs by the rules of the language, if it has some."""
        return normalize(text, language or self.language)

    def software(self) -> dict[str, str]:
        """Return the versions of what the rules of the language use."""
        return dict(getattr(rules_of(self.language), "software", {}))

    def phoneticize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Return the text with characters of the table, or similar ones.

        Raises:
            TextError: the text has no letters.
        """
        text = without_controls(text)
        text = text if self._keeps_case else text.lower()
        # Parakeet's table has a symbol "..." that Parakeet never uses, because it looks up single characters.
        if self.vocab.unknown(text) or ".." in text:
            text = "".join(map(self._nearest, plain_marks(text)))
        text = " ".join(text.split())
        if not _LETTER.search(text):
            raise TextError(f"nothing to speak in {text[:60]!r}" if text else "the text is empty")
        return _PUNCTUATION.sub(r" \1", text).strip() if self.separate else text

    def _nearest(self, character: str) -> str:
        if character in self.vocab:
            return character
        plain = without_accents(character).translate(_MARKS)
        return plain if self._keeps_case else plain.lower()

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield unknown symbols, marks of the text without a similar one in the table, and foreign texts."""
        yield from super().remarks(text, phonemes, language)
        if likely := likely_language(text, language or self.language):
            yield frontends.LIKELY_LANGUAGE, likely
        if not _NOT_SPOKEN.isdisjoint(text):
            for character in plain_marks(without_controls(text)):
                if character in _NOT_SPOKEN and character not in self.vocab:
                    yield frontends.UNSPOKEN_CHARACTERS, character


class NoFrontend(frontends.VocabFrontend):
    """Returns no phonemes for any text, which may be empty. The table has the padding symbol only.

    Args:
        language: ignored.
        options: see `frontend.VocabFrontend`.
    """

    def __init__(self, language: str = "", **options: Any) -> None:  # noqa: ARG002
        super().__init__(Vocab([PADDING], PADDING), **options)
        self.reads_marks = True

    def phoneticize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Return no phonemes."""
        return ""

    def numericalize(self, phonemes: str) -> npt.NDArray[np.int32]:  # noqa: ARG002
        """Return no ids, [0] int32, regardless of start and end symbols."""
        return np.zeros(0, np.int32)

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterable[tuple[str, str]]:  # noqa: ARG002
        """Return ()."""
        return ()
