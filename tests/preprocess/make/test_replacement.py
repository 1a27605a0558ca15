"""Replacing a store: the old or the new one exists at any time, and unchanged files are reused."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run
from corpora import TEXTS, write_ljspeech
from killing import contents

import tts_prep.format.files.atomic as replacement
from tts_prep.loader import UtteranceDataset

SETTINGS = ("--jobs", "1", "--shard-utterances", "2")


@pytest.fixture
def old(own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a store of the first four rows of the corpus."""
    status, _, err = run(capsys, "ljspeech", own_corpus, tmp_path / "store", *SETTINGS, "--limit", "4")
    assert status == 0, err
    return tmp_path / "store"


def left_beside(store: Path) -> list[str]:
    return [path.name for path in store.parent.iterdir() if path.name.startswith(".store")]


@pytest.mark.parametrize(
    "mistake",
    [
        ["nowhere"],
        ["CORPUS", "--frontend", "espek"],
        ["CORPUS", "--language", "xx-nowhere"],
        ["CORPUS", "--split", "train=nowhere.txt"],
        ["CORPUS", "--backend", "abacus"],
        ["CORPUS", "--ood-texts", "nowhere.txt"],
        ["CORPUS", "--fmax", "99999"],
    ],
)
@pytest.mark.parametrize("option", ["--overwrite", "--update"])
def test_a_mistake_in_the_command_leaves_the_store_as_it_was(
    old: Path, own_corpus: Path, capsys: pytest.CaptureFixture[str], mistake: list[str], option: str
) -> None:
    before = contents(old)
    corpus, *rest = mistake
    corpus = str(own_corpus) if corpus == "CORPUS" else corpus
    status, _, err = run(capsys, "ljspeech", corpus, old, *SETTINGS, "--limit", "5", option, *rest)
    assert status != 0
    assert err.count("\n") == 1
    assert contents(old) == before
    assert not left_beside(old)


@pytest.mark.whole
def test_an_update_takes_over_the_shards_that_are_the_same_and_gives_the_bytes_of_a_fresh_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, grown = write_ljspeech(tmp_path / "few", TEXTS[:5]), write_ljspeech(tmp_path / "more", TEXTS)
    run(capsys, "ljspeech", corpus, tmp_path / "store", *SETTINGS)
    first = (tmp_path / "store/shards/00000.h5").stat()
    status, out, err = run(capsys, "ljspeech", grown, tmp_path / "store", *SETTINGS, "--update")
    assert status == 0, err
    run(capsys, "ljspeech", grown, tmp_path / "fresh", *SETTINGS)
    assert contents(tmp_path / "store") == contents(tmp_path / "fresh")
    assert (tmp_path / "store/shards/00000.h5").stat().st_ino == first.st_ino
    assert "2 shards already existed" in out
    assert not left_beside(tmp_path / "store")


