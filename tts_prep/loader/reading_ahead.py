"""Hints to the system about what will be read, and whether anything had to wait for the disk."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

try:
    import resource

    _THREAD = getattr(resource, "RUSAGE_THREAD", None)
except ImportError:  # not on Windows
    _THREAD = None

_WILL_NEED = getattr(mmap, "MADV_WILLNEED", None)


def disk_waits() -> int:
    """Return how many pages this thread has had to wait for the disk for; 0 where the system does not say."""
    return 0 if _THREAD is None else resource.getrusage(_THREAD).ru_majflt


def ask_for(view: npt.NDArray[Any]) -> None:
    """Ask the system to read what a view of a map shows, and return at once; a view of anything else is ignored."""
    owner: Any = view
    while owner is not None and not isinstance(owner, np.memmap):
        owner = getattr(owner, "base", None)
    if owner is None or _WILL_NEED is None or not view.nbytes:
        return
    # The map begins at a page, the memmap perhaps within it.
    first = owner.offset % mmap.ALLOCATIONGRANULARITY + view.ctypes.data - owner.ctypes.data
    start = first - first % mmap.PAGESIZE
    pages: mmap.mmap = owner._mmap  # type: ignore[attr-defined, unused-ignore]
    pages.madvise(_WILL_NEED, start, first - start + view.nbytes)
