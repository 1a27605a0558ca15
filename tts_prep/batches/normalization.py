"""Normalization of arrays besides the mel to zero mean and unit variance, by corpus or by speaker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataset.utterances import UtteranceDataset


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
