"""An independent float64 implementation of mel spectrograms, with numpy and librosa.

The table says again, by hand and in another form, what the presets say as data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import librosa
import numpy as np
import scipy.signal

from tts_prep.preprocess.audio.presets import PRESETS


class Recipe(NamedTuple):
    rate: int
    n_fft: int
    win: int
    hop: int
    framing: str
    peak: float | None
    spectrum: Callable[[np.ndarray], np.ndarray]
    """Of |X|²."""
    bank: dict[str, object]
    log: Callable[[np.ndarray], np.ndarray]
    zeros: int = 0
    even: bool = False
    symmetric: bool = False
    zero_padding: bool = False
    drop_last: bool = False
    rounded: bool = False
    prepare: Callable[[np.ndarray], np.ndarray] = np.asarray
    """What the system does with a recording before its mel, but a peak."""


def slaney(n_mels: int, fmin: float, fmax: float) -> dict[str, object]:
    return {"n_mels": n_mels, "fmin": fmin, "fmax": fmax, "htk": False, "norm": "slaney"}


def htk(n_mels: int, fmin: float, fmax: float) -> dict[str, object]:
    return {"n_mels": n_mels, "fmin": fmin, "fmax": fmax, "htk": True, "norm": None}


def hifi(power: np.ndarray) -> np.ndarray:
    return np.sqrt(power + 1e-9)


def power_of(power: np.ndarray) -> np.ndarray:
    return power


def ln_max(floor: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.log(np.maximum(x, floor))


def log10_max(x: np.ndarray) -> np.ndarray:
    return np.log10(np.maximum(x, 1e-10))


def unit(x: np.ndarray) -> np.ndarray:
    return np.clip((20 * np.log10(np.maximum(x, 1e-5)) - 20 + 100) / 100, 0, 1)


def coqui(x: np.ndarray) -> np.ndarray:
    return np.clip((20 * np.log10(np.maximum(x, 1e-8)) - 20 + 100) / 100 * 8 - 4, -4, 4)


def styletts2(x: np.ndarray) -> np.ndarray:
    return (np.log(1e-5 + x) + 4) / 4


def standardized(mean: float, std: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: (np.log(np.maximum(x, 1e-5)) - mean) / std


def whisper(x: np.ndarray) -> np.ndarray:
    logarithm = np.log10(np.maximum(x, 1e-10))
    return (np.maximum(logarithm, logarithm.max() - 8) + 4) / 4


def vits(power: np.ndarray) -> np.ndarray:
    return np.sqrt(power + 1e-6)


def ln_add(x: np.ndarray) -> np.ndarray:
    return np.log(x + 1e-5)


def gpt_sovits(x: np.ndarray) -> np.ndarray:
    return (np.log(np.maximum(x, 1e-5)) + 12) / (2 + 12) * 2 - 1


def gpt_sovits_power(power: np.ndarray) -> np.ndarray:
    return np.sqrt(power + 1e-8)


def tortoise(x: np.ndarray) -> np.ndarray:
    norms = PRESETS["tortoise"].compression.bin_norms
    assert norms
    # What mel_norms.pth begins and ends with, and how many values it has.
    assert (len(norms), norms[0], norms[-1]) == (80, -7.0094604, -9.482238)
    return np.log(np.maximum(x, 1e-5)) / np.array(norms)[:, None]


def tortoise_diffusion(x: np.ndarray) -> np.ndarray:
    low, high = -11.512925148010254, 2.3143386840820312
    return 2 * ((np.log(np.maximum(x, 1e-5)) - low) / (high - low)) - 1


def zonos(x: np.ndarray) -> np.ndarray:
    logarithm = np.log(x + 1e-6)
    return logarithm - logarithm.mean(axis=1, keepdims=True)


EPSILON = float(np.finfo(np.float32).eps)
WINDOWS = {
    "povey": lambda cosine: (0.5 - 0.5 * cosine) ** 0.85,
    "hann": lambda cosine: 0.5 - 0.5 * cosine,
    "hamming": lambda cosine: 0.54 - 0.46 * cosine,
    "blackman": lambda cosine: 0.42 - 0.5 * cosine + 0.08 * (2 * cosine**2 - 1),
}


def fbank(samples: np.ndarray, window: str = "povey", subtract_mean: bool = True) -> np.ndarray:
    """Return Kaldi's fbank in float64, frame by frame, from its feature-window.cc and mel-computations.cc."""
    cosine = np.cos(2 * np.pi * np.arange(400) / 399)
    edges = [1127 * np.log(1 + hertz / 700) for hertz in (20, 8000)]
    step = (edges[1] - edges[0]) / 81
    mels = 1127 * np.log(1 + np.arange(256) * 16000 / 512 / 700)
    rows = []
    for start in range(0, len(samples) - 399, 160):
        frame = samples[start : start + 400].astype(np.float64)
        frame -= frame.mean()
        frame = frame - 0.97 * np.concatenate([frame[:1], frame[:-1]])
        power = np.abs(np.fft.fft(np.concatenate([frame * WINDOWS[window](cosine), np.zeros(112)]))[:256]) ** 2
        row = []
        for m in range(80):
            left, centre, right = (edges[0] + (m + i) * step for i in range(3))
            rising = np.where(mels <= centre, (mels - left) / (centre - left), (right - mels) / (right - centre))
            row.append(np.log(max(EPSILON, power @ np.where((mels > left) & (mels < right), rising, 0))))
        rows.append(row)
    result = np.array(rows)
    return result - result.mean(axis=0) if subtract_mean else result


