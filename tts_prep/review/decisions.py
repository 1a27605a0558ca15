"""Decisions about utterances in a CSV file: keep, drop or unsure, a corrected text and speaker, a note, and regions.

The file has the columns ``id, keep, text, speaker, note``, and ``regions, merge`` once something is trimmed, cut or
merged, see ``docs/check.md``; others that it has are kept. A cell
that a spreadsheet would take for a formula has an apostrophe before it, which is removed when the file is read, so that
every text is read back unchanged.
"""

from __future__ import annotations

import csv
import io
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tts_prep.corrections.records import Correction
from tts_prep.errors import ConfigurationError, StoreInUseError, WriteError
from tts_prep.format.files.atomic import replacing
from tts_prep.format.files.lock import held
from tts_prep.format.files.paths import open_regular
from tts_prep.preprocess.corpora.lines import as_cell, of_cell
from tts_prep.quantities import duration_text

KEEP: Final = ("yes", "no", "unsure")
"""The values of the column ``keep``; it is empty for an utterance that is only corrected."""

MAX_CHARACTERS: Final = 5_000
"""The maximum length of a corrected text, a speaker or a note."""

_MAX_BYTES: Final = 1 << 30
_COLUMNS: Final = ("id", "keep", "text", "speaker", "note")
_EDITS: Final = ("regions", "merge")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BREAK: Final = 300.0
"""The seconds between two decisions that are work; longer breaks count as much."""

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
        regions, merge: see `tts_prep.corrections.records.Correction`.
    """

    keep: str = ""
    text: str = ""
    speaker: str = ""
    note: str = ""
    regions: str = ""
    merge: str = ""

    def __post_init__(self) -> None:
        if self.keep not in ("", *KEEP):
            raise ConfigurationError(f"keep: expected {', '.join(KEEP)} or nothing, found {self.keep[:40]!r}")
        for name in ("text", "speaker", "note", *_EDITS):
            value = getattr(self, name)
            if len(value) > MAX_CHARACTERS:
                raise ConfigurationError(f"{name}: {len(value):,} characters, expected {MAX_CHARACTERS:,} at most")
            if found := _CONTROL.search(value):
                raise ConfigurationError(f"{name}: expected one line of text, found {found[0]!a}")
            if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
                raise ConfigurationError(f"{name}: expected text, found half of a surrogate pair")
        try:
            Correction("", self.text, regions=self.regions, merge=self.merge).check()
        except ValueError as error:
            raise ConfigurationError(str(error)) from None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is decided."""
        return self == Decision()

    @property
    def is_correction(self) -> bool:
        """Whether something of the corpus is corrected."""
        return bool(self.text or self.speaker or self.is_edit)

    @property
    def is_edit(self) -> bool:
        """Whether the recording is trimmed, cut or merged."""
        return bool(self.regions or self.merge)


class DecidedElsewhereError(ConfigurationError):
    """Another window has decided the same in another way since this one has shown it; `decision` is what it decided."""

    def __init__(self, message: str, decision: Decision) -> None:
        super().__init__(message)
        self.decision = decision


