"""One object for people who prepare audio themselves: read, mel, and back for listening."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.filter_bank import dense_filter_bank
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.audio.mel import Mel, mel_spectrogram, peak_scale
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.preprocess.audio.reading import ReadingConfig, read_waveform


class AudioProcessor:
    """Audio by one recipe, with the values that a store made by the same recipe holds.

    Args:
        config: such as ``PRESETS["hifigan"]``.
        reading: what to make of channels and of silence at the ends.
    """

    def __init__(self, config: MelConfig, reading: ReadingConfig | None = None) -> None:
        self.config = config
        self.reading = reading or ReadingConfig()

    @classmethod
    def from_preset(cls, name: str) -> AudioProcessor:
        """Return a processor that reads recordings and makes mels as a preset does.

        Raises:
            ConfigurationError: there is no preset of that name.
        """
        preset = get_preset(name)
        return cls(preset.config, preset.reading)

    def read_wav(self, path: str | PathLike[str]) -> Waveform:
        """Return a recording at the recipe's sample rate and peak level, [n_samples] float32.

        Raises:
            AudioError: the file cannot be used.
        """
        waveform = read_waveform(Path(path), self.config.sample_rate, self.reading)
        return waveform * np.float32(peak_scale(waveform, self.config))

    def mel_spectrogram(self, waveform: npt.ArrayLike) -> Mel:
        """Return the log-mel spectrogram of a waveform, [n_frames, n_mels] float32.

        Args:
            waveform: [n_samples] at the recipe's sample rate, full scale ±1.

        Raises:
            AudioError: the waveform is too short to be framed.
        """
        return mel_spectrogram(waveform, self.config)

    def to_waveform(self, mel: npt.ArrayLike, n_iter: int = 32) -> Waveform:
        """Return a waveform whose mel spectrogram is close to the one given, to listen to: the phase is made up.

        The method is that of D. Griffin and J. Lim, Signal Estimation from Modified Short-Time Fourier Transform, 1984,
        as librosa has it.

        Args:
            mel: [n_frames, n_mels], as the recipe scales it.
            n_iter: iterations.

        Returns:
            [about n_frames · hop_length] float32.

        Raises:
            ConfigurationError: the mel has another number of bins than the recipe.
        """
        import librosa

        config = self.config
        values = np.asarray(mel, np.float32)
        if values.ndim != 2 or values.shape[1] != config.n_mels:
            raise ConfigurationError(f"mel: expected the shape [n_frames, {config.n_mels}], found {list(values.shape)}")
        magnitudes = config.compression.inverse(values).T
        spectrum = librosa.util.nnls(dense_filter_bank(config).astype(np.float32), magnitudes)
        return np.asarray(
            librosa.griffinlim(
                spectrum ** (1 / config.power),
                n_iter=n_iter,
                hop_length=config.hop_length,
                win_length=config.win_length,
                n_fft=config.n_fft,
                center=config.framing == "center",
                random_state=0,
            ),
            np.float32,
        )
