"""Averages over phonemes, expansion by durations, and alignment priors, compared with scipy and loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from tts_prep.errors import ConfigurationError
from tts_prep.loader import average_by_duration, beta_binomial_prior, expand_by_duration, interpolated_prior


def test_averages_are_those_of_a_loop_over_phonemes() -> None:
    random = np.random.default_rng(5)
    for _ in range(50):
        durations = random.integers(0, 6, random.integers(1, 30))
        values = random.normal(200, 30, durations.sum() + random.integers(0, 3)) * (random.random() > 0.3)
        values[random.random(len(values)) < 0.3] = 0
        every, nonzero, place = [], [], 0
        for duration in durations:
            frames = values[place : place + duration]
            every.append(frames.mean() if duration else 0)
            nonzero.append(frames[frames != 0].mean() if (frames != 0).any() else 0)
            place += duration
        np.testing.assert_allclose(average_by_duration(values, durations), every, atol=1e-9)
        np.testing.assert_allclose(average_by_duration(values, durations, "nonzero"), nonzero, atol=1e-9)


def test_averages_of_several_rows_at_once() -> None:
    found = average_by_duration([[1, 3, 5, 0], [2, 2, 0, 4]], [2, 0, 2], "nonzero")
    assert found.tolist() == [[2, 0, 5], [2, 0, 4]]
    assert average_by_duration(np.zeros(0), []).shape == (0,)


def test_rows_are_repeated_by_their_durations() -> None:
    assert expand_by_duration([[1, 2], [3, 4], [5, 6]], [2, 0, 1]).tolist() == [[1, 2], [1, 2], [5, 6]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: average_by_duration(np.ones(4), [3, 2]), "expected durations of at most 4 frames, found 5"),
        (lambda: average_by_duration(np.ones(4), [3, -1]), "expected non-negative durations, found -1"),
        (lambda: average_by_duration(np.ones(4), [3, 1], "some"), "expected 'all' or 'nonzero', found 'some'"),
        (lambda: expand_by_duration(np.ones(4), [3, 1]), r"expected 4 non-negative durations, found \[2\]"),
        (lambda: expand_by_duration(np.ones(2), [3, -1]), "the smallest -1"),
        (lambda: beta_binomial_prior(0, 3), "expected at least 1 phoneme, 1 frame and a scaling above 0, found 0, 3"),
    ],
)
def test_refuses_durations_and_sizes_that_do_not_fit(call, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        call()


@pytest.mark.parametrize(
    ("n_phonemes", "n_frames", "scaling"), [(1, 1, 1), (7, 40, 1), (120, 30, 1), (20, 50, 0.3), (9, 8, 2)]
)
def test_the_prior_is_scipys_beta_binomial_distribution(n_phonemes: int, n_frames: int, scaling: float) -> None:
    rows = [
        scipy.stats.betabinom(n_phonemes, scaling * t, scaling * (n_frames + 1 - t)).pmf(np.arange(n_phonemes))
        for t in range(1, n_frames + 1)
    ]
    np.testing.assert_allclose(beta_binomial_prior(n_phonemes, n_frames, scaling), rows, atol=1e-12)


def test_the_interpolated_prior_is_scipys_zoom_of_the_rounded_one() -> None:
    random = np.random.default_rng(5)
    for _ in range(30):
        n_frames, n_phonemes = int(random.integers(1, 900)), int(random.integers(1, 150))
        frames, phonemes = (max(1, int(np.round((n + 1) / s))) * s for n, s in ((n_frames, 100), (n_phonemes, 20)))
        kept = beta_binomial_prior(frames, phonemes).T
        expected = scipy.ndimage.zoom(kept, zoom=(n_frames / frames, n_phonemes / phonemes), order=1)
        np.testing.assert_allclose(interpolated_prior(n_phonemes, n_frames), expected, atol=1e-12)
    with pytest.raises(ConfigurationError, match="at least 1 phoneme, 1 frame and steps of 1, found 0, 5, 20 and 100"):
        interpolated_prior(0, 5)


@pytest.mark.whole
def test_outliers_are_those_beyond_one_and_a_half_interquartile_ranges() -> None:
    from tts_prep.recipes.fastspeech2 import without_outliers

    # The quartiles are 2 and 4, so what is kept lies between -1 and 7.
    assert without_outliers([1, 2, 3, 4, 100]).tolist() == [1, 2, 3, 4]
    # Quartiles 1 and 3: what is kept lies between -2 and 6, without these.
    body = [1.0] * 50 + [3.0] * 50
    assert without_outliers([*body, -2.1, -2, -1.9, 5.9, 6, 6.1]).tolist() == [*body, -1.9, 5.9]
