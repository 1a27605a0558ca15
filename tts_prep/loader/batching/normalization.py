"""Normalization of mels and other arrays to zero mean and unit variance, by corpus or by speaker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.utterances import UtteranceDataset

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


@dataclass(frozen=True, eq=False, repr=False)
class ArrayNormalizer:
    """Normalize an array by its mean and standard deviation, over the corpus or over each speaker.

    Example:
        >>> from tts_prep.loader import ArrayNormalizer, UtteranceDataset
        >>> dataset = UtteranceDataset("store")
        >>> normalizer = ArrayNormalizer.of(dataset, "mel", by="speaker", over="selection")
        >>> normalizer.transform(dataset[0].mel, dataset[0].speaker_code).shape
        (40, 5)

    Attributes:
        mean, std: ``[*row_shape]``, or ``[n_speakers, *row_shape]`` by speaker; float32. For constant values, std is 1.
        by_speaker: the statistics are by speaker.
        keep_zeros: keep zeros unchanged: in pitch they are unvoiced frames, as in FastPitch.
    """

    mean: npt.NDArray[np.float32]
    std: npt.NDArray[np.float32]
    by_speaker: bool
    keep_zeros: bool

    @classmethod
    def of(cls, dataset: UtteranceDataset, name: str, by: str = "corpus", over: str = "store") -> ArrayNormalizer:
        """Return a normalizer with the statistics of an array of a store; those of pitch are over voiced frames.

        Args:
            by: ``"corpus"`` or ``"speaker"``.
            over: ``"store"``, or ``"selection"``: the utterances of the dataset only, whose rows are read.

        Raises:
            ConfigurationError: the store has no such array, or `by` or `over` is neither.
        """
        if by not in ("corpus", "speaker"):
            raise ConfigurationError(f"by: expected 'corpus' or 'speaker', found {by!r}")
        if over not in ("store", "selection"):
            raise ConfigurationError(f"over: expected 'store' or 'selection', found {over!r}")
        statistics = dataset.statistics(name) if over == "store" else dataset.selection_statistics(name)
        mean, std = statistics.mean, statistics.std
        if by == "speaker":
            mean, std = statistics.speaker_mean, statistics.speaker_std
        return cls(
            np.asarray(mean, np.float32), np.where(std > 0, std, 1).astype(np.float32), by == "speaker", name == "pitch"
        )

    def __repr__(self) -> str:
        by = f"{len(self.mean):,} speakers" if self.by_speaker else "corpus"
        return f"<ArrayNormalizer: by {by}>"

    def transform(self, values: npt.ArrayLike, speaker: int = 0) -> npt.NDArray[np.float32]:
        """Return normalized values ``[n, *row_shape]``.

        Args:
            speaker: the speaker code; used with statistics by speaker only.
        """
        rows = np.asarray(values, np.float32)
        mean, std = (self.mean[speaker], self.std[speaker]) if self.by_speaker else (self.mean, self.std)
        normalized = np.asarray((rows - mean) / std, np.float32)
        return np.where(rows == 0, np.float32(0), normalized) if self.keep_zeros else normalized
