"""One self-contained page about a store: no script, and nothing that is not in the file itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep import __version__
from tts_prep.format.atomic import replacing
from tts_prep.loader import Utterance
from tts_prep.quantities import bytes_text, duration_text
from tts_prep.report import charts
from tts_prep.report.markup import bdi, data, escaped, figure, table
from tts_prep.report.media import mel_picture, sound
from tts_prep.report.summary import Category, Summary, reasons

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:; base-uri 'none'; form-action 'none'"
)
"""What the page may load: nothing but the pictures and sounds that are written into it."""

_SOUND_BYTES = 2_000_000
"""Of all sounds together, before they become a third larger as text: the page stays under 5 MB."""

_MOST_VALUES = 20
"""Bars of a category; the rest is one bar."""

_MOST_LEFT_OUT = 200

_SECTIONS = {
    "overview": "Overview",
    "distributions": "Distributions",
    "categories": "Categories",
    "mel": "Mel",
    "symbols": "Symbols",
    "batches": "Batches",
    "outliers": "Outliers",
    "gallery": "Gallery",
    "left-out": "Left out",
    "configuration": "Configuration",
}


def write_report(summary: Summary, path: Path) -> None:
    """Write the page, whole or not at all. The same store gives the same bytes."""
    with replacing(path) as partial:
        partial.write_text(report_html(summary), encoding="utf-8")


def report_html(summary: Summary) -> str:
    """Return the page."""
    name = escaped(summary.dataset.path.name)
    sections = {
        "overview": _overview(summary),
        "distributions": _distributions(summary),
        "categories": _categories(summary),
        "mel": _mel(summary),
        "symbols": _symbols(summary),
        "batches": _batches(summary),
        "outliers": _outliers(summary),
        "gallery": _gallery(summary),
        "left-out": _left_out(summary),
        "configuration": _configuration(summary),
    }
    links = "".join(f'<li><a href="#{key}">{title}</a></li>' for key, title in _SECTIONS.items())
    body = "".join(
        f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{title}</h2>'
        f"{sections[key]}</section>\n"
        for key, title in _SECTIONS.items()
    )
    style = files("tts_prep.report").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{name}: a tts-prep report</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#overview">Skip to the report</a>\n'
        f"<header><h1>{name}</h1>{_lead(summary)}</header>\n"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n<main>\n{body}</main>\n'
        f"<footer>tts-prep {escaped(__version__)}; fingerprint of the store {escaped(summary.manifest.fingerprint)}"
        "</footer>\n</body>\n</html>\n"
    )


def _lead(summary: Summary) -> str:
    corpus = summary.manifest.configuration.get("corpus")
    reader = corpus.get("reader") if isinstance(corpus, Mapping) else None
    audio = f"mel spectrograms of {summary.dataset.n_mels} bins at {summary.dataset.sample_rate:,} Hz"
    return f'<p class="soft">A store of {bdi(reader) if reader else "a corpus"}: {audio}, and phonemes.</p>'


def _overview(summary: Summary) -> str:
    dataset = summary.dataset
    size = sum(entry.size for entry in summary.manifest.files)
    frames = int(summary.measures["Mel frames", "frames"].sum())
    phonemes = int(summary.symbol_counts.sum())
    speakers = next((len(category.values) for category in summary.categories if category.name == "speaker"), 0)
    mean = summary.seconds / max(1, len(dataset))
    numbers = {
        "Audio": data("total-seconds", summary.seconds, duration_text(summary.seconds)),
        "Utterances": data("total-utterances", len(dataset), f"{len(dataset):,}"),
        "Mean length": data("mean-seconds", mean, f"{mean:.2f} s"),
        "Speakers": data("total-speakers", speakers, f"{speakers:,}"),
        "Mel frames": data("total-frames", frames, f"{frames:,}"),
        "Phonemes": data("total-phonemes", phonemes, f"{phonemes:,}"),
        "Left out": data("total-failures", len(summary.left_out), f"{len(summary.left_out):,} rows"),
        "Size": data("total-bytes", size, bytes_text(size)),
    }
    return '<dl class="totals">' + "".join(f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in numbers.items()) + "</dl>"


def _distributions(summary: Summary) -> str:
    if not len(summary.dataset):
        return "<p>There are no utterances.</p>"
    figures = []
    for (name, unit), values in summary.measures.items():
        key = name.lower().replace(" ", "-")
        quantiles = np.quantile(values, [0, 0.05, 0.5, 0.95, 1])
        text = " · ".join(
            f"{label} {_figure_text(value)}"
            for label, value in zip(("least", "5 %", "median", "95 %", "most"), quantiles, strict=True)
        )
        content = charts.histogram(values, unit, name) + f"<p>{text} {escaped(unit)}</p>"
        figures.append(figure(key, content, name))
    return f'<div class="grid">{"".join(figures)}</div>'


def _categories(summary: Summary) -> str:
    if not len(summary.dataset):
        return "<p>There are no utterances.</p>"
    return f'<div class="grid">{"".join(map(_category, summary.categories))}</div>'


def _category(category: Category) -> str:
    shown = [(name, seconds) for name, _, seconds in category.values[:_MOST_VALUES]]
    rest = category.values[_MOST_VALUES:]
    others = ""
    if rest:
        # No bar: it would be as long as all of the others together.
        longest, total = duration_text(rest[0][2]), duration_text(sum(seconds for *_, seconds in rest))
        others = f"<p>{len(rest):,} others have {longest} or less each, {total} together.</p>"
    most = max(seconds for _, seconds in shown)
    unit, divisor = ("hours", 3600.0) if most >= 3600 else ("minutes", 60.0)
    chart = charts.bars([name for name, _ in shown], [s / divisor for _, s in shown], unit, "audio by value")
    rows = (
        (bdi(name or "(none)"), f"{count:,}", duration_text(seconds)) for name, count, seconds in category.values[:500]
    )
    more = f"<p>{len(category.values) - 500:,} more</p>" if len(category.values) > 500 else ""
    listed = table(("value", "utterances", "audio"), rows, name=f"{category.name}: all values", numbers=(1, 2))
    title = f"{unit.capitalize()} by {category.name}: {len(category.values):,} values"
    if len(category.values) == 1:
        title = f"{unit.capitalize()} by {category.name}: one value"
    content = f"{chart}{others}<details><summary>As a table</summary>{listed}{more}</details>"
    return figure(f"category-{escaped(category.name)}", content, title)


def _mel(summary: Summary) -> str:
    statistics = summary.manifest.mel_statistics
    chart = charts.mel_bins(summary.dataset.mel_mean, summary.dataset.mel_std)
    return figure("mel-bins", chart, f"Mean and spread of every mel bin, over {statistics.get('count', 0):,} frames")


def _symbols(summary: Summary) -> str:
    counts, names = summary.symbol_counts, summary.dataset.symbols
    order = [int(i) for i in np.argsort(-counts, kind="stable") if counts[i]]
    parts = []
    if order:
        chart = charts.symbols([names[i] for i in order[:120]], [int(counts[i]) for i in order[:120]])
        scroll = f'<div class="scroll" tabindex="0" role="region" aria-label="Symbol frequencies">{chart}</div>'
        total = int(counts.sum())
        rows = (
            (
                f'<span class="symbol">{bdi(charts.symbol_text(names[i]))}</span>',
                str(i),
                f'<data class="symbol-count" value="{int(counts[i])}">{int(counts[i]):,}</data>',
                f"{counts[i] / total:.2%}",
            )
            for i in order
        )
        listed = table(("symbol", "id", "times seen", "share"), rows, name="Symbol frequencies", numbers=(1, 2, 3))
        scroll += f"<details><summary>As a table</summary>{listed}</details>"
        parts.append(figure("symbols", scroll, f"{len(order):,} of {len(names):,} symbols are used"))
    never = "".join(f'<li class="symbol">{bdi(charts.symbol_text(symbol))}</li>' for symbol in summary.never_seen)
    parts.append(
        f'<h3>Never seen: <data id="never-seen" value="{len(summary.never_seen)}">{len(summary.never_seen):,}</data>'
        " symbols</h3>"
    )
    if never:
        parts.append("<p class=soft>A model trained on this store learns nothing about them.</p>")
        parts.append(f'<ul class="symbols">{never}</ul>')
    return "".join(parts)


def _batches(summary: Summary) -> str:
    costs = summary.policies
    if not costs:
        return "<p>There are no utterances.</p>"
    chart = charts.padding(
        [cost.policy for cost in costs],
        [cost.frame_padding for cost in costs],
        [cost.phoneme_padding for cost in costs],
    )
    rows = (
        (
            f'<span class="line">{escaped(cost.policy)}</span>',
            f"{cost.batches:,}",
            f"{cost.smallest:,}–{cost.largest:,}" if cost.smallest < cost.largest else f"{cost.largest:,}",
            f'<data class="frame-padding" value="{cost.frame_padding!r}">{cost.frame_padding:.1%}</data>',
            f"{cost.phoneme_padding:.1%}",
            bytes_text(cost.largest_bytes),
        )
        for cost in costs
    )
    head = ("policy", "batches", "utterances each", "padding, frames", "padding, phonemes", "largest batch")
    listed = table(head, rows, name="Batching policies", numbers=range(1, 6))
    return (
        "<p>What a first epoch would cost with each policy; “buckets” are those of LengthBucketBatchSampler, by "
        "count or by a budget of padded frames. <code>tts-prep plan</code> tells it for others.</p>"
        + figure("padding", chart, "Padding by batching policy")
        + listed
    )


def _outliers(summary: Summary) -> str:
    if not len(summary.dataset):
        return "<p>There are no utterances.</p>"
    parts = []
    if len(summary.levels.positions) < len(summary.dataset):
        parts.append(
            f"<p>Loudness and clipping were looked at in {len(summary.levels.positions):,} utterances at even "
            f"distances, not in all {len(summary.dataset):,}.</p>"
        )
    low, high = _shades(summary)
    for kind in summary.outliers:
        clips = "".join(
            _clip(summary.dataset[position], low, high, f"{_figure_text(value)} {kind.unit}")
            for position, value in kind.values
        )
        if not kind.values:
            clips = "<p>None.</p>"
        parts.append(f'<h3 id="outliers-{kind.name}">{kind.name.capitalize()}</h3><div class="clips">{clips}</div>')
    if summary.levels.clipped is None:
        parts.append(
            "<p class=soft>The quietest are those with the lowest mean mel value. The store keeps no waveforms, so "
            "clipping cannot be seen: make it with <code>--waveform int16</code>.</p>"
        )
    else:
        clipped = int((summary.levels.clipped > 0).sum())
        parts.append(
            f"<p class=soft>{clipped:,} of {len(summary.levels.positions):,} utterances have flat peaks: three samples "
            "or more in a row at the highest or the lowest value.</p>"
        )
    return "".join(parts)


def _gallery(summary: Summary) -> str:
    if not summary.gallery:
        return "<p>There are no utterances.</p>"
    low, high = _shades(summary)
    left = _SOUND_BYTES
    clips = []
    for position in summary.gallery:
        utterance = summary.dataset[position]
        player = ""
        if utterance.waveform is not None and 0 < 2 * len(utterance.waveform) <= left:
            left -= 2 * len(utterance.waveform)
            player = (
                f'<audio controls preload="metadata" aria-label="{escaped(utterance.id)}" '
                f'src="{sound(utterance.waveform, summary.dataset.sample_rate)}"></audio>'
            )
        clips.append(_clip(utterance, low, high, f"{utterance.seconds:.2f} s", player))
    return f'<p>Drawn at random.</p><div class="clips">{"".join(clips)}</div>'


def _clip(utterance: Utterance, low: float, high: float, fact: str, player: str = "") -> str:
    picture = ""
    if len(utterance.mel):
        source = mel_picture(utterance.mel, low, high)
        picture = f'<img src="{source}" alt="Mel spectrogram of {escaped(utterance.id)}, {len(utterance.mel)} frames">'
    return (
        f'<article class="clip"><h4>{bdi(utterance.id)}</h4>'
        f'<p class="facts">{escaped(fact)} · {bdi(utterance.speaker)}</p>'
        f"{picture}{player}<p>{bdi(utterance.text)}</p>"
        f'<p class="phonemes">{bdi(utterance.phoneme_text)}</p></article>'
    )


def _left_out(summary: Summary) -> str:
    if not summary.left_out:
        return "<p>Nothing: every row of the corpus became an utterance.</p>"
    stages = table(
        ("stage", "rows"),
        ((bdi(stage), f"{count:,}") for stage, count in reasons(summary.left_out)),
        name="Rows left out by stage",
        numbers=(1,),
    )
    rows = (
        (bdi(row.id or "(none)"), bdi(row.where), bdi(row.stage), bdi(row.reason))
        for row in summary.left_out[:_MOST_LEFT_OUT]
    )
    listed = table(("utterance", "where", "stage", "reason"), rows, name="Rows left out")
    more = len(summary.left_out) - _MOST_LEFT_OUT
    return f"{stages}<h3>Why</h3>{listed}" + (f"<p>{more:,} more are in failures.jsonl.</p>" if more > 0 else "")


def _configuration(summary: Summary) -> str:
    manifest = summary.manifest
    parts = []
    general = {"format version": manifest.version, "fingerprint": manifest.fingerprint}
    for title, values in itertools.chain(
        [("Store", general)], _tables(manifest.configuration), [("Software", manifest.software)]
    ):
        rows = ((bdi(key), bdi(_setting(value))) for key, value in values.items())
        parts.append(f"<h3>{bdi(title)}</h3>{table(('setting', 'value'), rows, name=title)}")
    return f'<div class="settings">{"".join(parts)}</div>'


def _tables(configuration: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the settings of a configuration, one flat table after the other."""
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


def _shades(summary: Summary) -> tuple[float, float]:
    """Return the mel values that are darkest and brightest: the same for every picture, so that they compare."""
    mean, std = summary.dataset.mel_mean, summary.dataset.mel_std
    return float((mean - 2 * std).min()), float((mean + 2.5 * std).max())


def _figure_text(value: float) -> str:
    if not np.isfinite(value):
        return "−∞" if value < 0 else "unknown"
    text = f"{value:,.0f}" if value == round(value) or abs(value) >= 100 else f"{value:.2f}"
    return text.replace("-", "−")
