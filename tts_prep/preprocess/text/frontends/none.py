"""Recordings without texts, as vocoders are trained on: no phonemes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from tts_prep.preprocess.text.frontends.frontend import CharacterPhonemes, Symbols
from tts_prep.preprocess.text.vocab import PADDING, Vocab

NO_PHONEMES: Final = "none"
"""The name of this frontend."""


class NoFrontend(CharacterPhonemes):
    """Gives no phonemes for any text; the text may be empty. The table has one symbol, which no text has.

    Args:
        language, punctuation: not used.
    """

    def __init__(
        self,
        language: str = "",  # noqa: ARG002
        symbols: Symbols | None = None,
        unknown: str = "error",
        punctuation: str | None = None,
    ) -> None:
        super().__init__(Vocab([PADDING], PADDING), symbols, unknown, punctuation)

    def normalize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Return the text as it is."""
        return text

    def phoneticize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Return no phonemes."""
        return ""

    def numericalize(self, phonemes: str) -> npt.NDArray[np.int32]:  # noqa: ARG002
        """Return no ids, [0] int32, whatever start and end symbols the table has."""
        return np.zeros(0, np.int32)

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterable[tuple[str, str]]:  # noqa: ARG002
        """Yield nothing."""
        return ()

    def software(self) -> dict[str, str]:
        """Return nothing: no other package is used."""
        return {}
