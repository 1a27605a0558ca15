"""TextGrids as text, in the two forms that Praat writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Tiers = Mapping[str, Sequence[tuple[float, float, str]]]
"""Name of a tier → start and end in seconds, and label, of its intervals."""


def long_form(tiers: Tiers, end: float) -> str:
    """Return a TextGrid in the long form, with all digits of its numbers."""
    lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", "xmin = 0 ", f"xmax = {float(end)!r} "]
    lines += ["tiers? <exists> ", f"size = {len(tiers)} ", "item []: "]
    for number, (name, intervals) in enumerate(tiers.items(), 1):
        lines += [f"    item [{number}]:", '        class = "IntervalTier" ', f'        name = "{name}" ']
        lines += [
            "        xmin = 0 ",
            f"        xmax = {float(end)!r} ",
            f"        intervals: size = {len(intervals)} ",
        ]
        for i, (start, stop, label) in enumerate(intervals, 1):
            lines += [f"        intervals [{i}]:", f"            xmin = {float(start)!r} "]
            lines += [f"            xmax = {float(stop)!r} ", f'            text = "{label}" ']
    return "\n".join(lines) + "\n"


def short_form(tiers: Tiers, end: float) -> str:
    """Return a TextGrid in the short form, with all digits of its numbers."""
    lines = ['File type = "ooTextFile short"', '"TextGrid"', "", "0", f"{float(end)!r}", "<exists>", f"{len(tiers)}"]
    for name, intervals in tiers.items():
        lines += ['"IntervalTier"', f'"{name}"', "0", f"{float(end)!r}", f"{len(intervals)}"]
        for start, stop, label in intervals:
            lines += [f"{float(start)!r}", f"{float(stop)!r}", f'"{label}"']
    return "\n".join(lines) + "\n"
