"""Statistics of arrays, computed in one pass and merged."""

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
        count: the number of frames.
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
        """Return the statistics of the union of both sets of frames.

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
        """Return the statistics as in a shard's header."""
        return {"count": self.count, "mean": self.mean.tolist(), "m2": self.m2.tolist()}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> MelStatistics:
        """Parse the result of `as_dict`."""
        return cls(int(value["count"]), np.array(value["mean"], float), np.array(value["m2"], float))

    @property
    def std(self) -> npt.NDArray[np.float64]:
        """Population standard deviation, [n_mels] float64."""
        return np.sqrt(self.m2 / max(1, self.count))


@dataclass(frozen=True, eq=False)
class ArrayStatistics:
    """Running statistics of an array's rows, for each element of a row separately.

    Attributes:
        moments: count, mean and squared deviations of the flattened row, [n].
        low: [n] float64, the minima; 0 without rows.
        high: [n] float64, the maxima; 0 without rows.
    """

    moments: MelStatistics
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]

    @classmethod
    def empty(cls, n: int) -> ArrayStatistics:
        """Return the statistics of no rows of ``n`` numbers."""
        return cls(MelStatistics.empty(n), np.zeros(n), np.zeros(n))

    @classmethod
    def of(cls, rows: npt.NDArray[Any], n: int) -> ArrayStatistics:
        """Return the statistics of rows [n_rows, …] of ``n`` finite numbers each."""
        if not len(rows):
            return cls.empty(n)
        values = rows.reshape(len(rows), n).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = values.mean(axis=0)
            m2 = ((values - mean) ** 2).sum(axis=0)
        return cls(MelStatistics(len(values), mean, m2), values.min(axis=0), values.max(axis=0))

    def merged(self, other: ArrayStatistics) -> ArrayStatistics:
        """Return the statistics of the union of both sets of rows."""
        if self.moments.count == 0 or other.moments.count == 0:
            return self if other.moments.count == 0 else other
        moments = self.moments.merged(other.moments)
        return ArrayStatistics(moments, np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def as_dict(self) -> dict[str, Any]:
        """Return the statistics as in the header of an array file."""
        return {**self.moments.as_dict(), "min": self.low.tolist(), "max": self.high.tolist()}

    def summary(self) -> dict[str, Any]:
        """Return ``count``, ``mean``, ``std`` (population), ``min`` and ``max``, as in the manifest."""
        values = {"mean": self.moments.mean, "std": self.moments.std, "min": self.low, "max": self.high}
        return {"count": self.moments.count, **{key: vector.tolist() for key, vector in values.items()}}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ArrayStatistics:
        """Parse the result of `as_dict`."""
        low, high = np.array(value["min"], float), np.array(value["max"], float)
        return cls(MelStatistics.from_dict(value), low, high)
