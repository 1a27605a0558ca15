"""The utterances of a batch from several stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tts_prep.loader.batch_info import BatchInfo
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Source:
    """The utterances of a batch that come from one store.

    Attributes:
        dataset: the utterances, with the common speaker table.
        places: [n] int64, the position of each utterance in the batch.
    """

    dataset: UtteranceDataset
    places: npt.NDArray[np.int64]


class MixedUtterances(Sequence[Utterance]):
    """The utterances of a batch from several stores, not loaded yet: `collate` pads them from the memory maps.

    Attributes:
        sources: the utterances by store.
        batch_info: what the batch sampler knows of the batch.
    """

    def __init__(self, sources: Sequence[Source], batch_info: BatchInfo = BatchInfo()) -> None:
        self.sources = tuple(sources)
        self.batch_info = batch_info
        self._count = sum(len(source.places) for source in self.sources)

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<MixedUtterances: {len(self):,} of {len(self.sources)} datasets>"

    def __getitem__(self, position: Any) -> Any:
        """Return the utterance at a position of the batch, or a list of utterances at a slice."""
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        place = range(len(self))[position]
        for source in self.sources:
            for i in np.flatnonzero(source.places == place).tolist():
                return source.dataset[i]
        raise IndexError(position)

    def __iter__(self) -> Iterator[Utterance]:
        return iter(self.in_order(source.dataset for source in self.sources))

    def in_order(self, values: Iterable[Iterable[T]]) -> list[T]:
        """Return the values of each source's utterances in the order of the batch."""
        ordered: list[Any] = [None] * len(self)
        for source, of_source in zip(self.sources, values, strict=True):
            for place, value in zip(source.places.tolist(), of_source, strict=True):
                ordered[place] = value
        return ordered
