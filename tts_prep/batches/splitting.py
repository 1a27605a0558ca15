"""Split the positions of a dataset in two."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader.randomness import check_seed, permutation

Int64Array = npt.NDArray[np.int64]


def first_count(n: int, first_size: int | float) -> int:
    """Return a size as it is, and a share such as 0.05 as a number out of n, rounded.

    Raises:
        ConfigurationError: it is out of range.
    """
    if isinstance(first_size, float) and 0 < first_size < 1:
        return round(first_size * n)
    if not isinstance(first_size, int | np.integer) or not 0 <= first_size <= n:
        found = f"{first_size:,}" if isinstance(first_size, int | float | np.number) else repr(first_size)
        raise ConfigurationError(
            f"split: expected a size from 0 to {n:,}, or a share between 0.0 and 1.0, found {found}"
        )
    return int(first_size)


def split_positions(
    n: int, first_size: int | float, seed: int | None = None, *, strata: Any = None, groups: Any = None
) -> tuple[Int64Array, Int64Array]:
    """Split range(n) into two ascending arrays.

    Args:
        n: the number of positions.
        first_size: the size of the first array, or its share of all; with `groups`, the maximum.
        seed: the seed of a random choice; None takes the first positions, or seed 0 with `strata` or `groups`.
        strata: [n] values; each value has the same proportion in both arrays, rounded.
        groups: [n] values; all positions of one value go to the same array. In random order, every value whose
            positions still fit goes to the first array.

    Raises:
        ConfigurationError: `first_size` is out of range, both `strata` and `groups` are given, or no group fits.
    """
    first_size = first_count(n, first_size)
    if strata is not None and groups is not None:
        raise ConfigurationError("split: expected stratify or apart, found both")
    if seed is None and strata is None and groups is None:
        return np.arange(first_size), np.arange(first_size, n)
    order = permutation(n, check_seed(seed or 0), 0)
    chosen: npt.NDArray[np.bool_] = np.zeros(n, np.bool_)
    if strata is not None:
        chosen[_of_each_stratum(order, strata, first_size)] = True
    elif groups is not None:
        chosen = _of_whole_groups(order, groups, first_size)
    else:
        chosen[order[:first_size]] = True
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)


def _of_each_stratum(order: Int64Array, strata: Any, size: int) -> Int64Array:
    """Return `size` positions with the same proportion of every stratum, the first ones of each in an order."""
    codes, sizes = _codes(strata)
    shares = _rounded_shares(sizes, size)
    by_stratum = order[np.argsort(codes[order], kind="stable")]
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    of_each = [by_stratum[start : start + count] for start, count in zip(starts, shares.tolist(), strict=True)]
    return np.concatenate([np.empty(0, np.int64), *of_each])


def _of_whole_groups(order: Int64Array, groups: Any, size: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the groups that fit into `size` positions, taken in an order.

    Raises:
        ConfigurationError: no group fits.
    """
    codes, sizes = _codes(groups)
    chosen, left = np.zeros(len(codes), np.bool_), size
    for code in dict.fromkeys(codes[order].tolist()):
        if sizes[code] <= left:
            chosen |= codes == code
            left -= int(sizes[code])
    if size and not chosen.any():
        raise ConfigurationError(
            f"split: none of the {len(sizes):,} groups fits into {size:,} utterances; the smallest has "
            f"{int(sizes.min()):,} utterances"
        )
    return chosen


def _codes(values: Any) -> tuple[Int64Array, Int64Array]:
    """Return an integer code for each value, [n], and the count of each code."""
    numbers = getattr(values, "codes", None)
    keys = np.asarray(list(values) if numbers is None else numbers)
    _, codes, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return codes, sizes


def _rounded_shares(sizes: Int64Array, total: int) -> Int64Array:
    """Return integers proportional to sizes with the given sum, by the largest-remainder method."""
    n = int(sizes.sum())
    shares = sizes * total // max(n, 1)
    missing = total - int(shares.sum())
    shares[np.argsort(-(sizes * total % max(n, 1)), kind="stable")[:missing]] += 1
    return shares
