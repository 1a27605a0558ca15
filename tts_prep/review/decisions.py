"""Decisions about utterances in a CSV file: keep, drop or unsure, a corrected text and speaker, and a note.

The file has the columns ``id, keep, text, speaker, note``, see ``docs/check.md``; others that it has are kept. A cell
that a spreadsheet would take for a formula has an apostrophe before it, which is removed when the file is read, so that
every text is read back unchanged.
"""

from __future__ import annotations

import csv
import io
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tts_prep.errors import ConfigurationError
from tts_prep.format.files.atomic import replacing
from tts_prep.format.files.regular_files import open_regular
from tts_prep.format.files.spreadsheets import as_cell, of_cell

KEEP: Final = ("yes", "no", "unsure")
"""The values of the column ``keep``; it is empty for an utterance that is only corrected."""

MAX_CHARACTERS: Final = 5_000
"""The maximum length of a corrected text, a speaker or a note."""

_MAX_BYTES: Final = 1 << 30
_COLUMNS: Final = ("id", "keep", "text", "speaker", "note")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_UNDONE = 1_000
"""The number of decisions that can be undone."""


@dataclass(frozen=True)
class Decision:
    """A decision about an utterance. An empty text means none.

    Attributes:
        keep: a value of `KEEP`, or empty.
        text: the corrected text.
        speaker: the corrected speaker.
        note: a note of the reviewer.
    """

    keep: str = ""
    text: str = ""
    speaker: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.keep not in ("", *KEEP):
            raise ConfigurationError(f"keep: expected {', '.join(KEEP)} or nothing, found {self.keep[:40]!r}")
        for name in ("text", "speaker", "note"):
            value = getattr(self, name)
            if len(value) > MAX_CHARACTERS:
                raise ConfigurationError(f"{name}: {len(value):,} characters, expected {MAX_CHARACTERS:,} at most")
            if found := _CONTROL.search(value):
                raise ConfigurationError(f"{name}: expected one line of text, found {found[0]!a}")
            if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
                raise ConfigurationError(f"{name}: expected text, found half of a surrogate pair")

    @property
    def is_empty(self) -> bool:
        """Whether nothing is decided."""
        return self == Decision()

    @property
    def is_correction(self) -> bool:
        """Whether the text or the speaker is corrected."""
        return bool(self.text or self.speaker)


class DecisionFile:
    """The decisions of one reviewer. Every change is on disk before it is acknowledged.

    Args:
        path: the CSV file; it is made with the first decision.

    Raises:
        ConfigurationError: the file is not one of decisions.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen = self._state()
        found = _read(path) if self._seen else ({}, (), {})
        self._decisions, self._other_names, self._others = found
        self._undone: list[tuple[str, Decision]] = []

    @property
    def decisions(self) -> Mapping[str, Decision]:
        """Id → decision, in the order in which utterances were first decided."""
        return self._decisions

    def get(self, utterance: str) -> Decision:
        """Return the decision about an utterance; an empty one if there is none."""
        return self._decisions.get(utterance, Decision())

    def decide(self, utterance: str, decision: Decision) -> None:
        """Record a decision; an empty one removes what was decided.

        Raises:
            ConfigurationError: another program has changed the file.
            WriteError: the file cannot be written. Then nothing is changed.
        """
        self.change(utterance, **vars(decision))

    def change(self, utterance: str, **values: str) -> None:
        """Record some fields of a decision, and leave the others as they are: another window may have decided them.

        Raises:
            ConfigurationError: a value is not valid, or another program has changed the file.
            WriteError: the file cannot be written. Then nothing is changed.
        """
        with self._lock:
            before = self.get(utterance)
            self._replace(utterance, replace(before, **values))
            self._undone = [*self._undone[-_UNDONE:], (utterance, before)]

    def undo(self) -> str | None:
        """Take the last decision back; return its id, or None if there is nothing to undo."""
        with self._lock:
            if not self._undone:
                return None
            utterance, before = self._undone[-1]
            self._replace(utterance, before)
            self._undone.pop()
            return utterance

    def _replace(self, utterance: str, decision: Decision) -> None:
        if _CONTROL.search(utterance):
            raise ConfigurationError(f"id {ascii(utterance)[:80]}: has control characters, which a line cannot hold")
        if self._state() != self._seen:
            raise ConfigurationError(
                f"{self.path}: changed by another program; start the review again to go on with what it holds"
            )
        changed = dict(self._decisions)
        if decision.is_empty:
            changed.pop(utterance, None)
        else:
            changed[utterance] = decision
        write_decisions(self.path, changed, self._other_names, self._others)
        self._seen, self._decisions = self._state(), changed

    def _state(self) -> tuple[int, int, int] | None:
        """Return what changes if another program writes the file; None if there is no file."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigurationError(f"{self.path}: cannot be read ({error.strerror})") from error
        return found.st_ino, found.st_mtime_ns, found.st_size


