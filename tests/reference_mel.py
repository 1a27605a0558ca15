"""Mel spectrograms worked out independently, in float64, with librosa."""

from __future__ import annotations

import librosa
import numpy as np

from tts_prep.preprocess.audio import MelConfig


def reference_parakeet(waveform: np.ndarray, config: MelConfig) -> np.ndarray:
    """Return the log-mel of the recipe ``parakeet``, [n_frames, n_mels] float64."""
    x = np.asarray(waveform, np.float64)
    x = x / np.abs(x).max() * 0.999
    x = np.pad(x, 512, mode="reflect")
    magnitude = np.abs(librosa.stft(x, n_fft=1024, hop_length=256, win_length=1024, center=False, dtype=complex))
    bank = librosa.filters.mel(sr=config.sample_rate, n_fft=1024, n_mels=80, fmin=0, fmax=8000, dtype=np.float64)
    return np.log(np.maximum(bank @ magnitude, 1e-5)).T
