"""What an alignment is: labelled intervals one behind the other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tts_prep.errors import AlignmentError

# Aligners write each boundary twice, with five to fifteen digits: a smaller difference is rounding.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Interval:
    """One phone: seconds from the start of the recording, and its label, empty for a pause."""

    start: float
    end: float
    label: str


def tile(intervals: Iterable[Interval], begin: float, end: float, where: str) -> tuple[Interval, ...]:
    """Return intervals that follow each other without a gap from ``begin`` to ``end``: gaps become empty labels.

    Raises:
        AlignmentError: a time is negative or no number, an interval ends before it begins, or two overlap.
    """
    tiled: list[Interval] = []
    last = begin
    for interval in intervals:
        start, stop, label = interval.start, interval.end, interval.label
        if not (math.isfinite(start) and math.isfinite(stop)) or start < 0:
            raise AlignmentError(f"{where}: '{label}' from {start:g} to {stop:g} s; expected times from 0 s on")
        if stop < start:
            raise AlignmentError(f"{where}: '{label}' from {start:g} to {stop:g} s ends before it begins")
        if start < last - TOLERANCE:
            raise AlignmentError(
                f"{where}: '{label}' begins at {start:g} s, before the interval in front of it ends at {last:g} s"
            )
        if start > last + TOLERANCE:
            tiled.append(Interval(last, start, ""))
        tiled.append(interval)
        last = stop
    if end > last + TOLERANCE:
        tiled.append(Interval(last, end, ""))
    if not tiled:
        raise AlignmentError(f"{where}: holds no interval")
    return tuple(tiled)
