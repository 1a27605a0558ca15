"""One self-contained page about a store: no script, and no other file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tts_prep import __version__
from tts_prep.format.atomic import replacing
from tts_prep.loader import Utterance
from tts_prep.pictures.media import mel_picture, sound
from tts_prep.quantities import bytes_text, duration_text
from tts_prep.report import charts
from tts_prep.report.summary import Category, Summary, reasons

_SOUND_BYTES = 2_000_000
"""Of all sounds together, before base64 makes them a third larger: the page stays under 5 MB."""

_MAX_BARS = 20
_MAX_TABLE_ROWS = 500
_MAX_SYMBOL_BARS = 120
_MAX_LEFT_OUT = 200

_SECTIONS = (
    "Overview",
    "Distributions",
    "Categories",
    "Mel",
    "Symbols",
    "Batches",
    "Outliers",
    "Gallery",
    "Left out",
    "Configuration",
)


@dataclass(frozen=True)
class Clip:
    """An utterance as a card: a fact about it, its mel as a picture, and its sound where there is one."""

    utterance: Utterance
    fact: str
    picture: str
    sound: str = ""


def write_report(summary: Summary, path: Path) -> None:
    """Write the page, whole or not at all. The same store gives the same bytes."""
    with replacing(path) as partial:
        partial.write_text(report_html(summary), encoding="utf-8")


def report_html(summary: Summary) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("tts_prep", "report"),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        bytes=bytes_text,
        duration=duration_text,
        figure=_figure_text,
        setting=_setting,
        symbol=charts.symbol_text,
        px=lambda value: f"{value:.1f}".removesuffix(".0"),
    )
    style = files("tts_prep.report").joinpath("page.css").read_text(encoding="utf-8")
    has_phonemes = any(name == "Phonemes" for name, _ in summary.measures)
    return environment.get_template("page.html.j2").render(
        summary=summary,
        dataset=summary.dataset,
        manifest=summary.manifest,
        version=__version__,
        style=Markup(style),
        sections=[
            (title.lower().replace(" ", "-"), title) for title in _SECTIONS if has_phonemes or title != "Symbols"
        ],
        has_phonemes=has_phonemes,
        reader=_reader(summary),
        n_speakers=next((len(category.values) for category in summary.categories if category.name == "speaker"), 0),
        n_frames=int(summary.measures["Mel frames", "frames"].sum()),
        n_phonemes=int(summary.symbol_counts.sum()),
        size=sum(entry.size for entry in summary.manifest.files),
        histograms=list(_histograms(summary)),
        categories=[_category(category) for category in summary.categories if category.values],
        mel_chart=charts.mel_bins(summary.dataset.mel_mean, summary.dataset.mel_std),
        symbols=_symbols(summary),
        padding_chart=charts.bars(
            [cost.policy for cost in summary.policies],
            [
                [cost.frame_padding * 100 for cost in summary.policies],
                [cost.phoneme_padding * 100 for cost in summary.policies],
            ],
            "padding, % of the padded batch",
            "Bars: padding of every batching policy, %",
            "mel frames",
            "phonemes",
        ),
        outliers=_outliers(summary),
        gallery=list(_gallery(summary)),
        stages=reasons(summary.left_out),
        left_out=summary.left_out[:_MAX_LEFT_OUT],
        settings=list(_settings(summary)),
    )


def _printable(value: object) -> object:
    """Return text without characters that cannot be shown or that change the direction of the text around them."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(
        character if character.isprintable() or character.isspace() else "\N{REPLACEMENT CHARACTER}"
        for character in value
    )


def _reader(summary: Summary) -> str:
    corpus = summary.manifest.configuration.get("corpus")
    return str(corpus.get("reader", "")) if isinstance(corpus, Mapping) else ""