def at_most_full_scale(samples: np.ndarray) -> np.ndarray:
    """Return what ``resample`` of CosyVoice's dataset/processor.py makes of samples."""
    return samples / max(1.0, np.abs(samples).max())


def of_whole_tokens(samples: np.ndarray) -> np.ndarray:
    """Return what ``compute_fbank`` of CosyVoice's dataset/processor.py makes of samples, with num_frames 960."""
    samples = at_most_full_scale(samples)
    return np.concatenate([samples, np.zeros(int(np.ceil(len(samples) / 960)) * 960 - len(samples))])


def segment_and_pad_short(samples: np.ndarray) -> np.ndarray:
    """Return what UnivNet's dataset makes of a short recording: its segment_length and pad_short."""
    return np.pad(samples, (0, max(0, 16384 + 2000 - len(samples))))


E5 = ln_max(1e-5)
S80, S76 = slaney(80, 0, 8000), slaney(80, 80, 7600)
RECIPES = {
    "parakeet": Recipe(22050, 1024, 1024, 256, "center", 0.999, np.sqrt, S80, E5),
    "parakeet-wavenet": Recipe(22050, 2048, 1024, 256, "ceil", 0.999, np.sqrt, slaney(80, 0, 11025), unit),
    "parakeet-waveflow": Recipe(22050, 1024, 1024, 256, "ceil", 0.999, np.sqrt, S80, E5),
    "parakeet-fastspeech2": Recipe(22050, 1024, 1024, 256, "center", None, np.sqrt, S76, log10_max),
    "parakeet-fastspeech2-24k": Recipe(24000, 2048, 1200, 300, "center", None, np.sqrt, S76, log10_max),
    "styletts2": Recipe(
        24000, 2048, 1200, 300, "center", None, power_of, {"sr": 16000, **htk(80, 0, 8000)}, styletts2, 5000, True
    ),
    "styletts2-true-24k": Recipe(
        24000, 2048, 1200, 300, "center", None, power_of, htk(80, 0, 12000), styletts2, 5000, True
    ),
    "speechain-tts": Recipe(22050, 1024, 1024, 256, "center", None, np.sqrt, S80, E5),
    "speechain-conventional-tts": Recipe(
        22050, 1102, 1102, 275, "center", None, power_of, slaney(80, 125, 7600), log10_max
    ),
    "fastspeech2": Recipe(22050, 1024, 1024, 256, "center", None, np.sqrt, S80, E5),
    "tacotron2": Recipe(22050, 1024, 1024, 256, "center", None, np.sqrt, S80, E5),
    "fastpitch": Recipe(22050, 1024, 1024, 256, "center", None, np.sqrt, S80, E5),
    "hifigan": Recipe(22050, 1024, 1024, 256, "hf", 0.95, hifi, S80, E5),
    "hifigan-unscaled": Recipe(22050, 1024, 1024, 256, "hf", None, hifi, S80, E5),
    "istftnet": Recipe(22050, 1024, 1024, 256, "hf", 0.95, hifi, S80, E5),
    "bigvgan-22k-80": Recipe(22050, 1024, 1024, 256, "hf", 0.95, hifi, slaney(80, 0, 11025), E5),
    "bigvgan-22k-80-fmax8k": Recipe(22050, 1024, 1024, 256, "hf", 0.95, hifi, S80, E5),
    "bigvgan-24k-100": Recipe(24000, 1024, 1024, 256, "hf", 0.95, hifi, slaney(100, 0, 12000), E5),
    "bigvgan-44k-128": Recipe(44100, 2048, 2048, 512, "hf", 0.95, hifi, slaney(128, 0, 22050), E5),
    "bigvgan-44k-128-256x": Recipe(44100, 1024, 1024, 256, "hf", 0.95, hifi, slaney(128, 0, 22050), E5),
    "vocos": Recipe(24000, 1024, 1024, 256, "center", None, np.sqrt, htk(100, 0, 12000), ln_max(1e-7)),
    "f5-tts": Recipe(24000, 1024, 1024, 256, "center", None, np.sqrt, htk(100, 0, 12000), E5),
    "cosyvoice": Recipe(22050, 1024, 1024, 256, "hf", None, hifi, S80, E5, prepare=at_most_full_scale),
    "cosyvoice2": Recipe(24000, 1920, 1920, 480, "hf", None, hifi, S80, E5, prepare=of_whole_tokens),
    "cosyvoice3": Recipe(24000, 1920, 1920, 480, "hf", None, hifi, slaney(80, 0, 12000), E5, prepare=of_whole_tokens),
    "univnet": Recipe(
        24000, 1024, 1024, 256, "hf", None, hifi, slaney(100, 0, 12000), E5, prepare=segment_and_pad_short
    ),
    "matcha": Recipe(22050, 1024, 1024, 256, "hf", None, hifi, S80, standardized(-5.536622, 2.116101)),
    "matcha-vctk": Recipe(22050, 1024, 1024, 256, "hf", None, hifi, S80, standardized(-6.630575, 2.482914)),
    "matcha-hi-fi-captain": Recipe(22050, 1024, 1024, 256, "hf", None, hifi, S80, standardized(-6.38385, 2.541796)),
    "vits": Recipe(22050, 1024, 1024, 256, "hf", None, vits, slaney(80, 0, 11025), E5),
    "piper": Recipe(22050, 1024, 1024, 256, "hf", None, vits, slaney(80, 0, 11025), E5),
    "espnet2-tts": Recipe(
        22050, 1024, 1024, 256, "center", None, lambda p: np.sqrt(np.maximum(p, 1e-10)), S76, log10_max
    ),
    "coqui": Recipe(22050, 1024, 1024, 256, "center", None, np.sqrt, slaney(80, 0, 11025), coqui),
    "coqui-ljspeech": Recipe(22050, 1024, 1024, 256, "center", None, np.sqrt, S80, ln_max(1e-8)),
    "wavenet-vocoder": Recipe(22050, 1024, 1024, 256, "center", None, np.sqrt, slaney(80, 125, 7600), log10_max),
    "melgan": Recipe(
        22050, 1024, 1024, 256, "hf", 0.95, np.sqrt, slaney(80, 0, 11025), lambda x: np.log10(np.maximum(x, 1e-5))
    ),
    "gpt-sovits-v3": Recipe(24000, 1024, 1024, 256, "hf", None, gpt_sovits_power, slaney(100, 0, 12000), gpt_sovits),
    "gpt-sovits-v4": Recipe(32000, 1280, 1280, 320, "hf", None, gpt_sovits_power, slaney(100, 0, 16000), gpt_sovits),
    "fish-speech": Recipe(
        44100, 2048, 2048, 512, "hf", None, vits, slaney(160, 0, 22050), E5, prepare=at_most_full_scale
    ),
    "speechbrain-tacotron2": Recipe(22050, 1024, 1024, 256, "center", None, np.sqrt, S80, E5),
    "speechbrain-hifigan": Recipe(22050, 1024, 1024, 256, "center", None, np.sqrt, S80, E5),
    "chatterbox": Recipe(24000, 1920, 1920, 480, "hf", None, hifi, S80, E5),
    "index-tts": Recipe(24000, 1024, 1024, 256, "center", None, np.sqrt, htk(100, 0, 12000), ln_max(1e-7)),
    "zipvoice": Recipe(
        24000,
        1024,
        1024,
        256,
        "center",
        None,
        np.sqrt,
        htk(100, 0, 12000),
        lambda x: 0.1 * ln_max(1e-7)(x),
        rounded=True,
    ),
    "speecht5": Recipe(16000, 1024, 1024, 256, "center", None, np.sqrt, S76, log10_max),
    **{
        f"nemo-{kind}{suffix}": Recipe(
            *(rate, n_fft, n_fft, n_fft // 4, framing, None, np.sqrt, slaney(80, 0, fmax), log),
            symmetric=True,
            zero_padding=True,
        )
        for kind, framing, log in (("fastpitch", "center", ln_add), ("hifigan", "hf", E5))
        for suffix, rate, n_fft, fmax in (("", 22050, 1024, 8000), ("-44k", 44100, 2048, 22050))
    },
    "index-tts-2": Recipe(22050, 1024, 1024, 256, "hf", None, hifi, slaney(80, 0, 11025), E5),
    "melotts": Recipe(44100, 2048, 2048, 512, "hf", None, vits, slaney(128, 0, 22050), E5),
    "vevo": Recipe(24000, 1920, 1920, 480, "hf", None, hifi, slaney(128, 0, 12000), standardized(-4.92, np.sqrt(8.14))),
    "tortoise": Recipe(
        22050, 1024, 1024, 256, "center", None, power_of, {**htk(80, 0, 8000), "norm": "slaney"}, tortoise
    ),
    "tortoise-diffusion": Recipe(
        24000, 1024, 1024, 256, "center", None, np.sqrt, slaney(100, 0, 12000), tortoise_diffusion
    ),
    "zonos-speaker": Recipe(16000, 512, 400, 160, "center", None, power_of, htk(80, 0, 8000), zonos),
    "campplus": Recipe(16000, 512, 400, 160, "snip", None, power_of, {}, ln_max(EPSILON)),
    **{
        f"whisper-{bins}": Recipe(
            16000, 400, 400, 160, "center", None, power_of, slaney(bins, 0, 8000), whisper, drop_last=True
        )
        for bins in (80, 128)
    },
}


def padded(waveform: np.ndarray, recipe: Recipe) -> np.ndarray:
    """Return the padded waveform of a mel configuration, [n_padded] float64."""
    x = np.pad(np.asarray(recipe.prepare(waveform), np.float64), recipe.zeros)
    n, hop, n_fft = len(x), recipe.hop, recipe.n_fft
    if recipe.framing == "ceil":
        fft_padding = (n_fft - hop) // 2
        desired = int(np.ceil(n / hop)) * hop + 2 * fft_padding
        amount = (desired - n) // 2
        x = np.pad(x, (amount, amount + (desired - n) % 2), mode="reflect")
    else:
        amount = (n_fft - hop) // 2 if recipe.framing == "hf" else n_fft // 2
        x = np.pad(x, amount, mode="constant" if recipe.zero_padding else "reflect")
    if recipe.peak is not None and np.abs(x).max() > 0:
        x = x / np.abs(x).max() * recipe.peak
    return x


def reference_mel(name: str, waveform: np.ndarray) -> np.ndarray:
    """Return the log-mel of a configuration, [n_frames, n_mels] float64.

    Args:
        waveform: [n_samples] at the recipe's sample rate, in full: its samples are taken as exact.
    """
    recipe = RECIPES[name]
    if recipe.framing == "snip":
        return fbank(waveform)
    spectrum = librosa.stft(
        padded(waveform, recipe),
        n_fft=recipe.n_fft,
        hop_length=recipe.hop,
        win_length=recipe.win,
        window=scipy.signal.get_window("hann", recipe.win, fftbins=not recipe.symmetric),
        center=False,
        dtype=complex,
    )
    bank = librosa.filters.mel(**{"sr": recipe.rate, "n_fft": recipe.n_fft, "dtype": np.float64, **recipe.bank})
    mel = recipe.log(bank @ recipe.spectrum(np.abs(spectrum[:, : spectrum.shape[1] - recipe.drop_last]) ** 2)).T
    if recipe.rounded:
        mel = mel[: int(np.floor(len(waveform) / recipe.hop + 0.5))]
    return mel[: len(mel) - len(mel) % 2] if recipe.even else mel
