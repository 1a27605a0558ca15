from __future__ import annotations

import math

import librosa
import numpy as np
import pytest
import scipy.signal
from corpora import speech_like
from reference_mel import reference_mel

from tts_prep.errors import AudioError, ConfigurationError
from tts_prep.preprocess.audio.config import Compression, MelConfig
from tts_prep.preprocess.audio.mel import MelExtractor, mel_spectrogram
from tts_prep.preprocess.audio.presets import PRESETS

PARAKEET = PRESETS["parakeet"]


def tone() -> np.ndarray:
    return 0.7 * np.sin(2 * np.pi * 440 * np.arange(22050) / 22050)


def impulse() -> np.ndarray:
    x = np.zeros(9000)
    x[4321] = 1.0
    return x


@pytest.mark.parametrize(
    "waveform",
    [
        speech_like(1.3, 0),
        np.random.default_rng(1).uniform(-1, 1, 30000),
        tone(),
        impulse(),
        speech_like(1.0, 2)[: 256 * 40],
        speech_like(1.0, 2)[: 256 * 40 - 1],
        speech_like(1.0, 2)[: 256 * 40 + 1],
        speech_like(1.0, 3)[:513],
    ],
    ids=["speech", "noise", "tone", "impulse", "whole-hops", "one-sample-less", "one-sample-more", "shortest"],
)
def test_parakeet_mels_are_librosas_in_float64(waveform: np.ndarray) -> None:
    x = waveform.astype(np.float32)
    mel = mel_spectrogram(x, PARAKEET)
    assert mel.dtype == np.float32
    assert mel.shape == (1 + len(x) // 256, 80)
    np.testing.assert_allclose(mel, reference_mel("parakeet", x), rtol=0, atol=1e-5)


def test_a_frame_has_the_same_bits_wherever_it_falls_in_a_block() -> None:
    x = speech_like(2.0, 5).astype(np.float32)
    config = MelConfig()
    whole = mel_spectrogram(x, config)
    shifted = mel_spectrogram(x[256 * 7 :], config)
    np.testing.assert_array_equal(shifted[4:-4], whole[11:-4])


def test_silence_is_the_log_of_the_floor() -> None:
    np.testing.assert_array_equal(
        mel_spectrogram(np.zeros(5000, np.float32), PARAKEET), np.full((20, 80), np.log(np.float32(1e-5)))
    )
    np.testing.assert_allclose(MelExtractor(PARAKEET).silence(), np.log(1e-5), rtol=1e-6)


def test_an_n_fft_that_is_no_power_of_two_gives_the_same_spectrum_as_a_direct_sum() -> None:
    config = MelConfig(n_fft=60, win_length=60, hop_length=20, n_mels=6, fmax=11025)
    x = speech_like(0.01, 7).astype(np.float32)
    padded = np.pad(x.astype(np.float64), 30, mode="reflect")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(60) / 60)
    k = np.arange(31)
    basis = np.exp(-2j * np.pi * np.outer(np.arange(60), k) / 60)
    magnitude = np.abs([padded[20 * t : 20 * t + 60] * window @ basis for t in range(1 + len(x) // 20)])
    import librosa

    bank = librosa.filters.mel(sr=22050, n_fft=60, n_mels=6, fmin=0, fmax=11025, dtype=np.float64)
    expected = np.log(np.maximum(magnitude @ bank.T, 1e-5))
    np.testing.assert_allclose(mel_spectrogram(x, config), expected, rtol=0, atol=1e-5)


def test_a_waveform_shorter_than_the_padding_is_refused_with_both_lengths() -> None:
    with pytest.raises(AudioError, match=r"too short: 512 samples, framing with n_fft 1024 needs 513"):
        mel_spectrogram(np.ones(512, np.float32), PARAKEET)


def test_a_recording_that_gives_no_frame_is_refused() -> None:
    config = MelConfig(framing="hifigan", drop_last_frame=True)
    with pytest.raises(AudioError, match="too short: 500 samples give no frame, hop_length is 256"):
        mel_spectrogram(np.ones(500, np.float32), config)
    assert mel_spectrogram(np.ones(512, np.float32), config).shape == (1, 80)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"fmax": 20000}, "fmin, fmax: expected 0 <= fmin < fmax <= 11025 Hz, found 0 and 20000"),
        (
            {"n_fft": 1023, "win_length": 1023},
            "n_fft: expected an even number",
        ),
        ({"n_fft": 2**40}, "n_fft: expected at most 65,536, found 1,099,511,627,776"),
        ({"win_length": 1}, "win_length: expected at least 2 samples, found 1"),
        ({"win_length": 2048}, "win_length: expected at most n_fft = 1024, found 2048"),
        ({"hop_length": 0}, "hop_length: expected a number > 0, found 0"),
        ({"framing": "left"}, "framing: expected one of 'center', 'hifigan', 'ceil', 'snip', found 'left'"),
        ({"power": 3}, "power: expected one of 1, 2, found 3"),
    ],
)
def test_impossible_settings_are_refused(setting: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        MelConfig(**setting)  # type: ignore[arg-type]
    assert message in str(error.value)


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "povey"])
def test_a_window_is_that_of_scipy(name: str, periodic: bool) -> None:
    config = MelConfig(window=name, periodic_window=periodic, win_length=1000)
    waveform = speech_like(0.5, 1).astype(np.float32)
    window = scipy.signal.get_window("hann" if name == "povey" else name, 1000, fftbins=periodic)
    window = np.pad(window**0.85 if name == "povey" else window, 12)
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(waveform, 512, mode="reflect"), 1024)[::256]
    bank = librosa.filters.mel(sr=22050, n_fft=1024, n_mels=80, fmin=0, fmax=8000, dtype=np.float64)
    expected = np.log(np.maximum(np.abs(np.fft.rfft(frames * window)) @ bank.T, 1e-5))
    np.testing.assert_allclose(mel_spectrogram(waveform, config), expected, rtol=0, atol=1e-5)


