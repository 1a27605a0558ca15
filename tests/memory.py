"""The memory of a process. Programs of tests that are processes of their own import it."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
from pathlib import Path
from typing import ClassVar


def peak_memory() -> int:
    """Return the highest memory of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if not status.exists():
        # macOS counts bytes, others kilobytes.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    # Not ru_maxrss: it begins with what the process had that started this one.
    (peak,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(peak) * 1024


def environment() -> dict[str, str]:
    """Return the environment of a program that imports this module."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}


class Mallinfo(ctypes.Structure):
    """What `mallinfo2` of glibc returns."""

    _fields_: ClassVar = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def in_use() -> tuple[int, int]:
    """Return the number of blocks of Python's objects that are in use, and the bytes that C libraries have allocated.

    The latter are 0 where the C library does not say it.
    """
    gc.collect()
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return sys.getallocatedblocks(), 0
    mallinfo.restype = Mallinfo
    found = mallinfo()
    return sys.getallocatedblocks(), found.uordblks + found.hblkhd
