"""Cards of utterances, each shown once per page, with sound up to a size limit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

import numpy as np

from tts_prep.inspection.settings import default_language
from tts_prep.pictures.clip import Clip
from tts_prep.pictures.drawing import Drawing
from tts_prep.pictures.spectrogram import draw_spectrogram, sound
from tts_prep.pictures.utterances import clip_of
from tts_prep.quantities import number_text
from tts_prep.report.columns import NumberColumn
from tts_prep.report.groups import Group, reason_text
from tts_prep.report.summary import Summary

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
