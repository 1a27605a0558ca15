"""Batches of a shard's utterances of similar length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def batches_of(seconds: Sequence[float], batch_seconds: float) -> list[tuple[int, ...]]:
    """Return the positions of utterances in batches, the longest first; they depend on these durations alone.

    Args:
        seconds: the duration of each utterance.
        batch_seconds: the maximum of the number of utterances of a batch times its longest duration. A longer utterance
            is alone.
    """
    batches: list[list[int]] = []
    longest = 0.0
    # The longest first, so that one that does not fit into memory is the first.
    for position in np.argsort(-np.asarray(seconds, np.float64), kind="stable").tolist():
        if not batches or (len(batches[-1]) + 1) * longest > batch_seconds:
            batches.append([])
            longest = seconds[position]
        batches[-1].append(position)
    return [tuple(batch) for batch in batches]
