"""Classification of the symbols of a vocabulary as phones and pauses."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tts_prep.errors import CorruptStoreError
from tts_prep.loader import UtteranceDataset

_PAUSES = frozenset({"sil", "sp", "spn", "pau", "pause"})
"""Names of silence in the phone sets of aligners and Festival."""

_NAMES = _PAUSES | {"pad", "bos", "eos", "unk", "blank", "sos", "mask"}
_BRACKETS = {"<": ">", "[": "]", "{": "}"}
_MARKS = frozenset(",;:.?!…—–،؛؟、。，；：？！।")

PHONE, PAUSE, BREAK = 1, 2, 3
"""Classes of symbols: phones, pauses, and spaces between words. All other symbols have the class 0."""


def is_phone(symbol: str) -> bool:
    """Return whether a symbol is a phone: it contains a letter and is not a special token.

    Modifier letters (``ˈ``, ``ː``, ``ʰ``), combining marks, tone digits, spaces and punctuation are not letters.
    A diphthong or affricate of two symbols counts as two.
    """
    if symbol.lower() in _NAMES or (len(symbol) > 2 and _BRACKETS.get(symbol[0]) == symbol[-1]):
        return False
    return any(unicodedata.category(character) in ("Ll", "Lu", "Lt", "Lo") for character in symbol)


def is_pause(symbol: str) -> bool:
    """Return whether a symbol is a pause: punctuation, or the name of a silence."""
    return symbol.lower() in _PAUSES or (bool(symbol) and set(symbol) <= _MARKS)


def count_phones(
    phonemes: Sequence[npt.NDArray[np.int32]], dataset: UtteranceDataset
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the numbers of phones and pauses of each utterance, two arrays [n].

    Args:
        phonemes: one array of ids per utterance.
        dataset: the dataset with the vocabulary of the ids.

    Raises:
        CorruptStoreError: an id is not in the vocabulary.
    """
    classes = phone_classes(dataset)
    counts = np.zeros((len(phonemes), 4), np.int64)
    for row, ids in enumerate(phonemes):
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < len(classes):
            raise CorruptStoreError(f"{dataset.path}: a phoneme id is not in the vocabulary; run 'tts-prep verify'")
        counts[row] = np.bincount(classes[ids], minlength=4)
    return counts[:, PHONE], counts[:, PAUSE]


def phone_classes(dataset: UtteranceDataset) -> npt.NDArray[np.int64]:
    """Return PHONE, PAUSE, BREAK or 0 for each symbol of a store's vocabulary, [n_symbols]."""
    classes = np.array([_class(symbol) for symbol in dataset.symbols], np.int64)
    classes[dataset.pad_id] = 0
    return classes


def _class(symbol: str) -> int:
    return PHONE if is_phone(symbol) else PAUSE if is_pause(symbol) else BREAK if symbol.isspace() else 0
