"""Datasets with random examples that change every epoch: random segments, references, levels."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from tts_prep.loader.batch_info import info_of, with_info_of
from tts_prep.loader.dataset.composition import DatasetMixin
from tts_prep.loader.dataset.selection import Positions, select_rows
from tts_prep.loader.randomness import EpochDraws


class RandomExamples(DatasetMixin):
    """Base class of datasets whose examples depend on the epoch. Subclasses define ``_example`` and set ``_draws``."""

    _draws: EpochDraws

    @abstractmethod
    def _example(self, i: int, epoch: int | None) -> Any:
        """Return the example at a position in an epoch; None if the position carries no epoch."""

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of positions that carry none, as those of other samplers than tts-prep's do not."""
        self._draws.set_epoch(epoch)

    def get_example(self, i: int) -> Any:
        """Return the example at a position."""
        return self._example(i, None)

    def __getitems__(self, positions: Positions) -> Any:
        """Return the examples at positions, for the epoch that the positions carry."""
        epoch = info_of(positions).epoch
        rows = select_rows(range(len(self)), positions)
        return with_info_of(positions, [self._example(int(row), epoch) for row in rows])
