"""Stores after any history of edits and commands: the bytes of a fresh build, or a line that names what is not.

A machine draws edits of a corpus, its decisions and its arrays, and commands on its store, some of them interrupted.
After every command that ends well the store is compared with a build from nothing of what the corpus is now.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import soundfile
from corpora import SAMPLE_RATE, speech_like
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from killing import contents

from tts_prep.cli.main import main

OPTIONS = ("--frontend", "characters", "--unknown", "drop", "--shard-utterances", "2", "--jobs", "1")
FEATURES = ("energy", "durations", "vector")
"""Arrays that stores may have: of the recordings, of alignments, and imported."""


@dataclass(frozen=True)
class Row:
    """A row of the corpus.

    Attributes:
        length: of the recording.
        level: of the recording, which has the same size at every level.
        vector: the number of the imported array.
        shift: of the alignment: frames that go from the first symbol to the last.
    """

    id: str
    text: str
    length: int = 0
    level: int = 0
    vector: int = 0
    shift: int = 0


@dataclass(frozen=True)
class Inputs:
    """All that a store is made from: rows in order, decisions, and the arrays that it has."""

    rows: tuple[Row, ...]
    corrected: tuple[tuple[str, str], ...] = ()
    excluded: frozenset[str] = frozenset()
    arrays: frozenset[str] = frozenset()


def write_recording(path: Path, row: Row) -> None:
    sound = speech_like(0.25 + 0.013 * row.length, row.length) * (1 - 0.15 * row.level)
    soundfile.write(path, sound, SAMPLE_RATE)


def frames_of(row: Row) -> int:
    """Return the frames of the mel of a recording: those of the preset's hop, with a frame at both ends."""
    return 1 + round((0.25 + 0.013 * row.length) * SAMPLE_RATE) // 256


