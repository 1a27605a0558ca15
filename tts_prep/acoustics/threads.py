"""Threads for work that is mostly done by compiled code, which does not hold the global interpreter lock."""

import os
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

_MAX_THREADS = 8

Result = TypeVar("Result")


def product(rows: npt.NDArray[np.float32], matrix: npt.NDArray[np.float32], block: int = 64) -> npt.NDArray[np.float32]:
    """Return ``rows @ matrix``, computed in blocks of rows.

    OpenBLAS uses several threads for larger products, from 262,144 multiplications on. They compete with those of
    `map_slices`.
    """
    (n, size), columns = rows.shape, matrix.shape[1]
    last = n // block * block
    found = np.empty((n, columns), np.float32)
    found[:last].reshape(-1, block, columns)[:] = rows[:last].reshape(-1, block, size) @ matrix
    found[last:] = rows[last:] @ matrix
    return found


def map_slices(
    function: Callable[[slice], Result],
    lengths: Iterable[int],
    max_total: int,
    report: Callable[[int], None] = lambda _done: None,
) -> list[Result]:
    """Return the results of a function for slices of items, in order.

    Args:
        function: called from several threads.
        lengths: the length of each item.
        max_total: the maximum sum of the lengths of a slice of several items.
        report: called from this thread with the number of items that are done; if it raises, no more are begun.
    """
    slices, start, stop, total = [], 0, 0, 0
    for length in lengths:
        if stop > start and total + length > max_total:
            slices.append(slice(start, stop))
            start, total = stop, 0
        stop, total = stop + 1, total + length
    if stop > start:
        slices.append(slice(start, stop))
    with ThreadPoolExecutor(min(_MAX_THREADS, os.cpu_count() or 1)) as pool:
        results: list[Result] = []
        report(0)
        # Closed at an error, which cancels what was not begun.
        with closing(cast("Generator[Result, None, None]", pool.map(function, slices))) as found:
            for part, result in zip(slices, found, strict=True):
                results.append(result)
                report(part.stop)
        return results
