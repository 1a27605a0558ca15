"""Expansion of the minus sign, for languages in which espeak-ng drops it or reads it in English."""

from __future__ import annotations

import re
from typing import Final

from tts_prep.preprocess.text.tables import word_table

# In Chinese and Japanese, no space precedes it.
MINUS: Final = re.compile(r"(?<![^\W\u3040-\u30ff\u3400-\u9fff])(?<![.,)\]°%])[-\u2212](?=[.,]?\d)")
"""A hyphen or minus sign before a number that does not follow a word: not that of ``3-5`` or ``A-4``."""

_WORDS: Final = word_table(
    """
    ar=ناقص az=mənfi be=мінус bg=минус ca=menys cmn=负 da=minus es=menos fa=منفی fr=moins he=מינוס hi=माइनस hy=մինուս
    is=mínus ja=マイナス ka=მინუს kk=минус ko=마이너스 ky=минус pl=minus ru=минус sk=mínus sl=minus sq=minus sw=hasi
    th=ลบ tr=eksi tt=минус ur=منفی uz=minus yue=負 zh=负
    """
)


def with_minus_words(text: str, language: str) -> str:
    """Expand ``-5`` to ``moins 5`` if the language's word is known; otherwise return the text unchanged."""
    word = _WORDS.get(re.split("[-_]", language.lower())[0])
    return MINUS.sub(f"{word} ", text) if word else text
