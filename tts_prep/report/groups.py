"""Selection of the utterances on a page: suspects and extremes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.checks.catalogue import MEASURE, Threshold
from tts_prep.checks.detection import Suspects
from tts_prep.quantities import number_text
from tts_prep.report.columns import NumberColumn

MAX_IDS = 100
"""The maximum number of ids of a group that are listed without a card."""

PER_REASON = 3
"""The number of suspects of each reason that are shown by default."""

_PER_END = 3

_ENDS = (
    *(("seconds", 1, "Longest"), ("seconds", -1, "Shortest")),
    *(("phone_rate", 1, "Fastest"), ("phone_rate", -1, "Slowest")),
    *(("pitch", 1, "Highest pitch"), ("pitch", -1, "Lowest pitch")),
    *(("loudness", 1, "Loudest"), ("loudness", -1, "Quietest")),
    *(("peak", -1, "Lowest peak"), ("snr", -1, "Noisiest")),
)


@dataclass(frozen=True)
class Group:
    """Utterances under one heading.

    Attributes:
        key: the target of links.
        title: the heading.
        note: a sentence below the heading.
        positions: the positions of utterances, each with a fact.
        more: ids of further utterances, up to `MAX_IDS`.
        n_more: the number of all further utterances.
    """

    key: str
    title: str
    note: str
    positions: tuple[tuple[int, str], ...]
    more: tuple[str, ...] = ()
    n_more: int = 0


def suspect_groups(suspects: Suspects, per_reason: int = PER_REASON) -> list[Group]:
    """Return a group for each reason with suspects: those that exceed its limit the most, and what they duplicate.

    Args:
        per_reason: the maximum number of suspects of a reason that are shown; the ids of others are listed.
    """
    groups = []
    for threshold in suspects.thresholds:
        flagged = np.flatnonzero(suspects.flagged[threshold.reason])
        if not len(flagged):
            continue
        values = suspects.measures.columns[threshold.measure]
        worst = flagged[np.argsort(-values[flagged] if threshold.above else values[flagged], kind="stable")]
        shown: list[tuple[int, str]] = []
        ids = suspects.measures.dataset.id
        for i in worst[:per_reason].tolist():
            shown.append((i, reason_text(suspects, threshold, i)))
            original = suspects.partner(threshold.reason, i)
            if original is not None and original not in dict(shown):
                shown.append((original, f"original of {ids[i]}"))
        more = worst[per_reason:]
        groups.append(
            Group(
                f"reason-{threshold.reason}",
                threshold.reason,
                threshold.why,
                tuple(shown),
                tuple(ids[i] for i in more[:MAX_IDS].tolist()),
                len(more),
            )
        )
    return groups


def reason_text(suspects: Suspects, threshold: Threshold, position: int) -> str:
    """Return the measure of a suspect, or the utterance that it duplicates."""
    partner = suspects.partner(threshold.reason, position)
    value = float(suspects.measures.columns[threshold.measure][position])
    measure = MEASURE[threshold.measure]
    if partner is None:
        return f"{measure.phrase} {number_text(value)}{measure.unit_behind}"
    other = suspects.measures.dataset.id[partner]
    score = f", {measure.unit} {number_text(value)}" if measure.name == "similarity" else ""
    return f"as {other}{score}"


def limit_text(threshold: Threshold) -> str:
    """Return a limit as text, such as ``peak < −60 dBFS``."""
    sign = ">" if threshold.above else "<"
    measure = MEASURE[threshold.measure]
    return f"{measure.phrase} {sign} {number_text(threshold.limit)}{measure.unit_behind}"


def end_groups(columns: Sequence[NumberColumn]) -> list[Group]:
    """Return groups of extreme utterances of each available column."""
    return [*_ends({column.key: column for column in columns})]


def _ends(columns: dict[str, NumberColumn]) -> Iterator[Group]:
    for key, sign, title in _ENDS:
        if key not in columns or (key == "peak" and "loudness" in columns):
            continue
        column = columns[key]
        order = _order(column.values, sign)[:_PER_END]
        shown = tuple((int(i), column.fact(int(i))) for i in order)
        if shown:
            yield Group(f"outliers-{title.lower().replace(' ', '-')}", title, "", shown)


def _order(values: npt.NDArray[np.float64], sign: int) -> npt.NDArray[np.int64]:
    found = np.flatnonzero(~np.isnan(values))
    return found[np.argsort(-sign * values[found], kind="stable")]
