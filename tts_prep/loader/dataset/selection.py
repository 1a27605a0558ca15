"""The selected rows of a dataset, in order: a range if possible, else an array."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, one_line

Rows: TypeAlias = "range | npt.NDArray[np.int64]"
Positions: TypeAlias = "Sequence[int] | Sequence[bool] | npt.NDArray[Any]"


def row_at(rows: Rows, position: int) -> int:
    """Return the row at a position, which may be negative.

    Raises:
        IndexError: the position is out of range.
    """
    i = operator.index(position)
    if not -len(rows) <= i < len(rows):
        raise IndexError(f"utterance {i}: out of range for {len(rows):,} utterances")
    return int(rows[i])


def select_rows(rows: Rows, positions: slice | Positions) -> Rows:
    """Return the rows at a slice, at positions (may be negative or repeated) or where a mask is true.

    Raises:
        IndexError: a position is out of range.
        ConfigurationError: the positions are neither integers nor a mask with one value per row.
    """
    if isinstance(positions, slice):
        return rows[positions]
    # A copy: the caller may modify its array later.
    wanted = np.array(positions)
    if wanted.dtype != np.int64 or wanted.ndim != 1:
        wanted = _positions_of(wanted, len(rows))
    # As unsigned integers, negative positions are larger than any row.
    if wanted.size and np.maximum.reduce(wanted.view(np.uint64)) >= len(rows):
        low, high = int(wanted.min()), int(wanted.max())
        if low < -len(rows) or high >= len(rows):
            raise IndexError(
                f"utterance {high if high >= len(rows) else low}: out of range for {len(rows):,} utterances"
            )
        wanted[wanted < 0] += len(rows)
    if not isinstance(rows, range):
        wanted = rows[wanted]
    elif rows.step != 1 or rows.start:
        wanted = wanted * rows.step + rows.start
    wanted.flags.writeable = False
    return wanted


def _positions_of(wanted: npt.NDArray[Any], n_rows: int) -> npt.NDArray[np.int64]:
    """Return the positions that an array of another kind stands for; see `select_rows`."""
    if wanted.dtype == np.bool_:
        if wanted.shape != (n_rows,):
            raise ConfigurationError(f"expected a mask of {n_rows:,} booleans, found the shape {list(wanted.shape)}")
        return np.flatnonzero(wanted)
    if wanted.size == 0:
        return np.empty(0, np.int64)
    if wanted.dtype.kind == "U":
        raise ConfigurationError(
            f"expected a slice, a list of positions or a mask, found text {one_line(str(wanted.flat[0]))!r}; "
            "an id is found by dataset.filter(lambda m: m.id == 'ID')"
        )
    if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
        raise ConfigurationError(
            f"expected a slice, a list of positions or a mask, found {wanted.dtype} of shape {list(wanted.shape)}"
        )
    return wanted.astype(np.int64)


def as_slice(rows: range) -> slice:
    """Return the slice equivalent to a range of rows."""
    if not rows:
        return slice(0, 0)
    return slice(rows.start, rows.stop if rows.stop >= 0 else None, rows.step)


def gather(values: npt.NDArray[Any], rows: Rows) -> npt.NDArray[Any]:
    """Return the values at rows, read-only: a view if the rows are a range, else a copy."""
    if isinstance(rows, range):
        return values[as_slice(rows)]
    gathered: npt.NDArray[Any] = values[rows]
    gathered.flags.writeable = False
    return gathered
