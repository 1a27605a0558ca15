from __future__ import annotations

import librosa
import numpy as np
import pytest

from tts_prep.acoustics.levels import (
    FRAME,
    HOP,
    SILENCE_DB,
    frame_levels,
    silences,
    sum_samples,
)
from tts_prep.acoustics.mels import Mels, decibels_of_unit, mel_levels, mel_powers
from tts_prep.acoustics.phones.symbols import PHONE, is_pause, is_phone, symbol_kinds
from tts_prep.checks.distortions import Peaks, clipped_samples
from tts_prep.checks.duplicates import (
    LENGTH_TOLERANCE,
    array_digest,
    fingerprints,
    first_equal,
    most_similar_before,
    text_digest,
)
from tts_prep.checks.measuring import sound_measures
from tts_prep.checks.mismatch import mismatch_scores, rank_correlations
from tts_prep.checks.waveforms import Waveform, bandwidth, digital_silence

RATE = 22_050


def speech(seconds: float, seed: int = 0) -> np.ndarray:
    """Return noise with a level that is modulated at 4 Hz, float32 with a peak below 1."""
    rng = np.random.default_rng(seed)
    times = np.arange(int(seconds * RATE)) / RATE
    return (rng.normal(size=len(times)) * 0.1 * (1.2 + np.sin(2 * np.pi * 4 * times))).astype(np.float32)


def read_only(samples: np.ndarray) -> np.ndarray:
    """Return int16 samples as those of a store, for which others compile the measures."""
    samples.flags.writeable = False
    return samples


def measured(samples: np.ndarray) -> dict[str, float]:
    return sound_measures(Waveform(samples, RATE))


def levels_of(samples: np.ndarray) -> np.ndarray:
    return frame_levels(sum_samples(samples))


