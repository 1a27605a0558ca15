"""Charts as inline SVG, drawn by matplotlib; their colours are CSS variables, so that they follow light and dark."""

from __future__ import annotations

import io
import re
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

_INK, _ACCENT, _SECOND, _GRID = "#010203", "#040506", "#070809", "#0a0b0c"
"""Colours that stand for the page's: nothing else in a chart has them."""

_VARIABLES = {_INK: "--ink", _ACCENT: "--accent", _SECOND: "--second", _GRID: "--grid"}

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9.5,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": _GRID,
    "grid.linewidth": 0.6,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def histogram(values: npt.NDArray[np.float64], unit: str, name: str) -> str:
    """Return how often values occur; the axis ends where the values end."""
    finite = values[np.isfinite(values)]

    def draw(axes: Any) -> None:
        axes.hist(finite, bins=_bins(finite), color=_ACCENT)
        axes.grid(axis="x", visible=False)
        axes.set_xlabel(unit if name.lower().endswith(unit) else f"{name.lower()} ({unit})")
        axes.set_ylabel("utterances")
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.xaxis.set_major_formatter(FuncFormatter(_number))
        axes.yaxis.set_major_formatter(FuncFormatter(_number))

    return _svg(draw, (4.1, 2.5), f"Histogram: {name}, {unit}")


def bars(labels: Sequence[str], values: Sequence[float], unit: str, name: str) -> str:
    """Return horizontal bars with their values, the first on top."""
    shown = [_label(label) for label in labels]

    def draw(axes: Any) -> None:
        places = np.arange(len(values))[::-1]
        axes.barh(places, values, color=_ACCENT, height=0.72)
        axes.grid(axis="y", visible=False)
        axes.set_yticks(places, shown, parse_math=False)
        axes.set_ylim(-0.6, max(1, len(values)) - 0.4)
        axes.set_xlabel(unit)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(FuncFormatter(_number))

    return _svg(draw, (4.1, 0.75 + 0.22 * max(2, len(values))), f"Bars: {name}, {unit}")


def mel_bins(mean: npt.ArrayLike, std: npt.ArrayLike) -> str:
    """Return mean and spread of every mel bin."""
    middle, spread = np.asarray(mean, float), np.asarray(std, float)

    def draw(axes: Any) -> None:
        bins = np.arange(len(middle))
        axes.fill_between(
            bins, middle - spread, middle + spread, color=_ACCENT, alpha=0.25, linewidth=0, label="± std. deviation"
        )
        axes.plot(bins, middle, color=_ACCENT, linewidth=1.6, label="mean")
        axes.set_xlabel("mel bin")
        axes.set_ylabel("mel value, as stored")
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)

    return _svg(draw, (4.9, 2.6), "Line: mean and standard deviation of every mel bin")


def symbols(labels: Sequence[str], counts: Sequence[int]) -> str:
    """Return how often symbols occur, on a logarithmic axis, the most frequent first."""
    shown = [symbol_text(label) for label in labels]

    def draw(axes: Any) -> None:
        places = np.arange(len(counts))
        axes.bar(places, counts, color=_ACCENT, width=0.75)
        axes.grid(axis="x", visible=False)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
        axes.yaxis.set_major_formatter(FuncFormatter(_number))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_xticks(places, shown, parse_math=False)
        axes.set_xlim(-0.7, max(1, len(counts)) - 0.3)
        axes.set_ylabel("times seen")

    return _svg(draw, (max(4.1, 0.9 + 0.165 * len(counts)), 2.5), "Bars: times seen of every symbol")


def padding(labels: Sequence[str], frames: Sequence[float], phonemes: Sequence[float]) -> str:
    """Return the shares of padding, 0 to 1, of mel frames and phonemes, by policy."""

    def draw(axes: Any) -> None:
        places = np.arange(len(labels))[::-1]
        axes.barh(places + 0.19, np.asarray(frames) * 100, color=_ACCENT, height=0.36, label="mel frames")
        axes.barh(places - 0.19, np.asarray(phonemes) * 100, color=_SECOND, height=0.36, label="phonemes")
        axes.grid(axis="y", visible=False)
        axes.set_yticks(places, labels, parse_math=False)
        axes.set_xlabel("padding, % of the padded batch")
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)

    return _svg(draw, (4.9, 1.0 + 0.3 * max(2, len(labels))), "Bars: padding of every batching policy, %")


def symbol_text(symbol: str) -> str:
    """Return a symbol so that it can be seen on its own: spaces as ␣, combining marks on a circle."""
    if not symbol.strip():
        return "␣" * max(1, len(symbol))
    return f"◌{symbol}" if unicodedata.combining(symbol[0]) else symbol


def _label(text: str) -> str:
    visible = "".join(character if character.isprintable() else "�" for character in text) or "(none)"
    return visible if len(visible) <= 18 else f"{visible[:17]}…"


def _bins(values: npt.NDArray[np.float64]) -> Any:
    if not len(values) or values.min() == values.max():
        return 1
    low, high = float(values.min()), float(values.max())
    count = int(min(60, max(8, np.sqrt(len(values)))))
    if np.all(values == np.rint(values)):
        # Bins of whole numbers: others would hold now one more, now one less of them.
        width = max(1, round((high - low) / count))
        return np.arange(low - 0.5, high + width, width)
    return count


def _svg(draw: Callable[[Any], None], size: tuple[float, float], name: str) -> str:
    style: Any = {**_STYLE, "svg.hashsalt": name}
    # The name salts the ids of clip paths and marks, which must differ between the charts of one page.
    with mpl.rc_context(style), warnings.catch_warnings():
        # The page's fonts draw the text: what the measuring font lacks does not matter.
        warnings.simplefilter("ignore")
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        text = io.StringIO()
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(text, metadata={"Date": None})
    return _embedded(text.getvalue(), name)


def _number(value: float, _: object) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}".replace("-", "−")


def _embedded(svg: str, name: str) -> str:
    """Return a file of matplotlib's as an element of a page: no prologue, no metadata, no style of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.DOTALL)
    used = set(re.findall(r"#([\w.-]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", svg)
    svg = re.sub(r" ?font-family: [^;\"]*;?", "", svg)
    svg = svg.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "").replace("xlink:href", "href")
    svg = svg.replace(' xmlns="http://www.w3.org/2000/svg"', "")
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    width = re.search(r'viewBox="0 0 ([\d.]+)', svg)
    style = f' style="--width: {float(width[1]) if width else 300:.0f}px"'
    svg = re.sub(r'<svg width="[^"]*" height="[^"]*"', f'<svg role="img" aria-label="{name}"{style}', svg, count=1)
    return re.sub(r"\n\s*", "\n", svg).strip()
