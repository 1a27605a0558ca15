"""Charts of quantiles by name: 5 to 95 % as a line, 25 to 75 % as a bar, and the median."""

from __future__ import annotations

from collections.abc import Sequence

from tts_prep.pictures.drawing import Drawing, Label, Line, Rectangle
from tts_prep.pictures.scales import padded_scale, tick_texts, ticks
from tts_prep.quantities import number_text

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

_ROW, _RIGHT, _CHARACTER, _MAX_NAME = 20, 404, 6.6, 18


def ranges(names: Sequence[str], values: Sequence[Sequence[float]], unit: str, title: str) -> Drawing:
    """Draw one row per name, with the first at the top.

    Args:
        names: the names, [n].
        values: the five `QUANTILES` of each name.
    """
    shown = [name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…" for name in names]
    left = 18 + _CHARACTER * max(map(len, shown), default=0)
    bottom = 6 + _ROW * len(names)
    flat = [value for row in values for value in row]
    x = padded_scale(min(flat), max(flat), left, _RIGHT)
    marks = ticks(x.low, x.high)
    lines = [Line(x(tick), 6, x(tick), bottom) for tick in marks]
    rectangles, labels = [], []
    for row, (name, quantiles) in enumerate(zip(shown, values, strict=True)):
        low, first, median, third, high = quantiles
        middle = 6 + (row + 0.5) * _ROW
        lines.append(Line(x(low), middle, x(high), middle, "whisker"))
        hint = f"{number_text(low)} to {number_text(high)} {unit}, median {number_text(median)} {unit}"
        rectangles.append(Rectangle(x(first), middle - 6, max(1.0, x(third) - x(first)), 12, hint=f"{name}: {hint}"))
        rectangles.append(Rectangle(x(median) - 1, middle - 8, 2, 16, "median"))
        labels.append(Label(left - 8, middle + 4, name or "(none)", "end"))
    labels += [Label(x(tick), bottom + 16, text) for tick, text in tick_texts(marks)]
    labels.append(Label((left + _RIGHT) / 2, bottom + 34, unit))
    return Drawing(title, 420, bottom + 42, lines=tuple(lines), rectangles=tuple(rectangles), labels=tuple(labels))
