"""A frontend for Finnish, which is written as it is spoken: a long sound is a letter twice, and here one symbol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tts_prep import TextError
from tts_prep.preprocess import Vocab

LETTERS = "aeiouyäöbdfghjklmnprstv"
SYMBOLS = ("<pad>", *LETTERS, *(letter * 2 for letter in LETTERS), " ", ",", ".", "?", "!")


class FinnishLettersFrontend:
    """Letters of the text in lower case, each long sound one symbol.

    It takes the four options that every frontend takes; what it does not need, it ignores.
    """

    def __init__(
        self,
        language: str = "fi",
        symbols: Vocab | Sequence[str] | None = None,
        unknown: str = "error",
        punctuation: str | None = None,
    ) -> None:
        # Finds the longest symbol that fits, so "tuuli" is t, uu, l, i.
        self.vocab = Vocab.from_table(symbols or SYMBOLS)
        self.unknown = unknown

    def normalize(self, text: str, language: str | None = None) -> str:
        """Return the text; this is where numbers would be put into words."""
        return text

    def phoneticize(self, text: str, language: str | None = None) -> str:
        """Return the text form of the symbols."""
        phonemes = " ".join(text.lower().split())
        if not any(character.isalpha() for character in phonemes):
            raise TextError(f"nothing to speak in {text[:60]!r}")
        return phonemes

    def split(self, phonemes: str) -> list[str]:
        """Return the symbols of a text form."""
        return self.vocab.split(phonemes)

    def numericalize(self, phonemes: str) -> npt.NDArray[np.int32]:
        """Return the ids of a text form."""
        return self.vocab.encode(self.split(phonemes), self.unknown)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text form of ids."""
        return "".join(self.vocab.decode(ids))

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield what the summary of a run should count."""
        yield from (("unknown_symbols", symbol) for symbol in self.vocab.unknown(self.split(phonemes)))

    def software(self) -> dict[str, str]:
        """Return the versions of what the results depend on, for the manifest."""
        return {"tts-prep-finnish": "1.0"}
