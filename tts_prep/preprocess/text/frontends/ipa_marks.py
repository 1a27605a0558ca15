"""Punctuation in IPA phonemes."""

from __future__ import annotations

import re
from typing import Final

PUNCTUATION: Final = ';:,.!?¡¿—…"«»“” '
"""The marks in StyleTTS2's and VITS's tables, and the space."""

MARKS: Final = PUNCTUATION.strip()
"""The marks that are kept; other marks of espeak-ng, such as brackets, only end a clause."""

NOT_SPOKEN: Final = frozenset(PUNCTUATION + "ˈˌ")

# A full stop inside initials ("U.S.") is not a separate token, but the last one is.
_MARK: Final = re.compile(rf" *(\.(?=[\s{re.escape(MARKS)}]|$)|[{re.escape(MARKS.replace('.', ''))}]) *")


def separate_punctuation(phonemes: str) -> str:
    """Return phonemes with spaces around every mark."""
    return " ".join(_MARK.sub(r" \1 ", phonemes).split(" ")).replace("  ", " ").strip()
