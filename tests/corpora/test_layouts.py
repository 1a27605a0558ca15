"""Detection of the corpus in a folder that a reader does not recognize."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpora import KALDI, write_kaldi, write_libritts, write_ljspeech, write_vctk

from tts_prep.hints.commands import likely_commands, what_it_is
from tts_prep.preprocess.make.resuming import install_line


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("ljspeech", write_ljspeech),
        ("vctk", write_vctk),
        ("libritts", write_libritts),
        ("kaldi", lambda root: write_kaldi(root, KALDI)),
    ],
)
def test_a_corpus_is_known_by_its_layout(tmp_path: Path, name: str, write) -> None:
    corpus = tmp_path / "corpus"
    write(corpus)
    assert likely_commands(corpus) == [name]
    assert what_it_is(name, corpus) == ""
    other = "vctk" if name != "vctk" else "kaldi"
    assert what_it_is(other, corpus) == f"{corpus} looks like a corpus for 'tts-prep {name}'"
    below = next(path for path in sorted(corpus.iterdir()) if path.is_dir())
    assert what_it_is(name, below) == f"give {corpus}"


def test_what_is_not_known_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    assert likely_commands(tmp_path) == likely_commands(tmp_path / "none") == []
    assert {what_it_is("vctk", tmp_path), what_it_is("vctk", tmp_path / "a.txt"), what_it_is("vctk", Path("/no"))} == {
        ""
    }


def test_a_store_is_no_corpus(tmp_path: Path) -> None:
    (tmp_path / "failures.jsonl").write_text("")
    assert likely_commands(tmp_path) == ["manifest"]
    (tmp_path / "shards").mkdir()
    assert likely_commands(tmp_path) == []


def test_versions_that_no_command_brings_back_are_described() -> None:
    old = {"numpy": "1.0", "libsndfile": "1.2", "fused multiply-add": "yes"}
    assert install_line(old, {**old, "numpy": "2.0"}).endswith("pip install numpy==1.0")
    assert install_line(old, {**old, "libsndfile": "1.3"}).endswith("a version of soundfile with libsndfile 1.2")
    assert install_line(old, {**old, "fused multiply-add": "no", "numpy": "2.0"}) == install_line(old, old) == ""
