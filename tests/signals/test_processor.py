from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from corpora import speech_like
from reference_mel import reference_mel

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.config import Compression, MelConfig
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.signals.processor import AudioProcessor


def test_reading_resamples_and_scales_the_peak(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", speech_like(0.5, 0, 44100), 44100)
    waveform = AudioProcessor(PRESETS["parakeet"]).read_wav(tmp_path / "a.wav")
    assert abs(len(waveform) - 11025) <= 1
    assert np.abs(waveform).max() == pytest.approx(0.999, abs=1e-6)


def test_the_mel_of_a_file_is_the_references(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", speech_like(0.5, 0), 22050)
    samples, _ = soundfile.read(tmp_path / "a.wav")
    processor = AudioProcessor(PRESETS["hifigan"])
    mel = processor.mel_spectrogram(processor.read_wav(tmp_path / "a.wav"))
    # The waveform was rounded once, at its new level.
    np.testing.assert_allclose(mel, reference_mel("hifigan", samples), rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    "name", ["parakeet", pytest.param("vocos", marks=pytest.mark.soak), "speechain-conventional-tts"]
)
def test_a_waveform_made_of_a_mel_has_that_mel(name: str) -> None:
    config = PRESETS[name]
    processor = AudioProcessor(config)
    mel = processor.mel_spectrogram(speech_like(0.6, 3, config.sample_rate))
    again = processor.mel_spectrogram(processor.to_waveform(mel))
    n = min(len(mel), len(again)) - 2
    loud = mel[2:n] > np.median(mel)
    # A made-up phase does not give the mel back exactly; half a neper, in bins that are not quiet, is close.
    assert np.abs(again[2:n] - mel[2:n])[loud].mean() < 0.5


def spectral_convergence(config: MelConfig, mel: np.ndarray, again: np.ndarray) -> float:
    """Return the norm of the difference of mel magnitudes, as a share of that of the first."""
    stop = min(len(mel), len(again)) - 2
    one, other = (config.compression.inverse(x[2:stop]).astype(float) ** (1 / config.power) for x in (mel, again))
    return float(np.linalg.norm(other - one) / np.linalg.norm(one))


NORMS = tuple(-1 - m / 20 for m in range(80))


# Logarithms to both bases, floors that are added, affine maps, clipping, powers, all framings, norms of bins.
@pytest.mark.parametrize(
    ("config", "bound"),
    [
        (PRESETS["hifigan"], 0.25),
        pytest.param(PRESETS["coqui"], 0.25, marks=pytest.mark.soak),
        (PRESETS["matcha"], 0.2),
        pytest.param(PRESETS["gpt-sovits-v3"], 0.1, marks=pytest.mark.soak),
        (PRESETS["whisper-80"], 0.1),
        pytest.param(PRESETS["parakeet-wavenet"], 0.4, marks=pytest.mark.soak),
        (PRESETS["speechain-conventional-tts"], 0.3),
        (MelConfig(power=2, mel_scale="htk", compression=Compression(bin_norms=NORMS)), 0.15),
        (MelConfig(n_fft=512, win_length=400, hop_length=160, framing="snip", preemphasis=0.5), 0.2),
        (MelConfig(edge_zeros=3000, even_frames=True), 0.25),
    ],
)
def test_what_is_heard_of_a_mel_has_its_spectrum_pitch_and_length(config: MelConfig, bound: float) -> None:
    processor, rate = AudioProcessor(config), config.sample_rate
    clip = speech_like(0.6, 3, rate)
    mel = processor.mel_spectrogram(clip)
    waveform = processor.to_waveform(mel)
    np.testing.assert_array_equal(waveform, processor.to_waveform(mel))
    assert abs(len(waveform) - len(clip)) < 2 * config.hop_length
    assert spectral_convergence(config, mel, processor.mel_spectrogram(waveform)) < bound
    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(rate // 2) / rate)
    heard = processor.to_waveform(processor.mel_spectrogram(tone))
    spectrum = np.abs(np.fft.rfft(heard * np.hanning(len(heard)), 4 * rate))
    # A semitone: the filters are wider.
    assert 440 / 2 ** (1 / 12) < spectrum.argmax() / 4 < 440 * 2 ** (1 / 12)


def test_a_mel_whose_means_are_lost_is_not_made_audible() -> None:
    processor = AudioProcessor(MelConfig(compression=Compression(subtract_mean=True)))
    with pytest.raises(ConfigurationError, match=r"the mean of each bin \(subtract_mean\) cannot be made audible"):
        processor.to_waveform(np.zeros((12, 80)))


def test_a_processor_of_a_preset_reads_channels_as_its_source(tmp_path: Path) -> None:
    left, right = speech_like(0.5, 0, 24000), speech_like(0.5, 1, 24000)
    soundfile.write(tmp_path / "a.wav", np.stack([left, right], axis=1), 24000, "FLOAT")
    mean = AudioProcessor.from_preset("vocos").read_wav(tmp_path / "a.wav")
    np.testing.assert_allclose(mean, (left + right) / 2, atol=1e-6)
    first = AudioProcessor.from_preset("styletts2").read_wav(tmp_path / "a.wav")
    np.testing.assert_allclose(first, left, atol=1e-6)


def test_a_mel_of_another_recipe_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"mel: expected the shape \[n_frames, 80\], found \[12, 100\]"):
        AudioProcessor(PRESETS["parakeet"]).to_waveform(np.zeros((12, 100)))
