"""Kaldi's filter banks, as CosyVoice's and 3D-Speaker's speaker models read them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from corpora import speech_like
from reference_mel import EPSILON, WINDOWS, fbank
from stores import of_room

from tts_prep.errors import AudioError, ConfigurationError
from tts_prep.preprocess.audio.config import Compression, MelConfig
from tts_prep.preprocess.audio.mel import MelExtractor, mel_spectrogram
from tts_prep.preprocess.audio.presets import PRESETS

first_centre = of_room("signals.pitch", "first_centre")

FBANK = PRESETS["campplus"]

SIGNALS = {
    "speech": speech_like(1.1, 1, 16000),
    "noise": np.random.default_rng(0).uniform(-1, 1, 4000),
    "off centre": 0.5 + speech_like(0.4, 2, 16000) / 4,
    "constant": np.full(2000, 0.1),
    "one frame": speech_like(1.0, 3, 16000)[:400],
    "a sample short of two frames": speech_like(1.0, 4, 16000)[:559],
}


@pytest.mark.parametrize("subtract_mean", [True, False])
@pytest.mark.parametrize("signal", SIGNALS)
def test_filter_banks_are_kaldis(signal: str, subtract_mean: bool) -> None:
    waveform = SIGNALS[signal].astype(np.float32)
    config = replace(FBANK, compression=Compression(floor=EPSILON, subtract_mean=subtract_mean))
    expected = fbank(waveform, subtract_mean=subtract_mean)
    found = mel_spectrogram(waveform, config)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("window", WINDOWS)
def test_filter_banks_are_kaldis_with_its_other_windows(window: str) -> None:
    waveform = speech_like(0.5, 1, 16000).astype(np.float32)
    found = mel_spectrogram(waveform, replace(FBANK, window=window))
    np.testing.assert_allclose(found, fbank(waveform, window), rtol=0, atol=2e-6)


def test_filter_banks_are_those_of_torchaudio() -> None:
    torch = pytest.importorskip("torch")
    kaldi = pytest.importorskip("torchaudio.compliance.kaldi", exc_type=ImportError)
    waveform = speech_like(1.1, 1, 16000).astype(np.float32)
    samples = torch.from_numpy(waveform).double()[None]
    expected = kaldi.fbank(samples, num_mel_bins=80, dither=0, sample_frequency=16000, subtract_mean=True).numpy()
    # torchaudio builds the filters in float32, whose logarithm depends on the processor.
    np.testing.assert_allclose(mel_spectrogram(waveform, FBANK), expected, rtol=0, atol=1e-3)


def test_snipped_frames_are_inside_the_recording() -> None:
    assert first_centre(1000, FBANK) == 200
    with pytest.raises(AudioError, match="too short: 399 samples, framing with n_fft 512 needs 400"):
        mel_spectrogram(np.zeros(399), FBANK)


def test_snipped_frames_of_the_compiled_kernel_have_the_same_values() -> None:
    config = replace(FBANK, preemphasis=0.0, remove_dc=False, compression=Compression(floor=EPSILON))
    waveform = speech_like(4.0, 1, 16000).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(waveform, 400)[::160]
    window = WINDOWS["povey"](np.cos(2 * np.pi * np.arange(400) / 399))
    power = np.abs(np.fft.rfft(frames * window, 512)) ** 2
    extractor = MelExtractor(config)
    found, energy = extractor.with_energy(waveform)
    assert len(found) == len(frames) == 398
    np.testing.assert_allclose(energy, np.sqrt(power.sum(axis=1)), rtol=1e-6)
    whole = replace(config, remove_dc=True)
    # A signal without a mean in any frame has the same values on both ways.
    tone = np.sin(2 * np.pi * np.arange(16000) * 400 / 16000).astype(np.float32)
    np.testing.assert_allclose(mel_spectrogram(tone, config), mel_spectrogram(tone, whole), rtol=0, atol=1e-3)


def test_silence_and_half_precision_of_mean_subtracted_values_are_around_0() -> None:
    extractor = MelExtractor(FBANK)
    np.testing.assert_array_equal(extractor.silence(), np.zeros(80))
    assert extractor.half_precision_offset() == 0


def test_kaldis_scale_has_no_norm_of_areas() -> None:
    with pytest.raises(ConfigurationError, match="mel_norm: expected one of None, found 'slaney'"):
        MelConfig(mel_scale="kaldi")
