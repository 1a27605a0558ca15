"""Outputs replace only regular files; messages about a store are a single printable line of limited length."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import run
from stores import edit_manifest, make_rows, write_store

from tts_prep.errors import CorruptStoreError, StoreError, WriteError, one_line
from tts_prep.format.files.atomic import replacing
from tts_prep.format.records.failures import Failure, read_failures
from tts_prep.format.records.manifest import read_manifest


@pytest.mark.parametrize("kind", ["a link", "a broken link", "a pipe", "a folder", "a device"])
def test_only_a_regular_file_is_replaced(tmp_path: Path, kind: str) -> None:
    path, other = tmp_path / "out", tmp_path / "other"
    if kind == "a link":
        other.write_text("kept")
        path.symlink_to(other)
    elif kind == "a broken link":
        path.symlink_to(other)
    elif kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    else:
        path = Path("/dev/null")
    before = path.lstat()
    with pytest.raises(WriteError, match="expected a regular file; nothing was changed"), replacing(path) as partial:
        partial.write_text("new")
    assert os.path.samestat(before, path.lstat())
    assert not [found for found in tmp_path.iterdir() if found.suffix == ".partial"]
    assert not other.exists() or other.read_text() == "kept"


def test_a_message_is_one_bounded_line_without_what_a_terminal_acts_on() -> None:
    assert one_line("a\x1b[2J\x9b1m\u202eb\nc") == r"a\x1b[2J\x9b1m\u202eb\nc"
    assert one_line("naïve – 中文") == "naïve – 中文"
    message = str(CorruptStoreError("x" * 400_000 + "\x07"))
    assert len(message) == 1000
    assert message.isprintable()
    assert message.startswith("xxx")
    assert str(StoreError(message)) == message


@pytest.mark.whole
def test_names_of_a_store_reach_a_terminal_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = write_store(tmp_path / "s\u202e", make_rows([3, 4]), n_shards=1)
    edit_manifest(store, lambda manifest: manifest["software"].update({"\x9b2J\u2066": "\x1b]0;x\x07"}))
    status, out, _ = run(capsys, "info", store, "--json")
    assert status == 0
    assert all(c.isprintable() or c == "\n" for c in out)
    assert r"\u009b2J\u2066" in out
    (store / "shards/00000.h5").unlink()
    status, out, err = run(capsys, "verify", store)
    assert status == 1
    assert all(c.isprintable() or c == "\n" for c in out + err)


LINE = '{"id": "a", "where": "x:1", "stage": "text", "reason": "é"}\n'


def test_failures_are_read_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "failures.jsonl").write_text(LINE * 3, encoding="utf-8")
    assert list(read_failures(tmp_path, 3)) == [Failure("a", "x:1", "text", "é")] * 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LINE * 2, "expected 3 lines"),
        (LINE * 4, "expected 3 lines"),
        (LINE * 2 + LINE[:-1], "expected 3 lines"),
        (LINE * 2 + "[]\n", r"failures\.jsonl:3: expected a JSON object, found \[\]"),
        (LINE * 2 + LINE.replace('"a"', "7"), r"failures\.jsonl:3: 'id': expected a text"),
        (LINE + "{\n" * 2, r"failures\.jsonl:2: not JSON"),
        (LINE + "x" * (1 << 21) + "\n" + LINE, "a line of|expected 3 lines"),
    ],
)
def test_failures_that_are_not_those_of_a_store_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "failures.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(CorruptStoreError, match=message):
        list(read_failures(tmp_path, 3))


@pytest.mark.parametrize("kind", ["a link out", "a pipe"])
def test_failures_that_are_no_file_of_the_store_are_not_opened(tmp_path: Path, kind: str) -> None:
    store = tmp_path / "s"
    store.mkdir()
    if kind == "a pipe":
        os.mkfifo(store / "failures.jsonl")
    else:
        (tmp_path / "outside").write_text(LINE, encoding="utf-8")
        (store / "failures.jsonl").symlink_to(tmp_path / "outside")
    with pytest.raises(CorruptStoreError, match=r"failures\.jsonl"):
        list(read_failures(store, 1))


def test_a_manifest_is_shown_as_one_short_line(tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", make_rows([5, 6, 7]), waveform=True)
    shown = repr(read_manifest(store))
    assert shown.startswith("<Manifest: 3 utterances, 2 shards, 3 arrays, format ")
    assert len(shown) < 100
