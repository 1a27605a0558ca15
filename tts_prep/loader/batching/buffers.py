"""Memory for batches, recycled once unreferenced.

A newly allocated array of megabytes costs a page fault per 4 kB, about as much as filling it. So the memory of a batch
is recycled when the last array or tensor that refers to it is deleted: all of them refer to one array, whose references
are counted. A batch that is referenced keeps its memory.
"""

import threading
from math import prod
from sys import getrefcount
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

_ALIGNMENT = 64
"""Bytes: fast for vector units, and required by jax to use an array without copying it."""

_SMALLEST = 1 << 16
"""Bytes: below this, the allocator of the C library recycles memory itself."""

_MAX_OVERSIZE = 4
"""The maximum ratio of a recycled buffer's size to the requested size."""

_MAX_KNOWN = 256
"""The maximum number of buffers, used or not, that are looked at for each array."""


class Buffers(Protocol):
    """The allocator of the arrays of a batch."""

    def take(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an uninitialized array that shares memory with no other."""


class FreshBuffers:
    """Allocate every array with `numpy.empty`."""

    def take(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an uninitialized array."""
        return np.empty(shape, dtype)


class RecycledBuffers:
    """Allocate arrays whose memory is recycled once unreferenced. Thread-safe.

    Args:
        max_free: the maximum number of unused buffers to keep when a new one is made.
    """

    def __init__(self, max_free: int = 12) -> None:
        self._max_free = max_free
        # Memory, and where it is aligned, by time of use.
        self._known: list[tuple[npt.NDArray[np.uint8], int]] = []
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return RecycledBuffers, (self._max_free,)

    def take(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an uninitialized array that shares memory with no other."""
        item = np.dtype(dtype)
        size = item.itemsize * prod(shape)
        if size < _SMALLEST:
            return np.empty(shape, item)
        # Until the array refers to its memory, another thread would take it too.
        with self._lock:
            memory, offset = self._find(size)
            return np.ndarray(shape, item, memory, offset)

    def _find(self, size: int) -> tuple[npt.NDArray[np.uint8], int]:
        known = self._known
        # The buffer used last is the most likely to be still in the processor's cache.
        for place in range(len(known) - 1, -1, -1):
            capacity = len(known[place][0]) - _ALIGNMENT
            if size <= capacity <= _MAX_OVERSIZE * size and _references(known[place]) == _UNUSED:
                known.append(known.pop(place))
                return known[-1]
        free = [place for place, buffer in enumerate(known) if _references(buffer) == _UNUSED]
        for place in reversed(free[: max(0, len(free) + 1 - self._max_free)]):
            del known[place]
        del known[: 1 - _MAX_KNOWN]  # used: their arrays keep them until they are deleted
        # Round up to a power of two, so that a buffer fits most later batches. Pages that are never written occupy
        # address space, not memory.
        memory = np.empty((1 << (size - 1).bit_length()) + _ALIGNMENT, np.uint8)
        known.append((memory, -memory.ctypes.data % _ALIGNMENT))
        return known[-1]


def _references(buffer: tuple[npt.NDArray[np.uint8], int]) -> int:
    return getrefcount(buffer[0])


_UNUSED = _references((np.empty(0, np.uint8), 0))
"""The number of references to memory to which no array refers: Python 3.14 counts fewer than others."""
