"""Labelled intervals of an alignment."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tts_prep.errors import AlignmentError

# Seconds. Aligners write each boundary twice, with five to fifteen digits; smaller differences are rounding.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Interval:
    """One phone: start and end in seconds from the start of the recording, and its label, empty for a pause."""

    start: float
    end: float
    label: str


def tile(intervals: Iterable[Interval], begin: float, end: float, where: str) -> tuple[Interval, ...]:
    """Return contiguous intervals from ``begin`` to ``end``, with gaps filled by intervals with empty labels.

    Raises:
        AlignmentError: a time is negative or not finite, an interval ends before it begins, or intervals overlap.
    """
    tiled: list[Interval] = []
    last = begin
    for interval in intervals:
        start, stop, label = interval.start, interval.end, interval.label
        if not (math.isfinite(start) and math.isfinite(stop)) or start < 0:
            raise AlignmentError(f"{where}: '{label}' from {start:g} to {stop:g} s; expected times >= 0")
        if stop < start:
            raise AlignmentError(f"{where}: '{label}' from {start:g} to {stop:g} s ends before it begins")
        if start < last - TOLERANCE:
            raise AlignmentError(
                f"{where}: '{label}' begins at {start:g} s, before the previous interval ends at {last:g} s"
            )
        if start > last + TOLERANCE:
            tiled.append(Interval(last, start, ""))
        tiled.append(interval)
        last = stop
    if end > last + TOLERANCE:
        tiled.append(Interval(last, end, ""))
    if not tiled:
        raise AlignmentError(f"{where}: contains no interval")
    return tuple(tiled)
