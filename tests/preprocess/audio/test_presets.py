"""All presets, compared with an independent float64 implementation, and with torch if it is installed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import soundfile
from corpora import speech_like
from reference_mel import RECIPES, padded, reference_mel

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.framing import aligned_waveform
from tts_prep.preprocess.audio.mel import MelExtractor, mel_spectrogram
from tts_prep.preprocess.audio.presets import DESCRIPTIONS, PRESETS, get_preset

MINI = Path(__file__).parents[4] / "shared" / "data" / "ljspeech-mini" / "wavs"


def signals(rate: int, n_fft: int, hop: int) -> dict[str, np.ndarray]:
    """Return signals that are difficult for mel spectrograms, float32."""
    rng = np.random.default_rng(3)
    time = np.arange(rate) / rate
    impulse = np.zeros(rate // 2)
    impulse[rate // 5] = 1.0
    quantized = np.round(0.9 * np.sin(2 * np.pi * 1000 * time) * 32767) / 32768
    return {
        name: samples.astype(np.float32)
        for name, samples in {
            "speech": speech_like(1.1, 1, rate),
            "silence": np.zeros(rate // 2),
            "impulse": impulse,
            "full-scale noise": rng.uniform(-1, 1, rate),
            "tone": 0.5 * np.sin(2 * np.pi * 440 * time),
            "16-bit tone": quantized,
            "whole hops": speech_like(1.0, 2, rate)[: hop * 30],
            "one sample less": speech_like(1.0, 2, rate)[: hop * 30 - 1],
            "one sample more": speech_like(1.0, 2, rate)[: hop * 30 + 1],
            "one frame": speech_like(1.0, 4, rate)[:n_fft],
        }.items()
    }


@cache
def mels(name: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the mel of a preset for each signal, and that of the reference, both of which take long."""
    recipe = RECIPES[name]
    return {
        signal: (mel_spectrogram(waveform, PRESETS[name]), reference_mel(name, waveform))
        for signal, waveform in signals(recipe.rate, recipe.n_fft, recipe.hop).items()
    }


def test_the_table_has_every_preset() -> None:
    assert set(PRESETS) == set(RECIPES) == set(DESCRIPTIONS)
    assert all(preset.source for preset in DESCRIPTIONS.values())


@pytest.mark.parametrize("name", RECIPES)
def test_frames_and_values_are_the_references(name: str) -> None:
    for signal, (mel, expected) in mels(name).items():
        assert mel.shape == expected.shape, signal
        np.testing.assert_allclose(mel, expected, rtol=0, atol=1e-5, err_msg=signal)


@pytest.mark.skipif(not MINI.is_dir(), reason="the real clips are not at hand")
@pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", RECIPES)
def test_values_on_real_clips_are_the_references(name: str, step: int) -> None:
    for path in sorted(MINI.glob("*.wav"))[::step]:
        # The sample rate is a number to the recipe: the samples are used as they are.
        waveform = soundfile.read(path, dtype="float32")[0]
        np.testing.assert_allclose(
            mel_spectrogram(waveform, PRESETS[name]), reference_mel(name, waveform), rtol=0, atol=1e-5
        )


@pytest.mark.parametrize("name", [name for name, recipe in RECIPES.items() if recipe.framing in ("hf", "center")])
def test_torchs_transform_is_a_second_witness(name: str) -> None:
    torch = pytest.importorskip("torch")
    recipe = RECIPES[name]
    waveform = speech_like(1.3, 5, recipe.rate).astype(np.float32)
    spectrum = torch.stft(
        torch.from_numpy(padded(waveform, recipe)),
        recipe.n_fft,
        recipe.hop,
        recipe.win,
        torch.hann_window(recipe.win, periodic=not recipe.symmetric, dtype=torch.float64),
        center=False,
        return_complex=True,
    )
    spectrum = spectrum[:, : spectrum.shape[1] - recipe.drop_last]
    import librosa

    bank = librosa.filters.mel(**{"sr": recipe.rate, "n_fft": recipe.n_fft, "dtype": np.float64, **recipe.bank})
    mel = recipe.log(bank @ recipe.spectrum(spectrum.abs().numpy() ** 2)).T
    found = mel_spectrogram(waveform, PRESETS[name])
    np.testing.assert_allclose(found, mel[: len(found)], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", RECIPES)
def test_silence_is_what_a_silent_frame_gives(name: str) -> None:
    expected = reference_mel(name, np.zeros(30000))
    np.testing.assert_allclose(MelExtractor(PRESETS[name]).silence(), expected[3], rtol=0, atol=1e-5)


@pytest.mark.parametrize("n_samples", [5120, 5119, 5121, 6000])
def test_ceil_framing_keeps_a_waveform_of_whole_hops(n_samples: int) -> None:
    name = "parakeet-wavenet"
    waveform = speech_like(1.0, 1)[:n_samples].astype(np.float32)
    kept = aligned_waveform(waveform, PRESETS[name])
    assert len(kept) == len(mel_spectrogram(waveform, PRESETS[name])) * 256
    # The documents cut (n_fft - hop) / 2 samples off both ends of the padded waveform.
    scale = np.abs(waveform).max() / 0.999
    np.testing.assert_allclose(kept, padded(waveform, RECIPES[name])[896:-896] * scale, atol=1e-7)


def test_the_waveform_of_styletts2_has_its_zeros() -> None:
    waveform = speech_like(0.5, 1, 24000).astype(np.float32)
    kept = aligned_waveform(waveform, PRESETS["styletts2"])
    np.testing.assert_array_equal(kept, np.concatenate([np.zeros(5000), waveform, np.zeros(5000)]))


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("hifi-gan", "hifigan"),
        ("HiFiGAN", "hifigan"),
        ("Vocos", "vocos"),
        ("style", "styletts2"),
        ("tacotron 2", "tacotron2"),
    ],
)
def test_a_mistyped_preset_is_refused_with_the_nearest_name(wrong: str, near: str) -> None:
    with pytest.raises(ConfigurationError, match=f"unknown preset '{wrong}'; did you mean '{near}'"):
        get_preset(wrong)


WIDE = {"vocos", "index-tts", "f5-tts", "coqui-ljspeech", "zonos-speaker", "campplus"}


# These range over more than float16 has fine steps for: their quiet end is rounded to twice the step.
@pytest.mark.parametrize("name", sorted(set(RECIPES) - WIDE))
def test_half_precision_around_its_offset_is_within_two_thousandths(name: str) -> None:
    offset = MelExtractor(PRESETS[name]).half_precision_offset()
    for signal, (mel, expected) in mels(name).items():
        stored = (mel - np.float32(offset)).astype(np.float16)
        found = stored.astype(np.float64) + offset
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3, err_msg=signal)
