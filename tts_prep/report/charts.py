"""Charts as geometry: numbers become rectangles, lines and labels in pixels, which ``charts.html.j2`` draws as SVG."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_CHARACTER = 6.6
"""Mean width of a character of a label, in pixels."""

_ROW = 20
"""Height of a horizontal bar with its space, in pixels."""


@dataclass(frozen=True)
class Rectangle:
    """A bar; ``style`` is its CSS class."""

    x: float
    y: float
    width: float
    height: float
    style: str = "bar"
    hint: str = ""


@dataclass(frozen=True)
class Line:
    """A straight line: a grid line or a threshold."""

    x1: float
    y1: float
    x2: float
    y2: float
    style: str = "gridline"


@dataclass(frozen=True)
class Path:
    """A curve or an area, as SVG path data."""

    data: str
    style: str


@dataclass(frozen=True)
class Label:
    """A text; ``anchor`` is the SVG ``text-anchor``."""

    x: float
    y: float
    text: str
    anchor: str = "middle"
    turned: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart in pixels, origin at the top left.

    Attributes:
        name: what it shows, for those who do not see it.
        legend: CSS class and name of each series, where there is more than one.
    """

    name: str
    width: float
    height: float
    rectangles: tuple[Rectangle, ...] = ()
    lines: tuple[Line, ...] = ()
    paths: tuple[Path, ...] = ()
    labels: tuple[Label, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Frame:
    """The area of a chart between its axes, in pixels."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class _Scale:
    """A linear map from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def histogram(values: npt.NDArray[np.float64], unit: str, name: str) -> Chart:
    """Return how often values occur. Values that are not finite are left out."""
    counts, edges = np.histogram(finite := values[np.isfinite(values)], _edges(finite))
    frame = _Frame(52, 10, 408, 192)
    x = _padded(float(edges[0]), float(edges[-1]), frame.left, frame.right)
    y = _Scale(0, max(1, int(counts.max(initial=0))) * 1.05, frame.bottom, frame.top)
    rectangles = [
        Rectangle(x(a), y(n), max(0.5, x(b) - x(a) - 0.5), y(0) - y(n), hint=f"{number(a)} to {number(b)}: {n:,}")
        for n, a, b in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        if n
    ]
    axis = unit if name.lower().endswith(unit) else f"{name.lower()} ({unit})"
    lines, labels = _y_axis(frame, y, whole=True)
    bottom = [Label(x(tick), frame.bottom + 16, number(tick)) for tick in ticks(x.low, x.high)]
    titles = [
        Label((frame.left + frame.right) / 2, frame.bottom + 34, axis),
        Label(12, (frame.top + frame.bottom) / 2, "utterances", turned=True),
    ]
    return Chart(f"Histogram: {name}, {unit}", 420, 232, (*rectangles,), (*lines,), labels=(*labels, *bottom, *titles))


def bars(labels: Sequence[str], series: Sequence[Sequence[float]], unit: str, name: str, *legend: str) -> Chart:
    """Return horizontal bars, the first on top.

    Args:
        labels: [n] names.
        series: one or two lists of [n] values.
        legend: the names of the series, where there are two.
    """
    shown = [_shortened(label) for label in labels]
    left = 18 + _CHARACTER * max(map(len, shown), default=0)
    height = _ROW * len(series) * 0.75 if len(series) > 1 else _ROW
    frame = _Frame(left, 6, 480, 6 + height * max(1, len(labels)))
    x = _Scale(0, max([1e-9, *(value for values in series for value in values)]) * 1.04, frame.left, frame.right)
    thickness = 0.72 * height / len(series)
    rectangles = [
        Rectangle(
            frame.left,
            frame.top + row * height + 0.14 * height + number_of * thickness,
            x(value) - frame.left,
            thickness,
            ("bar", "bar second")[number_of],
            f"{label}: {number(value)} {unit}",
        )
        for number_of, values in enumerate(series)
        for row, (label, value) in enumerate(zip(labels, values, strict=True))
    ]
    marks = ticks(0, x.high)
    lines = [Line(x(tick), frame.top, x(tick), frame.bottom) for tick in marks]
    bottom = [Label(x(tick), frame.bottom + 16, number(tick)) for tick in marks]
    left_labels = [
        Label(left - 8, frame.top + (row + 0.5) * height + 4, label, "end") for row, label in enumerate(shown)
    ]
    title = Label((frame.left + frame.right) / 2, frame.bottom + 34, unit)
    return Chart(
        name,
        496,
        frame.bottom + 42,
        (*rectangles,),
        (*lines,),
        labels=(*left_labels, *bottom, title),
        legend=tuple(zip(("bar", "bar second"), legend, strict=False)),
    )


def mel_bins(mean: npt.ArrayLike, std: npt.ArrayLike) -> Chart:
    """Return mean and standard deviation of every mel bin; both [n_mels]."""
    middle, spread = np.asarray(mean, float), np.asarray(std, float)
    frame = _Frame(52, 10, 484, 192)
    x = _Scale(0, max(1, len(middle) - 1), frame.left, frame.right)
    low, high = float((middle - spread).min(initial=0)), float((middle + spread).max(initial=0))
    y = _padded(low, high, frame.bottom, frame.top)
    curve = " ".join(f"{x(i):.1f},{y(value):.1f}" for i, value in enumerate(middle.tolist()))
    upper = [f"{x(i):.1f},{y(value):.1f}" for i, value in enumerate((middle + spread).tolist())]
    lower = [f"{x(i):.1f},{y(value):.1f}" for i, value in enumerate((middle - spread).tolist())]
    lines, labels = _y_axis(frame, y)
    bottom = [Label(x(tick), frame.bottom + 16, number(tick)) for tick in ticks(0, x.high)]
    titles = [
        Label((frame.left + frame.right) / 2, frame.bottom + 34, "mel bin"),
        Label(12, (frame.top + frame.bottom) / 2, "mel value", turned=True),
    ]
    return Chart(
        "Line: mean and standard deviation of every mel bin",
        496,
        232,
        lines=(*lines,),
        paths=(Path(f"M{' '.join([*upper, *lower[::-1]])}Z", "band"), Path(f"M{curve}", "curve")),
        labels=(*labels, *bottom, *titles),
        legend=(("curve", "mean"), ("band", "± standard deviation")),
    )


def symbols(labels: Sequence[str], counts: Sequence[int]) -> Chart:
    """Return how often symbols occur, on a logarithmic axis."""
    frame = _Frame(60, 10, 60 + max(340, 17 * len(counts)), 192)
    top = math.log10(max([10, *counts]) * 1.1)
    y = _Scale(0, top, frame.bottom, frame.top)
    width = (frame.right - frame.left) / max(1, len(counts))
    rectangles, names = [], []
    for place, (label, count) in enumerate(zip(labels, counts, strict=True)):
        left = frame.left + place * width
        # A symbol that occurs once has a bar too.
        height = max(1.0, y(0) - y(math.log10(count)))
        shown = symbol_text(label)
        rectangles.append(
            Rectangle(left + 0.12 * width, y(0) - height, 0.76 * width, height, hint=f"{shown}: {count:,}")
        )
        names.append(Label(left + width / 2, frame.bottom + 16, shown))
    powers = [10**power for power in range(int(top) + 1)]
    lines = [Line(frame.left, y(math.log10(n)), frame.right, y(math.log10(n))) for n in powers]
    left_labels = [Label(frame.left - 6, y(math.log10(n)) + 4, number(n), "end") for n in powers]
    title = Label(12, (frame.top + frame.bottom) / 2, "occurrences", turned=True)
    return Chart(
        "Bars: occurrences of every symbol",
        frame.right + 12,
        218,
        (*rectangles,),
        (*lines,),
        labels=(*names, *left_labels, title),
    )


def symbol_text(symbol: str) -> str:
    """Return a symbol so that it can be seen on its own: spaces as ␣, combining marks on a circle."""
    if not symbol.strip():
        return "␣" * max(1, len(symbol))
    return f"◌{symbol}" if unicodedata.combining(symbol[0]) else symbol


def number(value: float) -> str:
    """Return a number for an axis: six significant digits, thousands separated, a true minus sign."""
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}").replace("-", "−")


def ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return about n round values from low to high: multiples of 1, 2 or 5 times a power of ten."""
    step = 10.0 ** math.floor(math.log10((high - low) / n))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= n)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _y_axis(frame: _Frame, y: _Scale, *, whole: bool = False) -> tuple[list[Line], list[Label]]:
    marks = [tick for tick in ticks(y.low, y.high) if not whole or tick == round(tick)]
    lines = [Line(frame.left, y(tick), frame.right, y(tick)) for tick in marks]
    return lines, [Label(frame.left - 6, y(tick) + 4, number(tick), "end") for tick in marks]


def _padded(low: float, high: float, start: float, end: float) -> _Scale:
    """Return a scale that ends a little beyond its values, and is never empty."""
    margin = (high - low) * 0.02 or max(0.5, abs(low) * 0.05)
    return _Scale(low - margin, high + margin, start, end)


def _edges(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    if not len(values) or values.min() == values.max():
        centre = float(values[0]) if len(values) else 0.0
        return np.array([centre - 0.5, centre + 0.5])
    low, high = float(values.min()), float(values.max())
    count = int(min(60, max(8, np.sqrt(len(values)))))
    if np.all(values == np.rint(values)):
        # Bins of integers: others would hold now one integer more, now one less.
        width = max(1, round((high - low) / count))
        return np.arange(low - 0.5, high + width, width)
    return np.linspace(low, high, count + 1)


def _shortened(text: str) -> str:
    return (text if len(text) <= 18 else f"{text[:17]}…") or "(none)"
