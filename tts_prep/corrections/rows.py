"""Corrected texts and speakers of a corpus, and rows that are trimmed, cut, merged or left out, by decisions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tts_prep.corrections import records
from tts_prep.errors import CorpusError, CorruptStoreError, one_line
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.lines import is_table, read_lines, table_rows
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.quantities import count_text

_KEPT: Final = {"yes": True, "true": True, "unsure": True, "": True, "no": False, "false": False}
"""The values of a column ``keep``, and whether they keep the row."""

_DROPPED: Final = Path("none")
"""The value of ``--corrections`` and ``--exclude`` that drops what a store was made with."""

_CORRECTED: Final = ("text", "speaker", "regions", "merge")
"""The columns of which a table of corrections has one; see `tts_prep.corrections.records`."""

_TOLERANCE: Final = 1e-4
"""The seconds by which a region may end after its row: numbers of corpora are rounded."""

_NO_SPACES: Final = "[\u3000-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff9f\U00020000-\U0003134f]"
"""Chinese and Japanese characters, and their punctuation; `review.js` has the same."""

_UNSPACED: Final = (re.compile(f"{_NO_SPACES}[\"'“”‘’…—]*$"), re.compile(f"[\"'“”‘’…—]*{_NO_SPACES}"))
"""The end of a text and the beginning of another, between which there is no space."""

_MAX_TEXT: Final = 1 << 16
"""The maximum length of a value in characters."""


@dataclass(frozen=True)
class Corrections:
    """What a store shall have otherwise than its corpus.

    Attributes:
        rows: id → its correction.
        sources: the files, for messages; none for those that a store was made with.
        rejected: the ids that a file of corrections rejects by ``keep``, but that are not left out.
        kept: the ids of decisions that a store was made with, and that no file says again.
    """

    rows: Mapping[str, records.Correction] = field(default_factory=dict, repr=False)
    sources: tuple[Path, ...] = ()
    rejected: tuple[str, ...] = field(default=(), repr=False)
    kept: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def read(cls, corrections: Path | None = None, exclude: Path | None = None) -> Corrections:
        """Read files of decisions.

        Args:
            corrections: a table with a column ``id``, and one of `_CORRECTED` with what is to be corrected; where
                they are empty, all is as in the corpus.
            exclude: a table with columns ``id`` and ``keep``, whose rows with ``no`` are left out, or another file with
                an id per line, which are left out.

        Raises:
            CorpusError: a file cannot be read, a row is damaged, or an id is repeated; the message names both rows.
        """
        rows: dict[str, records.Correction] = {}
        rejected = []
        for identifier, values in _decisions(corrections, _CORRECTED) if corrections else ():
            if not _KEPT[values.pop("keep")]:
                rejected.append(identifier)
            rows[identifier] = records.Correction(identifier, is_left_out=False, **values)
        left_out = _left_out(exclude) if exclude else ()
        for identifier in left_out:
            rows[identifier] = replace(rows.get(identifier, records.Correction(identifier)), is_left_out=True)
        # A row with nothing but a note corrects nothing, but its id is looked for.
        sources = tuple(path for path in (corrections, exclude) if path)
        return cls(rows, sources, tuple(name for name in rejected if not rows[name].is_left_out))

    @classmethod
    def of_store(cls, store: Path) -> Corrections:
        """Return the corrections that a store was made with.

        Raises:
            CorruptStoreError: their file is broken.
        """
        return cls({correction.id: correction for correction in records.read_corrections(store)})

    def keeping(self, before: Corrections, *, texts: bool, left_out: bool) -> Corrections:
        """Return the corrections with some of those that a store was made with.

        Args:
            before: the corrections of the store.
            texts: keep its texts and speakers.
            left_out: keep what it leaves out.
        """
        kept = [row for row in before.rows.values() if (left_out if row.is_left_out else texts)]
        rows = dict(self.rows)
        for row in kept:
            own = rows.get(row.id, row)
            is_left_out = row.is_left_out or own.is_left_out
            rows[row.id] = replace(own if row.is_left_out else row, is_left_out=is_left_out)
        return replace(self, rows=rows, kept=tuple(row.id for row in kept))

    def apply(self, items: Iterable[SourceUtterance | Failure]) -> CorrectedRows:
        """Return the rows of a corpus with the corrections."""
        return CorrectedRows(self, items)


class CorrectedRows:
    """The rows of a corpus with corrections, for one iteration.

    Attributes:
        corrections: the corrections.
    """

    def __init__(self, corrections: Corrections, items: Iterable[SourceUtterance | Failure]) -> None:
        self.corrections = corrections
        self._items = items
        self._applied: dict[str, records.Correction] = {}
        self._missing = dict.fromkeys(corrections.rows)
        # Ids with regions, and whether a row was left out since the last: the recording between has what nobody wants.
        self._trimmed: set[str] = set()
        self._is_apart = False
        # Id of each part of a row that was cut → that row.
        self._parts: dict[str, str] = {}

    @property
    def applied(self) -> tuple[records.Correction, ...]:
        """What was corrected in the rows so far, in their order."""
        return tuple(self._applied.values())

    @property
    def unknown(self) -> tuple[str, ...]:
        """The ids of corrections that were not found in the rows so far."""
        return tuple(self._missing)

    def __iter__(self) -> Iterator[SourceUtterance | Failure]:
        first, merge = "", ""
        held: SourceUtterance | None = None
        for item in self._items:
            first = first or item.id
            if isinstance(item, SourceUtterance) and (cut := self._parts.get(item.id)):
                yield _failed(item, f"a part of '{cut}', which is cut, has this id; take that back, or rename this row")
                continue
            for made in self._made(item):
                if isinstance(made, SourceUtterance):
                    is_apart = self._is_apart or (held is not None and not self._trimmed.isdisjoint((held.id, made.id)))
                    found = made if held is None else _merged(held, merge, made, is_apart=is_apart)
                    self._is_apart = False
                    if isinstance(found, Failure):
                        yield found
                        found = made
                    merge = self._applied.get(made.id, records.Correction("")).merge
                    held = found if merge else None
                    made = found
                if made is not held:
                    yield made
        if held is not None:
            yield _failed(held, "no row follows it that it could be merged with; take the merge back")
        missing = self.unknown
        if missing and len(missing) == len(self.corrections.rows) and self.corrections.sources:
            files = ", ".join(map(str, self.corrections.sources))
            example = f"; the corpus has ids such as '{first}'" if first else ""
            raise CorpusError(one_line(f"{files}: names no row of the corpus, such as '{missing[0]}'{example}"))

    def _made(self, row: SourceUtterance | Failure) -> Iterator[SourceUtterance | Failure]:
        """Yield what a row of the corpus becomes before rows are merged. Its parts have corrections of their own."""
        todo = [row]
        while todo:
            item = todo.pop(0)
            correction = self.corrections.rows.get(item.id)
            if correction is None:
                yield item
                continue
            self._missing.pop(item.id, None)
            changed = _changes(correction, item)
            if changed != records.Correction(item.id):
                self._applied.setdefault(item.id, changed)
            made = [] if correction.is_left_out else _corrected(item, changed, row)
            self._is_apart |= correction.is_left_out
            self._trimmed |= {one.id for one in made} if changed.regions else set()
            if len(made) > 1:
                todo[:0] = made
                self._parts |= {part.id: item.id for part in made}
            else:
                yield from made


def _changes(correction: records.Correction, item: SourceUtterance | Failure) -> records.Correction:
    """Return what a correction changes in a row; a row that failed has nothing to correct."""
    if correction.is_left_out or isinstance(item, Failure):
        return records.Correction(item.id, is_left_out=correction.is_left_out)
    text = "" if correction.text == item.text else correction.text
    return replace(correction, text=text, speaker="" if correction.speaker == item.speaker else correction.speaker)


def _corrected(
    item: SourceUtterance | Failure, changed: records.Correction, row: SourceUtterance | Failure
) -> Sequence[SourceUtterance | Failure]:
    """Return the rows that a corrected one becomes.

    Args:
        row: the row of the corpus that this one is of, in whose recording the regions are.
    """
    if isinstance(item, Failure) or isinstance(row, Failure):
        return [item]
    text, regions = changed.text or item.text, records.parse_regions(changed.regions)
    made = replace(item, text=text, speaker=changed.speaker or item.speaker)
    if (regions or changed.merge) and (row.lists or not row.audio):
        return [_failed(item, f"{', '.join(row.lists) or 'no recording'}: cannot be trimmed, cut or merged")]
    if not regions:
        return [made]
    length, end = math.inf if row.end is None else row.end - row.start, regions[-1][1]
    if end > length + _TOLERANCE:
        return [_failed(item, f"a region ends at {end:.6f} s, but the row is {length:.6f} s long")]
    try:
        texts = records.texts_of_regions(text, changed.regions)
    except ValueError as error:
        return [_failed(item, str(error))]
    return [
        replace(made, id=uid, text=of_region, start=row.start + start, end=row.start + end)
        for of_region, (uid, (start, end)) in zip(texts, changed.placed.items(), strict=True)
    ]


def _merged(
    first: SourceUtterance, merge: str, second: SourceUtterance, *, is_apart: bool
) -> SourceUtterance | Failure:
    """Return two rows as one with the id of the first: one region of a recording, or a pause between two.

    Args:
        is_apart: whether something between the two was taken out, so that one region would bring it back.
    """
    pause, wanted = records.parse_merge(merge)
    if second.id != wanted:
        what = f"to be merged with '{wanted}', but '{second.id}' follows"
        return _failed(first, f"{what}; merge it with that, leave that out, or take the merge back")
    if second.lists or not second.audio:
        return _failed(first, f"'{wanted}' cannot be merged: {', '.join(second.lists) or 'no recording'}")
    one, two = ((row.speaker, row.language, row.meta.get("split")) for row in (first, second))
    if one != two:
        return _failed(first, f"cannot be merged with '{wanted}': speaker, language, split are {one} and {two}")
    if first.normalized != second.normalized:
        return _failed(first, f"cannot be merged with '{wanted}': only one of their texts is normalized")
    piece = {name: getattr(second, name) for name in ("audio", "inside", "channel", "start", "end")}
    space = "" if _UNSPACED[0].search(first.text) and _UNSPACED[1].match(second.text) else " "
    text = f"{first.text}{space}{second.text}".strip()
    is_one = all(getattr(first, name) == piece[name] for name in ("audio", "inside", "channel")) and not first.then
    if is_one and not is_apart and first.end is not None and first.start <= second.start:
        end = None if second.end is None else max(first.end, second.end)
        return replace(first, text=text, end=end)
    return replace(first, text=text, then=(*first.then, {"pause": pause, **piece}))


def _failed(item: SourceUtterance, reason: str) -> Failure:
    return Failure(item.id, item.where, "corpus", one_line(f"{item.where}: '{item.id}': {reason}"))


def _decisions(path: Path, needed: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the id and the decisions of each row of a table.

    Args:
        needed: columns of which the table must have one.
    """
    places: dict[str, str] = {}
    for where, found in table_rows(path):
        values = {name.strip().lower(): value for name, value in found.items()}
        if len(values) < len(found):
            raise CorpusError(one_line(f"{where}: two columns have one name: {', '.join(found)}"))
        if "id" not in values or not any(name in values for name in needed):
            expected = f"the columns 'id' and {' or '.join(map(repr, needed))}"
            raise CorpusError(one_line(f"{where}: expected {expected}, found {', '.join(found)}"))
        row = {name: _text(where, name, values.get(name)) for name in ("id", "keep", *_CORRECTED)}
        row["keep"] = row["keep"].lower()
        identifier = row.pop("id")
        if not identifier:
            raise CorpusError(f"{where}: expected an id, found none")
        if identifier in places:
            raise CorpusError(one_line(f"{where}: '{identifier}' is repeated, first in {places[identifier]}"))
        if row["keep"] not in _KEPT:
            raise CorpusError(one_line(f"{where}: keep: expected yes, no or unsure, found '{row['keep']}'"))
        try:
            records.Correction(identifier, is_left_out=False, **{name: row[name] for name in _CORRECTED}).check()
        except ValueError as error:
            raise CorpusError(one_line(f"{where}: {error}")) from None
        places[identifier] = where
        yield identifier, row


