"""A self-contained HTML page of the differences of two stores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep import __version__
from tts_prep.diff.stores import CAUSES
from tts_prep.format.files.atomic import replacing
from tts_prep.inspection.settings import recipe_text
from tts_prep.pictures.templates import make_environment
from tts_prep.quantities import bytes_text, count_text, duration_text, number_text, share_text
from tts_prep.report.charts import histogram
from tts_prep.report.columns import NumberColumn
from tts_prep.report.comparison import Comparison
from tts_prep.report.page import page_style
from tts_prep.report.summary import Summary

_MAX_IDS = 50


def write_comparison(comparison: Comparison, path: Path) -> None:
    """Write the page atomically."""
    with replacing(path) as partial:
        partial.write_text(comparison_html(comparison), encoding="utf-8")


def comparison_html(comparison: Comparison) -> str:
    """Return the page."""
    first, second = comparison.first, comparison.second
    names = _names(first.dataset.path, second.dataset.path)
    titles = ("Overview", "Suspects", "Recipe", "Utterances", "Symbols", "Distributions")
    return (
        make_environment("report")
        .get_template("comparison.html.j2")
        .render(
            comparison=comparison,
            causes=CAUSES,
            names=names,
            title=f"{names[0]} and {names[1]}",
            version=__version__,
            style=page_style(),
            sections=[(title.lower(), title) for title in titles],
            recipes=[recipe_text(summary.manifest, summary.dataset) for summary in (first, second)],
            totals=list(zip(_totals(first), _totals(second), strict=True)),
            max_ids=_MAX_IDS,
            histograms=list(_histograms(comparison, names)),
            suspects=[
                (threshold.reason, _flagged(first, threshold.reason), _flagged(second, threshold.reason))
                for threshold in first.suspects.thresholds
                if first.suspects.count(threshold.reason) or second.suspects.count(threshold.reason)
            ],
        )
    )


def _names(first: Path, second: Path) -> tuple[str, str]:
    """Return the names of two stores, or their paths if the names are equal."""
    if first.name != second.name:
        return first.name, second.name
    return str(first), str(second)


def _totals(summary: Summary) -> list[tuple[str, str]]:
    dataset = summary.dataset
    return [
        ("audio", duration_text(summary.seconds)),
        ("utterances", f"{len(dataset):,}"),
        ("suspects", f"{len(summary.suspects.positions):,} of {len(summary.checked):,}"),
        ("speakers", f"{len(summary.speakers.names):,}"),
        ("mel frames", f"{int(np.asarray(dataset.n_frames).sum()):,}"),
        ("symbols", f"{int(summary.coverage.symbol_counts.sum()):,}"),
        ("different words", f"{len(summary.coverage.word_counts):,}"),
        ("failed", count_text(len(summary.failed), "row")),
        ("arrays", ", ".join(sorted(dataset.arrays))),
        ("size", bytes_text(sum(entry.size for entry in summary.manifest.files))),
    ]


def _flagged(summary: Summary, reason: str) -> str:
    count = summary.suspects.count(reason)
    return "–" if count is None else f"{count:,} ({share_text(count / max(1, len(summary.checked)))})"


def _histograms(comparison: Comparison, names: tuple[str, str]) -> Iterator[dict[str, Any]]:
    others = {column.key: column for column in comparison.second.columns}
    for column in comparison.first.columns:
        other = others.get(column.key)
        if other is None or not (column.varies or other.varies):
            continue
        yield {
            "name": column.name,
            "meaning": column.meaning,
            "chart": histogram([column.values, other.values], column.unit, column.axis, legend=names),
            "medians": [(name, _median(c)) for name, c in zip(names, (column, other), strict=True)],
        }


def _median(column: NumberColumn) -> str:
    known = column.values[~np.isnan(column.values)]
    return f"{number_text(float(np.median(known)))} {column.unit}" if len(known) else "not measured"
