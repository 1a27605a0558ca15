"""Comparison of two stores: settings, utterances, texts, mels; and a self-contained HTML page about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep import __version__
from tts_prep.diff.stores import CAUSES, StoreDifference, compare_stores
from tts_prep.format.files.atomic import replacing
from tts_prep.inspection.settings import recipe_text
from tts_prep.loader import UtteranceDataset
from tts_prep.loader.dataset.store import Store
from tts_prep.pictures.templates import make_environment
from tts_prep.quantities import bytes_text, count_text, duration_text, number_text, share_text
from tts_prep.report.charts import histogram
from tts_prep.report.columns import NumberColumn
from tts_prep.report.page import page_style
from tts_prep.report.summary import Summary

_MAX_EXAMPLES = 20

Difference = tuple[str, int, list[tuple[str, str, str]]]
"""An attribute, the number of common utterances that differ in it, and examples: id, and both values."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The differences of two stores.

    Attributes:
        first, second: the summaries of the stores.
        stores: what `tts-prep diff` says of them.
        only_suspect: ids of common utterances that are suspect in the first store only, and in the second store only.
        differences: the differences of common utterances.
        symbols: the symbols that are only in the first, and only in the second vocabulary.
    """

    first: Summary
    second: Summary
    stores: StoreDifference
    only_suspect: tuple[tuple[str, ...], tuple[str, ...]]
    differences: tuple[Difference, ...]
    symbols: tuple[tuple[str, ...], tuple[str, ...]]


def compare(first: Summary, second: Summary) -> Comparison:
    """Compare two stores: settings by name, utterances by id."""
    one, two = first.dataset, second.dataset
    ids, others = {id_: i for i, id_ in enumerate(one.id)}, {id_: i for i, id_ in enumerate(two.id)}
    common = [id_ for id_ in ids if id_ in others]
    a, b = one.select([ids[id_] for id_ in common]), two.select([others[id_] for id_ in common])
    return Comparison(
        first=first,
        second=second,
        stores=compare_stores(Store(one.path), Store(two.path)),
        only_suspect=(_only_suspect(first, second), _only_suspect(second, first)),
        differences=tuple(_differences(a, b, common)),
        symbols=(_missing(one.symbols, two.symbols), _missing(two.symbols, one.symbols)),
    )


def _only_suspect(summary: Summary, other: Summary) -> tuple[str, ...]:
    fine = {*other.checked.id} - {*other.suspects.ids}
    return tuple(id_ for id_ in summary.suspects.ids if id_ in fine)


def _differences(a: UtteranceDataset, b: UtteranceDataset, ids: Sequence[str]) -> Iterator[Difference]:
    texts = (("text", a.text, b.text), ("phonemes", a.phoneme_text, b.phoneme_text), ("speaker", a.speaker, b.speaker))
    for name, one, two in texts:
        found = [(id_, x, y) for id_, x, y in zip(ids, one, two, strict=True) if x != y]
        yield name, len(found), found[:_MAX_EXAMPLES]


def _missing(symbols: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    known = set(others)
    return tuple(symbol for symbol in symbols if symbol not in known)


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
