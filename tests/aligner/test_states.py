"""The states of phones: their transcripts, how many there are, and what happens if speech is too fast for them."""

from __future__ import annotations

import numpy as np
import pytest

from tts_prep.acoustics.phones.viterbi import SILENCE, Transcript
from tts_prep.aligner.model import fit_states, phone_scores, state_transcript

# Silence that may be there, phone 1, phone 2, and silence that may be there.
TWO_PHONES = Transcript(np.array([SILENCE, 1, 2, SILENCE]), np.array([True, False, False, True]))


@pytest.mark.parametrize(
    ("n_frames", "classes", "places"),
    [
        (6, [0, 1, 2, 3, 4, 5, 6, 0], [0, 1, 1, 1, 2, 2, 2, 3]),
        # Five frames are not enough for three states of two phones: the first and the last state remain.
        (5, [0, 1, 3, 4, 6, 0], [0, 1, 1, 2, 2, 3]),
        # A single state is that in the middle.
        (3, [0, 2, 5, 0], [0, 1, 2, 3]),
    ],
)
def test_a_phone_has_as_many_states_as_the_recording_has_frames_for(
    n_frames: int, classes: list[int], places: list[int]
) -> None:
    states, found = state_transcript(TWO_PHONES, 3, n_frames)
    assert states.classes.tolist() == classes
    assert found.tolist() == places
    assert states.optional.tolist() == [place in (0, 3) for place in places]


def test_one_state_is_the_phone_itself() -> None:
    states, places = state_transcript(TWO_PHONES, 1, 9)
    assert states.classes.tolist() == TWO_PHONES.classes.tolist()
    assert places.tolist() == [0, 1, 2, 3]


def test_the_score_of_a_phone_is_that_of_its_best_state() -> None:
    scores = np.array([[9, -3, -1, -2, 8, 8, 8], [9, 8, 8, 8, -7, -6, -5]], np.float32)
    assert phone_scores(scores, np.array([1, 2]), 3).tolist() == [-1, -5]


@pytest.mark.parametrize(("frames_per_phone", "n_states"), [(2, 1), (4, 2), (6, 3), (30, 3)])
def test_the_number_of_states_follows_from_the_mean_number_of_frames_of_a_phone(
    frames_per_phone: int, n_states: int
) -> None:
    rng = np.random.default_rng(0)
    transcripts = [Transcript(np.array([0, 1, 2, 1, 0]), np.array([True, False, False, False, True]))] * 4
    frames = [rng.normal(0, 1, (3 * frames_per_phone, 26)).astype(np.float32) for _ in transcripts]
    model, found = fit_states(frames, [np.ones(len(rows), np.bool_) for rows in frames], transcripts, 3)
    assert found == n_states
    assert model.weights.shape == (26, 1 + 2 * n_states)


def test_the_states_of_a_phone_are_those_of_its_beginning_middle_and_end() -> None:
    rng = np.random.default_rng(1)
    glides = {1: np.repeat([0.0, 4.0, 8.0], 3), 2: np.repeat([20.0, 16.0, 12.0], 3)}
    transcripts, frames = [], []
    for phones in ([1, 2, 1], [2, 1, 2], [1, 2], [2, 1]) * 5:
        transcripts.append(Transcript(np.array([*phones, SILENCE]), np.array([False] * len(phones) + [True])))
        values = np.concatenate([glides[phone] for phone in phones])
        frames.append((values[:, None] + rng.normal(0, 0.3, (len(values), 4))).astype(np.float32))
    model, n_states = fit_states(frames, [np.ones(len(rows), np.bool_) for rows in frames], transcripts, 3)
    assert n_states == 3
    # The weights of normal distributions with a common covariance grow with their means.
    weights = model.weights.sum(axis=0)[1:].reshape(2, 3)
    assert (np.diff(weights[0]) > 0).all()
    assert (np.diff(weights[1]) < 0).all()
    assert weights[0].max() < weights[1].min()
