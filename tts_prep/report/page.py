"""A self-contained HTML page about a store, without scripts, and its cards of utterances with limited sound."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from markupsafe import Markup

from tts_prep import __version__
from tts_prep.checks.catalogue import Threshold
from tts_prep.format.files.atomic import replacing
from tts_prep.inspection.settings import default_language, recipe_text, setting_tables
from tts_prep.pictures.clip import Clip, clip_of, mel_axis
from tts_prep.pictures.drawing import Drawing
from tts_prep.pictures.spectrogram import draw_spectrogram, sound
from tts_prep.pictures.templates import make_environment
from tts_prep.quantities import number_text
from tts_prep.report.charts import histogram, mel_bins, ranges
from tts_prep.report.columns import PER_REASON, Group, NumberColumn, end_groups, limit_text, reason_text, suspect_groups
from tts_prep.report.speakers import pitch_ranges
from tts_prep.report.summary import Category, Summary, stages

MAX_SOUND_BYTES = 12_000_000
"""The maximum size of all sounds, before base64 encoding, which adds a third."""

_FACTS = ("phone_rate", "pitch", "loudness", "snr")


@dataclass(frozen=True)
class Card:
    """An utterance on a page.

    Attributes:
        anchor: the target of links.
        clip: the utterance.
        facts: facts about the utterance.
        drawing: the spectrogram, or None if the utterance has no frames.
        sound: a ``data:`` URI, or an empty string.
        reasons: the reasons for which it is suspect, with the measures.
        link: the address of its page in a review, or an empty string.
    """

    anchor: str
    clip: Clip
    facts: tuple[str, ...]
    drawing: Drawing | None
    sound: str
    reasons: tuple[tuple[str, str], ...]
    link: str = ""


@dataclass(frozen=True)
class CardGroup:
    """Cards under one heading, and links to earlier cards of the page.

    Attributes:
        group: the group of utterances.
        cards: the cards.
        above: anchor, id and fact of each earlier card.
    """

    group: Group
    cards: tuple[Card, ...]
    above: tuple[tuple[str, str, str], ...]


class Cards:
    """Creates cards, and records the utterances that a page already shows."""

    def __init__(self, summary: Summary, max_sound_bytes: int = MAX_SOUND_BYTES, review: str = "") -> None:
        self._summary = summary
        self._review = review
        self._left = max_sound_bytes
        self._columns = {column.key: column for column in summary.columns}
        self._pitch_range = _pitch_range(self._columns.get("pitch"))
        self._language = default_language(summary.manifest)
        self._shown: set[int] = set()
        self.n_without_sound = 0

    def groups(self, groups: Sequence[Group]) -> list[CardGroup]:
        """Return the cards of groups in order."""
        return [self.group(group) for group in groups]

    def group(self, group: Group) -> CardGroup:
        """Return the cards of a group."""
        cards, above = [], []
        for position, fact in group.positions:
            if position in self._shown:
                above.append((f"u{position}", self._summary.checked.id[position], fact))
            else:
                self._shown.add(position)
                cards.append(self._card(position, fact))
        return CardGroup(group, tuple(cards), tuple(above))

    def _card(self, position: int, fact: str) -> Card:
        summary = self._summary
        clip = clip_of(summary.checked[position])
        if not clip.language:
            clip = replace(clip, language=self._language)
        reasons = tuple(
            (threshold.reason, reason_text(summary.suspects, threshold, position))
            for threshold in summary.suspects.thresholds
            if summary.suspects.flagged[threshold.reason][position]
        )
        known = [self._columns[key] for key in _FACTS if key in self._columns]
        facts = [f"{number_text(clip.seconds)} s"]
        facts += [column.fact(position) for column in known if np.isfinite(column.values[position])]
        if fact and fact not in facts and not reasons:
            facts.append(fact)
        return Card(
            f"u{position}",
            clip,
            tuple(facts),
            draw_spectrogram(clip, self._pitch_range) if clip.mel.size else None,
            self._sound(clip),
            reasons,
            f"{self._review}#id={quote(clip.id, safe='')}" if self._review else "",
        )

    def _sound(self, clip: Clip) -> str:
        if clip.waveform is None or not len(clip.waveform):
            return ""
        size = 2 * len(clip.waveform)
        if size > self._left:
            self.n_without_sound += 1
            return ""
        self._left -= size
        return sound(clip.waveform, clip.sample_rate)


def _pitch_range(column: NumberColumn | None) -> tuple[float, float] | None:
    """Return the common pitch axis of all cards: 0.6 times the lowest to 1.6 times the highest (98 %) mean."""
    if column is None or not np.isfinite(column.values).any():
        return None
    known = column.values[np.isfinite(column.values)]
    return float(known.min()) * 0.6, float(np.quantile(known, 0.98)) * 1.6


_MAX_ROWS = 200
_MAX_SPEAKER_BARS = 20
_MAX_FAILED = 200
_RARE = 10
_COMMON, _LEAST_COMMON = 0.2, 10
"""A share and a number of utterances; with more suspects, a reason is said to be common."""

_SECTIONS = (
    *("Overview", "Suspects", "Speakers", "Distributions", "Texts", "Symbols", "Categories", "Batches"),
    *("Outliers", "Gallery", "Failed rows", "Configuration"),
)


def write_report(
    summary: Summary,
    path: Path,
    max_sound_bytes: int = MAX_SOUND_BYTES,
    *,
    per_reason: int = PER_REASON,
    review: str = "",
) -> None:
    """Write the page atomically, see `report_html`. Output is deterministic."""
    page = report_html(summary, max_sound_bytes, per_reason=per_reason, review=review)
    with replacing(path) as partial:
        partial.write_text(page, encoding="utf-8")


def report_html(
    summary: Summary, max_sound_bytes: int = MAX_SOUND_BYTES, *, per_reason: int = PER_REASON, review: str = ""
) -> str:
    """Return the page.

    Args:
        max_sound_bytes: the maximum size of all sounds; those of suspects are included first.
        per_reason: the maximum number of suspects of a reason that are shown.
        review: the address of the page of ``tts-prep review``, to which ids are links; empty for none.
    """
    cards = Cards(summary, max_sound_bytes, review)
    # In the order of the page, because cards and sounds are at the first occurrence.
    suspects = cards.groups(suspect_groups(summary.suspects, per_reason))
    ends = cards.groups(end_groups(summary.columns))
    gallery = cards.group(Group("gallery", "Gallery", "", tuple((position, "") for position in summary.gallery)))
    has_phonemes = bool(summary.coverage.symbol_counts.any()) or not len(summary.dataset)
    return (
        make_environment("report")
        .get_template("page.html.j2")
        .render(
            summary=summary,
            dataset=summary.dataset,
            manifest=summary.manifest,
            has_phonemes=has_phonemes,
            title=summary.dataset.path.name,
            store=shlex.quote(summary.dataset.path.name),
            version=__version__,
            style=page_style(),
            sections=_sections(summary, has_phonemes=has_phonemes),
            recipe=recipe_text(summary.manifest, summary.dataset),
            size=sum(entry.size for entry in summary.manifest.files),
            common_reasons=_common_reasons(summary),
            speaker_columns=[f"{name}, {unit}" for name, unit in summary.speakers.columns],
            suspects=suspects,
            outliers=ends,
            gallery=gallery,
            per_reason=per_reason,
            n_without_sound=cards.n_without_sound,
            max_rows=_MAX_ROWS,
            stages=stages(summary.failed),
            failed=summary.failed[:_MAX_FAILED],
            settings=setting_tables(summary.manifest),
            **_reasons(summary),
            **_charts(summary),
        )
    )


def _sections(summary: Summary, *, has_phonemes: bool) -> list[tuple[str, str]]:
    """Return the anchors and titles of the sections that a store has something for."""
    there = {"Categories": bool(summary.categories), "Symbols": has_phonemes}
    titles = [title for title in _SECTIONS if there.get(title, True)]
    return [(title.lower().replace(" ", "-"), title) for title in titles]


def _reasons(summary: Summary) -> dict[str, Any]:
    """Return the reasons with suspects and those without, each with its limit and their number."""
    reasons = [
        (threshold, limit_text(threshold), summary.suspects.count(threshold.reason))
        for threshold in summary.suspects.thresholds
    ]
    return {
        "reasons_found": [reason for reason in reasons if reason[2]],
        "reasons_not_found": [reason for reason in reasons if not reason[2]],
    }


def _charts(summary: Summary) -> dict[str, Any]:
    """Return the charts by their names in the template."""
    dataset = summary.dataset
    axis = mel_axis(dataset.metadata)
    return {
        "pitch_chart": _pitch_chart(summary),
        "histograms": list(_histograms(summary)),
        "words": _words(summary),
        "phones": _phones(summary),
        "symbols": _symbols(summary),
        "categories": [_bars(category) for category in summary.categories if category.values],
        "mel_chart": mel_bins(dataset.mel_mean, dataset.mel_std, axis) if dataset.n_mels else None,
    }


def page_style() -> Markup:
    """Return the style of a page with cards."""
    return Markup(
        # In this order: a page changes what cards have, in print above all.
        files("tts_prep.pictures").joinpath("card.css").read_text(encoding="utf-8")
        + files("tts_prep.report").joinpath("page.css").read_text(encoding="utf-8")
    )


def _common_reasons(summary: Summary) -> list[Threshold]:
    """Return the reasons of so many suspects that they may not be faults."""
    least = max(_LEAST_COMMON, _COMMON * len(summary.checked))
    return [t for t in summary.suspects.thresholds if (summary.suspects.count(t.reason) or 0) > least]


def _pitch_chart(summary: Summary) -> Any:
    found = pitch_ranges(summary.checked, summary.speakers, _MAX_SPEAKER_BARS)
    if not found:
        return None
    names, values = [name for name, _ in found], [quantiles for _, quantiles in found]
    return ranges(names, values, "pitch of voiced frames (Hz)", "Ranges: pitch by speaker, Hz")


def _histograms(summary: Summary) -> Iterator[dict[str, Any]]:
    suspects = summary.suspects
    for column in summary.columns:
        if column.varies:
            thresholds = [t for t in suspects.thresholds if t.measure == column.key]
            flagged = np.any([suspects.flagged[t.reason] for t in thresholds], axis=0) if thresholds else None
            finite = column.values[np.isfinite(column.values)]
            yield {
                "key": column.key.replace("_", "-"),
                "name": column.name,
                "unit": column.unit,
                "meaning": column.meaning,
                "chart": histogram([column.values], column.unit, column.axis, [t.limit for t in thresholds], flagged),
                "quantiles": _quantiles(finite),
                "missing": int(np.isnan(column.values).sum()),
                "infinite": int(np.isinf(column.values).sum()),
                "limits": [(t.reason, limit_text(t), suspects.count(t.reason) or 0) for t in thresholds],
            }


def _quantiles(values: Any) -> dict[str, float]:
    names = ("smallest", "5%", "median", "95%", "largest")
    return dict(zip(names, np.quantile(values, [0, 0.05, 0.5, 0.95, 1]).tolist(), strict=True))


def _words(summary: Summary) -> dict[str, Any]:
    counts = summary.coverage.word_counts
    return {
        "unit": summary.coverage.word_unit,
        "total": counts.total(),
        "different": len(counts),
        "once": sum(1 for count in counts.values() if count == 1),
        # Sort ties alphabetically, because the order of a Counter depends on the order of the corpus.
        "frequent": sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:12],
    }


def _phones(summary: Summary) -> dict[str, Any]:
    coverage, symbols = summary.coverage, summary.dataset.symbols
    pairs, counts = coverage.diphone_counts, coverage.symbol_counts
    return {
        "n": len(coverage.phones),
        "possible": pairs.size,
        "seen": int((pairs > 0).sum()),
        "once": int((pairs == 1).sum()),
        "rare": [(symbols[i], int(counts[i])) for i in coverage.phones if counts[i] < _RARE],
    }


def _symbols(summary: Summary) -> dict[str, Any]:
    counts, names = summary.coverage.symbol_counts, summary.dataset.symbols
    order = [int(i) for i in np.argsort(-counts, kind="stable") if counts[i]]
    total, most = int(counts.sum()), int(counts.max(initial=1))
    return {
        "n_symbols": len(names),
        "rows": [(names[i], i, int(counts[i]), float(counts[i] / total), float(counts[i] / most)) for i in order],
    }


def _bars(category: Category) -> dict[str, Any]:
    total = sum(seconds for *_, seconds in category.values)
    longest = max(seconds for *_, seconds in category.values)
    return {
        "name": category.name,
        "n_values": len(category.values),
        "rows": [
            (name, count, seconds, seconds / max(total, 1e-9), seconds / max(longest, 1e-9))
            for name, count, seconds in category.values[:_MAX_ROWS]
        ],
    }
