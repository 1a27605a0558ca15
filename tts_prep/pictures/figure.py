"""Matplotlib figures of an utterance: waveform, mel, pitch, energy and phones on one time axis."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tts_prep.errors import MissingPackageError
from tts_prep.pictures.clip import Clip
from tts_prep.quantities import number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INCHES_PER_SECOND = 2.0
_WIDTHS = (6.0, 60.0)
_MAX_TEXT = 200

# The first font is part of matplotlib and supports IPA; the others are used if they are installed.
_FONTS = (
    *("DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans SC", "Noto Sans CJK JP", "Noto Sans JP"),
    *("Noto Sans CJK KR", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic"),
)


def plot_clip(clip: Clip) -> Figure:
    """Return a figure with one panel for each array of the utterance.

    The figure is not registered with pyplot, so that it is freed when it is no longer referenced.

    Raises:
        MissingPackageError: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context

        from tts_prep.pictures.shown_figure import ShownFigure
    except ModuleNotFoundError as error:
        raise MissingPackageError("a plot needs matplotlib: pip install 'tts-prep[plot]'") from error
    panels: list[tuple[Callable[[Axes, Clip, _Texts], None], float]] = [(_mel, 3.0)] if clip.mel.size else []
    if clip.waveform is not None:
        panels.insert(0, (_waveform, 1.2))
    if clip.energy is not None:
        panels.append((_energy, 1.0))
    if clip.phones:
        panels.append((_phones, 0.5))
    end = max(clip.last_edge, clip.seconds)
    width = min(max(_WIDTHS[0], 1.5 + end * _INCHES_PER_SECOND), _WIDTHS[1])
    fonts = _installed()
    texts = _Texts(fonts)
    with rc_context({"font.family": fonts}):
        figure = ShownFigure(figsize=(width, 0.9 + sum(height for _, height in panels)), layout="constrained")
        ratios = [height for _, height in panels]
        axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
        for axis, (draw, _) in zip(axes, panels, strict=True):
            draw(axis, clip, texts)
        axes[-1].set_xlabel("time (s)")
        axes[-1].set_xlim(min(0.0, clip.first_edge), end)
        figure.suptitle(_title(clip, texts, width), fontsize=10)
    return figure


def _title(clip: Clip, texts: _Texts, width: float) -> str:
    """Return the title of a figure, which is made last: it says how many characters of all texts cannot be shown."""
    speaker = f", {clip.speaker[:80]}" if clip.speaker else ""
    text = clip.text if len(clip.text) <= _MAX_TEXT else f"{clip.text[:_MAX_TEXT]}…"
    score = "" if math.isnan(clip.alignment_score) else f", alignment score {number_text(clip.alignment_score)}"
    lines = [f"{clip.id[:80]}{speaker}{score}", *textwrap.wrap(text, _line_length(text, width))]
    title = texts.shown("\n".join(lines))
    missing = len(texts.missing)
    return title + (f"\n(no installed font has {missing:,} of its characters)" if missing else "")


def save_figure(figure: Figure, path: Path, kind: str, dpi: int) -> None:
    """Write a figure as ``png``, ``svg`` or ``pdf``. Output is deterministic."""
    from matplotlib import rc_context

    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    with rc_context({"svg.hashsalt": "tts-prep"}):
        figure.savefig(path, format=kind, dpi=dpi, metadata=metadata)


def _line_length(text: str, width: float) -> int:
    """Return how many characters of a text fit on a line of the title of a figure of a width in inches."""
    wide = any(unicodedata.east_asian_width(character) in "WF" for character in text)
    return int(width * (6 if wide else 12))


def _installed() -> list[str]:
    """Return the installed fonts, because matplotlib warns about each missing one."""
    from matplotlib.font_manager import fontManager

    known = {entry.name for entry in fontManager.ttflist}
    return [name for name in _FONTS if name in known]


class _Texts:
    """Conversion of texts for a list of fonts: characters that no font has are replaced by dots, and recorded."""

    def __init__(self, fonts: list[str]) -> None:
        from matplotlib.font_manager import FontProperties, findfont, get_font

        self._fonts = [get_font(findfont(FontProperties(family=[name]))) for name in fonts]
        self.missing: set[str] = set()

    def shown(self, text: str) -> str:
        """Return the text with missing characters replaced, and dollar signs escaped (no formulas)."""
        characters = []
        for character in text:
            if character != "\n" and not any(font.get_char_index(ord(character)) for font in self._fonts):
                self.missing.add(character)
                character = "\N{MIDDLE DOT}"
            characters.append("\\$" if character == "$" else character)
        return "".join(characters)


def _waveform(axes: Axes, clip: Clip, _: _Texts) -> None:
    assert clip.waveform is not None
    samples: Any = clip.waveform
    values = samples / 32768 if samples.dtype == np.int16 else samples
    # Minimum and maximum of at most 4,000 blocks: the area that a line through all samples would cover.
    step = max(1, -(-len(values) // 4000))
    starts = np.arange(0, len(values), step)
    if len(values):
        times = (starts + step / 2) / clip.sample_rate
        low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        axes.fill_between(times, low, high, linewidth=0.4, edgecolor="C0")
    axes.set_ylabel("amplitude")


def _mel(axes: Axes, clip: Clip, _: _Texts) -> None:
    low, high = clip.mel_range
    n_mels = clip.mel.shape[1]
    extent = (clip.first_edge, clip.last_edge, -0.5, n_mels - 0.5)
    axes.imshow(
        np.asarray(clip.mel, np.float32).T,
        origin="lower",
        aspect="auto",
        cmap="magma",
        vmin=low,
        vmax=high,
        extent=extent,
    )
    if clip.mel_axis is None:
        axes.set_ylabel("mel bin")
    else:
        marks = clip.mel_axis.labels()
        axes.set_yticks([place for _, place in marks], [f"{hertz:,.0f}" for hertz, _ in marks])
        axes.set_ylabel("frequency (Hz)")
    for phone in clip.phones:
        axes.axvline(phone.start, color="white", linewidth=0.4, alpha=0.6)
    if clip.pitch is not None:
        pitch = axes.twinx()
        pitch.plot(clip.frame_times(), clip.pitch, color="#7fe0ff", linewidth=1.6)
        pitch.set_ylabel("pitch (Hz)")


def _energy(axes: Axes, clip: Clip, _: _Texts) -> None:
    assert clip.energy is not None
    axes.plot(clip.frame_times(), clip.energy, linewidth=1)
    axes.set_ylabel("energy")


def _phones(axes: Axes, clip: Clip, texts: _Texts) -> None:
    for number, phone in enumerate(clip.phones):
        axes.axvline(phone.start, color="0.7", linewidth=0.6)
        middle = (phone.start + phone.end) / 2
        if phone.end > phone.start:
            axes.text(
                middle, 0.72 - 0.45 * (number % 2), texts.shown(phone.symbol[:8]), ha="center", va="center", fontsize=8
            )
    axes.set_yticks([])
    axes.set_ylabel("phones")
