"""What the review answers to requests: the page, rows, utterances, sounds, and decisions."""

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib.resources import files
from typing import Any, Final

import numpy as np

from tts_prep import __version__
from tts_prep.checks.detection import suspects
from tts_prep.checks.measuring import measure
from tts_prep.errors import ConfigurationError, TtsPrepError, described, one_line
from tts_prep.loader import UtteranceDataset
from tts_prep.pictures.drawing import PALETTE
from tts_prep.report.columns import limit_text
from tts_prep.report.speakers import speaker_table
from tts_prep.review.decisions import DecidedElsewhereError, Decision, DecisionFile
from tts_prep.review.sounds import Sounds
from tts_prep.review.table import Query, Table
from tts_prep.review.utterances import Places, StoreReader, cells, mel_bytes, neighbours, of_row, words

_FILES: Final = {
    "": ("tts_prep.review", "review.html", "text/html; charset=utf-8"),
    "review.css": ("tts_prep.review", "review.css", "text/css; charset=utf-8"),
    "review.js": ("tts_prep.review", "review.js", "text/javascript; charset=utf-8"),
    "plot.js": ("tts_prep.review", "plot.js", "text/javascript; charset=utf-8"),
    "icon.svg": ("tts_prep.review", "icon.svg", "image/svg+xml"),
    "page.css": ("tts_prep.report", "page.css", "text/css; charset=utf-8"),
}
_MAX_ROWS: Final = 500
_MAX_SPEAKERS: Final = 2_000
_MAX_BLOCKS: Final = 4_000
_ROW = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True)
class Answer:
    """The answer to a request.

    Attributes:
        status: the HTTP status.
        kind: the media type.
        body: the content.
        headers: further headers.
    """

    status: int
    kind: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def json_answer(value: Any, status: int = 200) -> Answer:
    """Return a JSON answer."""
    return Answer(status, "application/json", json.dumps(value, allow_nan=False).encode())


class _EndedError(Exception):
    """The review has ended."""


