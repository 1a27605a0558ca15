"""Drawings in pixels: colours, scales and ticks, and shapes and labels, which ``drawing.html.j2`` renders as SVG."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.quantities import number_text

PALETTE: Final = bytes.fromhex(
    "00000402010903031206051a0a08220e0b2b130d34180f3d1d114722115029115a2f116336106b3d0f71440f764a1079"
    "52137c59157e5f187f651a806b1d81721f817822817e24828426818b2981912b81982d809e2f7fa5317eab337cb2357b"
    "ba3878c03a76c73d73cd4071d3436ed9466bdf4a68e44f64e95462ed5a5ff1605df4675cf66e5cf8765cfa7d5efb8560"
    "fc8e64fd9668fe9d6cfea571feac76feb47bfebb81fec287feca8dfed194fed89afde0a1fde7a9fceeb0fcf6b8fcfdbf"
)
"""64 colours of matplotlib's colormap "magma" (S. van der Walt and N. Smith, CC0), from dark to bright."""


def mel_levels(mel: npt.NDArray[Any], low: float, high: float) -> npt.NDArray[np.uint8]:
    """Return the colours of a mel spectrogram, as places in the palette.

    64 levels look the same as 256, and halve the compressed size of a picture.

    Args:
        mel: any shape.
        low, high: the values of the darkest and the brightest colour.
    """
    scaled = np.nan_to_num((mel - low) / max(1e-9, high - low), nan=0.0, posinf=1.0, neginf=0.0)
    levels: npt.NDArray[np.uint8] = np.rint(np.clip(scaled, 0, 1) * 63).astype(np.uint8)
    return levels


LARGEST, SMALLEST = 1e300, 1e-300
"""The largest magnitude and the smallest difference that are drawn; beyond them, numbers overflow or vanish."""

_ROUNDING = 1e-12
"""The least margin of a scale, relative to its values."""

_LEAST_FIXED = 1e-4
"""Ticks that are all smaller are written with an exponent."""


@dataclass(frozen=True)
class Scale:
    """A linear map from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the position of a value in pixels."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def padded_scale(low: float, high: float, start: float, end: float) -> Scale:
    """Return a nonempty scale with a margin of 2% around its values."""
    margin = (high - low) * 0.02
    # Values that differ by rounding alone, such as 0.3 and 0.1 + 0.2, are drawn as one.
    if margin <= max(SMALLEST, _ROUNDING * max(abs(low), abs(high))):
        margin = max(0.5, abs(low) * 0.05)
    return Scale(low - margin, high + margin, start, end)


def ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return about n round values from low to high: multiples of 1, 2 or 5 times a power of ten."""
    step = 10.0 ** math.floor(math.log10((high - low) / n))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= n)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(12, 2 - math.floor(math.log10(step)))
    return [round(i * step, decimals) for i in range(first, last + 1)]


def tick_texts(values: Sequence[float]) -> list[tuple[float, str]]:
    """Return evenly spaced values with texts that differ, even if the step is small: 100, 100.5, 101, or 1e-09."""
    step = min((b - a for a, b in itertools.pairwise(values)), default=1.0)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    texts = [number_text(value) for value in values]
    if len({*texts}) < len(texts):
        largest = max(map(abs, values))
        # As many significant digits as tell them apart.
        form = f",.{decimals}f" if largest >= _LEAST_FIXED else f".{decimals + 1 + math.floor(math.log10(largest))}g"
        texts = [f"{value:{form}}".replace("-", "−") for value in values]
    return list(zip(values, texts, strict=True))


# Slaney's scale: linear up to 1,000 Hz (15 mels), then 27 mels per factor of 6.4.
_HERTZ_PER_MEL, _BREAK_HERTZ, _BREAK_MEL, _LOG_STEP = 200 / 3, 1000.0, 15.0, math.log(6.4) / 27

_FREQUENCIES = (100, 200, 300, 500, 1000, 2000, 3000, 4000, 6000, 8000, 12_000, 16_000, 20_000)


@dataclass(frozen=True)
class MelAxis:
    """The mapping of frequencies to the bins of a mel spectrogram.

    Attributes:
        scale: ``slaney`` (M. Slaney, Auditory Toolbox, 1998) or ``htk`` (S. Young et al., The HTK Book, section 5.4).
        fmin, fmax: the range of the filter bank in Hz.
        n_mels: the number of bins.
    """

    scale: str
    fmin: float
    fmax: float
    n_mels: int

    def bin(self, hertz: float) -> float:
        """Return the fractional bin at a frequency; the lowest bin is 0."""
        low, high = self._mel(self.fmin), self._mel(self.fmax)
        return (self._mel(hertz) - low) / (high - low) * (self.n_mels + 1) - 1

    def labels(self, n: int = 5) -> list[tuple[float, float]]:
        """Return about n round frequencies with their bins, spaced so that labels do not overlap."""
        chosen: list[tuple[float, float]] = []
        for hertz in _FREQUENCIES:
            at = self.bin(hertz)
            if -0.5 <= at <= self.n_mels - 0.5 and (not chosen or at - chosen[-1][1] >= self.n_mels / (n + 1)):
                chosen.append((float(hertz), at))
        return chosen

    def _mel(self, hertz: float) -> float:
        if self.scale == "htk":
            return 2595.0 * math.log10(1.0 + hertz / 700.0)
        if hertz < _BREAK_HERTZ:
            return hertz / _HERTZ_PER_MEL
        return _BREAK_MEL + math.log(hertz / _BREAK_HERTZ) / _LOG_STEP


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
