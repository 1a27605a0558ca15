"""What a store transaction leaves: nothing that is not part of the store, and errors that name the store."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from killing import contents
from stores import of_room

import tts_prep.preprocess
from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.format.files.atomic import replacement_folder
from tts_prep.preprocess import ArraySpec, Configuration, Part, Result, make_feature, prepare
from tts_prep.preprocess.configuration.records import StoreConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech

add_index_array = of_room("additions.add_columns", "add_index_array")

SMALL = Configuration(store=StoreConfig(shard_utterances=3))


def make(corpus: Path, store: Path, **options: Any) -> Result:
    return prepare(read_ljspeech(corpus), corpus, store, SMALL, **options)


@pytest.fixture
def copy(store: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(store, tmp_path / "copy"))


def first_frames(utterance: Any) -> Any:
    return utterance.mel[:, 0].astype(np.float32)


def left_beside(store: Path) -> list[str]:
    return [path.name for path in store.parent.iterdir() if path.name.startswith(f".{store.name}")]


def test_the_temporary_files_of_a_killed_array_write_are_removed_by_the_next_run(
    corpus: Path, store: Path, tmp_path: Path
) -> None:
    killed = Path(shutil.copytree(store, tmp_path / "killed"))
    (killed / "manifest.json").unlink()
    (killed / "arrays/energy").mkdir(parents=True)
    (killed / "arrays/energy/00000.h5.0a1b.partial").write_bytes(b"half")
    make(corpus, killed)
    assert contents(killed) == contents(store)
    assert not (killed / "arrays").exists()


@pytest.mark.whole
def test_the_temporary_files_of_a_killed_addition_are_removed_by_the_next_one(copy: Path, tmp_path: Path) -> None:
    fresh = Path(shutil.copytree(copy, tmp_path / "fresh"))
    tts_prep.preprocess.add_array(fresh, "first", first_frames)

    def fail_later(utterance: Any) -> Any:
        if utterance.id == "S-0004":
            folder = replacement_folder(copy) / "arrays/first"
            # What a killed worker leaves.
            (folder / "00001.h5.0a1b.partial").write_bytes(b"half")
            raise KeyboardInterrupt
        return first_frames(utterance)

    with pytest.raises(KeyboardInterrupt):
        tts_prep.preprocess.add_array(copy, "first", fail_later)
    begun = replacement_folder(copy)
    assert (begun / "arrays/first/00000.h5").exists()
    assert not list(begun.rglob("*.partial"))
    (begun / "arrays/first/00001.h5.0a1b.partial").write_bytes(b"half")
    tts_prep.preprocess.add_array(copy, "first", first_frames)
    assert contents(copy) == contents(fresh)
    assert not left_beside(copy)


def test_array_files_that_are_not_planned_any_more_are_removed_from_a_resumed_store(
    corpus: Path, store: Path, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    energy = make_feature("energy", {}, SMALL.mel)
    for part in ("1/2", "2/2"):
        make(corpus, begun, part=Part.parse(part), features=[energy])
    assert (begun / "arrays/energy/00000.h5").exists()
    make(corpus, begun)
    assert contents(begun) == contents(store)


@pytest.mark.whole
def test_an_end_before_anything_was_made_leaves_nothing_beside_the_store(copy: Path) -> None:
    def fail(utterance: Any) -> Any:
        raise KeyboardInterrupt

    before = contents(copy)
    with pytest.raises(KeyboardInterrupt):
        tts_prep.preprocess.add_array(copy, "first", fail)
    assert contents(copy) == before
    assert not left_beside(copy)

    spec = ArraySpec("scores", "float64", (1,), "utterance", index_columns=("score",))
    with pytest.raises(ConfigurationError, match="expected 7 rows of 1 numbers"):
        add_index_array(copy, lambda _: spec, lambda: np.zeros((2, 1)))
    assert not left_beside(copy)


@pytest.mark.whole
def test_an_addition_to_a_broken_store_names_its_file_and_the_repair(copy: Path) -> None:
    path = copy / "shards/00001.h5"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    before = contents(copy)
    with pytest.raises(
        StoreError, match=rf"^{path}: its bytes do not match.* 'tts-prep verify {copy} --repair CORPUS'"
    ):
        tts_prep.preprocess.add_array(copy, "first", first_frames)
    assert contents(copy) == before


def test_an_unknown_way_to_treat_an_existing_store_is_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match="existing: expected one of resume, update, overwrite, found 'replace'"
    ):
        make(corpus, tmp_path / "store", existing="replace")
    with pytest.raises(ConfigurationError, match="overwrite, update, part: expected at most one of them"):
        make(corpus, tmp_path / "store", existing="update", part=Part.parse("1/2"))
    assert not (tmp_path / "store").exists()


def test_the_result_of_a_run_is_shown_in_one_line(corpus: Path, copy: Path) -> None:
    text = repr(make(corpus, copy))
    assert len(text) < 200 + len(str(copy))
    assert "shards=3, shards_made=0" in text


@pytest.mark.whole
def test_files_that_are_not_part_of_a_store_are_listed_by_verify(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "verify", copy)[1].endswith("all intact\n")
    for name in ("index.h5.0a1b.partial", "arrays/energy/00000.h5.0a1b.partial", "shards/notes.txt"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(b"half")
    status, out, err = run(capsys, "verify", copy)
    assert (status, err) == (0, "")
    *lines, last = out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "arrays/energy/00000.h5.0a1b.partial",
        "index.h5.0a1b.partial",
        "shards/notes.txt",
    ]
    assert ["can be removed" in line for line in lines] == [True, True, False]
    assert "notes.txt: not part of the store, tts-prep does not write such files; move it to another folder" in out
    assert last.endswith("all intact; 3 other files")


@pytest.mark.whole
def test_a_store_with_a_foreign_file_is_named_as_a_store(
    copy: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "thesis.txt").write_text("years of work")
    status, _, err = run(capsys, "add", copy, "--license", "cc0-1.0")
    assert status == 1
    assert f"{copy}: a store that also holds 'thesis.txt', which is not part of it; nothing was changed; move" in err
    (copy / "thesis.txt").rename(copy.with_name("thesis.txt"))
    assert run(capsys, "add", copy, "--license", "cc0-1.0")[0] == 0


@pytest.mark.whole
@pytest.mark.parametrize("folder", ["exp", "shards/exp", "a/b"])
def test_an_export_into_a_store_is_refused_before_anything_is_written(
    copy: Path, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(copy.rglob("*"))
    status, _, err = run(capsys, "export", copy, copy / folder, "--to", "kaldi")
    assert status in (1, 2)
    assert f"{copy / folder}: inside the store {copy}, which holds nothing else; use a folder outside it" in err
    assert sorted(copy.rglob("*")) == before
    assert run(capsys, "verify", copy)[1].endswith("all intact\n")


@pytest.mark.whole
def test_a_number_of_processes_that_is_a_text_is_refused(copy: Path) -> None:
    with pytest.raises(ConfigurationError, match="jobs: expected an integer, found '2'"):
        tts_prep.preprocess.add_array(copy, "first", first_frames, jobs="2")  # type: ignore[arg-type]
