"""The charts of a report: histograms with suspects and limits, quantiles by name, and means by mel bin."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.pictures import drawing
from tts_prep.quantities import number_text

_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 10, 408, 192
_ROW, _ROWS_RIGHT, _CHARACTER, _MAX_NAME = 20, 404, 6.6, 18

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles of `ranges`: 5 to 95 % as a line, 25 to 75 % as a bar, and the median."""

_LEAST_HEIGHT = 2.0
"""The height of the lowest bar in pixels. Without it, 1 of 13,000 utterances is invisible, and it may be the worst."""

_REACH = 0.5
"""The maximum extension of the axis to show a limit, relative to the range of values."""

_LARGEST_INTEGER = 2.0**52
"""Above it, there is no number between two integers."""

Floats = npt.NDArray[np.float64]

_STYLES, _SUSPECT = ("bar", "bar second"), "bar suspect"


def histogram(
    series: Sequence[Floats],
    unit: str,
    axis: str,
    limits: Sequence[float] = (),
    flagged: npt.NDArray[np.bool_] | None = None,
    legend: Sequence[str] = (),
) -> drawing.Drawing:
    """Draw the histogram of one or two series with common bins. Values that are not finite, or over 1e300, are ignored.

    Args:
        series: the values of each series, [n].
        unit: the unit of the values.
        axis: the label of the horizontal axis.
        limits: thresholds, which are drawn if they are near the values.
        flagged: [n], whether the utterances of a single series are suspect. They are the lower part of each bar.
        legend: the names of two series.
    """
    finite = [values[np.abs(values) <= drawing.LARGEST] for values in series]
    edges = _edges(np.concatenate(finite))
    low, high = float(edges[0]), float(edges[-1])
    drawn = [limit for limit in limits if low - _REACH * (high - low) <= limit <= high + _REACH * (high - low)]
    x = drawing.padded_scale(min([low, *drawn]), max([high, *drawn]), _LEFT, _RIGHT)
    # Shares are comparable between stores of different sizes, counts are not.
    as_shares = len(series) > 1
    counts = [np.histogram(values, edges)[0] for values in finite]
    heights = [n / max(1, len(values)) * 100 if as_shares else n for n, values in zip(counts, finite, strict=True)]
    tallest = max(1e-9, *(float(h.max(initial=0)) for h in heights), 0 if as_shares else 1)
    y = drawing.Scale(0, tallest * 1.05, _BOTTOM, _TOP)
    bars = _Bars(x, y, edges, unit)
    rectangles: list[drawing.Rectangle] = []
    for number, (n_all, tall) in enumerate(zip(counts, heights, strict=True)):
        rectangles += bars.of(n_all, tall, _STYLES[number], share=(number, len(series)))
    if flagged is not None:
        suspect = np.histogram(series[0][flagged & (np.abs(series[0]) <= drawing.LARGEST)], edges)[0]
        rectangles += bars.of(suspect, suspect, _SUSPECT, " suspect")
    marks = [tick for tick in drawing.ticks(y.low, y.high) if as_shares or tick == round(tick)]
    lines = [drawing.Line(_LEFT, y(tick), _RIGHT, y(tick)) for tick in marks]
    # Paths are drawn above the bars, lines below.
    paths = [drawing.Path(f"M{x(limit):.1f} {_TOP}V{_BOTTOM}", "limit") for limit in drawn]
    side = "% of utterances" if as_shares else "utterances"
    labels = _axis_labels(y, marks, drawing.tick_texts(drawing.ticks(x.low, x.high)), x, axis, side)
    keys = list(zip(_STYLES, legend, strict=False))
    if flagged is not None and flagged.any():
        keys.append((_SUSPECT, "suspects"))
    return drawing.Drawing(
        f"Histogram: {axis}",
        420,
        232,
        rectangles=tuple(rectangles),
        lines=tuple(lines),
        paths=tuple(paths),
        labels=tuple(labels),
        legend=(*keys, *([("limit", "threshold")] if drawn else [])),
    )


@dataclass(frozen=True)
class _Bars:
    """The bins of a histogram: the scales of its axes, the edges of the bins and their unit."""

    x: drawing.Scale
    y: drawing.Scale
    edges: Floats
    unit: str

    def of(
        self,
        counts: npt.NDArray[Any],
        heights: npt.NDArray[Any],
        style: str,
        what: str = "",
        share: tuple[int, int] = (0, 1),
    ) -> Iterator[drawing.Rectangle]:
        """Yield a bar for each bin that is not empty.

        Args:
            counts: the number of values in each bin, for the hint.
            heights: the height of each bar, as on the axis.
            what: the end of the hint.
            share: the number of the series, and the number of series that share the width of a bin.
        """
        lefts, rights = self.edges[:-1].tolist(), self.edges[1:].tolist()
        for n, height, left, right in zip(counts.tolist(), heights.tolist(), lefts, rights, strict=True):
            if n:
                hint = f"{number_text(left)} to {number_text(right)} {self.unit}: {n:,}{what}"
                width = max(0.5, self.x(right) - self.x(left) - 0.5) / share[1]
                tall = max(_LEAST_HEIGHT, self.y(0) - self.y(height))
                yield drawing.Rectangle(self.x(left) + share[0] * width, self.y(0) - tall, width, tall, style, hint)


