"""Alignment compared with all paths, and wrong and truncated transcripts in a store with synthetic phones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from stores import N_MELS, SYMBOLS, make_rows, write_store

from tts_prep.acoustics.mels import Mels, decibels_of_unit
from tts_prep.acoustics.phones.viterbi import Transcript, _trace_best_path, align, frame_places
from tts_prep.checks import measure
from tts_prep.checks import suspects as find_suspects
from tts_prep.checks.transcripts import Comparisons, TranscriptChecker, text_fits
from tts_prep.loader import UtteranceDataset

AUDIO = {"audio": {"power": 1, "compression": {"log": "ln", "scale": 1.0}}}
N, WRONG, CUT = 70, [3, 14, 25, 36, 47], [8, 19, 30]


def paths(n_frames: int, optional: list[bool]) -> list[list[int]]:
    """Return all valid sequences of frame classes."""
    found: list[list[int]] = []

    def extend(path: list[int]) -> None:
        if len(path) == n_frames:
            if all(optional[path[-1] + 1 :]):
                found.append(path)
            return
        for step in range(len(optional)):
            nxt = step if not path else path[-1] + step
            skipped = optional[: nxt if not path else 0] if not path else optional[path[-1] + 1 : nxt]
            if nxt < len(optional) and all(skipped):
                extend([*path, nxt])

    extend([])
    return found


@pytest.mark.parametrize("seed", range(6))
def test_the_best_alignment_is_the_best_of_all_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    transcripts = [
        Transcript(np.array([0, 1, 2, 0, 3, 0]), np.array([True, False, False, True, False, True])),
        Transcript(np.array([0, 2, 0]), np.array([True, False, True])),
    ]
    scores, spans = rng.normal(size=(10, 4)).astype(np.float32), np.array([[0, 6], [6, 10]])
    of_recordings = [transcripts, transcripts[::-1]]
    found = align(scores, spans, of_recordings)
    for recording, (start, stop) in enumerate(spans.tolist()):
        values = scores[start:stop]
        for row, transcript in enumerate(of_recordings[recording]):
            every = paths(len(values), transcript.optional.tolist())
            totals = [
                sum(float(values[t, transcript.classes[place]]) for t, place in enumerate(path)) for path in every
            ]
            best = every[int(np.argmax(totals))]
            assert found.totals[recording, row] == pytest.approx(max(totals), abs=1e-5)
            assert transcript.classes[frame_places(values, transcript)].tolist() == transcript.classes[best].tolist()


def test_an_alignment_without_a_compiler_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = Transcript(np.array([0, 1, 0, 2, 0]), np.array([True, False, True, False, True]))
    scores = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    compiled = frame_places(scores, transcript)
    monkeypatch.setattr(_trace_best_path, "_compiled", _trace_best_path.python)
    assert frame_places(scores, transcript).tolist() == compiled.tolist()


@pytest.mark.parametrize("block", [1, 2, 7, 30, 31])
def test_a_path_is_the_same_if_its_steps_are_computed_in_blocks(block: int) -> None:
    transcript = Transcript(np.array([0, 1, 0, 2, 0, 1, 0]), np.array([True, False, True, False, True, False, True]))
    scores = np.random.default_rng(3).normal(size=(30, 3)).astype(np.float32)
    places = np.empty(30, np.int64)
    _trace_best_path(scores, *(values[:-2] for values in transcript.states), block, places)
    assert places.tolist() == frame_places(scores, transcript).tolist()


def test_more_phones_than_frames_fit_never_and_their_end_is_left_out() -> None:
    transcript = Transcript(np.array([0, 1, 2, 3, 0]), np.array([True, False, False, False, True]))
    scores = np.full((2, 4), -9, np.float32)
    scores[0, 1] = scores[1, 2] = 0
    found = align(scores, np.array([[0, 2]]), [[transcript]])
    assert (found.totals.tolist(), found.unspoken.tolist()) == ([[-np.inf]], [[1]])


@pytest.mark.parametrize(("times_as_likely", "unspoken"), [(1, 0), (19, 0), (21, 1)])
def test_a_phone_is_unspoken_only_where_that_is_more_than_twenty_times_as_likely(
    times_as_likely: float, unspoken: int
) -> None:
    transcript = Transcript(np.array([0, 1, 2, 0]), np.array([True, False, False, True]))
    scores = np.zeros((5, 3), np.float32)
    # No silence; with the second phone in one frame, the recording is that much less likely than without it.
    scores[:, 0] = -9
    scores[:, 2] = -np.log(times_as_likely)
    assert align(scores, np.array([[0, 5]]), [[transcript]]).unspoken.tolist() == [[unspoken]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    spectra = rng.normal(0, 1.5, (len(SYMBOLS), N_MELS))
    rows = make_rows([20] * N)
    for row in rows:
        row.phonemes = rng.integers(1, len(SYMBOLS), 40).astype(np.int32)
        durations = rng.integers(4, 9, 40)
        speech = np.repeat(spectra[row.phonemes], durations, axis=0)
        row.mel = (speech + rng.normal(0, 0.5, speech.shape)).astype(np.float32)
        row.seconds, row.speaker = len(row.mel) * 256 / 22_050, "reader"
    said = [row.phonemes for row in rows]
    for position, other in zip(WRONG, np.roll(WRONG, 1), strict=True):
        rows[position].phonemes = said[other]
    for position in CUT:
        rows[position].mel = rows[position].mel[: len(rows[position].mel) * 3 // 4]
        rows[position].seconds *= 0.75
    return write_store(tmp_path_factory.mktemp("transcripts") / "store", rows, configuration=AUDIO)


def test_exchanged_and_cut_transcripts_are_found_and_no_others(store: Path) -> None:
    dataset = UtteranceDataset(store)
    measures = measure(dataset)
    flagged = find_suspects(measures).flagged
    assert np.flatnonzero(flagged["wrong-text"]).tolist() == WRONG
    assert np.setdiff1d(np.flatnonzero(flagged["unspoken-end"]), WRONG).tolist() == CUT
    right = np.setdiff1d(np.arange(N), WRONG + CUT)
    assert np.abs(measures.columns["text_fit"][right] - 1).max() < 0.3
    # A quarter of forty phones is missing.
    assert measures.columns["unspoken"][CUT] == pytest.approx(10, abs=4)
    assert measures.separation > 3


def test_transcripts_that_are_all_shifted_are_a_note_and_flag_nothing(store: Path) -> None:
    dataset = UtteranceDataset(store)
    checker = TranscriptChecker(dataset, decibels_of_unit(dataset.metadata.audio_settings))
    shifted = dataset.views("phonemes")[1:] + dataset.views("phonemes")[:1]
    compared = checker.compare(Mels.of(dataset.views("mel"), N_MELS), shifted, dataset.seconds.tolist())
    fits, separation = text_fits(compared, np.zeros(N, np.int64))
    assert np.isnan(fits).all()
    assert separation < 2


def test_noise_is_reason_enough_where_speech_cannot_be_heard(store: Path) -> None:
    measures = measure(UtteranceDataset(store))
    columns = {**measures.columns, "snr": np.full(N, 30.0)}
    columns["snr"][WRONG[:2]] = 5
    flagged = find_suspects(replace(measures, columns=columns)).flagged
    assert np.flatnonzero(flagged["noisy"]).tolist() == WRONG[:2]
    assert np.flatnonzero(flagged["wrong-text"]).tolist() == WRONG[2:]


def compared(advantages: np.ndarray, n_frames: float = 400) -> Comparisons:
    n = len(advantages)
    return Comparisons(advantages, np.full(n, 9.0), np.full(n, n_frames), np.zeros(n))


def test_a_fit_is_the_share_of_the_speakers_usual_advantage() -> None:
    advantages = np.concatenate([np.full(40, 4.0), np.full(40, 3.0), [2.0], [-np.inf], [np.nan]])
    speakers = np.concatenate([np.zeros(40), np.ones(40), [1, 1, 0]]).astype(np.int64)
    fits, separation = text_fits(compared(advantages), speakers)
    assert fits[[0, 40, 80, 81]] == pytest.approx([1, 1, 2 / 3, -1])
    assert np.isnan(fits[82])
    # A wrong transcript's advantage over four others has a variance of 9 · (1 + 1/4) / 400.
    assert separation == pytest.approx(3 / np.sqrt(9 * 1.25 / 400), rel=0.2)


def test_a_speaker_with_wrong_transcripts_only_is_compared_with_the_store() -> None:
    advantages = np.concatenate([np.full(90, 4.0), np.full(40, 0.1)])
    fits, _ = text_fits(compared(advantages), np.repeat([0, 1], [90, 40]))
    assert fits[90:] == pytest.approx(np.full(40, 0.1 / 2))


def test_short_recordings_and_small_stores_have_no_fit() -> None:
    short = Comparisons(np.full(40, 4.0), np.full(40, 9.0), np.repeat([400.0, 8.0], [39, 1]), np.zeros(40))
    assert np.isnan(text_fits(short, np.zeros(40, np.int64))[0]).tolist() == [False] * 39 + [True]
    assert np.isnan(text_fits(compared(np.full(29, 4.0)), np.zeros(29, np.int64))[0]).all()
