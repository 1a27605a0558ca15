"""The frontend ``none`` for recordings without texts, as for vocoders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from tts_prep.preprocess.text.frontends.frontend import Symbols, VocabFrontend
from tts_prep.preprocess.text.vocab import PADDING, Vocab

NO_PHONEMES: Final = "none"
"""The name of this frontend."""


class NoFrontend(VocabFrontend):
    """Returns no phonemes for any text, which may be empty. The table has the padding symbol only.

    Args:
        language, punctuation: ignored.
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
        """Return the text unchanged."""
        return text

    def phoneticize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Return no phonemes."""
        return ""

    def numericalize(self, phonemes: str) -> npt.NDArray[np.int32]:  # noqa: ARG002
        """Return no ids, [0] int32, regardless of start and end symbols."""
        return np.zeros(0, np.int32)

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterable[tuple[str, str]]:  # noqa: ARG002
        """Return ()."""
        return ()
