"""Numeric columns of utterances, measures and means of features, and the utterances that a page shows by them."""

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep import doors
from tts_prep.checks.catalogue import MEASURE, MEASURES, Threshold, in_sentence
from tts_prep.checks.detection import Suspects
from tts_prep.checks.findings import Measures
from tts_prep.checks.measuring import NAMES
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.features.kinds import COLUMNS, FeatureArrays, FeatureColumn, all_features, hertz
from tts_prep.quantities import number_text

_FIRST = ("seconds", "phone_rate", "pitch", "loudness", "snr", "energy", "symbol_length")


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A number for each checked utterance.

    Attributes:
        key: the name in files.
        name: the displayed name.
        unit: the unit of the values.
        values: [n] float64; NaN is a missing value.
        meaning: what the values are, in one line.
        by_speaker: whether a mean says something about a speaker.
    """

    key: str
    name: str
    unit: str
    values: npt.NDArray[np.float64]
    meaning: str = ""
    by_speaker: bool = True

    @property
    def label(self) -> str:
        """The name inside a sentence."""
        return in_sentence(self.name)

    @property
    def axis(self) -> str:
        """The label of an axis."""
        named = not self.unit or f" {self.unit} " in f" {self.label} "
        return self.label if named else f"{self.label} ({self.unit})"

    def fact(self, position: int) -> str:
        """Return the value of an utterance with its unit, and with its name if the unit does not tell."""
        name = "" if self.key in ("seconds", "phone_rate") else f"{self.label} "
        return f"{name}{number_text(float(self.values[position]))} {self.unit}".rstrip()

    @property
    def varies(self) -> bool:
        """Whether there are two different finite values that are not only 0 and 1, for no and yes."""
        finite = self.values[np.isfinite(self.values)]
        return len(finite) > 1 and float(finite.min()) < float(finite.max()) and not np.isin(finite, (0, 1)).all()


def number_columns(measures: Measures) -> list[NumberColumn]:
    """Return the columns of a store, the most important first, including its pitch, energy and durations."""
    columns = [
        NumberColumn(m.name, m.label, m.unit, measures.columns[m.name], m.meaning, m.by_speaker) for m in MEASURES
    ]
    known = {column.key for column in columns if np.isfinite(column.values).any()}
    features = [column for column in _features(measures.dataset) if column.key not in known]
    columns = [column for column in columns if column.key not in {feature.key for feature in features}] + features
    columns += _own_columns(measures.dataset, {column.key for column in columns})
    order = {key: place for place, key in enumerate(_FIRST)}
    return sorted(columns, key=lambda column: order.get(column.key, len(order)))


def _own_columns(dataset: UtteranceDataset, known: Collection[str]) -> Iterator[NumberColumn]:
    """Yield the numbers of the corpus, and those that were added as columns."""
    own = {column for spec in dataset.arrays.values() for column in spec.columns or ()}
    for name in sorted({*dataset.columns} - {*FIXED_COLUMNS, *NAMES, *own, *known}):
        values: Any = dataset.columns[name]
        if isinstance(values, np.ndarray):
            yield NumberColumn(name, name.replace("_", " ").capitalize(), "", values.astype(np.float64))


def _features(dataset: UtteranceDataset) -> Iterator[NumberColumn]:
    frame_seconds = dataset.hop_length / dataset.sample_rate
    for column in _columns(dataset):
        if has_numbers(dataset, column.array, column.axis):
            names = [name for name in (column.array, *column.others) if has_numbers(dataset, name, column.axis)]
            views = zip(*(dataset.views(name) for name in names), strict=True)
            arrays = (FeatureArrays(dict(zip(names, row, strict=True)), dataset.arrays, frame_seconds) for row in views)
            values = np.array([column.number(given) for given in arrays], np.float64)
            yield NumberColumn(column.name, column.label, column.unit, values, column.meaning)


def _columns(dataset: UtteranceDataset) -> Iterator[FeatureColumn]:
    """Yield the columns of built-in features, and of those of other packages that have added arrays to the store."""
    yield from COLUMNS
    if doors.others("features") and any(spec.added for spec in dataset.arrays.values()):
        # Packages of features need the libraries that make stores; a report without them shows built-in features.
        with contextlib.suppress(ImportError):
            others = (kind for kind in all_features() if kind.name not in doors.rows("features"))
            yield from (column for kind in others for column in kind.columns)


def has_numbers(dataset: UtteranceDataset, name: str, axis: str) -> bool:
    """Return whether the store has an array with one number per frame or phoneme."""
    spec = dataset.arrays.get(name)
    return spec is not None and spec.axis == axis and not spec.row_shape


def pitch_tracks(dataset: UtteranceDataset) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the pitch of each utterance, [n_frames] Hz, NaN where unvoiced."""
    spec = dataset.arrays["pitch"]
    pitch = dataset.views("pitch")
    voiced = dataset.views("voiced") if has_numbers(dataset, "voiced", "frame") else [None] * len(pitch)
    for values, mask in zip(pitch, voiced, strict=True):
        yield hertz(spec.settings.get("unit"), values, mask)


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
