"""Texts that do not fit, found by the scores of the aligner: planted in a corpus of synthetic voices."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from commands import run
from stores import make_rows, write_store

from tts_prep.checks import measure, thresholds
from tts_prep.checks import suspects as find_suspects
from tts_prep.checks.transcripts import alignment_deviations
from tts_prep.format.layout import ALIGNMENT_SCORE
from tts_prep.loader import UtteranceDataset

N_SWAPPED = 4


@pytest.fixture(scope="module")
def planted(demo_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """Return a corpus in which four utterances have one another's texts, and their ids."""
    corpus = tmp_path_factory.mktemp("planted") / "corpus"
    shutil.copytree(demo_corpus, corpus)
    path = corpus / "metadata.csv"
    rows = [line.split("|") for line in path.read_text("utf-8").splitlines()]
    # Of similar length, so that the number of phones tells nothing.
    order = sorted(range(len(rows)), key=lambda number: len(rows[number][2]))
    chosen = order[10 : 10 + N_SWAPPED]
    texts = [rows[number][1:] for number in chosen]
    for number, fields in zip(chosen, [*texts[1:], texts[0]], strict=True):
        rows[number][1:] = fields
    path.write_text("".join("|".join(row) + "\n" for row in rows), "utf-8")
    return corpus, {rows[number][0] for number in chosen}


@pytest.mark.whole
def test_exchanged_texts_are_found_by_the_scores_of_the_alignment_and_no_others(
    planted: tuple[Path, set[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, wrong = planted
    store = tmp_path / "store"
    options = ("--preset", "hifigan", "--feature", "durations", "--quiet")
    status, _, err = run(capsys, "ljspeech", corpus, store, *options)
    assert status == 0, err
    dataset = UtteranceDataset(store)
    suspects = find_suspects(measure(dataset))
    assert {dataset[int(row)].id for row in np.flatnonzero(suspects.flagged["misaligned"])} == wrong
    # The index holds the score, so that measures that are added do not repeat it, and say the same.
    assert run(capsys, "add", store, "--measures", "--quiet")[0] == 0
    stored = measure(UtteranceDataset(store)).columns["alignment"]
    assert stored.tolist() == suspects.measures.columns["alignment"].tolist()
    assert run(capsys, "check", store, "--csv", tmp_path / "found.csv", "--quiet")[0] == 0
    assert wrong <= {line.split(",")[0] for line in (tmp_path / "found.csv").read_text("utf-8").splitlines()}
    assert run(capsys, "report", store, "-o", tmp_path / "page.html", "--quiet")[0] == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "misaligned" in page
    assert "Fit of the alignment" in page


def test_a_store_that_has_not_aligned_itself_has_no_such_suspects_and_no_note_about_it(tmp_path: Path) -> None:
    dataset = UtteranceDataset(write_store(tmp_path / "store", make_rows([40] * 12)))
    suspects = find_suspects(measure(dataset))
    assert np.isnan(suspects.measures.columns["alignment"]).all()
    assert not suspects.flagged["misaligned"].any()
    assert not any("alignment" in note for note in suspects.notes)


class Scored:
    """What `alignment_deviations` reads of a dataset."""

    def __init__(self, scores: list[float], speakers: list[int], n_phonemes: int = 5) -> None:
        self.columns = {ALIGNMENT_SCORE: np.array(scores)}
        self.speaker = self
        self.n_phonemes = np.full(len(scores), n_phonemes)
        self._speakers = np.array(speakers)

    def __len__(self) -> int:
        return len(self._speakers)

    def checked_codes(self) -> np.ndarray:
        return self._speakers


def test_scores_are_compared_with_those_of_the_speaker() -> None:
    one, two = [-1.0, -1.4, -0.6] * 4, [-3.0, -3.4, -2.6] * 4
    found = alignment_deviations(Scored([*one, *two, -3.0], [0] * 12 + [1] * 12 + [0]))  # type: ignore[arg-type]
    # Both speakers' absolute deviations have the median 0.4, so that the scale is 0.4 · 1.4826.
    assert found[-1] == pytest.approx(-2 / (0.4 * 1.4826), rel=1e-6)
    assert np.abs(found[:-1]).max() < 1


def test_what_cannot_be_aligned_is_as_far_as_can_be_and_few_scores_say_nothing() -> None:
    found = alignment_deviations(Scored([-1.0] * 11 + [np.nan], [0] * 12))  # type: ignore[arg-type]
    assert found.tolist() == [0.0] * 11 + [-np.inf]
    without = alignment_deviations(Scored([-1.0] * 11 + [np.nan], [0] * 12, 0))  # type: ignore[arg-type]
    assert np.isnan(without[-1])
    assert np.isnan(alignment_deviations(Scored([-1.0] * 9, [0] * 9))).all()  # type: ignore[arg-type]


def test_the_reason_is_that_of_the_measure() -> None:
    assert next(threshold for threshold in thresholds() if threshold.reason == "misaligned").measure == "alignment"
