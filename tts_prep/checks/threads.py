"""Threads for work that is mostly done by compiled code, which does not hold the global interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_MAX_THREADS = 8

Result = TypeVar("Result")


def map_slices(function: Callable[[slice], Result], n: int, size: int) -> list[Result]:
    """Return the results of a function for the slices of n items, in order.

    Args:
        function: called from several threads.
        size: the number of items of a slice.
    """
    slices = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    with ThreadPoolExecutor(min(_MAX_THREADS, os.cpu_count() or 1)) as pool:
        return list(pool.map(function, slices))
