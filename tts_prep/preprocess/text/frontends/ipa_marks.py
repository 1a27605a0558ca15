"""Marks among IPA phonemes: which are spoken, and where spaces stand around them."""

from __future__ import annotations

import re
from typing import Final

PUNCTUATION: Final = ';:,.!?¡¿—…"«»“” '
"""The marks that StyleTTS2's and VITS's tables have, and the space."""

MARKS: Final = PUNCTUATION.strip()
"""The marks that the vocabulary has: espeak-ng's others (brackets, say) end a clause and are not spoken."""

NOT_SPOKEN: Final = frozenset(PUNCTUATION + "ˈˌ")

# A full stop inside of initials ("U.S.") is no token of its own; the last one is.
_MARK: Final = re.compile(rf" *(\.(?=[\s{re.escape(MARKS)}]|$)|[{re.escape(MARKS.replace('.', ''))}]) *")


def separate_punctuation(phonemes: str) -> str:
    """Return phonemes with every mark a token of its own: a space before it and behind it."""
    return " ".join(_MARK.sub(r" \1 ", phonemes).split(" ")).replace("  ", " ").strip()
