"""The windowed sinc is torchaudio's definition; soxr is soxr."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from corpora import speech_like

from tts_prep.errors import AudioError, ConfigurationError
from tts_prep.preprocess.audio.config import RESAMPLERS, ReadingConfig
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.preprocess.audio.reading import read_waveform, resample

RATES = [(22_050, 24_000), (16_000, 24_000), (48_000, 24_000), (24_000, 22_050), (8_000, 24_000), (3, 7), (7, 3)]


def direct(x: np.ndarray, rate: int, sample_rate: int) -> np.ndarray:
    """Return the sum over all samples of torchaudio's documentation: width 6, roll-off 0.99, a Hann window."""
    divisor = math.gcd(rate, sample_rate)
    old, new = rate // divisor, sample_rate // divisor
    cutoff = 0.99 * min(old, new)
    found = []
    for j in range(math.ceil(new * len(x) / old)):
        t = (np.arange(len(x)) / old - j / new) * cutoff
        window = np.where(np.abs(t) < 6, np.cos(t * np.pi / 12) ** 2, 0)
        found.append(np.sum(x * np.sinc(t) * window) * cutoff / old)
    return np.array(found)


@pytest.mark.parametrize(("rate", "sample_rate"), RATES)
@pytest.mark.parametrize("n_samples", [1, 2, 100, 479])
def test_the_windowed_sinc_is_the_sum_of_its_definition(rate: int, sample_rate: int, n_samples: int) -> None:
    x = np.random.default_rng(n_samples).uniform(-1, 1, n_samples).astype(np.float32)
    found = resample(x, rate, sample_rate, "torchaudio")
    expected = direct(x.astype(np.float64), rate, sample_rate)
    assert found.shape == expected.shape
    # The times of torchaudio, and here, are rounded to float32.
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize(("rate", "sample_rate"), RATES[:5])
def test_the_windowed_sinc_is_torchaudios(rate: int, sample_rate: int) -> None:
    torch, torchaudio = pytest.importorskip("torch"), pytest.importorskip("torchaudio")
    x = np.random.default_rng(1).uniform(-1, 1, 20_001).astype(np.float32)
    expected = torchaudio.transforms.Resample(rate, sample_rate)(torch.from_numpy(x)).numpy()
    found = resample(x, rate, sample_rate, "torchaudio")
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("rate", "sample_rate"), [*RATES[:5], (44_100, 16_000), (11_025, 32_000), (12_345, 16_000)])
@pytest.mark.parametrize("n_samples", [700, 20_001])
def test_ffmpegs_default_resampler_is_ffmpegs(rate: int, sample_rate: int, n_samples: int) -> None:
    av = pytest.importorskip("av")
    x = np.random.default_rng(1).uniform(-1, 1, n_samples).astype(np.float32)
    frame = av.AudioFrame.from_ndarray(x[None].astype(np.float64), format="dblp", layout="mono")
    frame.sample_rate = rate
    resampler = av.AudioResampler(format="dblp", layout="mono", rate=sample_rate)
    expected = [part.to_ndarray()[0] for part in [*resampler.resample(frame), *resampler.resample(None)]]
    np.testing.assert_allclose(resample(x, rate, sample_rate, "ffmpeg"), np.concatenate(expected), rtol=0, atol=1e-14)


def test_ffmpegs_resampler_takes_recordings_shorter_than_its_filter() -> None:
    for n_samples in (1, 2, 40, 100):
        found = resample(np.full(n_samples, 0.5, np.float32), 44_100, 16_000, "ffmpeg")
        assert len(found) <= math.ceil(n_samples * 16_000 / 44_100)
        # A constant stays one, but for the gain of other filters than the first, to which all are scaled.
        np.testing.assert_allclose(found, 0.5, rtol=1e-4)


