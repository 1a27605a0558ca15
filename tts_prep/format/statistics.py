"""Mean and spread of every mel bin, in one pass and in any number of parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class MelStatistics:
    """Running statistics per mel bin.

    Attributes:
        count: number of frames.
        mean: [n_mels] float64.
        m2: [n_mels] float64, sum of squared deviations from the mean.
    """

    count: int
    mean: npt.NDArray[np.float64]
    m2: npt.NDArray[np.float64]

    @classmethod
    def empty(cls, n_mels: int) -> MelStatistics:
        """Return the statistics of no frames."""
        return cls(0, np.zeros(n_mels), np.zeros(n_mels))

    def merged(self, other: MelStatistics) -> MelStatistics:
        """Return the statistics of both sets of frames together.

        Chan, Golub and LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample Variances, 1979.
        """
        if self.count == 0 or other.count == 0:
            return self if other.count == 0 else other
        count = self.count + other.count
        delta = other.mean - self.mean
        mean = self.mean + delta * (other.count / count)
        m2 = self.m2 + other.m2 + delta * delta * (self.count * (other.count / count))
        return MelStatistics(count, mean, m2)

    def as_dict(self) -> dict[str, Any]:
        """Return the statistics as they stand in a shard's header."""
        return {"count": self.count, "mean": self.mean.tolist(), "m2": self.m2.tolist()}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> MelStatistics:
        """Read what `as_dict` wrote."""
        return cls(int(value["count"]), np.array(value["mean"], float), np.array(value["m2"], float))

    @property
    def std(self) -> npt.NDArray[np.float64]:
        """Population standard deviation, [n_mels] float64."""
        return np.sqrt(self.m2 / max(1, self.count))