@pytest.mark.whole
def test_an_update_of_a_store_that_is_up_to_date_changes_nothing(
    old: Path, own_corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inode = old.stat().st_ino
    _, out, _ = run(capsys, "ljspeech", own_corpus, old, *SETTINGS, "--limit", "4", "--update")
    assert "nothing was made" in out
    assert old.stat().st_ino == inode


def test_an_overwrite_that_fails_keeps_the_old_store_and_is_gone_on_with(
    old: Path, own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(old)
    command = ("ljspeech", own_corpus, old, *SETTINGS, "--overwrite")
    # The last row, which is in the last shard.
    recording = own_corpus / f"wavs/S-{len(TEXTS) - 1:04d}.wav"
    hidden = recording.rename(tmp_path / "hidden.wav")
    status, _, err = run(capsys, *command, "--max-failures", "0")
    assert (status, err.count("\n")) == (1, 1)
    assert contents(old) == before
    assert left_beside(old) == [".store.replacement"]
    hidden.rename(recording)
    status, out, err = run(capsys, *command)
    assert status == 0, err
    assert "2 shards already existed" in out
    assert len(UtteranceDataset(old)) == len(TEXTS)
    assert not left_beside(old)


def test_a_full_disk_while_a_store_is_replaced_leaves_the_old_one(
    old: Path, own_corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(old)

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tts_prep.format.files.atomic.sync", full)
    status, _, err = run(capsys, "ljspeech", own_corpus, old, *SETTINGS, "--overwrite")
    assert status == 1
    assert "No space left on device" in err
    assert contents(old) == before


def test_where_shards_is_a_link_what_it_leads_to_is_left_alone(
    old: Path, own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (old / "shards").rename(tmp_path / "elsewhere")
    (old / "shards").symlink_to(tmp_path / "elsewhere")
    before = contents(tmp_path / "elsewhere")
    status, _, err = run(capsys, "ljspeech", own_corpus, old, *SETTINGS, "--overwrite")
    assert status == 0, err
    assert contents(tmp_path / "elsewhere") == before
    assert not (old / "shards").is_symlink()
    assert len(UtteranceDataset(old)) == len(TEXTS)


def test_a_begun_store_whose_shards_is_a_link_is_refused(
    old: Path, own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (old / "manifest.json").unlink()
    (old / "shards").rename(tmp_path / "elsewhere")
    (old / "shards").symlink_to(tmp_path / "elsewhere")
    before = contents(tmp_path / "elsewhere")
    status, _, err = run(capsys, "ljspeech", own_corpus, old, *SETTINGS, "--limit", "4")
    assert (status, "shards: a link to another folder" in err) == (1, True)
    assert contents(tmp_path / "elsewhere") == before


def test_a_store_that_is_a_link_is_replaced_where_it_lies(
    old: Path, own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "disk").mkdir()
    old.rename(tmp_path / "disk/real")
    old.symlink_to(tmp_path / "disk/real")
    status, _, err = run(capsys, "ljspeech", own_corpus, old, *SETTINGS, "--overwrite")
    assert status == 0, err
    assert old.is_symlink()
    assert len(UtteranceDataset(old)) == len(TEXTS)
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["real"]


def refuse(*_: object) -> None:
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


@pytest.fixture
def two_stores(tmp_path: Path) -> Path:
    """Return a folder like a store, next to its finished replacement."""
    for name in ("store", ".store.replacement"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(name)
    return tmp_path / "store"


@pytest.mark.parametrize("exchange", [replacement.exchange, refuse])
def test_a_store_is_replaced_with_and_without_an_exchange_of_names(
    two_stores: Path, monkeypatch: pytest.MonkeyPatch, exchange: Callable[[Path, Path], None]
) -> None:
    monkeypatch.setattr(replacement, "exchange", exchange)
    replacement.replace_store(two_stores)
    assert (two_stores / "manifest.json").read_text() == ".store.replacement"
    assert [path.name for path in two_stores.parent.iterdir()] == ["store"]


def test_an_interruption_while_the_old_store_is_deleted_leaves_nothing_of_it(
    two_stores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, calls = replacement.shutil.rmtree, 0

    def interrupted_once(folder: Path, **options: bool) -> None:
        nonlocal calls
        calls += 1
        # The first call finds nothing to delete.
        if calls == 2:
            raise KeyboardInterrupt
        remove(folder, **options)

    monkeypatch.setattr(replacement.shutil, "rmtree", interrupted_once)
    with pytest.raises(KeyboardInterrupt):
        replacement.replace_store(two_stores)
    assert not left_beside(two_stores)
    assert (two_stores / "manifest.json").read_text() == ".store.replacement"


def test_a_kill_between_two_renames_is_made_good_by_the_next_reader(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What it leaves where names cannot be exchanged: the old store, aside.
    replaced = tmp_path / ".store.replaced"
    replaced.mkdir()
    for name, data in contents(store).items():
        (replaced / name).parent.mkdir(exist_ok=True)
        (replaced / name).write_bytes(data)
    assert len(UtteranceDataset(tmp_path / "store")) == len(UtteranceDataset(store))
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_what_a_killed_run_left_beside_a_replaced_store_is_removed_by_the_next_run(
    old: Path, own_corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (".store.replaced", ".store.replacement"):
        (old.parent / name).mkdir()
        (old.parent / name / "manifest.json").write_text("{}")
    run(capsys, "ljspeech", own_corpus, old, *SETTINGS, "--limit", "4")
    assert not left_beside(old)


@pytest.mark.whole
def test_shards_are_copied_where_there_are_no_hard_links(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, grown = write_ljspeech(tmp_path / "few", TEXTS[:3]), write_ljspeech(tmp_path / "more", TEXTS[:5])
    run(capsys, "ljspeech", corpus, tmp_path / "store", *SETTINGS)

    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    status, _, err = run(capsys, "ljspeech", grown, tmp_path / "store", *SETTINGS, "--update")
    assert status == 0, err
    monkeypatch.undo()
    run(capsys, "ljspeech", grown, tmp_path / "fresh", *SETTINGS)
    assert contents(tmp_path / "store") == contents(tmp_path / "fresh")


def test_what_an_interrupted_overwrite_left_is_not_taken_for_the_work_of_another_command(
    old: Path, own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden = (own_corpus / "wavs/S-0004.wav").rename(tmp_path / "hidden.wav")
    run(capsys, "ljspeech", own_corpus, old, *SETTINGS, "--overwrite", "--max-failures", "0")
    assert left_beside(old) == [".store.replacement"]
    hidden.rename(own_corpus / "wavs/S-0004.wav")
    run(capsys, "ljspeech", own_corpus, tmp_path / "fresh", *SETTINGS, "--limit", "5")
    status, out, err = run(capsys, "ljspeech", own_corpus, old, *SETTINGS, "--limit", "5", "--overwrite")
    assert (status, "there already" in out) == (0, False), err
    assert contents(old) == contents(tmp_path / "fresh")
