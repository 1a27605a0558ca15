"""The estimated share of right boundaries: probabilities by hand, and what commands say of good and bad stores."""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from commands import run
from corpora import write_text
from killing import contents
from praatio import textgrid

from tts_prep.acoustics.phones.viterbi import Transcript, frame_places, start_masses
from tts_prep.aligner.interval import estimate_text, likely_shares
from tts_prep.aligner.model import estimated_share
from tts_prep.format.layout import ALIGNMENT_WITHIN
from tts_prep.loader import UtteranceDataset

OPTIONS = ("--preset", "hifigan", "--quiet")


@pytest.mark.parametrize("window", [0, 1])
@pytest.mark.parametrize("n_frames", [4, 7])
def test_the_probability_of_a_start_is_that_of_all_paths_near_it(n_frames: int, window: int) -> None:
    # Silence that may be there, two phones, a pause that may be there, a phone, and silence that may be there.
    transcript = Transcript(np.array([0, 1, 2, 0, 1, 0]), np.array([True, False, False, True, False, True]))
    scores = np.random.default_rng(n_frames).normal(0, 1, (n_frames, 3)).astype(np.float32)
    places, starts = frame_places(scores, transcript), np.array([1, 2, 4])
    totals, total = np.zeros(3), 0.0
    for path in itertools.combinations_with_replacement(range(6), n_frames):
        if {1, 2, 4} <= {*path}:
            weight = float(np.exp(scores[np.arange(n_frames), transcript.classes[list(path)]].sum()))
            near = [abs(path.index(start) - places.tolist().index(start)) <= window for start in (1, 2, 4)]
            totals, total = totals + weight * np.array(near), total + weight
    np.testing.assert_allclose(start_masses(scores, transcript, places, starts, window), totals / total, rtol=1e-5)


def test_the_estimate_grows_with_the_certainty_of_boundaries_the_distinctness_of_sounds_and_the_score() -> None:
    by_mass = [estimated_share(mass, 4.0, -1.0) for mass in np.linspace(0, 1, 11)]
    by_deviation = [estimated_share(0.8, deviation, -1.0) for deviation in np.linspace(0, 20, 11)]
    by_score = [estimated_share(0.8, 4.0, score) for score in np.linspace(-20, 0, 11)]
    for shares in by_mass, by_deviation, by_score:
        assert shares == sorted(shares)
        assert 0 <= shares[0] < 0.1
        assert shares[0] + 0.5 < shares[-1] <= 1


@pytest.mark.parametrize("share", np.linspace(0, 1, 21).tolist())
def test_the_interval_holds_its_estimate(share: float) -> None:
    low, high = likely_shares(share)
    assert 0 < low < high < 1
    assert share in (0, 1) or low < share < high


def test_the_interval_has_the_ends_that_the_page_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "aligner.md").read_text("utf-8")
    text = " ".join(page.split())
    assert "an estimate of 85 % says 62 to 93 %, one of 60 % says 30 to 77 %, and one of 5 % says 2 to 11 %" in text
    for share, ends in (0.85, (62, 93)), (0.6, (30, 77)), (0.05, (2, 11)):
        assert tuple(round(100 * end) for end in likely_shares(share)) == ends


@pytest.fixture(scope="module")
def exchanged(demo_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the demo corpus, in which each recording has the text of another one."""
    corpus = tmp_path_factory.mktemp("exchanged") / "corpus"
    shutil.copytree(demo_corpus, corpus)
    rows = [line.split("|", 1) for line in (corpus / "metadata.csv").read_text("utf-8").splitlines()]
    texts = [text for _, text in rows]
    lines = [f"{uid}|{text}\n" for (uid, _), text in zip(rows, [*texts[7:], *texts[:7]], strict=True)]
    write_text(corpus / "metadata.csv", "".join(lines))
    return corpus


def estimates(store: Path) -> np.ndarray:
    return np.array(UtteranceDataset(store).columns[ALIGNMENT_WITHIN])


@pytest.mark.whole
def test_durations_of_texts_that_are_not_said_or_of_one_recording_end_the_command_unless_told_otherwise(
    demo_corpus: Path, exchanged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    too_short = "s of speech, too little for an estimate, expected 60 s at least"
    wrong = "expected 40% at least: too little speech, or texts of other recordings"
    for corpus, limit, said in (exchanged, (), wrong), (demo_corpus, ("--limit", 1), too_short):
        store = tmp_path / "store"
        assert run(capsys, "ljspeech", corpus, store, *OPTIONS, *limit, "--overwrite")[0] == 0
        before = contents(store)
        status, _, err = run(capsys, "add", store, "--feature", "durations")
        assert status == 1
        assert said in err
        assert {**contents(store), ".lock": b""} == {**before, ".lock": b""}
        assert run(capsys, "check", store, "--quiet")[0] == 0
        status, out, _ = run(capsys, "add", store, "--feature", "durations:least=0")
        assert status == 0
        said = "with less than 60 s of speech, a guess" if corpus == demo_corpus else "90% interval: "
        assert f"an estimated {estimates(store).mean():.0%} ({said}" in out
        if corpus == exchanged:
            # The boundaries of these texts that are right by chance are about 3 %.
            assert (share := re.search(r"interval: (\d+)% to (\d+)%", out)) is not None
            assert int(share[1]) <= 3 <= int(share[2])
            assert estimates(store).mean() < 0.08
            checked = run(capsys, "check", store)[1]
            assert ["unsure-durations", "36"] in [line.split()[:2] for line in checked.splitlines()]
            assert f"Only an estimated {estimates(store).mean():.0%} (90% interval: " in checked
    assert run(capsys, "add", store, "--feature", "durations:least=2")[0] == 2


@pytest.mark.whole
def test_durations_of_texts_that_are_said_are_added_and_their_estimates_are_shown(
    demo_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, page = tmp_path / "store", tmp_path / "page.html"
    status, _, err = run(capsys, "ljspeech", demo_corpus, store, *OPTIONS, "--feature", "durations")
    assert status == 0, err
    # Of frontends' phones of synthetic voices, 89 to 96 % are within 20 ms.
    assert 0.84 < estimates(store).mean() < 0.96
    checked = run(capsys, "check", store)[1]
    assert "Only an estimated" not in checked
    assert f"An estimated {estimates(store).mean():.0%} (90% interval: " in checked
    assert run(capsys, "report", store, "-o", page, "--quiet")[0] == 0
    assert "Boundaries within 20 ms" in page.read_text("utf-8")
    assert "(90% interval: " in page.read_text("utf-8")
    assert "least" not in UtteranceDataset(store).arrays["durations"].settings
    # A few rows of a store have the interval of a model of all of it.
    assert "(90% interval: " in estimate_text(UtteranceDataset(store)[[0, 1]])
    # The 0.15 s of a quiet room at both ends are pauses in exports, not a part of the first and the last phone.
    assert run(capsys, "export", store, tmp_path / "grids", "--to", "textgrid", "--quiet")[0] == 0
    differences = []
    for path in sorted((tmp_path / "grids").rglob("*.TextGrid")):
        found, exact = (
            textgrid.openTextgrid(str(one), False).getTier("phones").entries
            for one in (path, demo_corpus / "TextGrid" / path.name)
        )
        assert found[-1].end < textgrid.openTextgrid(str(path), True).maxTimestamp
        differences.append(abs(found[0].start - next(entry.start for entry in exact if entry.label != "sp")))
    assert len(differences) == 36
    assert np.median(differences) < 0.02
