"""The table of all utterances: its columns, and which rows a query selects, in which order."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from tts_prep.checks.catalogue import MEASURES
from tts_prep.checks.detection import Suspects
from tts_prep.checks.measuring import NAMES
from tts_prep.errors import ConfigurationError
from tts_prep.loader import CategoryValues, UtteranceDataset
from tts_prep.pictures.drawing import LARGEST, SMALLEST
from tts_prep.report.columns import NumberColumn
from tts_prep.review.decisions import KEEP, DecisionFile
from tts_prep.review.expression import Mask, evaluate

Rows = npt.NDArray[np.int64]
Kind = Literal["number", "text", "category"]

_HIDDEN: Final = ("shard", "mel_start", "phonemes_start", "waveform_start")
_LABELS: Final = {
    "id": "ID",
    "n_frames": "Frames",
    "n_phonemes": "Phonemes",
    "n_samples": "Samples",
    "seconds": "Length",
}
_OF_DECISIONS: Final = ("keep", "note", "corrected")
_STATES: Final = ("", "undecided", "decided", *KEEP, "corrected")
_CACHED: Final = 12
"""The number of queries whose rows are kept, so that turning pages takes no time."""

_MAX_BINS: Final = 40


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Attributes:
        key: the name in conditions.
        label: the displayed name.
        unit: the unit of numbers.
        kind: what its values are.
        meaning: one line for a hint.
    """

    key: str
    label: str
    unit: str
    kind: Kind
    meaning: str = ""


@dataclass(frozen=True)
class Query:
    """Which rows are shown, in which order.

    Attributes:
        filter: a condition, see `tts_prep.review.expression.evaluate`.
        search: words that id, text or phonemes contain, in any case.
        reason: the name of a reason; ``*`` for all suspects; empty for all rows.
        state: ``undecided``, ``decided``, a value of `KEEP`, ``corrected``, or empty for all rows.
        sort: the key of a column; empty for suspects by reason first, the worst ones first.
        descending: the order of ``sort``.
    """

    filter: str = ""
    search: str = ""
    reason: str = ""
    state: str = ""
    sort: str = ""
    descending: bool = False


