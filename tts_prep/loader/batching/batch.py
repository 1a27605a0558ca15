"""Padded utterances, as numpy arrays or as tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tts_prep.loader.batching.fields import BatchFields
from tts_prep.loader.batching.padding import Lengths

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Batch(BatchFields["TorchBatch"]):
    """B padded utterances. The caller owns all arrays.

    With fixed shapes, a batch may end with empty utterances: index −1, id ``""``, all lengths 0.

    Fields are also available by name, as ``batch["mel"]`` and ``batch.keys()``; see `BatchFields`.

    Example:
        >>> from tts_prep.loader import UtteranceDataset, collate
        >>> batch = collate(UtteranceDataset("store")[:3])
        >>> batch
        <Batch: mel [3, 50, 5], phonemes [3, 17], waveform [3, 12561]>
        >>> batch.mel_lengths.tolist()
        [40, 45, 50]

    Attributes:
        ids: [B] the ids of the utterances.
        indices: [B] int64, the row of each utterance in its store.
        mel: [B, T, n_mels] float32, or [B, n_mels, T] on request.
        mel_lengths: [B] int64, frames.
        phonemes: [B, L] int64, padded with the store's pad id.
        phoneme_lengths: [B] int64.
        speakers: [B] int64, speaker codes.
        waveform: [B, S] float32, -1 to 1, padded with zeros; None if the store has none or it was not requested.
        waveform_lengths: [B] int64, samples; None without `waveform`.
        arrays: the requested further arrays by name, padded to the length of the mel, the phonemes or the
            waveform, depending on their axis. None if none was requested.
        array_lengths: [B] int64 by name, for arrays with an axis of their own.
    """

    indices: npt.NDArray[np.int64]
    mel: npt.NDArray[np.float32]
    mel_lengths: Lengths
    phonemes: npt.NDArray[np.int64]
    phoneme_lengths: Lengths
    speakers: npt.NDArray[np.int64]
    waveform: npt.NDArray[np.float32] | None = None
    waveform_lengths: Lengths | None = None
    arrays: dict[str, npt.NDArray[Any]] | None = None
    array_lengths: dict[str, Lengths] | None = None

    @property
    def _tensors(self) -> type[TorchBatch]:
        return TorchBatch


@dataclass(frozen=True, eq=False, repr=False)
class TorchBatch(BatchFields["TorchBatch"]):
    """A `Batch` of torch tensors, with the same fields: what ``output="torch"`` gives."""

    indices: Tensor
    mel: Tensor
    mel_lengths: Tensor
    phonemes: Tensor
    phoneme_lengths: Tensor
    speakers: Tensor
    waveform: Tensor | None = None
    waveform_lengths: Tensor | None = None
    arrays: dict[str, Tensor] | None = None
    array_lengths: dict[str, Tensor] | None = None

    @property
    def _tensors(self) -> type[TorchBatch]:
        return TorchBatch
