"""Mel spectrograms with zero mean and unit variance, per bin, over the corpus or over each speaker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataset.metadata import StoreMetadata

Normalization = Literal["corpus", "speaker"]


@dataclass(frozen=True, eq=False)
class MelNormalizer:
    """Subtract the mean and divide by the standard deviation; a bin that never varies is only centred.

    Attributes:
        mean: [n_mels], or [n_speakers, n_mels] for statistics by speaker; float32.
        std: likewise.
    """

    mean: npt.NDArray[np.float32]
    std: npt.NDArray[np.float32]

    @classmethod
    def of(cls, store: StoreMetadata, by: Normalization) -> MelNormalizer:
        """Take the statistics of a store.

        Raises:
            ConfigurationError: `by` is neither ``"corpus"`` nor ``"speaker"``.
        """
        if by == "corpus":
            mean, std = store.mel_mean, store.mel_std
        elif by == "speaker":
            mean, std = store.speaker_mel_mean, store.speaker_mel_std
        else:
            raise ConfigurationError(f"normalize: expected 'corpus', 'speaker' or None, found {by!r}")
        return cls(np.asarray(mean, np.float32), np.where(std > 0, std, 1).astype(np.float32))

    def parts(self, speaker: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return mean and standard deviation [n_mels] for a speaker code."""
        return (self.mean, self.std) if self.mean.ndim == 1 else (self.mean[speaker], self.std[speaker])

    def transform(self, mel: npt.NDArray[Any], speaker: int = 0) -> npt.NDArray[np.float32]:
        """Normalize a mel spectrogram [..., n_mels]."""
        mean, std = self.parts(speaker)
        normalized: npt.NDArray[np.float32] = (mel - mean) / std
        return normalized

    def inverse(self, mel: npt.NDArray[Any], speaker: int = 0) -> npt.NDArray[np.float32]:
        """Undo `transform`."""
        mean, std = self.parts(speaker)
        restored: npt.NDArray[np.float32] = mel * std + mean
        return restored