def write_decisions(
    path: Path,
    decisions: Mapping[str, Decision],
    other_names: Sequence[str] = (),
    others: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Write a file of decisions atomically, in UTF-8.

    Args:
        decisions: id → decision.
        other_names: the names of further columns.
        others: id → the values of further columns; missing ones are empty.

    Raises:
        WriteError: the file cannot be written.
    """
    text = io.StringIO()
    _write_row(text, [*_COLUMNS, *other_names])
    for utterance, d in decisions.items():
        more = others.get(utterance, [""] * len(other_names))
        _write_row(text, [as_cell(value) for value in (utterance, d.keep, d.text, d.speaker, d.note, *more)])
    with replacing(path) as partial:
        partial.write_text(text.getvalue(), encoding="utf-8", newline="")


def _write_row(file: io.StringIO, values: Sequence[str]) -> None:
    # A lone carriage return ends a line for who reads it, but Python before 3.13 writes it without quotes.
    if any("\r" in value for value in values):
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    else:
        writer = csv.writer(file, lineterminator="\n")
    writer.writerow(values)


def read_decisions(path: Path) -> dict[str, Decision]:
    """Read a file of decisions.

    Raises:
        ConfigurationError: the file is missing, has other columns or an invalid value, or an id has two rows.
    """
    return _read(path)[0]


def _read(path: Path) -> tuple[dict[str, Decision], tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return the decisions of a file, the names of its further columns, and their values by id."""
    decisions: dict[str, Decision] = {}
    others: dict[str, tuple[str, ...]] = {}
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ConfigurationError(f"{path}: over {_MAX_BYTES:,} bytes, expected a file of decisions")
        with io.TextIOWrapper(io.BufferedReader(open_regular(path)), encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = tuple(reader.fieldnames or ())
            if "id" not in names or not {*_COLUMNS[1:]} & {*names} or len({*names}) < len(names):
                found = ", ".join(map(str, names))[:100]
                raise ConfigurationError(f"{path}: expected the columns {', '.join(_COLUMNS)}, found {found or 'none'}")
            other_names = tuple(name for name in names if name not in _COLUMNS)
            for row in reader:
                where = f"{path}:{reader.line_num}"
                if None in row or None in row.values():
                    # DictReader fills missing cells with None, and keeps further ones as a list.
                    values: list[Any] = [*row.values()]
                    n_cells = sum(len(value) if isinstance(value, list) else value is not None for value in values)
                    raise ConfigurationError(f"{where}: expected {len(names)} cells, found {n_cells}")
                utterance = of_cell(row["id"])
                if not utterance or utterance in others:
                    raise ConfigurationError(f"{where}: expected an id that has no other row, found {utterance[:80]!r}")
                others[utterance] = tuple(of_cell(row[name]) for name in other_names)
                if not (decision := _decision(where, row)).is_empty or other_names:
                    decisions[utterance] = decision
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: expected UTF-8 ({error.reason})") from None
    except csv.Error as error:
        raise ConfigurationError(f"{path}: not a CSV file ({error})") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror})") from error
    return decisions, other_names, others


def _decision(where: str, row: Mapping[str, str]) -> Decision:
    try:
        return Decision(**{field.name: of_cell(row.get(field.name) or "") for field in fields(Decision)})
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from None
