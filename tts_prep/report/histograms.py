"""Histograms with the limits of suspects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tts_prep.pictures.drawing import Drawing, Label, Line, Path, Rectangle
from tts_prep.pictures.scales import Scale, padded_scale, ticks
from tts_prep.quantities import number_text

_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 10, 408, 192
_REACH = 0.5
"""The maximum extension of the axis to show a limit, relative to the range of values."""

Floats = npt.NDArray[np.float64]


def histogram(
    series: Sequence[Floats], unit: str, name: str, limits: Sequence[float] = (), legend: Sequence[str] = ()
) -> Drawing:
    """Draw the histogram of one or two series with common bins. Values that are not finite are ignored.

    Args:
        limits: thresholds, which are drawn if they are near the values.
        legend: the names of two series.
    """
    finite = [values[np.isfinite(values)] for values in series]
    edges = _edges(np.concatenate(finite))
    low, high = float(edges[0]), float(edges[-1])
    drawn = [limit for limit in limits if low - _REACH * (high - low) <= limit <= high + _REACH * (high - low)]
    x = padded_scale(min([low, *drawn]), max([high, *drawn]), _LEFT, _RIGHT)
    # Shares are comparable between stores of different sizes, counts are not.
    counts = [np.histogram(values, edges)[0] for values in finite]
    heights = [
        n / max(1, len(values)) * 100 if len(series) > 1 else n for n, values in zip(counts, finite, strict=True)
    ]
    y = Scale(
        0, max(1e-9, *(float(h.max(initial=0)) for h in heights), 0 if len(series) > 1 else 1) * 1.05, _BOTTOM, _TOP
    )
    rectangles = []
    for number, (n_all, tall) in enumerate(zip(counts, heights, strict=True)):
        style = ("bar", "bar second")[number]
        for n, value, a, b in zip(n_all.tolist(), tall.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            if n:
                hint = f"{number_text(a)} to {number_text(b)} {unit}: {n:,}"
                width = max(0.5, x(b) - x(a) - 0.5) / len(series)
                left = x(a) + number * width
                rectangles.append(Rectangle(left, y(value), width, y(0) - y(value), style, hint))
    marks = [tick for tick in ticks(y.low, y.high) if len(series) > 1 or tick == round(tick)]
    lines = [Line(_LEFT, y(tick), _RIGHT, y(tick)) for tick in marks]
    # Paths are drawn above the bars, lines below.
    paths = [Path(f"M{x(limit):.1f} {_TOP}V{_BOTTOM}", "limit") for limit in drawn]
    labels = [Label(_LEFT - 6, y(tick) + 4, number_text(tick), "end") for tick in marks]
    labels += [Label(x(tick), _BOTTOM + 16, number_text(tick)) for tick in ticks(x.low, x.high)]
    labels.append(Label((_LEFT + _RIGHT) / 2, _BOTTOM + 34, f"{name} ({unit})"))
    side = "% of utterances" if len(series) > 1 else "utterances"
    labels.append(Label(12, (_TOP + _BOTTOM) / 2, side, turned=True))
    keys = list(zip(("bar", "bar second"), legend, strict=False))
    return Drawing(
        f"Histogram: {name}, {unit}",
        420,
        232,
        rectangles=tuple(rectangles),
        lines=tuple(lines),
        paths=tuple(paths),
        labels=tuple(labels),
        legend=(*keys, *([("limit", "limit of a reason")] if drawn else [])),
    )


def _edges(values: Floats) -> Floats:
    if not len(values) or values.min() == values.max():
        centre = float(values[0]) if len(values) else 0.0
        return np.array([centre - 0.5, centre + 0.5])
    low, high = float(values.min()), float(values.max())
    count = int(min(60, max(8, np.sqrt(len(values)))))
    if np.all(values == np.rint(values)):
        # For integers, all bins must contain the same number of integers.
        width = max(1, round((high - low) / count))
        return np.arange(low - 0.5, high + width, width)
    return np.linspace(low, high, count + 1)
