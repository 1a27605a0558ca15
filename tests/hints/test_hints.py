"""What people type in other words gets the name that it has here, in one line."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from commands import run
from corpora import write_ljspeech

from tts_prep.cli.options import corpus_options


@pytest.mark.whole
@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["--pitch"], "give it as a feature: --feature pitch;"),
        (["--f0"], "give it as a feature: --feature pitch;"),
        (["--energy"], "give it as a feature: --feature energy;"),
        (["--sr", "22050"], "it is --sample-rate HZ here;"),
        (["--sampling_rate", "22050"], "it is --sample-rate HZ here;"),
        (["--hop", "256"], "it is --hop-length N here;"),
        (["--durations", "TextGrid"], "it is --alignments PATH here;"),
        (["--num-workers", "4"], "it is --jobs N here;"),
        (["--lang", "de"], "it is --language CODE here;"),
        (["--fp16"], "it is --dtype float32|float16 here;"),
        (["--force"], "it is --overwrite here;"),
        (["--output", "store"], "paths are given without options: tts-prep ljspeech CORPUS STORE;"),
    ],
)
def test_an_option_of_other_tools_gets_its_name_here(
    capsys: pytest.CaptureFixture[str], typed: list[str], hint: str
) -> None:
    status, out, err = run(capsys, "ljspeech", "corpus", "store", *typed)
    assert (status, out) == (2, "")
    assert err == f"tts-prep: error: No such option '{typed[0]}'; {hint} see 'tts-prep ljspeech --help'\n"


def test_no_other_name_is_that_of_an_option_or_of_two() -> None:
    options = corpus_options()
    others = [name for option in options for name in getattr(option, "other_names", ())]
    flags = {flag.lstrip("-") for option in options for flag in (*option.opts, *option.secondary_opts)}
    assert len(others) > 40
    assert len(set(others)) == len(others)
    assert not flags.intersection(others)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("layout", "hint"),
    [("hf", "is 'parquet'"), ("wds", "is 'webdataset'"), ("JSON", "is 'nemo'"), ("Qwen", "is 'jsonl'")],
)
def test_a_layout_by_another_name_gets_its_name_here(
    capsys: pytest.CaptureFixture[str], store: Path, tmp_path: Path, layout: str, hint: str
) -> None:
    status, _, err = run(capsys, "export", store, tmp_path / "out", "--to", layout)
    assert (status, err.endswith(f"{hint}\n")) == (2, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.whole
def test_a_page_that_is_not_html_is_refused_before_any_work(
    capsys: pytest.CaptureFixture[str], store: Path, tmp_path: Path
) -> None:
    status, _, err = run(capsys, "report", store, "--output", tmp_path / "r.pdf")
    assert (status, "the page is HTML; give -o" in err) == (2, True)
    assert not (tmp_path / "r.pdf").exists()


@pytest.mark.whole
@pytest.mark.parametrize(
    "arguments",
    [
        ["ljspeech", "https://example.org/LJSpeech-1.1.tar.bz2", "new"],
        ["manifest", "https://example.org/train.jsonl", "new"],
        ["filelist", "s3://bucket/train.txt", "new"],
    ],
)
def test_a_url_is_named_as_one(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    status, out, err = run(capsys, *arguments)
    url = next(argument for argument in arguments if "://" in argument)
    assert (status, out) == (2, "")
    assert err == f"tts-prep: error: {url}: a URL; download it first, and give the path of the file or folder\n"


@pytest.mark.whole
def test_a_file_of_a_store_or_the_folder_around_it_gets_the_store(
    capsys: pytest.CaptureFixture[str], store: Path, tmp_path: Path
) -> None:
    for inside in ("manifest.json", "index.h5", "shards", "shards/00000.h5"):
        status, _, err = run(capsys, "info", store / inside)
        assert (status, err.endswith(f"; give {store}\n")) == (1, True), inside
        _, _, err = run(capsys, "ljspeech", store / inside, tmp_path / "new")
        assert f"{store / inside} is a part of the store {store}; give the folder of the recordings" in err
    _, _, err = run(capsys, "ljspeech", store, tmp_path / "new")
    assert f"{store} is a store that tts-prep has made; give the folder of the recordings" in err
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/first").symlink_to(store)
    _, _, err = run(capsys, "check", tmp_path / "runs")
    assert err.endswith(f"; did you mean {tmp_path / 'runs/first'}?\n")


@pytest.mark.whole
def test_an_archive_is_named_as_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_ljspeech(tmp_path / "corpus")
    archive = tmp_path / "corpus.tar.bz2"
    with tarfile.open(archive, "w:bz2") as tar:
        tar.add(tmp_path / "corpus", "corpus")
    for command in (["ljspeech", archive, "new"], ["filelist", archive, "new"], ["info", archive]):
        _, _, err = run(capsys, *command)
        assert "an archive: unpack it, and give the folder" in err, command
        assert err.count("\n") == 1


def test_arpabet_names_a_table_that_has_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    write_ljspeech(corpus)
    rows = (corpus / "metadata.csv").read_text(encoding="utf-8").splitlines()
    arpabet = [f"{row.split('|')[0]}|HH AH0 L OW1 , W ER1 L D" for row in rows]
    (corpus / "metadata.csv").write_text("\n".join(arpabet) + "\n", encoding="utf-8")
    make = ("ljspeech", corpus, tmp_path / "store", "--jobs", 1, "--overwrite")
    status, out, err = run(capsys, *make, "--frontend", "phonemes")
    assert (status, "in ARPAbet" in err, "--symbols parakeet" in err) == (1, True, True)
    assert "no text has a phonetic symbol" not in out
    _, out, _ = run(capsys, *make)
    assert "note: most texts look like ARPAbet; espeak takes them for texts, --frontend phonemes --symbols" in out
    status, out, _ = run(capsys, *make, "--frontend", "phonemes", "--symbols", "parakeet")
    assert (status, "note" in out) == (0, False)
