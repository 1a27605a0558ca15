"""Histograms with suspects and the limits of their reasons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tts_prep.pictures.drawing import Drawing, Label, Line, Path, Rectangle
from tts_prep.pictures.scales import Scale, padded_scale, tick_texts, ticks
from tts_prep.quantities import number_text

_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 10, 408, 192
_LEAST_HEIGHT = 2.0
"""The height of the lowest bar in pixels. Without it, 1 of 13,000 utterances is invisible, and it may be the worst."""

_REACH = 0.5
"""The maximum extension of the axis to show a limit, relative to the range of values."""

Floats = npt.NDArray[np.float64]


def histogram(
    series: Sequence[Floats],
    unit: str,
    axis: str,
    limits: Sequence[float] = (),
    flagged: npt.NDArray[np.bool_] | None = None,
    legend: Sequence[str] = (),
) -> Drawing:
    """Draw the histogram of one or two series with common bins. Values that are not finite are ignored.

    Args:
        series: the values of each series, [n].
        unit: the unit of the values.
        axis: the label of the horizontal axis.
        limits: thresholds, which are drawn if they are near the values.
        flagged: [n], whether the utterances of a single series are suspect. They are the lower part of each bar.
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
                rectangles.append(_bar(x(a) + number * width, width, y(value), y(0), style, hint))
    if flagged is not None:
        suspect = np.histogram(series[0][flagged & np.isfinite(series[0])], edges)[0]
        for n, a, b in zip(suspect.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            if n:
                hint = f"{number_text(a)} to {number_text(b)} {unit}: {n:,} suspect"
                rectangles.append(_bar(x(a), max(0.5, x(b) - x(a) - 0.5), y(n), y(0), "bar suspect", hint))
    marks = [tick for tick in ticks(y.low, y.high) if len(series) > 1 or tick == round(tick)]
    lines = [Line(_LEFT, y(tick), _RIGHT, y(tick)) for tick in marks]
    # Paths are drawn above the bars, lines below.
    paths = [Path(f"M{x(limit):.1f} {_TOP}V{_BOTTOM}", "limit") for limit in drawn]
    labels = [Label(_LEFT - 6, y(tick) + 4, text, "end") for tick, text in tick_texts(marks)]
    labels += [Label(x(tick), _BOTTOM + 16, text) for tick, text in tick_texts(ticks(x.low, x.high))]
    labels.append(Label((_LEFT + _RIGHT) / 2, _BOTTOM + 34, axis))
    side = "% of utterances" if len(series) > 1 else "utterances"
    labels.append(Label(12, (_TOP + _BOTTOM) / 2, side, turned=True))
    keys = list(zip(("bar", "bar second"), legend, strict=False))
    if flagged is not None and flagged.any():
        keys.append(("bar suspect", "suspects"))
    return Drawing(
        f"Histogram: {axis}",
        420,
        232,
        rectangles=tuple(rectangles),
        lines=tuple(lines),
        paths=tuple(paths),
        labels=tuple(labels),
        legend=(*keys, *([("limit", "threshold")] if drawn else [])),
    )


def _bar(x: float, width: float, top: float, bottom: float, style: str, hint: str) -> Rectangle:
    height = max(_LEAST_HEIGHT, bottom - top)
    return Rectangle(x, bottom - height, width, height, style, hint)


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