@pytest.mark.parametrize("n", [0, 1, 511, 512, 2048, 30_001])
def test_frame_levels_are_those_of_librosa(n: int) -> None:
    samples = speech(2)[:n]
    expected = librosa.feature.rms(y=samples, frame_length=FRAME, hop_length=HOP)[0] ** 2 if n else np.zeros(1)
    np.testing.assert_allclose(levels_of(samples), expected, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("n", [1, 511, 512, 513, 30_001])
def test_sums_are_those_of_numpy_with_a_least_magnitude_for_all_but_the_squares(n: int) -> None:
    singles = np.random.default_rng(n).normal(size=n).astype(np.float32) ** 5
    singles[::7] = 0
    sums, samples = sum_samples(singles, 2.0, 1e-3), singles.astype(np.float64)
    magnitudes = np.maximum(np.abs(samples / 2), 1e-3)
    assert sums.magnitudes == pytest.approx(magnitudes.sum(), rel=1e-12)
    assert sums.logarithms == pytest.approx(np.log(magnitudes).sum(), rel=1e-12)
    squares = [(samples[start : start + HOP] / 2) @ (samples[start : start + HOP] / 2) for start in range(0, n, HOP)]
    np.testing.assert_allclose(sums.squares, squares, rtol=1e-12)


@pytest.mark.parametrize(("before", "after"), [(0, 0), (0.3, 0), (0, 0.7), (1.5, 2.5)])
def test_silent_ends_are_those_that_librosa_trims(before: float, after: float) -> None:
    parts = [np.zeros(int(before * RATE)), speech(1.3), np.zeros(int(after * RATE))]
    samples = np.concatenate(parts).astype(np.float32) + np.float32(1e-5)
    _, (start, end) = librosa.effects.trim(samples, top_db=SILENCE_DB, frame_length=FRAME, hop_length=HOP)
    found = silences(levels_of(samples), HOP / RATE, len(samples) / RATE)
    assert found.start * RATE == pytest.approx(start)
    assert found.end * RATE == pytest.approx(len(samples) - end)


def test_a_pause_is_as_long_as_it_is_silent() -> None:
    samples = np.concatenate([speech(1), np.zeros(RATE, np.float32), speech(1)])
    found = silences(levels_of(samples), HOP / RATE, 3.0)
    # A frame that touches speech is not silent: a pause loses a frame's length, and a hop in counting.
    assert 1 - (FRAME + HOP) / RATE <= found.inside <= 1


def test_a_recording_without_sound_is_silent_from_start_to_end() -> None:
    found = measured(read_only(np.zeros(RATE, np.int16)))
    assert (found["peak"], found["silence_start"], found["silence_end"]) == (-np.inf, 1.0, 1.0)
    assert found["clipped_samples"] == found["digital_silence"] == 0
    assert np.isnan([found["bandwidth"], found["snr"]]).all()


def test_an_empty_recording_is_measured() -> None:
    assert measured(read_only(np.empty(0, np.int16)))["peak"] == -np.inf


def test_int16_and_float_waveforms_have_the_same_measures() -> None:
    samples = read_only(np.rint(speech(1) * 32_768).astype(np.int16))
    assert measured(samples) == measured(samples.astype(np.float32) / 32_768)


def test_the_signal_to_noise_ratio_is_that_of_the_same_recording_at_a_far_lower_level() -> None:
    # Products of 16 magnitudes below 1e-20 are not float64 numbers.
    quiet = measured(speech(1) * np.float32(1e-10))
    assert quiet["snr"] == pytest.approx(measured(speech(1))["snr"], abs=0.01)


def clipped_in(samples: np.ndarray) -> int:
    return clipped_samples(Peaks.of(samples, RATE))


def test_a_flat_peak_may_cross_the_blocks_in_which_peaks_are_looked_for() -> None:
    length = RATE // 100
    values = np.zeros(4 * length + 7, np.float32)
    values[length - 2 : length + 3] = values[-2:] = 0.5
    values[3 * length + 1 : 3 * length + 4] = -0.5
    assert clipped_in(values) == 5 + 3
    assert clipped_in(read_only((values * 32767).astype(np.int16))) == 5 + 3


def test_clipped_samples_are_those_of_flat_peaks_at_any_level() -> None:
    values = np.array([0, 0.5, 0.5, 0.5, 0, -0.4, -0.4, 0.1, -0.4, 0.5, 0.5], np.float32)
    assert clipped_in(values) == 3
    assert clipped_in(np.concatenate([values, [-0.4] * 4]).astype(np.float32)) == 7
    assert clipped_in(values / 100) == 0


def test_digital_silence_has_sound_on_both_sides() -> None:
    values = np.array([0, 0, 0, 0, 0.1, 0, 0, 0.2, 0, 0, 0, -0.1, 0, 0, 0, 0, 0], np.float32)
    assert digital_silence(values) == 3


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_digital_silence_is_the_longest_run_of_zeros_of_all(share: float) -> None:
    rng = np.random.default_rng(5)
    for n in range(200):
        values = read_only((rng.integers(1, 9, n) * (rng.random(n) > share)).astype(np.int16))
        inside = "".join("0" if value == 0 else "x" for value in values).strip("0")
        assert digital_silence(values) == max(map(len, inside.split("x")))


@pytest.mark.parametrize("original", [8_000, 16_000])
def test_an_upsampled_recording_keeps_the_bandwidth_of_its_original(original: int) -> None:
    samples = librosa.resample(
        librosa.resample(speech(2), orig_sr=RATE, target_sr=original), orig_sr=original, target_sr=RATE
    )
    assert bandwidth(samples.astype(np.float32), RATE) == pytest.approx(original / 2, rel=0.06)
    assert bandwidth(speech(2), RATE) == pytest.approx(RATE / 2, rel=0.01)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"power": 1, "compression": {"log": "ln", "scale": 1.0}}, 8.6859),
        ({"power": 2, "compression": {"log": "log10", "scale": 1.0}}, 10.0),
        ({"power": 1, "compression": {"log": "log10", "scale": 0.2}}, 100.0),
        ({}, None),
        ({"power": 1, "compression": {"log": "log2", "scale": 1.0}}, None),
    ],
)
def test_a_unit_of_a_mel_is_known_in_decibels(settings: dict[str, object], expected: float | None) -> None:
    assert decibels_of_unit(settings) == (None if expected is None else pytest.approx(expected, rel=1e-4))