class Table:
    """The utterances of a store with their measures and decisions.

    Args:
        dataset: all utterances of the store.
        decisions: the decisions, which the caller changes and reports with `decided`.
    """

    def __init__(self, dataset: UtteranceDataset, decisions: DecisionFile) -> None:
        self.dataset = dataset
        self.decisions = decisions
        self.suspects: Suspects | None = None
        self._texts: dict[str, list[str]] = {}
        self._cache: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        # 0 for undecided, then the place in KEEP; and whether something is corrected.
        self._keep = np.zeros(len(dataset), np.int8)
        self._corrected = np.zeros(len(dataset), bool)
        self._version = 0
        self._read_decisions()

    def __len__(self) -> int:
        return len(self.dataset)

    def _read_decisions(self) -> None:
        known = self.decisions.decisions
        if known:
            for row in np.flatnonzero(self.dataset.id.isin(known.keys())).tolist():
                self._mark(row)

    def _mark(self, row: int) -> None:
        decision = self.decisions.get(self.dataset.id[row])
        self._keep[row] = 1 + KEEP.index(decision.keep) if decision.keep else 0
        self._corrected[row] = decision.is_correction

    def decided(self, row: int) -> None:
        """Take over the changed decision about a row."""
        self._mark(row)
        self._version += 1

    def measured(self, suspects: Suspects) -> None:
        """Take over the measures of all rows and their suspects."""
        self._cache.clear()
        self.suspects = suspects

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns: those of the store, then the measures, then the decisions."""
        return tuple(self._columns())

    def _columns(self) -> Iterator[Column]:
        # The duration is a column of every store.
        measures = {measure.name: measure for measure in MEASURES if measure.column} if self.suspects else {}
        yield Column("row", "Row", "", "number", "The place in the store, from 0.")
        for name in self.dataset.columns:
            # Measures are shown by their names, not by those of their columns.
            if name in _HIDDEN or name in measures or name in NAMES or name in _OF_DECISIONS:
                continue
            kind: Kind = "number" if isinstance(self.dataset.column(name), np.ndarray) else "text"
            if isinstance(self.dataset.column(name), CategoryValues):
                kind = "category"
            label = _LABELS.get(name, name.replace("_", " ").capitalize())
            yield Column(name, label, "s" if name == "seconds" else "", kind)
        for measure in measures.values():
            yield Column(measure.name, measure.label, measure.unit, "number", measure.meaning)
        if self.suspects:
            yield Column("reasons", "Reasons", "", "text", "Why the utterance is suspect.")
        yield Column("keep", "Keep", "", "category", "The decision: yes, no or unsure.")
        yield Column("note", "Note", "", "text", "The note of the decision.")

    def values(self, key: str) -> Any:
        """Return a column: numbers, [n], or texts."""
        if key == "row":
            return np.arange(len(self), dtype=np.float64)
        if key == "keep":
            return CategoryValues(self._keep.astype(np.int32), ("", *KEEP))
        if key == "note":
            return self._remembered(("notes", self._version), self._notes)
        if self.suspects and key == "reasons":
            return self._remembered(("reasons",), self._reasons)
        if self.suspects and key in self.suspects.measures.columns:
            return self.suspects.measures.columns[key]
        found = self.dataset.column(key)
        return np.asarray(found, np.float64) if isinstance(found, np.ndarray) else found

    def texts(self, key: str) -> list[str]:
        """Return a column of texts, decoded once."""
        if key not in self._texts:
            self._texts[key] = [str(text) for text in self.dataset.column(key)]
        return self._texts[key]

    def _reasons(self) -> list[str]:
        assert self.suspects
        found = [""] * len(self)
        for row in self.suspects.positions.tolist():
            found[row] = " ".join(self.suspects.reasons(row))
        return found

    def _notes(self) -> list[str]:
        notes = {id_: decision.note for id_, decision in self.decisions.decisions.items() if decision.note}
        return [notes.get(id_, "") for id_ in self.texts("id")] if notes else [""] * len(self)

    def rows(self, query: Query) -> Rows:
        """Return the rows that a query selects, in order.

        Raises:
            ConfigurationError: a column or a reason does not exist, or the condition is malformed.
        """
        by_decision = query.state or query.sort in _OF_DECISIONS or any(n in query.filter for n in _OF_DECISIONS)
        version = self._version if by_decision else -1
        rows: Rows = self._remembered(("rows", query, version), lambda: self._select(query))
        return rows

    def _select(self, query: Query) -> Rows:
        mask = np.ones(len(self), bool)
        if query.filter:
            mask &= evaluate(query.filter, len(self), [column.key for column in self.columns], self.values)
        if query.reason:
            mask &= self._flagged(query.reason)
        if query.state:
            mask &= self._in_state(query.state)
        if query.search:
            mask &= self._found(query.search)
        order = self._ordered(query)
        selected: Rows = order[mask[order]]
        return selected

    def _ordered(self, query: Query) -> Rows:
        """Return all rows in the order of a query."""
        version = self._version if query.sort in _OF_DECISIONS else -1
        arrange = self._descending if query.descending else self._order
        order: Rows = self._remembered(("order", query.sort, query.descending, version), lambda: arrange(query.sort))
        return order

    def place_after(self, query: Query, row: int) -> int:
        """Return how many of the rows of a query come up to a row, which it need not select (any more).

        Raises:
            ConfigurationError: as `rows`.
        """
        rows, order = self.rows(query), self._ordered(query)
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        return int(np.searchsorted(places[rows], places[row], side="right"))

    def _flagged(self, reason: str) -> Mask:
        if self.suspects is None:
            raise ConfigurationError("the store is still being measured; try again in a moment")
        if reason == "*":
            mask = np.zeros(len(self), bool)
            mask[self.suspects.positions] = True
            return mask
        if reason not in self.suspects.flagged:
            raise ConfigurationError(f"reason: there is no reason {reason[:40]!r}")
        return self.suspects.flagged[reason]

    def _in_state(self, state: str) -> Mask:
        if state not in _STATES:
            raise ConfigurationError(f"state: expected {', '.join(_STATES[1:])}, found {state[:40]!r}")
        if state == "corrected":
            return self._corrected
        if state in KEEP:
            mask: Mask = self._keep == 1 + KEEP.index(state)
            return mask
        decided: Mask = (self._keep > 0) | self._corrected
        return decided if state == "decided" else ~decided

    def _found(self, search: str) -> Mask:
        """Return the mask of the rows whose id, text or phonemes contain every word."""
        words = search.casefold().split()[:20]
        texts = self._remembered(("folded",), self._folded)
        return np.fromiter((all(word in text for word in words) for text in texts), np.bool_, len(self))

    def _folded(self) -> list[str]:
        columns = (self.texts(name) for name in ("id", "text", "phoneme_text"))
        return ["\n".join(texts).casefold() for texts in zip(*columns, strict=True)]

    def _order(self, sort: str) -> Rows:
        """Return all rows in ascending order of a column; missing numbers last."""
        if not sort:
            return self._by_reason()
        if sort not in {column.key for column in self.columns}:
            raise ConfigurationError(f"sort: there is no column {sort[:40]!r}")
        values = self.values(sort)
        if isinstance(values, np.ndarray):
            return np.argsort(values, kind="stable")
        if isinstance(values, CategoryValues):
            return np.argsort(values.codes, kind="stable")
        texts: Sequence[str] = values if isinstance(values, list) else self.texts(sort)
        return np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)

    def _descending(self, sort: str) -> Rows:
        """Return all rows in descending order of a column; equal ones in the order of the store, missing ones last."""
        values = self.values(sort) if sort else None
        if isinstance(values, np.ndarray):
            return np.argsort(-values, kind="stable")
        return self._order(sort)[::-1]

    def _by_reason(self) -> Rows:
        """Return the suspects by reason, of each the worst first, and then all other rows."""
        if self.suspects is None:
            return np.arange(len(self))
        left = np.ones(len(self), bool)
        parts = []
        for threshold in self.suspects.thresholds:
            rows = np.flatnonzero(self.suspects.flagged[threshold.reason] & left)
            left[rows] = False
            values = self.suspects.measures.values(threshold.measure)[rows]
            parts.append(rows[np.argsort(-values if threshold.above else values, kind="stable")])
        return np.concatenate([*parts, np.flatnonzero(left)])

    def histograms(self, rows: Rows) -> Iterator[dict[str, Any]]:
        """Yield the histogram of each column of numbers that varies, over some rows."""
        flagged = self._flagged("*") if self.suspects else np.zeros(len(self), bool)
        thresholds = self.suspects.thresholds if self.suspects else ()
        for column in self.columns:
            values = self.values(column.key) if column.kind == "number" and column.key != "row" else None
            if values is None or len(finite := values[rows][np.abs(values[rows]) <= LARGEST]) < 2:
                continue
            if finite.max() - finite.min() <= SMALLEST or np.isin(finite, (0, 1)).all():
                continue
            edges = _bin_edges(finite)
            suspect = finite[flagged[rows][np.abs(values[rows]) <= LARGEST]]
            yield {
                "key": column.key,
                "label": column.label,
                "unit": column.unit,
                "meaning": column.meaning,
                "edges": edges.tolist(),
                "counts": np.histogram(finite, edges)[0].tolist(),
                "suspects": np.histogram(suspect, edges)[0].tolist(),
                "limits": [t.limit for t in thresholds if t.measure == column.key],
            }

    def number_columns(self) -> list[NumberColumn]:
        """Return the measures as columns of the report, for its statistics of speakers."""
        assert self.suspects
        columns = self.suspects.measures.columns
        return [NumberColumn(m.name, m.label, m.unit, columns[m.name], m.meaning, m.by_speaker) for m in MEASURES]

    def counts(self) -> Mapping[str, int]:
        """Return how many utterances and suspects there are, and how many of both are decided."""
        decided = self._in_state("decided")
        suspect = self._flagged("*") if self.suspects else np.zeros(len(self), bool)
        return {
            "utterances": len(self),
            "decided": int(decided.sum()),
            "suspects": int(suspect.sum()),
            "decided_suspects": int((decided & suspect).sum()),
            **{state: int(self._in_state(state).sum()) for state in (*KEEP, "corrected")},
        }

    def _remembered(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if key not in self._cache:
            self._cache[key] = make()
            while len(self._cache) > _CACHED:
                self._cache.popitem(last=False)
        self._cache.move_to_end(key)
        return self._cache[key]


def _bin_edges(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the edges of bins of round width, of whole numbers where all values are."""
    low, high = float(values.min()), float(values.max())
    count = int(min(_MAX_BINS, max(8, np.sqrt(len(values)))))
    width = (high - low) / count
    magnitude = 10.0 ** np.floor(np.log10(width))
    width = magnitude * next(step for step in (1, 2, 5, 10) if magnitude * step >= width * 0.999)
    if np.array_equal(values, np.rint(values)):
        width = max(1.0, np.ceil(width))
    first = np.floor(low / width) * width
    return np.asarray(first + width * np.arange(int((high - first) / width) + 2), np.float64)