@pytest.mark.parametrize("quality", ["VHQ", "HQ", "MQ", "LQ", "QQ"])
def test_soxr_has_its_qualities(quality: str) -> None:
    x = speech_like(0.2, 1).astype(np.float32)
    expected = soxr.resample(x, 22_050, 24_000, quality=quality)
    np.testing.assert_array_equal(resample(x, 22_050, 24_000, f"soxr_{quality.lower()}"), expected)


def test_the_sample_rate_of_the_recording_is_left_alone() -> None:
    x = speech_like(0.1, 1).astype(np.float32)
    for name in RESAMPLERS:
        assert resample(x, 22_050, 22_050, name) is x


def test_recordings_are_resampled_as_the_preset_says(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", speech_like(0.3, 1), 22_050, "FLOAT")
    x = soundfile.read(tmp_path / "a.wav", dtype="float32")[0]
    for preset in ("f5-tts", "vocos", "cosyvoice2"):
        found = read_waveform(tmp_path / "a.wav", 24_000, get_preset(preset).reading)
        np.testing.assert_array_equal(found, resample(x, 22_050, 24_000, "torchaudio"))
    found = read_waveform(tmp_path / "a.wav", 24_000, get_preset("bigvgan-24k-100").reading)
    np.testing.assert_array_equal(found, resample(x, 22_050, 24_000, "soxr_hq"))


def test_an_unknown_resampler_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="resampler: expected one of soxr_vhq, .*, found 'kaiser'"):
        ReadingConfig(resampler="kaiser")


def test_the_recorded_settings_name_the_resampler_only_if_it_is_not_the_default() -> None:
    assert ReadingConfig().as_dict() == {"channel": "first"}
    assert get_preset("f5-tts").reading.as_dict() == {"channel": "mean", "resampler": "torchaudio"}


@pytest.mark.parametrize(
    ("rate", "sample_rate"), [(44_100, 22_050), (48_000, 22_050), (16_000, 24_000), (24_000, 44_100)]
)
def test_soxr_has_as_many_samples_as_librosas_resample(rate: int, sample_rate: int) -> None:
    librosa = pytest.importorskip("librosa")
    for n_samples in (1, 333, 1000, 22_051):
        x = np.random.default_rng(n_samples).uniform(-1, 1, n_samples).astype(np.float32)
        expected = librosa.resample(x, orig_sr=rate, target_sr=sample_rate)
        np.testing.assert_array_equal(resample(x, rate, sample_rate), expected)


@pytest.mark.whole
def test_channels_levels_and_lengths_are_those_of_the_preparation(tmp_path: Path) -> None:
    from tts_prep.signals.processor import AudioProcessor

    left, right = 0.9 * np.sin(np.arange(1_500) / 7), 0.5 * np.sin(np.arange(1_500) / 5)
    path = tmp_path / "a.wav"
    soundfile.write(path, np.stack([left, right], 1), 24_000, "FLOAT")
    # ffmpeg -f f32le -ac 1
    power = ReadingConfig(channel="power")
    np.testing.assert_allclose(read_waveform(path, 24_000, power), (left + right) * math.sqrt(0.5), rtol=0, atol=2e-7)
    soundfile.write(path, 1.5 * left, 24_000, "FLOAT")
    clipped = read_waveform(path, 24_000, ReadingConfig(clips=True))
    np.testing.assert_allclose(clipped, np.clip(1.5 * left, -1, 1), rtol=0, atol=1e-7)
    limited = AudioProcessor.from_preset("cosyvoice2").read_wav(path)
    np.testing.assert_allclose(limited, left / np.abs(left).max(), rtol=0, atol=1e-6)
    soundfile.write(path, left, 24_000, "FLOAT")
    np.testing.assert_array_equal(AudioProcessor.from_preset("cosyvoice2").read_wav(path), left.astype(np.float32))


def test_three_channels_have_no_sum_of_two(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.full((800, 3), 0.1), 24_000)
    with pytest.raises(AudioError, match=r"has 3 channels, expected one or two; give channel = 'mean'"):
        read_waveform(tmp_path / "a.wav", 24_000, ReadingConfig(channel="power"))
