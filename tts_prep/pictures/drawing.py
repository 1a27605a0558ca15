"""A picture as geometry: rectangles, lines, curves and labels in pixels, which ``drawing.html.j2`` writes as SVG."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rectangle:
    """A bar; ``style`` is its CSS class, ``hint`` what a pointer over it shows."""

    x: float
    y: float
    width: float
    height: float
    style: str = "bar"
    hint: str = ""


@dataclass(frozen=True)
class Line:
    """A straight line: a grid line, a boundary or a threshold."""

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
    style: str = ""


@dataclass(frozen=True)
class Image:
    """A picture out of pixels, stretched over a rectangle; ``source`` is a ``data:`` URI."""

    x: float
    y: float
    width: float
    height: float
    source: str


@dataclass(frozen=True)
class Drawing:
    """A picture in pixels, origin at the top left.

    Attributes:
        name: what it shows, for those who do not see it.
        legend: CSS class and name of each series, where there is more than one.
        scaled: whether it fills the width that it is given; else a pixel stays a pixel.
    """

    name: str
    width: float
    height: float
    images: tuple[Image, ...] = ()
    rectangles: tuple[Rectangle, ...] = ()
    lines: tuple[Line, ...] = ()
    paths: tuple[Path, ...] = ()
    labels: tuple[Label, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    scaled: bool = True
