"""Texts that are already phonemes, as in StyleTTS2's and FastSpeech2's file lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tts_prep.errors import TextError
from tts_prep.preprocess.text.frontends.frontend import Symbols, VocabFrontend, join_symbols, split_symbols
from tts_prep.preprocess.text.frontends.ipa_marks import NOT_SPOKEN, separate_punctuation
from tts_prep.preprocess.text.scripts import arpabet_phones
from tts_prep.preprocess.text.symbols import get_table, tables_with
from tts_prep.preprocess.text.vocab import OpenVocab, Vocab

_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_PREFIX: Final = "@"
"""The prefix of phones in FastSpeech2's table, which distinguishes them from letters."""


class PhonemesFrontend(VocabFrontend):
    """The text consists of phonemes. Nothing is normalized.

    With a vocabulary of single characters, each character is a symbol. With longer symbols, they are separated by
    spaces, and ``▁`` is the symbol space. Inside braces, symbols are always separated by spaces, as in FastSpeech2's
    lists: ``{HH AH0 L OW1}``. With a table that prefixes phones with ``@``, as FastSpeech2's, the prefix is added
    inside braces, and text outside of braces is characters.

    Args:
        language: ignored.
    """

    def __init__(
        self,
        language: str = "",  # noqa: ARG002
        symbols: Symbols | None = None,
        unknown: str = "error",
        punctuation: str | None = None,
    ) -> None:
        super().__init__(Vocab.from_table(get_table("styletts2")), symbols, unknown, punctuation)
        self.spaced = self.vocab.has_long_symbols
        self._is_collected = isinstance(self.vocab, OpenVocab)
        self._prefixed = any(symbol.startswith(_PREFIX) and len(symbol) > 1 for symbol in self.vocab.symbols)

    def normalize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Return the text unchanged."""
        return text

    def phoneticize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Return the symbols of the text, with punctuation as separate tokens if configured.

        Raises:
            TextError: the text is empty or punctuation only, or braces are unbalanced.
        """
        phonemes = text.strip()
        if self.spaced or "{" in phonemes:
            symbols = list(self._symbols(phonemes))
            phonemes = join_symbols(symbols) if self.spaced else "".join(symbols)
        else:
            if not self._is_collected:
                _check_characters(phonemes)
            symbols = list(phonemes)
        if NOT_SPOKEN.issuperset(symbols):
            raise TextError(f"nothing to speak in {phonemes[:60]!r}" if phonemes else "the text is empty")
        return separate_punctuation(phonemes) if self.separate and not self.spaced else phonemes

    def split(self, phonemes: str) -> list[str]:
        """Split phonemes as text into symbols. A table that is collected has ARPAbet's symbols, not their letters."""
        is_arpabet = self._is_collected and bool(arpabet_phones(phonemes))
        return split_symbols(phonemes) if is_arpabet else super().split(phonemes)

    def _symbols(self, text: str) -> Iterator[str]:
        for number, piece in enumerate(_BRACES.split(text)):
            if number % 2:
                yield from map(self._phone, piece.split())
            elif "{" in piece or "}" in piece:
                raise TextError(f"unbalanced braces in {piece[:60]!r}")
            elif self.spaced and not self._prefixed:
                yield from split_symbols(" ".join(piece.split()))
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
