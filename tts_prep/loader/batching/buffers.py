"""Memory for batches, recycled once unreferenced.

A fresh array of megabytes costs a page fault every 4 kB, about as much as filling it does. So a batch's memory
is recycled when the last array or tensor that refers to it is gone. A batch that is kept keeps its memory.
"""

from __future__ import annotations

import threading
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

_ALIGNMENT = 64
"""Bytes: what vector units, and jax for taking an array as it is, like best."""

_SMALLEST = 1 << 16
"""Bytes: below this, the allocator of the C library recycles as well."""

_MOST_TO_SPARE = 4
"""How many times as large as what is asked for a piece of memory may be that is given for it."""


class Buffers(Protocol):
    """Where `collate` gets the memory of a batch from."""

    def take(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an array of any contents that nothing else shows."""


class FreshBuffers:
    """Allocate every array anew."""

    def take(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an array of any contents."""
        return np.empty(shape, dtype)


class RecycledBuffers:
    """Arrays whose memory is used again after the last view of it is gone. Safe to use from several threads.

    Args:
        most_free: how many pieces of unused memory are kept.
    """

    def __init__(self, most_free: int = 12) -> None:
        self._most_free = most_free
        self._forget()

    def _forget(self) -> None:
        self._free: list[npt.NDArray[np.uint8]] = []
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"most_free": self._most_free}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._most_free = state["most_free"]
        self._forget()

    def take(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an array of any contents that nothing else shows."""
        wanted = np.dtype(dtype)
        size = wanted.itemsize
        for n in shape:
            size *= n
        if size < _SMALLEST:
            return np.empty(shape, wanted)
        return np.asarray(_Lease(self._free, self._find(size), shape, wanted))

    def _find(self, size: int) -> npt.NDArray[np.uint8]:
        with self._lock:
            # What came back last is the likeliest to be in the processor's cache still.
            for i in reversed(range(len(self._free))):
                if size <= len(self._free[i]) <= _MOST_TO_SPARE * size:
                    return self._free.pop(i)
            while len(self._free) >= self._most_free:
                self._free.pop(0)
        # Sizes that fit most of the batches to come, so that few pieces go round. What is never written to takes up
        # addresses, not memory.
        capacity = 1 << (size - 1).bit_length()
        memory = np.empty(capacity + _ALIGNMENT, np.uint8)
        offset = -memory.ctypes.data % _ALIGNMENT
        return memory[offset : offset + capacity]


class _Lease:
    """Memory on loan: the base of the array that shows it, and so of every view and tensor made of that one."""

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
        # One atomic step: this may run in any thread, also in the middle of `_find`.
        self._free.append(self._memory)
