"""A few fixed shapes for all batches, for training that compiles one program a shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError

_MOST_CANDIDATES = 4096


@dataclass(frozen=True)
class BatchShape:
    """The shape that a batch is padded to.

    Attributes:
        size: utterances; where a batch has fewer, `collate` adds empty ones.
        lengths: index column of a length (``n_frames``, ``n_phonemes``, ``n_samples``) → padded length.
    """

    size: int
    lengths: Mapping[str, int]


class ShapedPositions(list[int]):
    """The positions of a batch, with the shape that it is to be padded to."""

    def __init__(self, positions: Iterable[int], shape: BatchShape) -> None:
        super().__init__(positions)
        self.shape = shape

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapedPositions, (list(self), self.shape)


def best_lengths(
    values: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    n_shapes: int,
) -> npt.NDArray[np.int64]:
    """Choose the padded lengths for which an epoch has the fewest padded elements.

    Dynamic programming over the sorted lengths: the best way to cover the first j values with k shapes ends with one
    shape for the values from some i to j, whose batches, the last one filled up with empty rows, cost
    ``ceil(utterances / rows[j]) · rows[j] · values[j]``. Where there are more than 4,096 different lengths, the
    padded lengths are chosen among 4,096 of them, evenly spaced.

    Args:
        values: [m] the different lengths, ascending, at least one.
        counts: [m] how many utterances have each.
        rows: [m] how many utterances a batch has that is padded to each.
        n_shapes: how many padded lengths there may be.

    Returns:
        The chosen lengths, ascending, at most `n_shapes`; the last one is ``values[-1]``.

    Raises:
        ConfigurationError: no shape is allowed.
    """
    if n_shapes < 1:
        raise ConfigurationError(f"n_shapes: expected a number from 1 on, found {n_shapes}")
    total = np.concatenate(([0], np.cumsum(counts)))
    ends = np.arange(len(values))
    if len(ends) > _MOST_CANDIDATES:
        ends = np.unique(np.linspace(0, len(values) - 1, _MOST_CANDIDATES).round().astype(np.int64))
    before = np.concatenate(([0], total[ends + 1]))
    m = len(ends)
    costs = np.full(m + 1, np.inf)
    costs[0] = 0
    steps = []
    for _ in range(min(n_shapes, m)):
        best, came = np.full(m + 1, np.inf), np.zeros(m + 1, np.int64)
        best[0] = 0
        for j in range(1, m + 1):
            end = ends[j - 1]
            utterances = before[j] - before[:j]
            batches = -(-utterances // rows[end])
            candidates = costs[:j] + batches * (rows[end] * values[end])
            came[j] = np.argmin(candidates)
            best[j] = candidates[came[j]]
        steps.append(came)
        costs = best
    chosen = []
    j = m
    for came in reversed(steps):
        if j == 0:
            break
        chosen.append(int(values[ends[j - 1]]))
        j = int(came[j])
    return np.array(chosen[::-1], np.int64)
