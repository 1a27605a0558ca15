"""A few fixed shapes for all batches, for frameworks that compile one program per shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError

_MAX_CANDIDATES = 4096


@dataclass(frozen=True)
class BatchShape:
    """The shape that a batch is padded to.

    Attributes:
        size: the number of utterances; `collate` adds empty ones to a batch that has fewer.
        lengths: padded length by the name of the lengths (``n_frames``, ``n_phonemes``, ``n_samples``).
    """

    size: int
    lengths: Mapping[str, int]


class BatchPositions(list[int]):
    """The positions of a batch, with its epoch and its shape.

    Both travel with the list, also into torch's worker processes: a dataset passes them to the datasets it wraps, and
    with the examples to the collate function (see `carry`).

    Attributes:
        epoch: the epoch of the batch; None if unknown.
        shape: the shape to pad the batch to; None pads to the longest utterance.
    """

    __slots__ = ("epoch", "shape")

    def __init__(self, positions: Iterable[int], epoch: int | None = None, shape: BatchShape | None = None) -> None:
        # An epoch can have millions of batches: slots and no super() save a third of the time.
        list.__init__(self, positions)
        self.epoch = epoch
        self.shape = shape

    def __reduce__(self) -> tuple[Any, ...]:
        return BatchPositions, (list(self), self.epoch, self.shape)


class BatchExamples(list[Any]):
    """The examples of a batch, with the epoch and the shape of its positions."""

    def __init__(
        self, examples: Iterable[Any], batch_epoch: int | None = None, batch_shape: BatchShape | None = None
    ) -> None:
        super().__init__(examples)
        self.batch_epoch = batch_epoch
        self.batch_shape = batch_shape

    def __reduce__(self) -> tuple[Any, ...]:
        return BatchExamples, (list(self), self.batch_epoch, self.batch_shape)


def with_positions(batch: Any, positions: Iterable[int]) -> Any:
    """Return other positions with the epoch and the shape of a batch."""
    if isinstance(batch, BatchPositions):
        return BatchPositions(positions, batch.epoch, batch.shape)
    return positions


def carry(examples: Iterable[Any], positions: Any) -> Any:
    """Return examples as a list, with the epoch and the shape of their positions."""
    if isinstance(positions, BatchPositions):
        return BatchExamples(examples, positions.epoch, positions.shape)
    return list(examples)


def best_lengths(
    values: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    n_shapes: int,
) -> npt.NDArray[np.int64]:
    """Choose the padded lengths that minimize the padded elements of an epoch.

    Dynamic programming over the sorted lengths: the best way to cover the first j values with k shapes ends with one
    shape for the values from some i to j, whose batches, the last one filled up with empty rows, cost
    ``ceil(utterances / rows[j]) · rows[j] · values[j]``. If there are more than 4,096 distinct lengths, the padded
    lengths are chosen among 4,096 of them, evenly spaced.

    Args:
        values: [m] the distinct lengths, ascending, at least one.
        counts: [m] the number of utterances of each length.
        rows: [m] the number of utterances of a batch padded to each length.
        n_shapes: the maximum number of padded lengths.

    Returns:
        The chosen lengths, ascending, at most `n_shapes`; the last one is ``values[-1]``.

    Raises:
        ConfigurationError: `n_shapes` is below 1.
    """
    if n_shapes < 1:
        raise ConfigurationError(f"n_shapes: expected an integer >= 1, found {n_shapes}")
    total = np.concatenate(([0], np.cumsum(counts)))
    ends = np.arange(len(values))
    if len(ends) > _MAX_CANDIDATES:
        ends = np.unique(np.linspace(0, len(values) - 1, _MAX_CANDIDATES).round().astype(np.int64))
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