def _text(where: str, name: str, value: Any) -> str:
    """Return a value as text; a missing one, and NaN, as an empty text."""
    if value is None or value != value:
        return ""
    if isinstance(value, list | dict):
        raise CorpusError(f"{where}: {name}: expected a text, found a {type(value).__name__}")
    text = ("true" if value else "false") if isinstance(value, bool) else " ".join(str(value).strip().splitlines())
    if len(text) > _MAX_TEXT:
        raise CorpusError(f"{where}: {name}: expected at most {_MAX_TEXT:,} characters, found {len(text):,}")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise CorpusError(f"{where}: {name}: contains a lone surrogate, which is no character")
    return text


def _left_out(path: Path) -> Iterator[str]:
    """Yield the ids that a file leaves out."""
    if is_table(path):
        for identifier, values in _decisions(path, ("keep",)):
            if not _KEPT[values["keep"]]:
                yield identifier
        return
    for _, line in read_lines(path):
        if isinstance(line, Failure):
            raise CorpusError(line.reason)
        if identifier := line.strip():
            yield identifier


def chosen_corrections(store: Path, options: Mapping[str, Any]) -> Corrections:
    """Return what the store shall have otherwise than its corpus; an update keeps what no option replaces."""
    files = [None if options[name] == _DROPPED else options[name] for name in ("corrections", "exclude")]
    given = Corrections.read(*files)
    keeps = {"texts": options["corrections"] is None, "left_out": options["exclude"] is None}
    if not options["update"] or not any(keeps.values()):
        return given
    try:
        return given.keeping(Corrections.of_store(store), **keeps)
    except CorruptStoreError as error:
        raise CorruptStoreError(f"{error}; give --corrections and --exclude again, or none for them") from error