def _histograms(summary: Summary) -> Iterator[dict[str, Any]]:
    for (name, unit), values in summary.measures.items():
        if len(values):
            yield {
                "key": name.lower().replace(" ", "-"),
                "name": name,
                "unit": unit,
                "chart": charts.histogram(values, unit, name),
                "quantiles": dict(
                    zip(
                        ("smallest", "5 %", "median", "95 %", "largest"),
                        np.quantile(values, [0, 0.05, 0.5, 0.95, 1]).tolist(),
                        strict=True,
                    )
                ),
            }


def _category(category: Category) -> dict[str, Any]:
    shown = category.values[:_MAX_BARS]
    unit, divisor = ("hours", 3600.0) if shown[0][2] >= 3600 else ("minutes", 60.0)
    return {
        "name": category.name,
        "unit": unit,
        "chart": charts.bars(
            [name for name, *_ in shown],
            [[seconds / divisor for *_, seconds in shown]],
            unit,
            f"Bars: audio by {category.name}, {unit}",
        ),
        "values": category.values[:_MAX_TABLE_ROWS],
        "n_values": len(category.values),
        # They get no bar: it would be as long as all others together.
        "others": category.values[_MAX_BARS:],
        "others_seconds": sum(seconds for *_, seconds in category.values[_MAX_BARS:]),
    }


def _symbols(summary: Summary) -> dict[str, Any]:
    counts, names = summary.symbol_counts, summary.dataset.symbols
    order = [int(i) for i in np.argsort(-counts, kind="stable") if counts[i]]
    shown = order[:_MAX_SYMBOL_BARS]
    return {
        "n_symbols": len(names),
        "chart": charts.symbols([names[i] for i in shown], [int(counts[i]) for i in shown]),
        "rows": [(names[i], i, int(counts[i]), float(counts[i] / counts.sum())) for i in order],
    }


def _outliers(summary: Summary) -> list[tuple[str, list[Clip]]]:
    return [
        (
            kind.name,
            [_clip(summary, position, f"{_figure_text(value)} {kind.unit}") for position, value in kind.values],
        )
        for kind in summary.outliers
    ]


def _gallery(summary: Summary) -> Iterator[Clip]:
    left = _SOUND_BYTES
    for position in summary.gallery:
        waveform = summary.dataset[position].waveform
        has_sound = waveform is not None and 0 < 2 * len(waveform) <= left
        if waveform is not None and has_sound:
            left -= 2 * len(waveform)
        yield _clip(summary, position, f"{summary.dataset[position].seconds:.2f} s", with_sound=has_sound)


def _clip(summary: Summary, position: int, fact: str, *, with_sound: bool = False) -> Clip:
    utterance = summary.dataset[position]
    # The same shades for every picture, so that they compare.
    mean, std = summary.dataset.mel_mean, summary.dataset.mel_std
    low, high = float((mean - 2 * std).min()), float((mean + 2.5 * std).max())
    return Clip(
        utterance,
        fact,
        mel_picture(utterance.mel, low, high) if len(utterance.mel) else "",
        sound(utterance.waveform, summary.dataset.sample_rate) if with_sound and utterance.waveform is not None else "",
    )


def _settings(summary: Summary) -> Iterator[tuple[str, Mapping[str, Any]]]:
    manifest = summary.manifest
    yield "Store", {"format version": manifest.version, "fingerprint": manifest.fingerprint}
    yield from _tables(manifest.configuration)
    yield "Software", manifest.software


def _tables(configuration: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the settings of a configuration as flat tables."""
    plain = {key: value for key, value in configuration.items() if not isinstance(value, Mapping)}
    if plain:
        yield prefix or "corpus", plain
    for key, value in configuration.items():
        if isinstance(value, Mapping):
            yield from _tables(value, f"{prefix}.{key}" if prefix else key)


def _setting(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _figure_text(value: float) -> str:
    if not np.isfinite(value):
        return "−∞" if value < 0 else "unknown"
    text = f"{value:,.0f}" if value == round(value) or abs(value) >= 100 else f"{value:.2f}"
    return text.replace("-", "−")
