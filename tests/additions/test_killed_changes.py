"""Changes of columns and builds with corrections that are killed at any step leave the old or the new store."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from killing import contents
from stores import make_rows, write_store

from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import Configuration, Corrections, add_columns, prepare, remove_columns
from tts_prep.preprocess.configuration.records import StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech

SMALL = Configuration(text=TextConfig(frontend="characters", unknown="drop"), store=StoreConfig(shard_utterances=4))
STEPS = {"open", "os.mkdir", "os.rmdir", "os.rename", "os.link", "os.remove", "os.truncate"}
"""The events of Python before it changes files; those of ``open`` only if it is for writing."""

Act = Callable[[Path], object]


def kill_at(step: int, place: Path, act: Act, store: Path) -> int:
    """Act in another process that is killed before a change of a file below a folder.

    Returns:
        How many changes it made, if it came to its end before; else −1.
    """
    child = os.fork()
    if child == 0:
        made = 0

        def count(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal made
            if event not in STEPS or not str(arguments[0]).startswith(str(place)):
                return
            if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
                return
            if made == step:
                os.kill(os.getpid(), signal.SIGKILL)
            made += 1

        try:
            sys.addaudithook(count)
            act(store)
            os._exit(made)
        finally:
            os._exit(255)
    _, status = os.waitpid(child, 0)
    assert os.WIFEXITED(status) or os.WTERMSIG(status) == signal.SIGKILL, status
    assert status >> 8 != 255
    return status >> 8 if os.WIFEXITED(status) else -1


def sweep(folder: Path, old: Path, act: Act, every: bool) -> tuple[int, int]:
    """Kill an act on copies of a store at its steps; return how often it left the old and the new store."""
    reference = Path(shutil.copytree(old, folder / "reference/store"))
    n_steps = kill_at(-1, reference.parent, act, reference)
    before, after = contents(old), contents(reference)
    assert before != after
    found = {"old": 0, "new": 0}
    # The stores are exchanged at the fourth step from the end.
    for step in range(n_steps) if every else (n_steps // 4, n_steps // 2, *range(n_steps - 5, n_steps)):
        place = folder / f"killed-{step}"
        place.mkdir()
        store = Path(shutil.copytree(old, place / "store"))
        assert kill_at(step, place, act, store) == -1
        # Opening recovers a store whose exchange was interrupted.
        UtteranceDataset(store)
        now = {name: data for name, data in contents(store).items() if name != ".lock"}
        assert now in (before, after), step
        found["new" if now == after else "old"] += 1
        if now == before or act is not remove:
            act(store)
            assert contents(store) == after, step
            assert [path.name for path in place.iterdir()] == ["store"], step
        shutil.rmtree(place)
    return found["old"], found["new"]


def ids(store: Path) -> list[str]:
    return list(UtteranceDataset(store).id)


def add(store: Path) -> object:
    values = {"wer": [0.5, None, 2], "note": ["n" * 300, "", "two\nlines"], "keep": ["yes", "no", None]}
    return add_columns(store, {"id": ids(store), **values}, replace=True)


def replace(store: Path) -> object:
    return add_columns(store, {"id": ids(store), "wer": ["x" * 300, "y", "z"], "note": [1, 2, 3]}, replace=True)


def remove(store: Path) -> object:
    return remove_columns(store, ["wer", "note", "keep"])


SOAK = pytest.mark.soak
EVERY = pytest.mark.parametrize("every", [False, pytest.param(True, marks=SOAK)], ids=["some", "every"])


@EVERY
@pytest.mark.parametrize("act", [add, pytest.param(replace, marks=SOAK), remove], ids=["add", "replace", "remove"])
def test_columns_that_are_changed_by_a_killed_process_are_the_old_or_the_new_ones(
    tmp_path: Path, act: Act, every: bool
) -> None:
    store = write_store(tmp_path / "old", make_rows([3, 4, 5]), n_shards=1)
    if act is not add:
        add(store)
    old, new = sweep(tmp_path, store, act, every)
    assert old > 2
    assert new > 1


@pytest.mark.whole
@EVERY
def test_a_build_with_corrections_that_is_killed_leaves_the_old_or_the_new_store(
    corpus: Path, tmp_path: Path, every: bool
) -> None:
    file = tmp_path / "decisions.csv"
    file.write_text("id,keep,text\nS-0001,yes,Other words.\nS-0005,no,\n")
    corrections = Corrections.read(file, exclude=file)

    def build(store: Path) -> object:
        rows = corrections.apply(read_ljspeech(corpus))
        return prepare(rows, corpus, store, SMALL, existing="update", corrections=rows)

    prepare(read_ljspeech(corpus), corpus, tmp_path / "old", SMALL)
    old, new = sweep(tmp_path, tmp_path / "old", build, every)
    assert old > 2
    assert new > 1
