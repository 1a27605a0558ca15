"""Texts that are phonemes already, as in StyleTTS2's file lists."""

from __future__ import annotations

from collections.abc import Sequence

from tts_prep.errors import TextError
from tts_prep.preprocess.text.frontends.frontend import CharacterPhonemes
from tts_prep.preprocess.text.frontends.ipa_marks import NOT_SPOKEN, separate_punctuation
from tts_prep.preprocess.text.symbols import PAD, SYMBOLS
from tts_prep.preprocess.text.vocab import Vocab


class PhonemesFrontend(CharacterPhonemes):
    """The text is the phonemes, one character a symbol; nothing is normalized, in no language.

    Args:
        language: not used.
    """

    def __init__(
        self,
        language: str = "",  # noqa: ARG002
        symbols: Sequence[str] | None = None,
        unknown: str = "error",
        punctuation: str | None = None,
    ) -> None:
        super().__init__(Vocab(SYMBOLS, PAD), symbols, unknown, punctuation)

    def normalize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Return the text as it is."""
        return text

    def phoneticize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Return the text without white space at its ends, punctuation as a token of its own where asked for.

        Raises:
            TextError: there is nothing to speak: no text, or punctuation only.
        """
        phonemes = text.strip()
        if NOT_SPOKEN.issuperset(phonemes):
            raise TextError(f"nothing to speak in {phonemes[:60]!r}" if phonemes else "the text is empty")
        return separate_punctuation(phonemes) if self.separate else phonemes

    def software(self) -> dict[str, str]:
        """Return nothing: no other package is used."""
        return {}
