"""Which utterances go into the first and which into the second of two datasets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader.randomness import check_seed, permutation

Int64Array = npt.NDArray[np.int64]


def split_positions(
    n: int, first_size: int, seed: int | None = None, *, strata: Any = None, groups: Any = None
) -> tuple[Int64Array, Int64Array]:
    """Divide the positions below n in two; both sides are ascending.

    Args:
        n: how many there are.
        first_size: how many the first side gets; with `groups`, at most.
        seed: of a random choice; None takes the first ones, or 0 where `strata` or `groups` is given.
        strata: [n] values; each value has the same share of the first side as of all, rounded.
        groups: [n] values; all positions of one value go to the same side. Values are taken in random order, each
            that still fits.

    Raises:
        ConfigurationError: the size is out of range, both `strata` and `groups` are given, or no group fits.
    """
    if not 0 <= first_size <= n:
        raise ConfigurationError(f"split: expected a size from 0 to {n:,}, found {first_size:,}")
    if strata is not None and groups is not None:
        raise ConfigurationError("split: expected stratify or apart, found both")
    if seed is None and strata is None and groups is None:
        return np.arange(first_size), np.arange(first_size, n)
    order = permutation(n, check_seed(seed or 0), 0)
    chosen = np.zeros(n, np.bool_)
    if strata is not None:
        codes, sizes = _codes(strata)
        wanted = _rounded_shares(sizes, first_size)
        by_stratum = order[np.argsort(codes[order], kind="stable")]
        for start, count in zip(np.cumsum([0, *sizes[:-1]]).tolist(), wanted.tolist(), strict=True):
            chosen[by_stratum[start : start + count]] = True
    elif groups is not None:
        codes, sizes = _codes(groups)
        left = first_size
        for code in dict.fromkeys(codes[order].tolist()):
            if sizes[code] <= left:
                chosen |= codes == code
                left -= int(sizes[code])
        if first_size and not chosen.any():
            raise ConfigurationError(
                f"split: a first side of {first_size:,} holds none of the {len(sizes):,} groups; the smallest has "
                f"{int(sizes.min()):,} utterances"
            )
    else:
        chosen[order[:first_size]] = True
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)


def _codes(values: Any) -> tuple[Int64Array, Int64Array]:
    """Return the number of each value, [n], and how often each value stands."""
    numbers = getattr(values, "codes", None)
    found = np.asarray(list(values) if numbers is None else numbers)
    _, codes, sizes = np.unique(found, return_inverse=True, return_counts=True)
    return codes, sizes


def _rounded_shares(sizes: Int64Array, total: int) -> Int64Array:
    """Return integers in proportion to sizes that sum to a total: the largest remainders are rounded up."""
    n = int(sizes.sum())
    shares = sizes * total // max(n, 1)
    missing = total - int(shares.sum())
    shares[np.argsort(-(sizes * total % max(n, 1)), kind="stable")[:missing]] += 1
    return shares
