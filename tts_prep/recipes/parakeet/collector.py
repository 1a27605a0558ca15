"""Parakeet's batches for Transformer TTS: ids, mels and stop probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.recipes.accepted import PARAKEET, ChecksStores, Settings, StoreCheck
from tts_prep.recipes.parakeet.batches import batch_spec, batch_text_id


def stop_probabilities(n_frames: int) -> npt.NDArray[np.int64]:
    """Return an array [n_frames] of ones whose last value is 2.

    Example:
        >>> from tts_prep.recipes import stop_probabilities
        >>> stop_probabilities(4).tolist()
        [1, 1, 1, 2]
    """
    stops = np.ones(n_frames, np.int64)
    stops[-1:] = 2
    return stops


class LJSpeechCollector(ChecksStores):
    """Batch examples of ids, mel and stop probabilities.

    Example:
        >>> from tts_prep.loader import DataLoader, UtteranceDataset
        >>> from tts_prep.recipes import LJSpeechCollector
        >>> dataset = UtteranceDataset("store")
        >>> loader = DataLoader(dataset, batch_size=2, collate_fn=LJSpeechCollector(settings="any"))
        >>> ids, mels, stops = next(iter(loader))
        >>> mels.shape, stops.shape
        ((2, 45, 5), (2, 45))

    Args:
        padding_idx: the padding value of ids and stop probabilities.
        padding_value: the padding value of mels.
        settings: ``"preset"`` requires utterances of stores with all settings of the preset ``parakeet``; ``"any"``
            accepts every store.
    """

    def __init__(self, padding_idx: int = 0, padding_value: float = 0.0, *, settings: Settings = "preset") -> None:
        self.padding_idx = padding_idx
        self.padding_value = padding_value
        self._check = StoreCheck(PARAKEET, settings)

    def __call__(
        self, examples: UtteranceDataset | Sequence[Any]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Return ids [B, L] int64, mels [B, T, F] float32 and stop probabilities [B, T] int64.

        Args:
            examples: utterances of a store, or tuples of ids [L], mel [F, T] and stop probabilities [T].

        Raises:
            ConfigurationError: a store has other settings.
        """
        every = list(examples)
        self._check(every)
        triples = [_triple(example) for example in every]
        ids = batch_text_id([ids for ids, _, _ in triples], pad_id=self.padding_idx)
        mels = batch_spec([mel for _, mel, _ in triples], pad_value=self.padding_value, time_major=True)
        stops = batch_text_id([stops for _, _, stops in triples], pad_id=self.padding_idx)
        return ids, mels, stops


def _triple(example: Any) -> tuple[Any, Any, Any]:
    if isinstance(example, Utterance):
        return example.phonemes, example.mel, stop_probabilities(len(example.mel))
    ids, mel, stops = example
    return ids, np.transpose(mel), stops