def test_the_level_of_a_mel_is_the_sum_of_its_bins_power() -> None:
    power = np.array([[1.0, 3.0], [0.1, 0.1]])
    mel = (10 * np.log10(power)).astype(np.float32)
    mels = Mels.of([mel, mel[:0], mel[1:]], 2)
    levels = mel_levels(mels, mel_powers(mels, 1.0), np.full(2, -100, np.float32))
    assert levels[1] / levels[0] == pytest.approx(0.2 / 4)
    assert levels[2] == pytest.approx(2)


def test_a_frame_of_digital_silence_has_no_power() -> None:
    silence = np.array([-5, -6], np.float32)
    frames = np.array([[0, 0], [-5, -6], [-5, -5.9]], np.float32)
    mels = Mels.of([frames], 2)
    assert (mel_levels(mels, mel_powers(mels, 10.0), silence) > 0).tolist() == [True, False, True]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_loudest_value_of_a_mel_is_not_a_number_if_one_is_not_finite(value: float) -> None:
    mel = np.random.default_rng(0).normal(size=(40, 19)).astype(np.float32)
    damaged = mel.copy()
    damaged[7, 18] = value
    loudest = Mels.of([mel, damaged, mel[:0], mel[20:]], 19).loudest
    np.testing.assert_array_equal(loudest, np.array([mel.max(), np.nan, -np.inf, mel[20:].max()], np.float32))


def test_phones_are_letters_without_stress_length_marks_and_pauses() -> None:
    assert [
        s for s in ("a", "ˈ", "ː", "ʰ", "t͡ʃ", "AH0", "ɚ", " ", ",", "_", "<pad>", "[UNK]", "sil", "5") if is_phone(s)
    ] == [
        "a",
        "t͡ʃ",
        "AH0",
        "ɚ",
    ]
    assert [s for s in (",", "...", "sp", "SIL", "a", " ", "ˈ", "") if is_pause(s)] == [",", "...", "sp", "SIL"]


def test_vowels_of_x_sampa_without_a_letter_are_phones_where_the_vocabulary_is_x_sampa() -> None:
    names = ["_", "@", "'3:", "i:", "{", "2", ",9", "p", "?", "#", "5", "'", "@2", ":", "1:", "'0"]
    phones = ["@", "'3:", "i:", "{", "2", ",9", "p", "@2", "1:", "'0"]
    assert [name for name, kind in zip(names, symbol_kinds(names, 0), strict=True) if kind == PHONE] == phones
    characters = ["_", "@", "3", "{", "2", "a", ":"]
    assert [name for name, kind in zip(characters, symbol_kinds(characters, 0), strict=True) if kind == PHONE] == ["a"]


def test_equal_arrays_and_texts_are_found_at_their_first_copy() -> None:
    arrays = [np.arange(3), np.arange(4), np.arange(3), np.arange(3)]
    assert first_equal(map(array_digest, arrays)).tolist() == [-1, -1, 0, 0]
    texts = [("Yes.", "a"), ("yes!", "a"), ("Yes.", "b"), ("?", "a"), ("!", "a")]
    assert first_equal(text_digest(*pair) for pair in texts).tolist() == [-1, 0, -1, -1, -1]
    assert first_equal([]).tolist() == []


def test_a_fingerprint_does_not_change_with_the_gain() -> None:
    mel = np.random.default_rng(1).normal(size=(90, 20)).astype(np.float32)
    vectors = fingerprints(Mels.of([mel, mel - 3, mel[::-1], np.zeros((9, 20)), np.zeros((0, 20))], 20))
    assert float(vectors[0] @ vectors[1]) == pytest.approx(1)
    assert abs(float(vectors[0] @ vectors[2])) < 0.5
    assert not vectors[3:].any()


