"""Numbers with units, for people."""

from __future__ import annotations


def duration_text(seconds: float) -> str:
    """Return a duration such as ``7.4 s``, ``12 min 3 s`` or ``23 h 55 min``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {rest} s"


def bytes_text(size: float) -> str:
    """Return a size such as ``512 B`` or ``2.4 GB`` (powers of 1,000)."""
    units = ("B", "kB", "MB", "GB", "TB")
    unit = 0
    while size >= 1000 and unit < len(units) - 1:
        size /= 1000
        unit += 1
    return f"{size:.0f} {units[unit]}" if unit == 0 else f"{size:.1f} {units[unit]}"


def count_text(number: int, noun: str) -> str:
    """Return a number of things, such as ``1 shard`` or ``2,000 shards``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
