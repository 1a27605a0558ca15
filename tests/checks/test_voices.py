"""Utterances of another voice than their speaker's are far from it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft

from tts_prep.acoustics.mels import Mels
from tts_prep.checks.voices import LEAST_IN_STORE, LEAST_OF_SPEAKER, N_CEPSTRA, SIZE, describe, voice_distances


def voices(n_speakers: int, n_each: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return descriptions of utterances whose spread within a speaker is a third of that between speakers."""
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(SIZE, SIZE))
    centres = 3 * rng.normal(size=(n_speakers, SIZE))
    codes = np.repeat(np.arange(n_speakers), n_each)
    return (centres[codes] + rng.normal(size=(len(codes), SIZE))) @ mixed, codes


def test_a_description_has_the_moments_of_the_cepstra_of_speech() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(50, 40)).astype(np.float32), rng.normal(size=(7, 40)).astype(np.float32)
    first[:10] -= 20
    found = describe(Mels.of([first, second, second[:0]], 40), 8.0)
    for row, speech in ((0, first[10:]), (1, second)):
        cepstra = scipy.fft.dct(8.0 * speech.astype(float), axis=1, norm="ortho")[:, 1 : N_CEPSTRA + 1]
        np.testing.assert_allclose(found[row], [*cepstra.mean(axis=0), *cepstra.std(axis=0)], atol=1e-4)
    assert np.isnan(found[2]).all()


def test_a_level_and_a_gain_change_no_description() -> None:
    mel = np.random.default_rng(1).normal(size=(30, 80)).astype(np.float32)
    found = describe(Mels.of([mel, mel + 3], 80), 1.0)
    np.testing.assert_allclose(found[0], found[1], atol=1e-4)


def test_a_tenth_of_the_names_that_are_exchanged_is_far_from_the_rest() -> None:
    values, codes = voices(12, 40)
    rng = np.random.default_rng(2)
    wrong = rng.permutation(len(codes))[: len(codes) // 10]
    named = codes.copy()
    named[wrong] = (codes[wrong] + rng.integers(1, 12, len(wrong))) % 12
    own, others = voice_distances(values, np.full(len(codes), np.nan), named)
    right = np.setdiff1d(np.arange(len(codes)), wrong)
    assert np.median(own) == pytest.approx(1)
    assert own[right].max() < own[wrong].min() > 1.5
    assert others[right].max() < 1 < others[wrong].min()


def test_the_pitch_tells_voices_of_one_spectrum_apart() -> None:
    rng = np.random.default_rng(3)
    values, codes = rng.normal(size=(200, SIZE)), np.repeat([0, 1], 100)
    pitches = np.where(codes == 0, 100, 200) * np.exp(rng.normal(0, 0.03, 200))
    pitches[7] = np.nan
    pitches[150] = 101
    own, others = voice_distances(values, pitches, codes)
    assert own.argmax() == 150
    assert others[150] > 1 > np.delete(others, 150).max()
    assert np.isfinite(own[7])


def test_few_utterances_are_not_measured() -> None:
    values, codes = voices(3, LEAST_IN_STORE // 3)
    assert np.isnan(voice_distances(values, np.full(len(codes), np.nan), codes)).all()
    values, codes = voices(2, LEAST_IN_STORE)
    few = np.append(codes, [2] * (LEAST_OF_SPEAKER - 1))
    own, others = voice_distances(np.concatenate([values, values[: len(few) - len(codes)]]), np.ones(len(few)), few)
    assert np.isnan(own[few == 2]).all()
    assert np.isfinite(own[few != 2]).all()
    assert np.isfinite(others[few != 2]).all()
    own, others = voice_distances(values, np.ones(len(codes)), np.zeros(len(codes), np.int64))
    assert np.isfinite(own).all()
    assert np.isnan(others).all()