class Pages:
    """The review of one store. Its methods are called from several threads.

    Args:
        dataset: all utterances of the store.
        decisions: the decisions of the reviewer.
        sounds: the sounds of the utterances.
    """

    def __init__(self, dataset: UtteranceDataset, decisions: DecisionFile, sounds: Sounds) -> None:
        self.table = Table(dataset, decisions)
        self._sounds = sounds
        self._reader = StoreReader(dataset)
        self._places = Places(dataset)
        self._lock = threading.Lock()
        self._is_ended = threading.Event()
        self.fault = ""
        # Read once: no request is ever a path of the file system.
        self._files = {
            name: Answer(200, kind, files(package).joinpath(file).read_bytes())
            for name, (package, file, kind) in _FILES.items()
        }
        self._gets: Mapping[str, Callable[[Mapping[str, str]], Answer]] = {
            "state": lambda _: json_answer(self._state()),
            "rows": self._rows,
            "histograms": self._histograms,
            "speakers": lambda _: self._speakers(),
            "find": self._find,
        }
        self._of_row: Mapping[str, Callable[[int, Mapping[str, str]], Answer]] = {
            "utterance": self._utterance,
            "mel": lambda row, _: Answer(200, "application/octet-stream", mel_bytes(dataset, row)),
            "sound.wav": lambda row, _: Answer(200, "audio/wav", self._sounds.get(row).wav()),
            "waveform": self._waveform,
            "neighbours": self._neighbours,
            "word": self._word,
            "words": self._words,
        }

    def measure(self) -> None:
        """Measure the store; the page shows all else meanwhile, and `fault` if that fails for any reason."""
        try:
            found = suspects(measure(self.table.dataset, progress=self._check))
        except _EndedError:
            return
        except Exception as error:
            reason = str(error) if isinstance(error, TtsPrepError) else described(error)
            self.fault = "" if self._is_ended.is_set() else one_line(f"not measured: {reason}")
            return
        with self._lock:
            self.table.measured(found)

    def end(self) -> None:
        """End measuring."""
        self._is_ended.set()

    def _check(self, *_: object) -> None:
        if self._is_ended.is_set():
            raise _EndedError

    def get(self, path: str, query: Mapping[str, str]) -> Answer:
        """Return the answer to a GET request for a path below the address of the page."""
        if path in self._files:
            return self._files[path]
        name, _, rest = path.partition("/")
        try:
            if not rest and name in self._gets:
                return self._gets[name](query)
            if rest in self._of_row and _ROW.fullmatch(name) and int(name) < len(self.table):
                return self._of_row[rest](int(name), query)
        except TtsPrepError as error:
            return json_answer({"error": one_line(str(error))}, 400)
        return json_answer({"error": "there is no such page or utterance"}, 404)

    def post(self, path: str, body: bytes) -> Answer:
        """Return the answer to a POST request: the changed utterance and the progress."""
        try:
            if path == "decide":
                row: int | None = self._decide(body)
            elif path == "undo":
                row = self._undo(body)
            else:
                return json_answer({"error": "there is no such page"}, 404)
            with self._lock:
                if row is not None:
                    self.table.decided(row)
                return json_answer({"row": row, "decision": self._decision(row), "counts": dict(self.table.counts())})
        except DecidedElsewhereError as error:
            return json_answer({"error": one_line(str(error)), "decision": asdict(error.decision)}, 409)
        except TtsPrepError as error:
            return json_answer({"error": one_line(str(error))}, 409)

    def _state(self) -> dict[str, Any]:
        """Return what the page shows around the table."""
        table = self.table
        with self._lock:
            suspects = table.suspects
            reasons = [
                {"reason": t.reason, "limit": limit_text(t), "why": t.why, "count": suspects.count(t.reason)}
                for t in (suspects.thresholds if suspects else ())
                if suspects
            ]
            return {
                "version": __version__,
                "store": table.dataset.path.name,
                "file": str(table.decisions.path),
                "measured": suspects is not None,
                "fault": self.fault,
                "notes": list(suspects.notes) if suspects else [],
                "columns": [vars(column) for column in table.columns],
                "reasons": reasons,
                "counts": dict(table.counts()),
                "speakers": list(table.dataset.speakers[:_MAX_SPEAKERS]),
                "palette": PALETTE.hex(),
            }

    def _query(self, query: Mapping[str, str]) -> Query:
        texts = {name: query.get(name, "") for name in ("filter", "search", "reason", "state", "sort")}
        return Query(**texts, descending=query.get("order") == "descending")

    def _rows(self, query: Mapping[str, str]) -> Answer:
        n, after = _number(query, "n", 100, _MAX_ROWS), _number(query, "after", len(self.table), len(self.table))
        with self._lock:
            rows = self.table.rows(self._query(query))
            start = _number(query, "start", 0, 10**9)
            if after < len(self.table):
                start = self.table.place_after(self._query(query), after)
            shown = rows[start : start + n]
            known = {column.key for column in self.table.columns}
            keys = [key for key in query.get("columns", "").split(",") if key in known]
            found = cells(self.table, shown, dict.fromkeys(("id", *keys, "keep")))
            listed = [{"row": row, "cells": cell} for row, cell in zip(shown.tolist(), found, strict=True)]
            holds = bool((rows == _number(query, "current", 10**9, 10**9)).any())
            return json_answer({"total": len(rows), "start": start, "rows": listed, "holds": holds})

    def _histograms(self, query: Mapping[str, str]) -> Answer:
        with self._lock:
            rows = self.table.rows(self._query(query))
            return json_answer({"total": len(rows), "histograms": list(self.table.histograms(rows))})

    def _speakers(self) -> Answer:
        with self._lock:
            table = self.table
            if table.suspects is None:
                return json_answer({"columns": [], "speakers": []})
            flagged = np.zeros(len(table), bool)
            flagged[table.suspects.positions] = True
            found = speaker_table(table.dataset, table.number_columns(), flagged)
        rows = [
            {
                "name": found.names[i],
                "utterances": int(found.utterances[i]),
                "seconds": float(found.seconds[i]),
                "suspects": int(found.suspects[i]),
                "means": [_or_none(value) for value in found.means[i].tolist()],
                "z": [_or_none(value) for value in found.z_scores[i].tolist()],
            }
            for i in range(min(len(found.names), _MAX_SPEAKERS))
        ]
        return json_answer({"columns": [list(column) for column in found.columns], "speakers": rows})

    def _find(self, query: Mapping[str, str]) -> Answer:
        """Return the row of an id."""
        found = np.flatnonzero(self.table.dataset.id == query.get("id", ""))
        return json_answer({"row": int(found[0]) if len(found) else None})

    def _utterance(self, row: int, _: Mapping[str, str]) -> Answer:
        with self._lock:
            found = of_row(self.table, row)
        found["normalized"], found["normalized_fault"] = self._reader.normalized(found["text"], found["language"])
        return json_answer(found)

    def _word(self, row: int, query: Mapping[str, str]) -> Answer:
        language = str(self.table.dataset[row].meta.get("language", ""))
        line, fault = self._reader.dictionary_line(query.get("word", "")[:200], language)
        return json_answer({"line": line, "fault": fault})

    def _words(self, row: int, query: Mapping[str, str]) -> Answer:
        """Return the words of the text and of another column, see `words`."""
        column = query.get("column", "")
        if column not in {one.key for one in self.table.columns if one.kind != "number"}:
            raise ConfigurationError(f"column: there is no column of texts {column[:40]!r}")
        utterance = self.table.dataset[row]
        return json_answer(words(utterance.text, str(self.table.values(column)[row])))

    def _waveform(self, row: int, query: Mapping[str, str]) -> Answer:
        sound = self._sounds.get(row)
        low, high = sound.extremes(max(1, _number(query, "n", 1_000, _MAX_BLOCKS)))
        found = {"low": low, "high": high, "seconds": len(sound.samples) / sound.sample_rate}
        place = self._places.of(row, sound.source)
        return json_answer({**found, "source": sound.source, "note": sound.note, "place": place})

    def _neighbours(self, row: int, _: Mapping[str, str]) -> Answer:
        return json_answer(neighbours(self.table, row))

    def _decision(self, row: int | None) -> dict[str, str] | None:
        return None if row is None else dict(vars(self.table.decisions.get(self.table.dataset.id[row])))

    def _decide(self, body: bytes) -> int:
        value = _json_object(body)
        row, seen, window = value.pop("row", None), value.pop("seen", {}), value.pop("window", "")
        if not isinstance(row, int) or isinstance(row, bool) or not 0 <= row < len(self.table):
            raise ConfigurationError(f"row: expected 0 to {len(self.table) - 1}")
        texts = [*value.values(), window, *(seen.values() if isinstance(seen, dict) else [None])]
        known = {of.name for of in fields(Decision)}
        if not all(isinstance(text, str) for text in texts) or not {*value, *seen} <= known:
            raise ConfigurationError(f"a decision: expected a row, and texts of {', '.join(sorted(known))}")
        self.table.decisions.change(self.table.dataset.id[row], value, seen=seen, by=window)
        return row

    def _undo(self, body: bytes) -> int | None:
        undone = self.table.decisions.undo(str(_json_object(body).get("window", "")))
        if undone is None:
            return None
        found = np.flatnonzero(self.table.dataset.id == undone)
        return int(found[0]) if len(found) else None


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ConfigurationError("a decision: expected a JSON object")
    return value


def _number(query: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = query.get(name, str(default))
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise ConfigurationError(f"{name}: expected a number, found {text[:40]!r}")
    return min(int(text), most)


def _or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None
