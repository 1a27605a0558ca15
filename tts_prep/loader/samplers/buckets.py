"""Buckets: utterances of about the same length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from tts_prep.format.datasets import Array

_LARGEST_TABLE = 1 << 20

Int64Array = npt.NDArray[np.int64]


def bucket_edges(shortest: int, longest: int, tolerance: float, phase: float) -> list[float]:
    """Return where buckets begin, from about the shortest length to beyond the longest.

    Args:
        shortest: of all lengths.
        longest: of all lengths.
        tolerance: the width of a bucket as a share of its length, above 0.
        phase: from 0 to 1, what share of a width the first bucket loses.
    """
    # Products only: unlike logarithms, they have the same bits on every processor.
    step = 1 + tolerance
    edges = [max(1, shortest) * (1 + tolerance * phase)]
    while edges[-1] <= longest:
        edges.append(edges[-1] * step)
    return edges


def number_buckets(lengths: Array, edges: Sequence[float]) -> tuple[Int64Array, Int64Array]:
    """Return the number of each length's bucket, ascending with length, and the longest length of every bucket.

    Args:
        lengths: [n], at least one.
        edges: where buckets begin; without any, every length is a bucket of its own.

    Returns:
        [n] the numbers, and [n_buckets] the longest. There are no empty buckets.
    """
    values, _ = histogram(lengths)
    numbers = np.searchsorted(edges, values, side="right") if len(edges) else np.arange(len(values))
    _, first, numbers = np.unique(numbers, return_index=True, return_inverse=True)
    return _look_up(lengths, values, numbers), values[np.append(first[1:], len(values)) - 1]


def number_shapes(lengths: Array, padded: Int64Array) -> Int64Array:
    """Return which of the padded lengths, ascending, is the shortest that holds each length, [n]."""
    values, _ = histogram(lengths)
    return _look_up(lengths, values, np.searchsorted(padded, values, side="left"))


def _look_up(lengths: Array, values: Int64Array, numbers: Int64Array) -> Int64Array:
    longest = int(values[-1])
    if longest < max(len(lengths), _LARGEST_TABLE):
        # A look into a table of all possible lengths: ten times faster than a search for a large dataset.
        table = np.zeros(longest + 1, np.int64)
        table[values] = numbers
        return table[lengths]
    return numbers[np.searchsorted(values, lengths)]


def histogram(lengths: Array) -> tuple[Int64Array, Int64Array]:
    """Return the different lengths, ascending, and how many utterances have each."""
    if int(lengths.max()) < max(len(lengths), _LARGEST_TABLE):
        counts = np.bincount(lengths)
        values = np.flatnonzero(counts)
        return values, counts[values]
    values, counts = np.unique(lengths, return_counts=True)
    return values.astype(np.int64), counts


def histogram_of_blocks(blocks: Iterable[Array]) -> tuple[Int64Array, Int64Array]:
    """Return the different lengths of all blocks, ascending, and how many utterances have each."""
    values, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    for block in blocks:
        if len(block):
            more_values, more_counts = histogram(block)
            values, numbers = np.unique(np.concatenate([values, more_values]), return_inverse=True)
            total = np.zeros(len(values), np.int64)
            np.add.at(total, numbers, np.concatenate([counts, more_counts]))
            counts = total
    return values, counts