@pytest.mark.parametrize(("n_frames", "n_mels"), [(1, 80), (5, 80), (31, 3), (33, 7)])
def test_a_fingerprint_of_few_frames_or_bins_is_of_length_one(n_frames: int, n_mels: int) -> None:
    mel = np.random.default_rng(0).normal(size=(n_frames, n_mels)).astype(np.float32)
    (vector,) = fingerprints(Mels.of([mel], n_mels))
    assert vector.shape == (256,)
    assert float(np.linalg.norm(vector)) == pytest.approx(0 if n_frames == 1 else 1)


def test_the_most_similar_earlier_utterance_is_that_of_all_pairs() -> None:
    rng = np.random.default_rng(2)
    n = 1300  # more than two blocks
    vectors = rng.normal(size=(n, 256)).astype(np.float32)
    vectors[700], vectors[1299], vectors[3] = vectors[20], vectors[5], vectors[900]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths = rng.uniform(1, 3, n)
    lengths[700], lengths[1299], lengths[3] = lengths[20] * 1.01, lengths[5], lengths[900] * 2
    similarity, partner = most_similar_before(vectors, lengths)
    assert (partner[700], partner[1299]) == (20, 5)
    every = vectors @ vectors.T
    shorter, longer = np.minimum.outer(lengths, lengths), np.maximum.outer(lengths, lengths)
    allowed = np.tril(np.ones((n, n), bool), -1) & (shorter >= longer * (1 - LENGTH_TOLERANCE))
    expected = np.where(allowed, every, -np.inf).max(axis=1)
    np.testing.assert_allclose(similarity, np.where(np.isinf(expected), np.nan, expected), atol=1e-5)


def corpus(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return seconds, phones and pauses of a speaker whose durations vary by 8 %."""
    rng = np.random.default_rng(seed)
    phones, pauses = rng.integers(10, 120, n).astype(float), rng.integers(0, 4, n).astype(float)
    return (0.2 + phones / 12 + 0.3 * pauses) * rng.normal(1, 0.08, n), phones, pauses


def test_mismatch_scores_of_matching_texts_are_those_of_a_normal_distribution() -> None:
    seconds, phones, pauses = corpus(3000)
    scores = mismatch_scores(seconds, phones, pauses, np.zeros(3000, np.int64))
    assert np.median(scores) == pytest.approx(0, abs=0.05)
    assert scores.std() == pytest.approx(1, abs=0.1)
    assert 0 < (np.abs(scores) > 3).mean() < 0.01


def test_swapped_transcripts_have_high_mismatch_scores() -> None:
    seconds, phones, pauses = corpus(2000)
    swapped = np.arange(0, 400)
    phones[swapped], pauses[swapped] = np.roll(phones[swapped], 1), np.roll(pauses[swapped], 1)
    scores = np.abs(mismatch_scores(seconds, phones, pauses, np.zeros(2000, np.int64)))
    assert (scores[swapped] > 3).mean() > 0.65
    assert (scores[400:] > 3).mean() < 0.01


def test_each_speaker_has_a_rate_of_their_own_and_few_utterances_are_not_scored() -> None:
    seconds, phones, pauses = corpus(630)
    speakers = np.repeat([0, 1, 2], [300, 300, 30])
    seconds[speakers == 1] *= 2
    scores = mismatch_scores(seconds, phones, pauses, speakers)
    assert np.abs(scores).max() < 5
    assert np.isnan(mismatch_scores(seconds[:20], phones[:20], pauses[:20], speakers[:20])).all()


def test_lengths_without_any_spread_have_no_mismatch() -> None:
    ones = np.ones(50)
    assert not mismatch_scores(ones, 12 * ones, 0 * ones, np.zeros(50, np.int64)).any()
    assert np.isfinite(mismatch_scores(ones, 0 * ones, 0 * ones, np.zeros(50, np.int64))).all()


def test_transcripts_that_are_all_shifted_lower_the_rank_correlation() -> None:
    seconds, phones, _ = corpus(500)
    codes = np.zeros(500, np.int64)
    assert rank_correlations(seconds, phones, codes, ("a", "b"))["a"] > 0.9
    assert abs(rank_correlations(seconds, np.roll(phones, 1), codes, ("a",))["a"]) < 0.2
    assert rank_correlations(np.full(500, 2.0), phones, codes, ("a",)) == {}
