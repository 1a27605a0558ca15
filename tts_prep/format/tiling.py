"""The rows of an array, which lie one behind the other without a gap."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tts_prep.errors import CorruptStoreError
from tts_prep.format.datasets import Array


def check_tiling(path: Path, name: str, starts: Array, lengths: Array, end: int) -> None:
    """Make sure that rows lie one behind the other in an array, from its start to its end.

    Raises:
        CorruptStoreError: rows overlap, or leave a gap, or go beyond the end.
    """
    # Each of at most 2**31 and at least 0, so the sums below cannot wrap around.
    if len(lengths) and (lengths.min() < 0 or lengths.max() >= 1 << 31 or len(lengths) >= 1 << 31):
        raise CorruptStoreError(f"{path}: '{name}' has a row of a negative or enormous length")
    ends = np.cumsum(lengths, dtype=np.int64)
    if len(starts) != len(lengths) or not np.array_equal(starts[1:], ends[:-1]) or starts[:1].any():
        raise CorruptStoreError(f"{path}: the rows of '{name}' overlap or leave gaps; run 'tts-prep verify'")
    if (int(ends[-1]) if len(ends) else 0) != end:
        raise CorruptStoreError(f"{path}: the rows of '{name}' end at {int(ends[-1:].sum()):,}, the array at {end:,}")
