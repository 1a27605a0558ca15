"""The out-of-domain texts of a store: phonemized texts without recordings."""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import CorruptStoreError
from tts_prep.format.hdf5.columns import check_columns, column_datasets, column_of
from tts_prep.format.hdf5.datasets import Locations, MappedFile, dataset_at

_TEXTS = ("text", "phoneme_text")
_NUMBERS = ("phonemes_start", "n_phonemes")


@dataclass(frozen=True, eq=False, repr=False)
class OutOfDomainText:
    """One out-of-domain text.

    Attributes:
        index: its row in the file of texts.
        text: the text as in the source file.
        phoneme_text: the text form of the phonemes.
        phonemes: [n_phonemes] int32, ids into the vocabulary; a read-only view of the store.
    """

    index: int
    text: str
    phoneme_text: str
    phonemes: npt.NDArray[np.int32]

    def __repr__(self) -> str:
        return f"<OutOfDomainText {self.index}: {len(self.phonemes):,} phonemes>"


class OutOfDomainTexts(Sequence[OutOfDomainText]):
    """All out-of-domain texts of a store, memory-mapped, with random access.

    Attributes:
        n_phonemes: [n] int32, the lengths; ``np.flatnonzero(texts.n_phonemes >= 50)`` selects texts by length.

    Args:
        file, locations: the file of the texts and its datasets; no array is read.
        rows: the number of texts according to the manifest.

    Raises:
        CorruptStoreError: a dataset is missing, or its length contradicts the manifest.
    """

    def __init__(self, file: MappedFile, locations: Locations, rows: int) -> None:
        self._path = file.path
        columns = column_datasets(locations)
        for name in (*_TEXTS, *_NUMBERS):
            if name not in columns:
                raise CorruptStoreError(f"{file.path}: the column '{name}' is missing")
        check_columns(file.path, columns, rows, in_index=True, integers=())
        ids = dataset_at(file.path, locations, "phonemes")
        if len(ids.shape) != 1 or ids.dtype.str != "<i4":
            raise CorruptStoreError(f"{file.path}: 'phonemes' should be int32 [n], found {ids.dtype} {ids.shape}")
        self._ids = file.dataset(ids)
        self._starts, self.n_phonemes = (file.dataset(columns[name][""]) for name in _NUMBERS)
        self._texts, self._phoneme_texts = (column_of(file, columns[name]) for name in _TEXTS)

    def __len__(self) -> int:
        return len(self.n_phonemes)

    def __getitem__(self, position: Any) -> Any:
        """Return the text at an integer, or a list of texts at a slice.

        Raises:
            IndexError: the position is out of range.
            CorruptStoreError: the file violates the format.
        """
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        i = operator.index(position)
        if not -len(self) <= i < len(self):
            raise IndexError(f"out-of-domain text {i}: out of range for {len(self):,} texts")
        i %= len(self)
        start, length = int(self._starts[i]), int(self.n_phonemes[i])
        if not (0 <= start <= len(self._ids) - length and length >= 0):
            raise CorruptStoreError(f"{self._path}: text {i} is out of range for {len(self._ids):,} phonemes")
        return OutOfDomainText(i, self._texts[i], self._phoneme_texts[i], self._ids[start : start + length])

    def __iter__(self) -> Iterator[OutOfDomainText]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<OutOfDomainTexts: {len(self):,} texts>"
