"""`AudioProcessor`: read recordings, compute mels, and convert mels to audio for listening."""

from __future__ import annotations

import inspect
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.compiler import import_librosa
from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.config import MelConfig, ReadingConfig
from tts_prep.preprocess.audio.filter_bank import dense_filter_bank
from tts_prep.preprocess.audio.framing import Waveform, level_factor
from tts_prep.preprocess.audio.mel import Mel, mel_spectrogram, window_of
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.preprocess.audio.reading import read_waveform

_UPDATES = 200
"""The number of updates of magnitudes; then their mel differs from the given one by less than 0.1 %."""

_LEAST = np.float32(1e-20)
"""A number above zero, for bins that no filter includes."""


class AudioProcessor:
    """Reads recordings and computes mels, with the same values as a store with these settings.

    Args:
        config: the mel settings, such as ``PRESETS["hifigan"]``.
        reading: the settings for reading recordings.
    """

    def __init__(self, config: MelConfig, reading: ReadingConfig | None = None) -> None:
        self.config = config
        self.reading = reading or ReadingConfig()

    @classmethod
    def from_preset(cls, name: str) -> AudioProcessor:
        """Return a processor with the settings of a preset.

        Raises:
            ConfigurationError: there is no preset of that name.
        """
        preset = get_preset(name)
        return cls(preset.config, preset.reading)

    def read_wav(self, path: str | PathLike[str]) -> Waveform:
        """Read a recording at the sample rate and peak of the settings, [n_samples] float32.

        Raises:
            AudioError: the file cannot be used.
        """
        waveform = read_waveform(Path(path), self.config.sample_rate, self.reading)
        return waveform * np.float32(level_factor(waveform, self.config))

    def mel_spectrogram(self, waveform: npt.ArrayLike) -> Mel:
        """Return the log-mel spectrogram of a waveform, [n_frames, n_mels] float32.

        Args:
            waveform: [n_samples] at the sample rate of the settings, full scale ±1.

        Raises:
            AudioError: the waveform is too short for the framing.
        """
        return mel_spectrogram(waveform, self.config)

    def to_waveform(self, mel: npt.ArrayLike, n_iter: int = 32) -> Waveform:
        """Return a waveform with approximately the given mel spectrogram, for listening. The phase is estimated.

        The method is that of D. Griffin and J. Lim, Signal Estimation from Modified Short-Time Fourier Transform, 1984,
        in librosa's implementation. The phase it starts from is always the same, so that the result is, too.

        Args:
            mel: [n_frames, n_mels], scaled as in the settings.
            n_iter: the number of iterations.

        Returns:
            [about n_frames · hop_length] float32, without the padding of the framing and without ``edge_zeros``.

        Raises:
            ConfigurationError: the number of bins differs from the settings, or they subtract the mean of each bin,
                which cannot be inverted.
        """
        import scipy.signal

        config = self.config
        values = np.asarray(mel, np.float32)
        if values.ndim != 2 or values.shape[1] != config.n_mels:
            raise ConfigurationError(f"mel: expected the shape [n_frames, {config.n_mels}], found {list(values.shape)}")
        if config.compression.subtract_mean:
            raise ConfigurationError("a mel without the mean of each bin (subtract_mean) cannot be made audible")
        magnitudes = config.compression.inverse(values).T
        spectrum = _without_filter_bank(magnitudes, dense_filter_bank(config).astype(np.float32))
        waveform = _griffin_lim(spectrum ** (1 / config.power), n_iter, config)
        if config.preemphasis:
            waveform = scipy.signal.lfilter([1], [1, -config.preemphasis], waveform)
        return np.asarray(waveform[_around(config) : len(waveform) - _around(config)], np.float32)


def _without_filter_bank(mel: npt.NDArray[np.float32], bank: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return magnitudes that are not negative, [n_fft / 2 + 1, n_frames], whose mel is approximately the given one.

    By the multiplicative updates of D. Lee and H. Seung, Algorithms for Non-negative Matrix Factorization, 2000. The
    solver of librosa 1.0 ends early, and needs more than a minute for a second of audio with some filter banks.

    Args:
        mel: [n_mels, n_frames], before the logarithm.
        bank: [n_mels, n_fft / 2 + 1].
    """
    wanted, gram = bank.T @ mel, bank.T @ bank
    spectrum: npt.NDArray[np.float32] = np.maximum(wanted, _LEAST)
    for _ in range(_UPDATES):
        spectrum *= wanted / np.maximum(gram @ spectrum, _LEAST)
    return spectrum


def _around(config: MelConfig) -> int:
    """Return the number of samples that framing and ``edge_zeros`` add at each end of what librosa inverts."""
    span = {"center": config.n_fft, "snip": config.win_length}.get(config.framing, config.hop_length)
    return (config.n_fft - span) // 2 + config.edge_zeros


def _griffin_lim(spectrum: npt.NDArray[np.float32], n_iter: int, config: MelConfig) -> npt.NDArray[np.float32]:
    """Return a waveform with these magnitudes, [n_fft / 2 + 1, n_frames]."""
    librosa = import_librosa()
    # Renamed in librosa 1.0.
    name = "rng" if "rng" in inspect.signature(librosa.griffinlim).parameters else "random_state"
    seed: dict[str, Any] = {name: 0}
    waveform: npt.NDArray[np.float32] = librosa.griffinlim(
        spectrum,
        n_iter=n_iter,
        hop_length=config.hop_length,
        win_length=config.win_length,
        n_fft=config.n_fft,
        window=window_of(config),
        center=config.framing == "center",
        **seed,
    )
    return waveform
