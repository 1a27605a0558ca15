"""Numbers with units, and records, as text."""

import math
import reprlib
from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any, ClassVar

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 500


class ShownRecord:
    """A dataclass of many fields, made with ``repr=False``, of which those are printed that differ from their defaults.

    Attributes:
        ALWAYS: the fields that are printed in any case.
    """

    ALWAYS: ClassVar[tuple[str, ...]] = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __repr__(self) -> str:
        shown = []
        for name, field in self.__dataclass_fields__.items():
            default = field.default if field.default_factory is MISSING else field.default_factory()
            if (value := getattr(self, name)) != default or name in self.ALWAYS:
                shown.append(f"{name}={_SHORT.repr(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


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


def share_text(share: float) -> str:
    """Return a share as a percentage such as ``12.5%``, and ``<0.1%`` if it would round to zero but is not."""
    return "<0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def count_text(number: int, noun: str) -> str:
    """Return a count with its noun, such as ``1 shard`` or ``2,000 shards``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def number_text(value: float) -> str:
    """Return a number with about three significant digits, four decimals at most: ``0.0123``, ``12.3``, ``12,345``.

    Thousands are separated by commas, the minus sign is U+2212, and NaN is "unknown".
    """
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    magnitude = abs(value)
    decimals = next((n for limit, n in ((100, 0), (10, 1), (1, 2), (0.1, 3)) if magnitude >= limit), 4)
    text = f"{value:,.0f}" if value == round(value) else f"{value:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text.replace("-", "−")


def values_text(values: Mapping[str, Any]) -> str:
    """Return names with their values, such as ``trim_db 40, trim_margin 0.1``."""
    return ", ".join(f"{name} {f'{value:g}' if isinstance(value, float) else value}" for name, value in values.items())
