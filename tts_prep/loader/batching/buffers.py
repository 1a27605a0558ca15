"""Memory for batches, recycled once unreferenced.

A newly allocated array of megabytes costs a page fault per 4 kB, about as much as filling it. So the memory of a batch
is recycled when the last array or tensor that refers to it is deleted. A batch that is referenced keeps its memory.
"""

import threading
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

_ALIGNMENT = 64
"""Bytes: fast for vector units, and required by jax to use an array without copying it."""

_SMALLEST = 1 << 16
"""Bytes: below this, the allocator of the C library recycles memory itself."""

_MAX_OVERSIZE = 4
"""The maximum ratio of a recycled buffer's size to the requested size."""


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
        max_free: the maximum number of unused buffers to keep.
    """

    def __init__(self, max_free: int = 12) -> None:
        self._max_free = max_free
        self._forget()

    def _forget(self) -> None:
        self._free: list[npt.NDArray[np.uint8]] = []
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"max_free": self._max_free}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._max_free = state["max_free"]
        self._forget()

    def take(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an uninitialized array that shares memory with no other."""
        item = np.dtype(dtype)
        size = item.itemsize
        for n in shape:
            size *= n
        if size < _SMALLEST:
            return np.empty(shape, item)
        return np.asarray(_Lease(self._free, self._find(size), shape, item))

    def _find(self, size: int) -> npt.NDArray[np.uint8]:
        with self._lock:
            # The buffer released last is the most likely to be still in the processor's cache.
            for i in reversed(range(len(self._free))):
                if size <= len(self._free[i]) <= _MAX_OVERSIZE * size:
                    return self._free.pop(i)
            while len(self._free) >= self._max_free:
                self._free.pop(0)
        # Round up to a power of two, so that a buffer fits most later batches. Pages that are never written occupy
        # address space, not memory.
        capacity = 1 << (size - 1).bit_length()
        memory = np.empty(capacity + _ALIGNMENT, np.uint8)
        offset = -memory.ctypes.data % _ALIGNMENT
        return memory[offset : offset + capacity]


class _Lease:
    """Memory on loan: the base object of the array, and so of every view and tensor made from it."""

    def __init__(
        self,
        free: list[npt.NDArray[np.uint8]],
        memory: npt.NDArray[np.uint8],
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> None:
        self._free = free
        self._memory = memory
        self.__array_interface__ = {
            "data": (memory.__array_interface__["data"][0], False),
            "shape": shape,
            "typestr": dtype.str,
            "version": 3,
        }

    def __del__(self) -> None:
        # `append` is atomic: this may run in any thread, also during `_find`.
        self._free.append(self._memory)
