"""Characters instead of phonemes: the symbols are the letters of the normalized text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tts_prep.errors import TextError
from tts_prep.preprocess.text.frontends.frontend import LIKELY_LANGUAGE, UNSPOKEN_CHARACTERS, Symbols, VocabFrontend
from tts_prep.preprocess.text.language_codes import normalize
from tts_prep.preprocess.text.scripts import likely_language
from tts_prep.preprocess.text.symbols import get_table
from tts_prep.preprocess.text.typography import plain_marks, without_accents, without_controls
from tts_prep.preprocess.text.vocab import Vocab

# Marks that are not in the table are replaced by similar ones; quotes and brackets are not spoken.
_NOT_SPOKEN: Final = frozenset("\"“”«»()[]{}¿¡'")
_MARKS: Final = str.maketrans(
    {**dict.fromkeys(";:", ","), "—": "-", "…": ".", **dict.fromkeys(_NOT_SPOKEN, " "), "'": ""}
)
_LETTER: Final = re.compile(r"\w")
_PUNCTUATION: Final = re.compile(r" *([,.?!])")


class CharactersFrontend(VocabFrontend):
    """Lower-case letters and ``, . ? ! -``, as in Parakeet's ``EnglishCharacter``: ``don't`` is ``dont``.

    With another table, the text is lower-cased only if the table has no upper-case letters, and accents and marks that
    are in the table are kept.

    Args:
        language: English texts are normalized, others are not.
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
        """Expand numbers, abbreviations and signs of English texts; other texts are unchanged."""
        return normalize(text, language or self.language)

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
            yield LIKELY_LANGUAGE, likely
        if not _NOT_SPOKEN.isdisjoint(text):
            for character in plain_marks(without_controls(text)):
                if character in _NOT_SPOKEN and character not in self.vocab:
                    yield UNSPOKEN_CHARACTERS, character