def test_preemphasis_is_that_of_scipy() -> None:
    waveform = speech_like(0.5, 1).astype(np.float32)
    emphasized = scipy.signal.lfilter([1, -0.97], [1], waveform.astype(np.float64)).astype(np.float32)
    found = mel_spectrogram(waveform, MelConfig(preemphasis=0.97))
    np.testing.assert_allclose(found, mel_spectrogram(emphasized, MelConfig()), rtol=0, atol=1e-4)
    assert np.abs(found - mel_spectrogram(waveform, MelConfig())).max() > 1


@pytest.mark.parametrize("n_samples", [2559, 2560, 2687, 2688, 2816])
def test_rounded_frames_are_those_of_the_duration(n_samples: int) -> None:
    found = mel_spectrogram(np.zeros(n_samples), MelConfig(round_frames=True))
    assert len(found) == math.floor(n_samples / 256 + 0.5)


@pytest.mark.parametrize(("name", "value"), [("window", "kaiser"), ("preemphasis", 1.0), ("preemphasis", -0.1)])
def test_settings_of_windows_and_preemphasis_are_checked(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}: expected"):
        MelConfig(**{name: value})  # type: ignore[arg-type]


def test_the_recorded_settings_have_later_ones_only_where_they_are_not_default() -> None:
    assert not {"window", "preemphasis", "round_frames"} & set(MelConfig().as_dict())
    assert MelConfig(**{**MelConfig(window="povey").as_dict(), "compression": Compression()}).window == "povey"


# Long signals with one in eight presets; `make soak` has the matrix.
@pytest.mark.parametrize(
    ("n_samples", "name"),
    [
        pytest.param(n_samples, name, marks=pytest.mark.soak if n_samples > 2500 and number % 8 else ())
        for n_samples in (2500, 40_000, 150_001)
        for number, name in enumerate(sorted(PRESETS))
    ],
)
def test_sixteen_bit_samples_have_the_bits_of_their_mel_as_floats(name: str, n_samples: int) -> None:
    samples = np.random.default_rng(n_samples).normal(0, 3000, n_samples).round().clip(-32768, 32767).astype(np.int16)
    samples[1234] = -32768  # whose absolute value no int16 holds
    floats = samples.astype(np.float32) / np.float32(32768)
    extractor = MelExtractor(PRESETS[name])
    np.testing.assert_array_equal(extractor(samples), extractor(floats))
    for found, expected in zip(extractor.with_energy(samples), extractor.with_energy(floats), strict=True):
        np.testing.assert_array_equal(found, expected)
