"""Values of columns from elsewhere after any history: the last one given for the row as it is, or missing and named.

A machine draws corrections, new and replaced recordings, rows that come and go, tables of scores and erasures. A model
knows of every row what was given last, and what the row was then.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import soundfile
from corpora import SAMPLE_RATE, speech_like
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from stores import of_room

from tts_prep.corrections.records import Correction
from tts_prep.corrections.rows import Corrections
from tts_prep.errors import CorpusError, StoreError
from tts_prep.format.records.sources import read_sources, write_sources
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import Configuration, Result, add_columns, prepare
from tts_prep.preprocess.configuration.records import StoreConfig, TextConfig
from tts_prep.preprocess.source_utterance import SourceUtterance

remove_rows = of_room("removal.rows", "remove_rows")

SMALL = Configuration(text=TextConfig(frontend="characters", unknown="drop"), store=StoreConfig(shard_utterances=2))
EVERYTHING = ("audio", "speaker", "text")
DEPENDS: dict[str, tuple[str, ...]] = {
    "snr": ("audio",),
    "wer": ("audio", "text"),
    "heard": ("audio", "text"),
    "consent": ("speaker",),
    "chapter": (),
    "rating": EVERYTHING,
    "tone": ("text",),
}
"""What each column depends on: by its name, or as nothing is said, on everything, or as it is said."""

HISTORIES = int(os.environ.get("HISTORIES", "0"))
"""The number of histories of the long form, in which all files are verified after each step."""

NUMBERS = ("snr", "wer", "rating")


@dataclass(frozen=True)
class Row:
    """A row as it is now: its recording, and the text and speaker that the store shall have."""

    id: str
    text: str
    speaker: str
    audio: int

    def of(self, name: str) -> object:
        return getattr(self, name)


def value_of(column: str, number: int) -> float | str:
    """Return one of many values: numbers, a category, and texts of which some are too long for one."""
    if column in NUMBERS:
        return number / 4
    return "a long text " * 30 + str(number) if column == "heard" and number % 2 else f"{column} {number}"


class ColumnHistories(RuleBasedStateMachine):
    """A corpus, its store, and what every column must have."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.store = self.folder / "store"
        self.n_rows = 0
        self.corpus: dict[str, Row] = {}
        self.corrections: dict[str, Correction] = {}
        self.built: dict[str, Row] = {}
        """The rows of the store."""
        self.values: dict[str, dict[str, float | str]] = {}
        """Column → id → value; one that is not here is missing."""

    @initialize()
    def make(self) -> None:
        for _ in range(4):
            self.add_row()
        self.update()
        self.add(
            {column: {name: value_of(column, 0) for name in self.built} for column in DEPENDS}, [*self.built], False
        )

    @rule()
    def add_row(self) -> None:
        name = f"row-{self.n_rows:02d}"
        self.corpus[name] = Row(name, f"Text {'abcdefgh'[self.n_rows % 8]}", "anna", self.n_rows)
        self.n_rows += 1

    @precondition(lambda self: len(self.corpus) > 2)
    @rule(data=st.data())
    def drop_row(self, data: st.DataObject) -> None:
        del self.corpus[data.draw(st.sampled_from([*self.corpus]))]

    @rule(
        data=st.data(),
        text=st.sampled_from(["", "Other", "Words"]),
        speaker=st.sampled_from(["", "ben", "carl"]),
        is_recorded=st.booleans(),
        is_made=st.booleans(),
    )
    def change(self, data: st.DataObject, text: str, speaker: str, is_recorded: bool, is_made: bool) -> None:
        name = data.draw(st.sampled_from([*self.corpus]))
        self.corrections[name] = Correction(name, text, speaker)
        if is_recorded:
            self.corpus[name] = replace(self.corpus[name], audio=self.corpus[name].audio + 20)
        if is_made:
            self.update()

    @rule()
    def update(self) -> None:
        before = self.built
        result = self._prepare()
        now = {name: self._corrected(row) for name, row in self.corpus.items()}
        named = {name: n for array in result.incomplete for name, n in array.columns.items()}
        lost: dict[str, int] = {}
        for column, values in self.values.items():
            gone = [
                name
                for name, row in now.items()
                if name not in before or any(row.of(key) != before[name].of(key) for key in DEPENDS[column])
            ]
            self.values[column] = {name: value for name, value in values.items() if name in now and name not in gone}
            lost |= {column: len(gone)} if gone else {}
        if now != before:
            assert named == lost
        # As the command does that has said it.
        write_sources(self.store, replace(read_sources(self.store), incomplete=()))
        self.built = now
        self.check()

    @rule(data=st.data(), is_replaced=st.booleans())
    def give(self, data: st.DataObject, is_replaced: bool) -> None:
        columns = data.draw(st.lists(st.sampled_from([*DEPENDS]), min_size=1, unique=True))
        names = data.draw(st.lists(st.sampled_from([*self.built]), min_size=1, unique=True))
        # A row of the table without a value.
        empty = data.draw(st.sampled_from(["", *names]))
        tables = {
            column: {name: value_of(column, data.draw(st.integers(0, 3))) for name in names} for column in columns
        }
        self.add(
            {c: {name: value for name, value in of.items() if name != empty} for c, of in tables.items()},
            names,
            is_replaced,
        )

    def add(self, tables: Mapping[str, Mapping[str, float | str]], names: Sequence[str], is_replaced: bool) -> None:
        """Add columns, each with values of some of the rows of a table."""
        # Of one column alone it is said what it depends on.
        for columns, depends_on in (({*tables} - {"tone"}, None), ({*tables} & {"tone"}, ("text",))):
            if not columns:
                continue
            table: dict[str, Sequence[Any]] = {
                column: [tables[column].get(name) for name in names] for column in columns
            }
            table["id"] = names
            others = [
                column
                for column in sorted(columns)
                if any(self.values.get(column, {}).get(name, value) != value for name, value in tables[column].items())
            ]
            if others and not is_replaced:
                with pytest.raises(StoreError, match=f"'{others[0]}': has other values for "):
                    add_columns(self.store, table, depends_on=depends_on)
                continue
            # A column of which nothing is given is one of the table only where it replaces values.
            stored = {*UtteranceDataset(self.store).columns}
            given = {column for column in columns if tables[column] or (is_replaced and column in stored)}
            if not given:
                with pytest.raises(CorpusError, match="no column to add"):
                    add_columns(self.store, table, replace=is_replaced, depends_on=depends_on)
                continue
            add_columns(self.store, table, replace=is_replaced, depends_on=depends_on)
            for column in given:
                old = self.values.get(column, {})
                kept = {name: value for name, value in old.items() if not (is_replaced and name in names)}
                self.values[column] = {**kept, **tables[column]}
        self.check()

    @precondition(lambda self: len(self.built) > 2)
    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from([*self.built]))
        remove_rows(self.store, [name])
        del self.built[name]
        self.values = {column: {uid: v for uid, v in of.items() if uid != name} for column, of in self.values.items()}
        self.check()

    def check(self) -> None:
        """Check every value of every column."""
        dataset = UtteranceDataset(self.store, verify=HISTORIES > 0)
        assert {*dataset.id} == {*self.built}
        for column, values in self.values.items():
            found = dict(zip(dataset.id, dataset.columns[column], strict=True))
            expected: Mapping[str, Any] = {name: values.get(name, "") for name in found}
            if column in NUMBERS:
                found = {name: "" if math.isnan(float(number)) else float(number) for name, number in found.items()}
            assert found == expected, column

    def _corrected(self, row: Row) -> Row:
        given = self.corrections.get(row.id, Correction(row.id))
        return replace(row, text=given.text or row.text, speaker=given.speaker or row.speaker)

    def _prepare(self) -> Result:
        rows = []
        for row in self.corpus.values():
            path = self.folder / f"{row.audio}.wav"
            if not path.exists():
                soundfile.write(path, speech_like(0.2 + row.audio / 1000, row.audio), SAMPLE_RATE)
            rows.append(SourceUtterance(row.id, row.text, path.name, row.id, row.speaker))
        corrected = Corrections(self.corrections).apply(rows)
        how = "update" if (self.store / "manifest.json").exists() else "resume"
        return prepare(corrected, self.folder, self.store, SMALL, existing=how, corrections=corrected)


def test_every_value_is_the_last_one_given_for_the_row_as_it_is_or_missing_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    phases = [*Phase][:3] if HISTORIES else [Phase.generate]
    run_state_machine_as_test(
        ColumnHistories,
        settings=settings(
            max_examples=HISTORIES or 6,
            stateful_step_count=15,
            derandomize=not HISTORIES,
            phases=phases,
            deadline=None,
        ),
    )
