"""Lists separated by tabs, in the layouts of public corpora, built to stores through the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run
from corpora import record, write_text

from tts_prep.corpora.filelist import read_filelist
from tts_prep.format.records.failures import Failure
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.source_utterance import SourceUtterance


def in_store(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[str, list[tuple[str, str, str]]]:
    """Build a store with the last argument as its folder; return the line about columns, and its rows."""
    status, out, err = run(capsys, *arguments, "--frontend", "characters", "--jobs", 1)
    assert (status, err) == (0, "")
    [line] = [line for line in out.splitlines() if line.startswith("columns: ")]
    return line, [(u.id, u.speaker, u.text) for u in UtteranceDataset(Path(str(arguments[2])))]


@pytest.mark.whole
def test_a_list_of_mls_has_tabs_and_ids_instead_of_paths(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # https://www.openslr.org/94: train/transcripts.txt, train/audio/<speaker>/<book>/<id>.flac.
    names = ("10065_10039_000000", "10065_10039_000001", "1590_1345_000000")
    for name in names:
        speaker, book, _ = name.split("_")
        record(tmp_path / f"train/audio/{speaker}/{book}/{name}.flac", sample_rate=16000)
    write_text(tmp_path / "train/transcripts.txt", "".join(f"{name}\tune phrase\n" for name in names))
    arguments = ("filelist", tmp_path / "train/transcripts.txt", tmp_path / "store", "--language", "fr")
    line, found = in_store(capsys, *arguments)
    assert line == "columns: path|text separated by tabs (guessed; override with --columns)"
    assert found == [(name, "0", "une phrase") for name in names]


def test_a_line_index_of_openslr_is_found_below_its_root(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # https://www.openslr.org/32: line_index.tsv, with recordings in wavs/.
    for name in ("afr_0184_0016475", "afr_0184_0176475"):
        record(tmp_path / f"af_za/za/afr/wavs/{name}.wav")
    lines = "afr_0184_0016475\tdie wat\nafr_0184_0176475\ten dit\n"
    write_text(tmp_path / "line_index.tsv", lines)
    arguments = ("filelist", tmp_path / "line_index.tsv", tmp_path / "store", "--root", tmp_path / "af_za")
    _, found = in_store(capsys, *arguments)
    assert found == [("afr_0184_0016475", "0", "die wat"), ("afr_0184_0176475", "0", "en dit")]


@pytest.mark.whole
def test_a_list_of_zipvoice_has_an_id_and_times(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # https://github.com/k2-fsa/ZipVoice: "uniq_id text wav_path" or "uniq_id text wav_path start_time end_time".
    rows = [(f"utt{number:02d}", f"Text of {number}.", f"wavs/{number % 2}.wav") for number in range(10)]
    for name in ("0", "1"):
        record(tmp_path / f"wavs/{name}.wav", 2.0)
    write_text(tmp_path / "train.tsv", "".join("\t".join(row) + "\n" for row in rows))
    line, found = in_store(capsys, "filelist", tmp_path / "train.tsv", tmp_path / "store")
    assert line == "columns: id|text|path separated by tabs (guessed; override with --columns)"
    assert found == [(name, "0", text) for name, text, _ in rows]
    write_text(tmp_path / "train.tsv", "".join("\t".join((*row, "0.5", "1.25")) + "\n" for row in rows))
    arguments = ("filelist", tmp_path / "train.tsv", tmp_path / "timed", "--columns", "id|text|path|start|end")
    in_store(capsys, *arguments)
    assert UtteranceDataset(tmp_path / "timed").seconds.tolist() == pytest.approx([0.75] * 10, abs=1e-3)


def test_a_list_of_fleurs_names_recordings_of_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # https://huggingface.co/datasets/google/fleurs: data/<language>/<split>.tsv without header, audio/<split>/.
    record(tmp_path / "audio/train/10004088536354799741.wav")
    row = "903\t10004088536354799741.wav\tTexte, ici.\ttexte ici\tt e x t e |\t108800\tFEMALE\n"
    write_text(tmp_path / "train.tsv", row)
    columns = "sentence|path|-|text|-|-|gender"
    arguments = ("filelist", tmp_path / "train.tsv", tmp_path / "store", "--root", tmp_path / "audio")
    line, found = in_store(capsys, *arguments, "--columns", columns)
    assert line == f"columns: {columns} separated by tabs"
    assert found == [("10004088536354799741", "0", "texte ici")]
    assert UtteranceDataset(tmp_path / "store")[0].meta == {"gender": "FEMALE", "sentence": 903.0}


def test_a_name_of_two_recordings_and_times_that_are_none_cost_their_rows(tmp_path: Path) -> None:
    for name in ("a/1.wav", "b/1.wav", "a/2.wav"):
        record(tmp_path / name)
    write_text(tmp_path / "list.tsv", "1\tOne.\t0\t1\n2\tTwo.\tx\t1\n2\tTwo.\t1\t0.5\n2\tTwo.\t0\t0.2\n")
    items = list(read_filelist(tmp_path / "list.tsv", columns="path|text|start|end"))
    assert [item.reason for item in items if isinstance(item, Failure)] == [
        "list.tsv:1: 2 recordings are called '1', such as a/1.wav and b/1.wav",
        "list.tsv:2: expected seconds, found 'x' and '1'",
        "list.tsv:3: expected a start before an end, found 1 and 0.5 s",
    ]
    utterances = [item for item in items if isinstance(item, SourceUtterance)]
    assert utterances == [SourceUtterance("2", "Two.", "a/2.wav", "list.tsv:4", "0", end=0.2)]