class Corpus:
    """The files of inputs. A file is written again if what it holds has changed, and only then."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("wavs", "durations"):
            (folder / name).mkdir(parents=True)
        self.written = Inputs(())

    def write(self, inputs: Inputs) -> None:
        """Make the files those of inputs."""
        old = {row.id: row for row in self.written.rows}
        texts = dict(inputs.corrected)
        for row in inputs.rows:
            before = old.get(row.id)
            wav, durations = self.folder / f"wavs/{row.id}.wav", self.folder / f"durations/{row.id}.txt"
            if before is None or (before.length, before.level) != (row.length, row.level):
                write_recording(wav, row)
            text = self._durations(row, texts.get(row.id, row.text))
            if not durations.exists() or durations.read_text() != text:
                durations.write_text(text)
        lines = "".join(f"{row.id}|{row.text}|{row.text}\n" for row in inputs.rows)
        (self.folder / "metadata.csv").write_text(lines, encoding="utf-8")
        np.savez(self.folder / "vector.npz", **{row.id: np.array([row.vector, 1.5]) for row in inputs.rows})
        (self.folder / "corrections.csv").write_text(
            "id,text\n" + "".join(f"{uid},{text}\n" for uid, text in inputs.corrected), encoding="utf-8"
        )
        (self.folder / "excluded.txt").write_text("".join(f"{uid}\n" for uid in sorted(inputs.excluded)))
        self.written = inputs

    def _durations(self, row: Row, text: str) -> str:
        """Return a number of frames for each symbol: one, and all others to the first or the last."""
        counts = [1] * len(text)
        rest = frames_of(row) - len(text)
        counts[0] += rest - row.shift
        counts[-1] += row.shift
        return " ".join(map(str, counts))

    def command(self, store: Path, inputs: Inputs) -> list[str]:
        """Return the command that makes a store of the decisions and arrays of inputs."""
        given = ["ljspeech", str(self.folder), str(store), *OPTIONS]
        if inputs.corrected:
            given += ["--corrections", str(self.folder / "corrections.csv")]
        if inputs.excluded:
            given += ["--exclude", str(self.folder / "excluded.txt")]
        for name in sorted(inputs.arrays):
            given += self.array(name)
        return given

    def array(self, name: str) -> list[str]:
        """Return the options that add an array."""
        return {
            "energy": ["--feature", "energy"],
            "durations": ["--alignments", str(self.folder / "durations")],
            "vector": ["--array", f"vector@utterance={self.folder / 'vector.npz'}"],
        }[name]


@contextlib.contextmanager
def interrupted(stop: int | Callable[[], bool]) -> Iterator[None]:
    """Interrupt what runs here like Ctrl-C, instead of one of its flushes and renames.

    Args:
        stop: its number, or what is true from it on.
    """
    left = 1 if callable(stop) else stop

    def profile(_: FrameType, event: str, what: Any) -> None:
        nonlocal left
        if event == "c_call" and what in (os.fsync, os.rename, os.replace):
            left -= 1 if not callable(stop) or stop() else 0
            if left == 0:
                left = -1
                raise KeyboardInterrupt

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)


def run(*arguments: str, stop: int | Callable[[], bool] | None = None) -> tuple[int, str]:
    """Run a command in this process, up to a flush or rename if it is to stop; return its status and what it said."""
    said = io.StringIO()
    stopping = interrupted(stop) if stop else contextlib.nullcontext()
    with (
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        pytest.raises(SystemExit) as exit_,
        stopping,
    ):
        main([*arguments])
    return int(exit_.value.code or 0), said.getvalue()


FRESH: dict[Inputs, dict[str, bytes]] = {}
"""The files of builds from nothing, which most histories share."""


def fresh(inputs: Inputs) -> dict[str, bytes]:
    """Return the files of a store that is made from nothing, in a folder of another name."""
    # What decides nothing is not in a store.
    ids = {row.id for row in inputs.rows}
    inputs = replace(inputs, excluded=inputs.excluded & ids)
    if inputs not in FRESH:
        with tempfile.TemporaryDirectory() as name:
            corpus = Corpus(Path(name) / "new corpus")
            corpus.write(inputs)
            status, said = run(*corpus.command(Path(name) / "new", inputs))
            assert status == 0, said
            FRESH[inputs] = contents(Path(name) / "new")
    return FRESH[inputs]


PLACES = st.integers(0, 30)
WORDS = st.sampled_from(["one", "two words", "and three words"])


class Histories(RuleBasedStateMachine):
    """A corpus and its store.

    Attributes:
        inputs: what the corpus is now, with the arrays that the store has.
        made: what the store was made from; None without a complete store.
        begun: whether there is a store that is not complete.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.corpus, self.store = Corpus(self.folder / "corpus"), self.folder / "store"
        self.made: Inputs | None = None
        self.begun = False
        self.number = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize()
    def rows(self) -> None:
        self.inputs = Inputs(tuple(Row(f"S-{n:02d}", f"Row {'abcde'[n]}", n) for n in range(5)))
        self.corpus.write(self.inputs)

    def edit(self, **changes: Any) -> None:
        self.inputs = replace(self.inputs, **changes)
        self.corpus.write(self.inputs)

    def edit_row(self, place: int, change: Callable[[Row], Row]) -> None:
        rows = [*self.inputs.rows]
        rows[place % len(rows)] = change(rows[place % len(rows)])
        self.edit(rows=tuple(rows))

    # Edits.

    @rule(place=PLACES, text=WORDS)
    def insert_row(self, place: int, text: str) -> None:
        self.number += 1
        new = Row(f"T-{self.number:02d}", text, 10 + self.number)
        place %= len(self.inputs.rows) + 1
        self.edit(rows=(*self.inputs.rows[:place], new, *self.inputs.rows[place:]))

    @precondition(lambda self: len(self.inputs.rows) > 3)
    @rule(place=PLACES)
    def remove_row(self, place: int) -> None:
        place %= len(self.inputs.rows)
        gone = self.inputs.rows[place].id
        # A file of decisions that names no row of the corpus is refused.
        self.edit(
            rows=self.inputs.rows[:place] + self.inputs.rows[place + 1 :],
            corrected=tuple(pair for pair in self.inputs.corrected if pair[0] != gone),
            excluded=self.inputs.excluded - {gone},
        )

    @rule(place=PLACES)
    def reorder(self, place: int) -> None:
        place %= len(self.inputs.rows)
        self.edit(rows=self.inputs.rows[place:] + self.inputs.rows[:place])

    @rule(place=PLACES, text=WORDS)
    def change_text(self, place: int, text: str) -> None:
        self.edit_row(place, lambda row: replace(row, text=text))

    @rule(place=PLACES)
    def replace_recording(self, place: int) -> None:
        self.edit_row(place, lambda row: replace(row, length=(row.length + 7) % 40))

    @rule(place=PLACES)
    def replace_recording_by_one_of_the_same_size(self, place: int) -> None:
        self.edit_row(place, lambda row: replace(row, level=(row.level + 1) % 4))

    @rule(place=PLACES)
    def change_vector(self, place: int) -> None:
        self.edit_row(place, lambda row: replace(row, vector=row.vector + 1))

    @rule(place=PLACES)
    def change_alignment(self, place: int) -> None:
        self.edit_row(place, lambda row: replace(row, shift=1 - row.shift))

    @rule(place=PLACES, text=WORDS)
    def correct(self, place: int, text: str) -> None:
        uid = self.inputs.rows[place % len(self.inputs.rows)].id
        self.edit(corrected=tuple(sorted({**dict(self.inputs.corrected), uid: text}.items())))

    @precondition(lambda self: len({row.id for row in self.inputs.rows} - self.inputs.excluded) > 3)
    @rule(place=PLACES)
    def exclude(self, place: int) -> None:
        uid = self.inputs.rows[place % len(self.inputs.rows)].id
        self.edit(excluded=self.inputs.excluded | {uid})

    # Commands.

    def is_current(self, made: Inputs) -> bool:
        """Return whether a store of these inputs has the rows and recordings of now, whatever its arrays are."""
        ids = {row.id for row in self.inputs.rows}
        # A list that names no row of the corpus any more is refused.
        corrected = tuple(pair for pair in made.corrected if pair[0] in ids)
        now = replace(self.inputs, arrays=frozenset(), corrected=corrected, excluded=made.excluded)
        return fresh(replace(made, arrays=frozenset())) == fresh(now)

    def expect_fresh(self, said: str) -> None:
        assert contents(self.store) == fresh(self.inputs), said
        assert [path.name for path in self.folder.iterdir() if path.name.startswith(".")] == [], said
        self.made, self.begun = self.inputs, False

    @precondition(lambda self: self.made is None)
    @rule(arrays=st.sets(st.sampled_from(FEATURES)), parts=st.booleans(), stop=st.none() | st.integers(1, 30))
    def new(self, arrays: set[str], parts: bool, stop: int | None) -> None:
        if not self.begun:
            self.edit(arrays=frozenset(arrays))
        command = self.corpus.command(self.store, self.inputs)
        if parts and not self.begun:
            for part in ("2/2", "1/2"):
                status, said = run(*command, "--part", part)
                assert status == 0, said
            status, said = run("finish", str(self.store))
        else:
            status, said = run(*command, stop=stop)
        if status == 130:
            self.begun = True
            return
        if status != 0:
            # What was begun of other inputs is not gone on with.
            assert self.begun, said
            assert said.count("\n") == 1, said
            assert "--update" in said, said
            status, said = run(*command, "--update")
        assert status == 0, said
        self.expect_fresh(said)

    @precondition(lambda self: self.made is not None)
    @rule(again=st.booleans(), decided=st.booleans(), stop=st.none() | st.integers(1, 30))
    def update(self, again: bool, decided: bool, stop: int | None) -> None:
        """Update with the arrays and decisions given again, or without."""
        assert self.made is not None
        if not decided:
            ids = {row.id for row in self.inputs.rows}
            corrected = tuple(pair for pair in self.made.corrected if pair[0] in ids)
            self.edit(corrected=corrected, excluded=self.made.excluded & ids)
        given = replace(self.inputs, arrays=self.inputs.arrays if again else frozenset())
        command = self.corpus.command(
            self.store, given if decided else replace(given, corrected=(), excluded=frozenset())
        )
        before = contents(self.store)
        status, said = run(*command, "--update", stop=stop)
        between = contents(self.store)
        if status == 130:
            status, said = run(*command, "--update")
        assert status == 0, said
        assert between in (before, contents(self.store)), said
        # An array whose source is not given stays if all of its rows do, and is named otherwise.
        named = {name for name in self.inputs.arrays if f"\n{name}: left out, " in said}
        assert not (named and again), said
        self.inputs = replace(self.inputs, arrays=self.inputs.arrays - named)
        if not again:
            self.keep_old_values()
        self.expect_fresh(said)

    @precondition(lambda self: self.made is not None)
    @rule()
    def repeat(self) -> None:
        """Run the command that made the store, for what the corpus is now."""
        assert self.made is not None
        before, now = contents(self.store), replace(self.inputs, arrays=self.made.arrays)
        status, said = run(*self.corpus.command(self.store, now))
        assert contents(self.store) == before, said
        if fresh(now) == before:
            assert status == 0, said
            assert "the store was already complete; nothing was made\n" in said, said
        else:
            assert (status, said.count("\n")) == (1, 1), said

    def keep_old_values(self) -> None:
        """Take the values of kept arrays back: a source that is not given again is not looked at."""
        assert self.made is not None
        old = {row.id: row for row in self.made.rows}
        rows = [
            replace(row, vector=old[row.id].vector, shift=old[row.id].shift) if row.id in old else row
            for row in self.inputs.rows
        ]
        self.edit(rows=tuple(rows))

    @precondition(lambda self: self.made is not None)
    @rule(name=st.sampled_from(FEATURES))
    def add(self, name: str) -> None:
        assert self.made is not None
        before, is_current = contents(self.store), self.is_current(self.made)
        if name != "energy" and not (is_current and self.inputs.corrected == self.made.corrected):
            # Files of other rows, of which nothing tells it.
            return
        corpus = ["--corpus", str(self.corpus.folder)] if name == "energy" else []
        status, said = run("add", str(self.store), *corpus, *self.corpus.array(name), "--jobs", "1")
        assert status == 0 or not is_current, said
        if status != 0:
            assert said.count("\n") == 1, said
            assert contents(self.store) == before, said
            return
        # It reads the values of this array, and no others: energy beside mels of other recordings would differ.
        new = {row.id: row for row in self.inputs.rows}
        field = {"vector": "vector", "durations": "shift"}.get(name, "id")
        rows = (replace(row, **{field: getattr(new.get(row.id, row), field)}) for row in self.made.rows)
        self.made = replace(self.made, rows=tuple(rows), arrays=self.made.arrays | {name})
        self.inputs = replace(self.inputs, arrays=self.made.arrays)
        assert contents(self.store) == fresh(self.made), said

    @precondition(lambda self: self.made is not None and self.made.arrays)
    @rule(place=PLACES)
    def remove(self, place: int) -> None:
        assert self.made is not None
        name = sorted(self.made.arrays)[place % len(self.made.arrays)]
        status, said = run("remove", str(self.store), "--array", name)
        assert status == 0, said
        self.made = replace(self.made, arrays=self.made.arrays - {name})
        self.edit(arrays=self.made.arrays)
        assert contents(self.store) == fresh(self.made), said

    @precondition(lambda self: self.made is not None and len(self.inputs.rows) > 3)
    @rule(place=PLACES, stop=st.none() | st.integers(1, 30))
    def erase(self, place: int, stop: int | None) -> None:
        """Remove a row from the store and from the corpus, with which an update makes a fresh store."""
        assert self.made is not None
        gone = self.inputs.rows[place % len(self.inputs.rows)].id
        left = {row.id for row in self.made.rows} - self.made.excluded - {gone}
        if not left & {row.id for row in self.inputs.rows} - self.inputs.excluded:
            return
        (self.folder / "gone.txt").write_text(f"{gone}\n")
        command = ("remove", str(self.store), "--ids", str(self.folder / "gone.txt"))
        before = contents(self.store)
        status, said = run(*command, stop=stop)
        between = contents(self.store)
        if status == 130:
            status, said = run(*command)
        assert status == 0, said
        after = contents(self.store)
        assert between in (before, after), said
        assert [name for name, data in after.items() if gone.encode() in data] == [], said
        self.remove_row(place)
        status, said = run(*self.corpus.command(self.store, self.inputs), "--update")
        assert status == 0, said
        self.expect_fresh(said)

    @precondition(lambda self: self.made is not None)
    @rule(place=PLACES)
    def repair(self, place: int) -> None:
        assert self.made is not None
        before = contents(self.store)
        files = sorted(self.store.rglob("*.h5"))
        broken = files[place % len(files)]
        data = bytearray(broken.read_bytes())
        data[len(data) // 2] ^= 1
        broken.unlink()
        broken.write_bytes(data)
        assert run("verify", str(self.store))[0] == 1
        status, said = run("verify", str(self.store), "--repair", str(self.corpus.folder), "--jobs", "1")
        if status != 0:
            # What it needs is not there, or is another one now.
            broken.unlink()
            broken.write_bytes(before[broken.relative_to(self.store).as_posix()])
        assert contents(self.store) == before, said


@pytest.mark.whole
def test_a_store_after_any_history_has_the_bytes_of_a_fresh_build_or_names_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the folders of tests are, which may be memory.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    count = int(os.environ.get("HISTORIES", "0"))
    phases = [*Phase][:3] if count else [Phase.generate]
    run_state_machine_as_test(
        Histories,
        settings=settings(max_examples=count or 12, stateful_step_count=25, derandomize=not count, phases=phases),
    )


@pytest.mark.whole
@pytest.mark.parametrize("is_kept", [False, True])
def test_what_an_interrupted_update_left_out_is_said_by_the_next_command_once(tmp_path: Path, is_kept: bool) -> None:
    corpus, store = Corpus(tmp_path / "corpus"), tmp_path / "store"
    rows = tuple(Row(f"S-{n:02d}", f"Row {'abcde'[n]}", n) for n in range(5))
    corpus.write(Inputs(rows, arrays=frozenset(() if is_kept else ("vector",))))
    assert run(*corpus.command(store, corpus.written))[0] == 0
    if is_kept:
        (tmp_path / "scores.csv").write_text("id,score\n" + "".join(f"{row.id},1.5\n" for row in rows))
        assert run("add", str(store), "--columns", str(tmp_path / "scores.csv"))[0] == 0
    expected = "score: no values for 1 row" if is_kept else "vector: left out, no values for 1 row"
    before = contents(store)
    corpus.write(Inputs((*rows, Row("S-05", "Row f", 5)), arrays=corpus.written.arrays))
    command = [*corpus.command(store, replace(corpus.written, arrays=frozenset())), "--update"]
    manifest = store / "manifest.json"
    # After the exchange, in the middle of which there is no store where folders cannot be exchanged.
    status, said = run(*command, stop=lambda: manifest.is_file() and manifest.read_bytes() != before["manifest.json"])
    assert (status, contents(store) != before, f"\n{expected}" in said) == (130, True, False)
    status, said = run(*command)
    assert (status, f"\n{expected}" in said, "already complete" in said) == (0, True, True), said
    status, said = run(*command)
    assert (status, f"{expected}" in said) == (0, False), said


@pytest.mark.whole
def test_values_of_files_that_move_to_other_shards_have_the_bytes_of_a_fresh_build(tmp_path: Path) -> None:
    corpus, store = Corpus(tmp_path / "corpus"), tmp_path / "store"
    rows = tuple(Row(f"S-{n:02d}", f"Row {'abcde'[n]}", n) for n in range(5))
    inputs = Inputs(rows, arrays=frozenset(FEATURES))
    corpus.write(inputs)
    assert run(*corpus.command(store, inputs))[0] == 0
    inputs = replace(inputs, rows=(*rows[1:], rows[0]))
    corpus.write(inputs)
    status, said = run(*corpus.command(store, replace(inputs, arrays=frozenset())), "--update")
    assert (status, "older than" in said) == (0, False), said
    assert contents(store) == fresh(inputs)
