"""Normalization of mels to zero mean and unit variance, by corpus or by speaker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataset.metadata import StoreMetadata

Normalization = Literal["corpus", "speaker"]


@dataclass(frozen=True, eq=False, repr=False)
class MelNormalizer:
    """Subtract the mean and divide by the standard deviation; constant bins are only centred.

    Example:
        >>> from tts_prep.loader import MelNormalizer, UtteranceDataset, collate
        >>> dataset = UtteranceDataset("store")
        >>> normalizer = MelNormalizer.of(dataset.metadata, by="corpus")
        >>> batch = collate(dataset[:2], normalize="corpus")
        >>> bool((abs(normalizer.inverse(batch.mel[0, :40]) - dataset[0].mel) < 1e-6).all())
        True

    Attributes:
        mean: [n_mels], or [n_speakers, n_mels] with statistics by speaker; float32.
        std: the same shape and dtype; 1 for constant bins.
    """

    mean: npt.NDArray[np.float32]
    std: npt.NDArray[np.float32]

    @classmethod
    def of(cls, store: StoreMetadata, by: Normalization) -> MelNormalizer:
        """Return a normalizer with the statistics of a store.

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

    def statistics(self, speaker: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return mean and standard deviation [n_mels] for a speaker code."""
        return (self.mean, self.std) if self.mean.ndim == 1 else (self.mean[speaker], self.std[speaker])

    def __repr__(self) -> str:
        by = "corpus" if self.mean.ndim == 1 else f"{len(self.mean):,} speakers"
        return f"<MelNormalizer: {self.mean.shape[-1]} mel bins, by {by}>"

    def transform(self, mel: npt.NDArray[Any], speaker: int = 0) -> npt.NDArray[np.float32]:
        """Normalize a mel spectrogram [..., n_mels]."""
        mean, std = self.statistics(speaker)
        normalized: npt.NDArray[np.float32] = (mel - mean) / std
        return normalized

    def inverse(self, mel: npt.NDArray[Any], speaker: int = 0) -> npt.NDArray[np.float32]:
        """Undo `transform`."""
        mean, std = self.statistics(speaker)
        restored: npt.NDArray[np.float32] = mel * std + mean
        return restored


def normalize_rows(
    rows: npt.NDArray[np.float32],
    lengths: Iterable[int],
    stores: Iterable[StoreMetadata],
    speakers: Iterable[int],
    by: Normalization,
) -> None:
    """Normalize mels in place, each with the statistics of its own store.

    Args:
        rows: [B, T, n_mels].
        lengths: [B] the number of frames of each row to normalize.
        stores: [B] the store of each row.
        speakers: [B] speaker codes.
        by: see `MelNormalizer.of`.
    """
    for row, length, store, speaker in zip(rows, lengths, stores, speakers, strict=False):
        mean, std = _normalizer_of(store, by).statistics(int(speaker))
        row[:length] -= mean
        row[:length] /= std


# The statistics of thousands of speakers take as long to convert as a batch to make. A store that is no longer used is
# forgotten.
_normalizers: Final[WeakKeyDictionary[StoreMetadata, dict[str, MelNormalizer]]] = WeakKeyDictionary()


def _normalizer_of(store: StoreMetadata, by: Normalization) -> MelNormalizer:
    made = _normalizers.setdefault(store, {})
    if by not in made:
        made[by] = MelNormalizer.of(store, by)
    return made[by]
