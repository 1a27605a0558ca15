"""The frame classes of transcripts: one for each frequent phone, one for all rare ones, and silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.phones.symbols import PHONE
from tts_prep.acoustics.phones.viterbi import SILENCE, Transcript
from tts_prep.compiler import Compiled

MAX_CLASSES = 200
"""The maximum number of classes; the rarest phones of larger vocabularies share one class."""


@dataclass(frozen=True, eq=False)
class PhoneClasses:
    """The classes of the symbols of a vocabulary.

    Attributes:
        kinds: [n_symbols] int64, from `symbols.symbol_kinds`.
        classes: [n_symbols] int64, the class of each phone; SILENCE for other symbols.
        n_classes: the number of classes, including silence and that of rare phones.
    """

    kinds: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    n_classes: int

    @classmethod
    def of(cls, kinds: npt.NDArray[np.int64], phonemes: Sequence[npt.NDArray[np.int32]]) -> PhoneClasses:
        """Return the classes for a sample of transcripts.

        Phones that are not in the sample belong to the class of rare phones, which is the last one.

        Args:
            phonemes: the ids of each transcript.
        """
        counts = np.bincount(np.concatenate([*phonemes, [0]]).astype(np.int64), minlength=len(kinds)) * (kinds == PHONE)
        frequent = np.argsort(-counts, kind="stable")[: MAX_CLASSES - 2]
        frequent = frequent[counts[frequent] > 0]
        n_classes = len(frequent) + 2
        classes = np.where(kinds == PHONE, n_classes - 1, SILENCE)
        classes[frequent] = np.arange(1, n_classes - 1)
        return cls(kinds, classes, n_classes)

    def transcript(self, ids: npt.NDArray[np.int32]) -> Transcript:
        """Return the phones with optional silences between words, at punctuation and at both ends."""
        return self.located(ids)[0]

    def located(self, ids: npt.NDArray[np.int32]) -> tuple[Transcript, npt.NDArray[np.int64]]:
        """Return the transcript and the position in ``ids`` of each of its classes; −1 for silence without a symbol."""
        classes, optional = np.empty(len(ids) + 2, np.int64), np.empty(len(ids) + 2, np.bool_)
        places = np.empty(len(ids) + 2, np.int64)
        n = _fill_transcript(ids, self.kinds, self.classes, classes, optional, places)
        return Transcript(classes[:n], optional[:n]), places[:n]


@partial(Compiled, keeps_gil=True)
def _fill_transcript(ids: Any, kinds: Any, phone_classes: Any, classes: Any, optional: Any, places: Any) -> int:
    """Fill the attributes of a `Transcript` and the positions of its classes; return how many there are.

    Args:
        kinds, phone_classes: [n_symbols] int64, of `PhoneClasses`.
    """
    classes[0], optional[0], places[0], n = SILENCE, True, -1, 1
    for place in range(len(ids)):
        symbol = ids[place]
        if kinds[symbol] == PHONE:
            classes[n], optional[n], places[n] = phone_classes[symbol], False, place
            n += 1
        elif kinds[symbol] != 0:
            if not optional[n - 1]:
                classes[n], optional[n], places[n] = SILENCE, True, place
                n += 1
            elif places[n - 1] < 0:
                # The silence before the first phone belongs to the first symbol that can be a silence.
                places[n - 1] = place
    if not optional[n - 1]:
        classes[n], optional[n], places[n] = SILENCE, True, -1
        n += 1
    return n
