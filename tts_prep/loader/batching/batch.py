"""Padded utterances, as numpy arrays or as tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.loader.batching.fields import BatchFields
from tts_prep.loader.batching.padding import Lengths


@dataclass(frozen=True, eq=False, repr=False)
class Batch(BatchFields):
    """B utterances, padded. All arrays are the caller's own.

    Where a sampler fixes the shape, there may be empty utterances at the end: index −1, no id, all lengths 0.

    Fields have names too, ``batch["mel"]`` and ``batch.keys()``; see `BatchFields`.

    Attributes:
        ids: [B] the utterances' ids.
        indices: [B] int64, their rows in the whole store that each is from.
        mel: [B, T, n_mels] float32, or [B, n_mels, T] on request.
        mel_lengths: [B] int64, frames.
        phonemes: [B, L] int64, padded with the store's pad id.
        phoneme_lengths: [B] int64.
        speakers: [B] int64, speaker codes.
        waveform: [B, S] float32, from -1 to 1, padded with zeros; None where the store keeps none, or not asked for.
        waveform_lengths: [B] int64, samples; None likewise.
        arrays: name → further arrays that were asked for, padded with 0 as the mel, the phonemes or the waveform that
            they follow; ``batch.pitch`` is ``batch.arrays["pitch"]``. None where none was.
        array_lengths: name → [B] int64, for arrays with rows of their own.
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

    def __getattr__(self, name: str) -> Any:
        # Only called for what is no field.
        arrays = self.__dict__.get("arrays")
        if arrays and name in arrays:
            return arrays[name]
        raise AttributeError(f"the batch has no '{name}'; arrays that it should have are named with arrays=(…)")

    def __repr__(self) -> str:
        waveform = "" if self.waveform is None else f", waveform {list(self.waveform.shape)}"
        return f"<Batch: mel {list(self.mel.shape)}, phonemes {list(self.phonemes.shape)}{waveform}>"
