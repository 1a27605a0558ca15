"""The highest memory of a process. Programs of tests that are processes of their own import it."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path


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
