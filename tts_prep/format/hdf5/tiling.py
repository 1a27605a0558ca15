"""Check that the rows of utterances tile an array."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tts_prep.errors import CorruptStoreError, broken
from tts_prep.format.hdf5.datasets import Array


def check_tiling(path: Path, name: str, starts: Array, lengths: Array, end: int) -> None:
    """Check that intervals of rows follow one another from the start to the end of an array.

    Raises:
        CorruptStoreError: intervals overlap, leave a gap, or exceed the array.
    """
    # With lengths of 0 to 2**31, the sums below cannot overflow.
    if len(lengths) and (lengths.min() < 0 or lengths.max() >= 1 << 31 or len(lengths) >= 1 << 31):
        raise CorruptStoreError(f"{path}: '{name}' has a negative or too large length")
    ends = np.cumsum(lengths, dtype=np.int64)
    if len(starts) != len(lengths) or not np.array_equal(starts[1:], ends[:-1]) or starts[:1].any():
        raise broken(f"{path}: the rows of '{name}' overlap or leave gaps")
    if (int(ends[-1]) if len(ends) else 0) != end:
        raise CorruptStoreError(f"{path}: the rows of '{name}' end at {int(ends[-1:].sum()):,}, the array at {end:,}")
