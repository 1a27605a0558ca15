"""Tell the operating system which bytes later batches need, while a store is not yet in the page cache."""

from __future__ import annotations

import ctypes
import mmap
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy.typing as npt

try:
    import resource

    _THREAD = getattr(resource, "RUSAGE_THREAD", None)
except ImportError:  # not on Windows
    _THREAD = None

Task: TypeAlias = tuple[int, Any, tuple[Any, ...]]

_SMALLEST = 1 << 14
"""Bytes: the system reads that many around any byte, so a smaller request gains nothing."""

_AHEAD = 8
"""Number of batches for which data is requested in advance."""


class ReadingAhead:
    """Make batches; while data comes from the disk, request what the next batches need before making each one.

    There is one object for each epoch. The threads that make its batches may share it: a race costs at most a request
    that is missing or made twice.

    Args:
        make: from positions to a batch.
        ask: requests what positions need from the system; returns at once.
    """

    def __init__(self, make: Callable[[Any], Any], ask: Callable[[Any], None]) -> None:
        self._make = make
        self._ask = ask
        self._asked = 0
        self._cold = 0

    def tasks(self, batches: Iterable[Any]) -> Iterator[Task]:
        """Yield for each batch what `make` takes: its number, its positions and those of the next ones."""
        coming: deque[Any] = deque()
        number = 0
        for positions in batches:
            coming.append(positions)
            if len(coming) > _AHEAD:
                yield number, coming.popleft(), tuple(coming)
                number += 1
        while coming:
            yield number, coming.popleft(), tuple(coming)
            number += 1

    def make(self, task: Task) -> Any:
        """Make the batch of a task."""
        number, positions, later = task
        before = disk_reads()
        if self._cold:
            self._cold -= 1
            for distance, coming in enumerate(later, 1):
                if number + distance > self._asked:
                    self._asked = number + distance
                    self._ask(coming)
        batch = self._make(positions)
        if disk_reads() > before:
            # Hints count as well: they go on for as long as any of them makes the disk work.
            self._cold = _AHEAD
        return batch


def disk_reads() -> int:
    """Return how much this thread has made the disk read so far, in no unit; 0 where the system does not say."""
    if _THREAD is None:
        return 0
    usage = resource.getrusage(_THREAD)
    return usage.ru_majflt + usage.ru_inblock


def ask_for(view: npt.NDArray[Any]) -> None:
    """Ask the system to read what a view of a map shows, and return at once; harmless with any other array."""
    if _madvise is None or view.nbytes < _SMALLEST:
        return
    address = view.__array_interface__["data"][0]
    start = address - address % mmap.PAGESIZE
    _madvise(start, address - start + view.nbytes, mmap.MADV_WILLNEED)


def _find_madvise() -> Any:
    """Return the system's function, which unlike `mmap.madvise` lets other threads go on meanwhile; None without."""
    if not hasattr(mmap, "MADV_WILLNEED"):
        return None
    function = getattr(ctypes.CDLL(None), "madvise", None)
    if function is not None:
        function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return function


_madvise = _find_madvise()