def corrections_lines(rows: CorrectedRows, options: Mapping[str, Any]) -> list[str]:
    """Return lines about corrections: what was corrected and left out, and what was not."""
    applied, given = rows.applied, rows.corrections
    counts = {
        "text": sum(bool(correction.text) for correction in applied),
        "speaker": sum(bool(correction.speaker) for correction in applied),
    }
    corrected = " and ".join(count_text(number, what) for what, number in counts.items())
    left_out = sum(correction.is_left_out for correction in applied)
    parts, merges = [len(one.placed) for one in applied], [one.merge for one in applied]
    edits = {"trimmed": parts.count(1), "cut": sum(n > 1 for n in parts), "merged": sum(map(bool, merges))}
    edited = "".join(f"; {what}: {count_text(number, 'row')}" for what, number in edits.items() if number)
    lines = [f"corrections: {corrected}; left out: {count_text(left_out, 'row')}{edited}"]
    if given.kept:
        kept = count_text(len(given.kept), "decision")
        lines.append(f"corrections: {kept} of before kept; --corrections none and --exclude none drop them")
    files = ", ".join(map(str, given.sources)) or "corrections of before"
    if unknown := rows.unknown:
        where = f"first {options['limit']:,} rows of the corpus" if options["limit"] else "corpus"
        lines.append(f"{files}: {count_text(len(unknown), 'id')} not in the {where}: {_some(unknown)}")
    if rejected := [name for name in given.rejected if name not in unknown]:
        file = options["corrections"]
        n_rejected = count_text(len(rejected), "row")
        lines.append(
            f"{file}: {n_rejected} with keep=no not left out, which '--exclude {file}' does: {_some(rejected)}"
        )
    return list(map(one_line, lines))


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")
