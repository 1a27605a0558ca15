"""Datasets whose examples are drawn anew in every epoch: random segments, references, levels."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from tts_prep.loader.dataset.composition import DatasetMixin
from tts_prep.loader.dataset.selection import Positions
from tts_prep.loader.epochs import EpochDraws
from tts_prep.loader.samplers.shapes import BatchPositions, carry


class RandomExamples(DatasetMixin):
    """A dataset whose examples depend on the epoch; a subclass says how, in ``_example``, and sets ``_draws``."""

    _draws: EpochDraws

    @abstractmethod
    def _example(self, i: int, epoch: int | None) -> Any:
        """Return the example at a position in an epoch; None where the position carried none."""

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of positions that carry none."""
        self._draws.epoch = epoch

    def get_example(self, i: int) -> Any:
        """Return the example at a position."""
        return self._example(i, None)

    def __getitems__(self, positions: Positions) -> Any:
        """Return the examples at positions, with the draws of the epoch that these carry."""
        epoch = positions.epoch if isinstance(positions, BatchPositions) else None
        return carry([self._example(int(position), epoch) for position in positions], positions)
