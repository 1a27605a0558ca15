"""Characters instead of phonemes: the letters of a normalized text are the symbols."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tts_prep.errors import TextError
from tts_prep.preprocess.text.english import is_english, normalize_english
from tts_prep.preprocess.text.frontends.frontend import UNSPOKEN_CHARACTERS, CharacterPhonemes, Symbols
from tts_prep.preprocess.text.symbols import get_table
from tts_prep.preprocess.text.typography import plain_marks, without_accents, without_controls
from tts_prep.preprocess.text.vocab import Vocab

# Marks that the table does not have become the nearest that it has; quotes and brackets are not spoken.
_NOT_SPOKEN: Final = frozenset("\"“”«»()[]{}¿¡'")
_MARKS: Final = str.maketrans(
    {**dict.fromkeys(";:", ","), "—": "-", "…": ".", **dict.fromkeys(_NOT_SPOKEN, " "), "'": ""}
)
_LETTER: Final = re.compile(r"\w")
_PUNCTUATION: Final = re.compile(r" *([,.?!])")


class CharactersFrontend(CharacterPhonemes):
    """Lower-case letters and ``, . ? ! -``, as Parakeet's ``EnglishCharacter`` has them: ``don't`` is ``dont``.

    With a table of the caller's own the text is lower-cased only where the table has no upper case, and accents and
    marks are kept where the table has them.

    Args:
        language: English texts are normalized, others are taken as they stand.
    """

    def __init__(
        self,
        language: str = "en-us",
        symbols: Symbols | None = None,
        unknown: str = "error",
        punctuation: str | None = None,
    ) -> None:
        super().__init__(Vocab.from_table(get_table("parakeet-characters")), symbols, unknown, punctuation)
        self.language = language
        self._keeps_case = any(symbol.isupper() for symbol in self.vocab.symbols if len(symbol) == 1)

    def normalize(self, text: str, language: str | None = None) -> str:
        """Return an English text with numbers, abbreviations and signs in words; other texts as they are."""
        return normalize_english(text) if is_english(language or self.language) else without_controls(text)

    def phoneticize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Return the text in the characters of the table, as far as it has them or their like.

        Raises:
            TextError: no letter is in it.
        """
        text = without_controls(text)
        text = text if self._keeps_case else text.lower()
        # Parakeet's table has a symbol "..." that its own code never gives: it looks up single characters.
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
        """Yield every unknown symbol, and every mark of the text that has no like in the table."""
        yield from super().remarks(text, phonemes, language)
        if not _NOT_SPOKEN.isdisjoint(text):
            for character in plain_marks(without_controls(text)):
                if character in _NOT_SPOKEN and character not in self.vocab:
                    yield UNSPOKEN_CHARACTERS, character

    def software(self) -> dict[str, str]:
        """Return nothing: no other package is used."""
        return {}