def _axis_labels(
    y: drawing.Scale,
    marks: Sequence[float],
    below: Iterable[tuple[float, str]],
    x: drawing.Scale,
    title: str,
    side: str,
) -> list[drawing.Label]:
    """Return the labels of both axes: ticks at the left and below, and the names of the axes.

    Args:
        marks: the ticks of the vertical axis.
        below: the ticks of the horizontal axis with their texts.
    """
    return [
        *(drawing.Label(_LEFT - 6, y(tick) + 4, text, "end") for tick, text in drawing.tick_texts(marks)),
        *(drawing.Label(x(tick), _BOTTOM + 16, text) for tick, text in below),
        drawing.Label((_LEFT + _RIGHT) / 2, _BOTTOM + 34, title),
        drawing.Label(12, (_TOP + _BOTTOM) / 2, side, turned=True),
    ]


def _edges(values: Floats) -> Floats:
    if not len(values) or values.min() == values.max():
        centre = float(values[0]) if len(values) else 0.0
        return np.array([centre - 0.5, centre + 0.5])
    low, high = float(values.min()), float(values.max())
    count = int(min(60, max(8, np.sqrt(len(values)))))
    if np.all(values == np.rint(values)) and max(-low, high) < _LARGEST_INTEGER:
        # For integers, all bins must contain the same number of integers.
        width = max(1, round((high - low) / count))
        return np.arange(low - 0.5, high + width, width)
    return np.linspace(low, high, count + 1)


def ranges(names: Sequence[str], values: Sequence[Sequence[float]], unit: str, title: str) -> drawing.Drawing:
    """Draw one row per name, with the first at the top.

    Args:
        names: the names, [n].
        values: the five `QUANTILES` of each name.
    """
    shown = [name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…" for name in names]
    left = 18 + _CHARACTER * max(map(len, shown), default=0)
    bottom = 6 + _ROW * len(names)
    flat = [value for row in values for value in row]
    x = drawing.padded_scale(min(flat), max(flat), left, _ROWS_RIGHT)
    marks = drawing.ticks(x.low, x.high)
    lines = [drawing.Line(x(tick), 6, x(tick), bottom) for tick in marks]
    rectangles, labels = [], []
    for row, (name, quantiles) in enumerate(zip(shown, values, strict=True)):
        low, first, median, third, high = quantiles
        middle = 6 + (row + 0.5) * _ROW
        lines.append(drawing.Line(x(low), middle, x(high), middle, "whisker"))
        hint = f"{number_text(low)} to {number_text(high)} {unit}, median {number_text(median)} {unit}"
        rectangles.append(
            drawing.Rectangle(x(first), middle - 6, max(1.0, x(third) - x(first)), 12, hint=f"{name}: {hint}")
        )
        rectangles.append(drawing.Rectangle(x(median) - 1, middle - 8, 2, 16, "median"))
        labels.append(drawing.Label(left - 8, middle + 4, name or "(none)", "end"))
    labels += [drawing.Label(x(tick), bottom + 16, text) for tick, text in drawing.tick_texts(marks)]
    labels.append(drawing.Label((left + _ROWS_RIGHT) / 2, bottom + 34, unit))
    return drawing.Drawing(
        title, 420, bottom + 42, lines=tuple(lines), rectangles=tuple(rectangles), labels=tuple(labels)
    )


def mel_bins(mean: npt.ArrayLike, std: npt.ArrayLike, axis: drawing.MelAxis | None) -> drawing.Drawing:
    """Draw the mean by mel bin as a curve, with a band of ± one standard deviation; both are [n_mels]."""
    middle, spread = np.asarray(mean, float), np.asarray(std, float)
    x = drawing.Scale(0, max(1, len(middle) - 1), _LEFT, _RIGHT)
    y = drawing.padded_scale(
        float((middle - spread).min(initial=0)), float((middle + spread).max(initial=0)), _BOTTOM, _TOP
    )
    curve, upper, lower = (
        [f"{x(i):.1f},{y(value):.1f}" for i, value in enumerate(values.tolist())]
        for values in (middle, middle + spread, middle - spread)
    )
    marks = drawing.ticks(y.low, y.high)
    lines = [drawing.Line(_LEFT, y(tick), _RIGHT, y(tick)) for tick in marks]
    places = axis.labels(6) if axis else [(tick, tick) for tick in drawing.ticks(0, x.high)]
    below = [(place, number_text(value)) for value, place in places]
    title = "centre of the mel bin (Hz)" if axis else "mel bin"
    labels = _axis_labels(y, marks, below, x, title, "mel value")
    return drawing.Drawing(
        "Line: mean and standard deviation of every mel bin",
        420,
        232,
        lines=tuple(lines),
        paths=(
            drawing.Path(f"M{' '.join([*upper, *lower[::-1]])}Z", "band"),
            drawing.Path(f"M{' '.join(curve)}", "curve"),
        ),
        labels=tuple(labels),
        legend=(("curve", "mean"), ("band", "± standard deviation")),
    )
