"""Drawings of rectangles, lines, paths and labels in pixels; ``drawing.html.j2`` renders them as SVG."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """A position and a size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Rectangle(Box):
    """A bar; ``style`` is its CSS class, ``hint`` its tooltip."""

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
class Image(Box):
    """A bitmap, scaled to the box; ``source`` is a ``data:`` URI."""

    source: str


@dataclass(frozen=True)
class Drawing:
    """A drawing in pixels, with the origin at the top left.

    Attributes:
        name: the accessible name.
        legend: CSS class and name of each series, if there are several.
        scaled: whether the drawing is scaled to the available width. Otherwise it has its size in pixels.
        axis: the labels of an axis on the right, which stays in sight where the drawing is wider than the page; their
            positions are relative to the right edge of the drawing.
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
    axis: tuple[Label, ...] = ()

    @property
    def axis_width(self) -> float:
        """The width of the axis on the right: 7 pixels per character are enough for digits and units."""
        return max((label.x + 7 * len(label.text) for label in self.axis), default=0.0)