@dataclass(frozen=True)
class _Change:
    """A change that can be undone.

    Attributes:
        utterance: its id.
        window: who has made it.
        before: the fields that were changed, with their values before.
        after: the same fields with their values since.
    """

    utterance: str
    window: str
    before: Mapping[str, str]
    after: Mapping[str, str]


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the lock of a file of decisions, ``.NAME.lock`` beside it: every process writes all of the file.

    Raises:
        ConfigurationError: another process holds it.
        WriteError: the lock cannot be written beside the file, and neither could the file.
    """
    advice = f"end it, or give each review a file of its own, and join them by 'tts-prep merge-decisions {path} OTHER'"
    with ExitStack() as stack:
        try:
            stack.enter_context(held(path.with_name(f".{path.name}.lock"), path, advice))
        except StoreInUseError as error:
            raise ConfigurationError(str(error)) from None
        except OSError as error:
            reason = error.strerror or error
            raise WriteError(f"{path}: cannot be written ({reason}); give a file in another folder") from error
        yield


class DecisionFile:
    """The decisions of one reviewer. Every change is on disk before it is acknowledged.

    One object at a time has the file, in all processes, until it is closed.

    Args:
        path: the CSV file; it is made with the first decision.

    Raises:
        ConfigurationError: the file is not one of decisions, or another process has it.
        WriteError: the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        with ExitStack() as stack:
            stack.enter_context(only_writer(path))
            self._seen = self._state()
            found = _read(path) if self._seen else ({}, (), {})
            self._decisions, self._other_names, self._others = found
            self._has_edits = any(decision.is_edit for decision in found[0].values())
            self._lines = self._formatted(found[0], self._has_edits)
            self._changes: list[_Change] = []
            self._decided, self._worked, self._last = set[str](), 0.0, time.monotonic()
            self._held = stack.pop_all()
        self._is_closed = False

    def __enter__(self) -> DecisionFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the file to other processes; a decision that comes later is refused."""
        with self._lock:
            self._is_closed = True
            self._held.close()

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
        self.change(utterance, asdict(decision))

    def change(
        self, utterance: str, values: Mapping[str, str], *, seen: Mapping[str, str] = MappingProxyType({}), by: str = ""
    ) -> None:
        """Record some fields of a decision, and leave the others as they are: another window may have decided them.

        Args:
            utterance: the id.
            values: field → its new value.
            seen: field → the value that the new one replaces, as far as the caller knows.
            by: the window that decides; see `undo`.

        Raises:
            DecidedElsewhereError: a field has neither the value that was seen nor the new one. Nothing is changed.
            ConfigurationError: a value is not valid, or another program has changed the file.
            WriteError: the file cannot be written. Then nothing is changed.
        """
        with self._lock:
            decision = self.get(utterance)
            before = {name: str(getattr(decision, name)) for name in values}
            for name, value in before.items():
                if value not in (seen.get(name, value), values[name]):
                    raise DecidedElsewhereError(
                        f"{utterance}: another window has decided meanwhile: {name} is {value[:80]!r}", decision
                    )
            self._replace(utterance, replace(decision, **values))
            self._changes = [*self._changes[-_UNDONE:], _Change(utterance, by, before, dict(values))]
            self._decided.add(utterance)
            now = time.monotonic()
            self._worked, self._last = self._worked + min(now - self._last, _BREAK), now

    def pace(self) -> str:
        """Return how many utterances were decided an hour, for the end of a line; nothing if none was."""
        n, hours = len(self._decided), self._worked / 3600
        return (
            f"; in this review {n:,} in {duration_text(self._worked)}, {n / hours:,.0f} an hour" if n and hours else ""
        )

    def undo(self, by: str = "") -> str | None:
        """Take the last decision of a window back; return its id, or None if there is nothing to undo.

        Raises:
            DecidedElsewhereError: another window has changed it since. It stays, and is not undone later.
        """
        with self._lock:
            last = next((change for change in reversed(self._changes) if change.window == by), None)
            if last is None:
                return None
            decision = self.get(last.utterance)
            if any(getattr(decision, name) != value for name, value in last.after.items()):
                self._changes.remove(last)
                raise DecidedElsewhereError(
                    f"{last.utterance}: another window has decided since; it is not undone", decision
                )
            self._replace(last.utterance, replace(decision, **last.before))
            self._changes.remove(last)
            return last.utterance

    def _replace(self, utterance: str, decision: Decision) -> None:
        if self._is_closed:
            raise ConfigurationError(f"{self.path}: the review has ended; start it again")
        if _CONTROL.search(utterance):
            raise ConfigurationError(f"id {ascii(utterance)[:80]}: has control characters, which a line cannot hold")
        if self._state() != self._seen:
            raise ConfigurationError(
                f"{self.path}: changed by another program; start the review again to go on with what it holds"
            )
        changed, lines = {**self._decisions, utterance: decision}, dict(self._lines)
        has_edits = self._has_edits or decision.is_edit
        if decision.is_empty:
            del changed[utterance]
            lines.pop(utterance, None)
        else:
            lines |= self._formatted({utterance: decision} if has_edits == self._has_edits else changed, has_edits)
        # All of the file, because a decision can be in any line; only this one is formatted again.
        _write(self.path, [*_columns(has_edits), *self._other_names], lines.values())
        self._seen, self._decisions, self._lines, self._has_edits = self._state(), changed, lines, has_edits

    def _formatted(self, decisions: Mapping[str, Decision], has_edits: bool) -> dict[str, str]:
        none, names = [""] * len(self._other_names), _columns(has_edits)
        return {uid: _line(uid, of, names, self._others.get(uid, none)) for uid, of in decisions.items()}

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
    path: Path, decisions: Mapping[str, Decision], others: Mapping[str, Mapping[str, str]] = MappingProxyType({})
) -> None:
    """Write a file of decisions atomically, in UTF-8.

    Args:
        others: id → further column → value.

    Raises:
        WriteError: the file cannot be written.
    """
    names = tuple(dict.fromkeys(name for of in others.values() for name in of))
    further = {utterance: [of.get(name, "") for name in names] for utterance, of in others.items()}
    none, own = [""] * len(names), _columns(any(decision.is_edit for decision in decisions.values()))
    _write(path, [*own, *names], (_line(uid, of, own, further.get(uid, none)) for uid, of in decisions.items()))


def _columns(has_edits: bool) -> Sequence[str]:
    """Return the names of the columns; a file without edits has them for who knows no others."""
    return (*_COLUMNS, *_EDITS) if has_edits else _COLUMNS


def _write(path: Path, names: Sequence[str], lines: Iterable[str]) -> None:
    with replacing(path) as partial:
        partial.write_text(_csv(names) + "".join(lines), encoding="utf-8", newline="")


def _line(utterance: str, decision: Decision, names: Sequence[str], others: Sequence[str]) -> str:
    return _csv([as_cell(value) for value in (utterance, *(getattr(decision, name) for name in names[1:]), *others)])


def _csv(values: Sequence[str]) -> str:
    # A lone carriage return ends a line for who reads it, but Python before 3.13 writes it without quotes.
    line, quoted = io.StringIO(), any("\r" in value for value in values)
    csv.writer(line, lineterminator="\n", quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL).writerow(values)
    return line.getvalue()


def read_decisions(path: Path) -> dict[str, Decision]:
    """Read a file of decisions.

    Raises:
        ConfigurationError: the file is missing, has other columns or an invalid value, or an id has two rows.
    """
    return _read(path)[0]


def read_table(path: Path) -> tuple[Mapping[str, Decision], Mapping[str, Mapping[str, str]]]:
    """Read decisions, or a table of scores by id; return id → decision, and id → further column → value.

    Raises:
        ConfigurationError: see `read_decisions`.
    """
    decisions, names, others = _read(path, needed=())
    return decisions, {utterance: dict(zip(names, of, strict=True)) for utterance, of in others.items()}


def _read(
    path: Path, needed: Sequence[str] = _columns(True)[1:]
) -> tuple[dict[str, Decision], tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return the decisions of a file, the names of its further columns, and their values by id.

    Args:
        needed: columns of which the file must have one.
    """
    decisions: dict[str, Decision] = {}
    others: dict[str, tuple[str, ...]] = {}
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ConfigurationError(f"{path}: over {_MAX_BYTES:,} bytes, expected a file of decisions")
        with io.TextIOWrapper(io.BufferedReader(open_regular(path)), encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = tuple(reader.fieldnames or ())
            if "id" not in names or (needed and not {*needed} & {*names}) or len({*names}) < len(names):
                found = ", ".join(map(str, names))[:100]
                expected = ", ".join(_COLUMNS if needed else _COLUMNS[:1])
                raise ConfigurationError(f"{path}: expected the columns {expected}, found {found or 'none'}")
            other_names = tuple(name for name in names if name not in _columns(True))
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
