"""Durations as TextGrids and CTM files: hand-worked times, read by praatio, and read back as alignments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import run
from corpora import record, write_text
from praatio import textgrid

from tts_prep.errors import ConfigurationError
from tts_prep.export import export
from tts_prep.loader import UtteranceDataset

HOP = 256 / 22050
PHONES = "ˈaː bˌi, s."
FRAMES = [3, 4, 1, 2, 5, 0, 6, 7, 0, 8, 9]
"""Silence of three frames at the stress mark of the first phone; a pause of seven at the comma."""


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    corpus = tmp_path / "corpus"
    n_frames = sum(FRAMES)
    record(corpus / "wavs/u.wav", (n_frames - 1) * HOP + 0.001)
    write_text(corpus / "list.txt", f"wavs/u.wav|{PHONES}\n")
    durations = corpus / "durations/wavs"
    durations.mkdir(parents=True)
    np.save(durations / "u.npy", np.array(FRAMES, np.int32))
    options = ("--frontend", "phonemes", "--symbols", "styletts2", "--no-ends", "--alignments", corpus / "durations")
    code, _, err = run(capsys, "filelist", corpus / "list.txt", tmp_path / "store", *options, "--quiet")
    assert code == 0, err
    return tmp_path / "store"


def entries(path: Path, tier: str) -> list[tuple[int, int, str]]:
    """Return the intervals that have labels, in frames."""
    found = textgrid.openTextgrid(str(path), includeEmptyIntervals=False).getTier(tier).entries
    return [(round(start / HOP), round(end / HOP), label) for start, end, label in found]


@pytest.mark.whole
def test_marks_belong_to_their_phones_and_pauses_have_no_label(store: Path, tmp_path: Path) -> None:
    export(store, "textgrid", tmp_path / "out")
    grid = tmp_path / "out/wavs_u.TextGrid"
    assert entries(grid, "phones") == [(3, 8, "ˈaː"), (10, 15, "b"), (15, 21, "ˌi"), (28, 36, "s")]
    assert entries(grid, "words") == [(3, 8, "ˈaː"), (10, 21, "bˌi,"), (28, 36, "s.")]
    found = textgrid.openTextgrid(str(grid), includeEmptyIntervals=True)
    assert found.maxTimestamp == pytest.approx(sum(FRAMES) * HOP)
    assert [entry.label for entry in found.getTier("phones").entries] == ["", "ˈaː", "", "b", "ˌi", "", "s", ""]


@pytest.mark.whole
def test_a_ctm_has_start_and_duration_of_each_phone_and_word(store: Path, tmp_path: Path) -> None:
    export(store, "ctm", tmp_path / "out")
    lines = (tmp_path / "out/phones.ctm").read_text("utf-8").splitlines()
    times = [(3, 8, "ˈaː"), (10, 15, "b"), (15, 21, "ˌi"), (28, 36, "s")]
    assert lines == [f"wavs_u 1 {start * HOP:.4f} {(end - start) * HOP:.4f} {label}" for start, end, label in times]
    assert len((tmp_path / "out/words.ctm").read_text("utf-8").splitlines()) == 3


@pytest.mark.whole
def test_an_exported_textgrid_gives_the_same_durations_where_every_symbol_has_a_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, frames = tmp_path / "corpus", [4, 5, 6, 7]
    record(corpus / "u.wav", (sum(frames) - 1) * HOP + 0.001)
    write_text(corpus / "list.txt", "u.wav|sp AA1 T sp\n")
    np.save(corpus / "u.npy", np.array(frames, np.int32))
    options = ("--frontend", "phonemes", "--symbols", "mfa-arpa", "--quiet")
    first = run(capsys, "filelist", corpus / "list.txt", tmp_path / "one", *options, "--alignments", corpus)
    assert first[0] == 0, first[2]
    export(tmp_path / "one", "textgrid", tmp_path / "out")
    second = run(capsys, "filelist", corpus / "list.txt", tmp_path / "two", *options, "--alignments", tmp_path / "out")
    assert second[0] == 0, second[2]
    assert UtteranceDataset(tmp_path / "two")[0].arrays["durations"].tolist() == frames


@pytest.mark.whole
def test_symbols_of_start_and_end_are_pauses_and_no_part_of_a_phone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, frames = tmp_path / "corpus", [2, 4, 5, 6, 3]
    record(corpus / "u.wav", (sum(frames) - 1) * HOP + 0.001)
    write_text(corpus / "list.txt", "u.wav|AE1 N D\n")
    np.save(corpus / "u.npy", np.array(frames, np.int32))
    options = ("--frontend", "phonemes", "--symbols", "parakeet", "--ends", "--quiet", "--alignments", corpus)
    status, _, err = run(capsys, "filelist", corpus / "list.txt", tmp_path / "store", *options)
    assert status == 0, err
    dataset = UtteranceDataset(tmp_path / "store")
    assert [dataset.symbols[number] for number in dataset[0].phonemes] == ["<s>", "AE1", "N", "D", "</s>"]
    export(tmp_path / "store", "textgrid", tmp_path / "grids")
    expected = [(2, 6, "AE1"), (6, 11, "N"), (11, 17, "D")]
    assert entries(tmp_path / "grids/u.TextGrid", "phones") == expected
    export(tmp_path / "store", "ctm", tmp_path / "ctm")
    lines = (tmp_path / "ctm/phones.ctm").read_text("utf-8").splitlines()
    assert lines == [f"u 1 {start * HOP:.4f} {(end - start) * HOP:.4f} {label}" for start, end, label in expected]


def test_a_store_without_durations_names_the_command_that_adds_them(tmp_path: Path) -> None:
    from stores import make_rows, write_store

    store = write_store(tmp_path / "s", make_rows([7]))
    with pytest.raises(ConfigurationError, match="has no durations; add them with 'tts-prep add"):
        export(store, "ctm", tmp_path / "out")
