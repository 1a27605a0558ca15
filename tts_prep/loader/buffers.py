"""Memory for batches that is used again once nobody looks at it any more.

A fresh array of megabytes costs a page fault every 4 kB, about as much as filling it does. So a batch's memory goes
back to where it came from when the last array or tensor that shows any of it is gone, and not before: whoever keeps
a batch keeps its memory.
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
            best = -1
            for i, memory in enumerate(self._free):
                if size <= len(memory) <= 4 * size and (best < 0 or len(memory) < len(self._free[best])):
                    best = i
            if best >= 0:
                return self._free.pop(best)
            while len(self._free) >= self._most_free:
                # The smallest is the least likely to be large enough for what comes.
                self._free.pop(min(range(len(self._free)), key=lambda i: len(self._free[i])))
        # A little more than is needed, so that batches of about this size fit too.
        step = 1 << max(12, size.bit_length() - 3)
        memory = np.empty(-(-size // step) * step + _ALIGNMENT, np.uint8)
        offset = -memory.ctypes.data % _ALIGNMENT
        return memory[offset : offset + len(memory) - _ALIGNMENT]


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
