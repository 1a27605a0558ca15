"""F5-TTS' dataset, collate function and batch sampler, reading a store instead of an arrow file.

In its ``train.py`` and ``trainer.py``, import `load_f5tts_dataset` as ``load_dataset``, `DynamicBatchSampler`, and
`collate_f5tts` as ``collate_fn`` instead of those of ``f5_tts.model.dataset``, and pass the store as the name of the
dataset.

Texts are those of the corpus. For the tokenizer ``pinyin``, F5-TTS' preparation converts texts by its
``convert_char_to_pinyin``, and a model takes Chinese characters for unknown symbols: apply that function to
``batch["text"]`` in a function around `collate_f5tts`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep.batches.composition import DatasetMixin
from tts_prep.errors import ConfigurationError
from tts_prep.loader.batch_info import BatchInfo, BatchItems
from tts_prep.loader.batching.padding import pad_spectrograms
from tts_prep.loader.batching.tensors import to_tensors
from tts_prep.loader.dataset.identity import stores_of
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.randomness import check_seed, digest, permutation
from tts_prep.loader.samplers.base import Sampler
from tts_prep.recipes.accepted import F5_TTS, F5_TTS_BIGVGAN, Recipe, Settings, as_read, check_store
from tts_prep.recipes.stores import dataset_of

_SHORTEST, _LONGEST = 0.3, 30.0
"""The minimum and maximum duration of F5-TTS' training utterances, seconds."""

_RECIPES: Mapping[str, tuple[Recipe, Mapping[str, Any]]] = {
    "vocos": (F5_TTS, {}),
    "bigvgan": (F5_TTS_BIGVGAN, {"peak": None, "resampler": "torchaudio"}),
}
"""``mel_spec_type`` → the recipe, and settings in which F5-TTS differs from its preset."""

FLOOR = math.log(1e-5)
"""F5-TTS' smallest log-mel value; that of Vocos is log(1e-7)."""


class F5TTSDataset(DatasetMixin):
    """Mels and texts, as F5-TTS' ``F5TTSDataset``: ``{"mel_spec": [n_mels, T] float32 tensor, "text": text}``.

    As in F5-TTS, an utterance shorter than 0.3 or longer than 30 seconds is replaced by the next usable one; `replaced`
    lists the positions.

    Args:
        custom_dataset: a store, a selection of one, or a chain of several; preset ``f5-tts``, or ``vocos``,
            whose floor is lower.
        durations: the duration of each utterance in seconds; defaults to those of the store.
        target_sample_rate: Hz. This and the following settings must equal those of the store.
        hop_length: samples.
        n_mel_channels: mel bins.
        n_fft: samples.
        win_length: samples.
        mel_spec_type: ``"vocos"`` or ``"bigvgan"``: the vocoder whose mels the store has.
        preprocessed_mel: ignored: the mels are those of the store.
        mel_spec_module: ignored.
        settings: ``"preset"`` requires a store with all settings of the preset, but for those given above; ``"any"``
            accepts every store.

    Raises:
        ConfigurationError: the store has other settings, or no utterance has a usable duration.
    """

    def __init__(
        self,
        custom_dataset: Any,
        durations: Sequence[float] | None = None,
        target_sample_rate: int = 24_000,
        hop_length: int = 256,
        n_mel_channels: int = 100,
        n_fft: int = 1024,
        win_length: int = 1024,
        mel_spec_type: str = "vocos",
        preprocessed_mel: bool = False,  # noqa: ARG002
        mel_spec_module: Any = None,  # noqa: ARG002
        *,
        settings: Settings = "preset",
    ) -> None:
        dataset = dataset_of(custom_dataset)
        if mel_spec_type not in _RECIPES:
            raise ConfigurationError(f"mel_spec_type: expected 'vocos' or 'bigvgan', found {mel_spec_type!r}")
        recipe, more = _RECIPES[mel_spec_type]
        given = {
            "sample_rate": target_sample_rate,
            "n_fft": n_fft,
            "win_length": win_length,
            "hop_length": hop_length,
            "n_mels": n_mel_channels,
            "fmax": target_sample_rate / 2,
            **more,
        }
        for store in stores_of(dataset):
            check_store(recipe, store, given, settings)
        self.data = dataset
        self.target_sample_rate = target_sample_rate
        self.hop_length = hop_length
        self.durations = np.asarray(dataset.seconds if durations is None else durations, np.float64)
        if self.durations.shape != (len(dataset),):
            raise ConfigurationError(
                f"durations: expected one for each of the {len(dataset):,} utterances, found {self.durations.size:,}"
            )
        usable = (self.durations >= _SHORTEST) & (self.durations <= _LONGEST)
        self.replaced = np.flatnonzero(~usable).tolist()
        if not usable.any():
            raise ConfigurationError(f"no utterance of {dataset} is from {_SHORTEST} to {_LONGEST:g} seconds long")
        self._usable = np.flatnonzero(usable)

    def __len__(self) -> int:
        return len(self.data)

    def _bases(self) -> Sequence[Any]:
        return (self.data,)

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of the stores, without speakers and vocabularies."""
        return as_read(stores_of(self.data), ids=False)

    def _fingerprint_settings(self) -> dict[str, Any]:
        return {"durations": digest(self.durations)}

    def get_frame_len(self, index: int) -> float:
        """Return the length of an utterance in frames, as F5-TTS computes it for its batches."""
        return float(self.durations[index]) * self.target_sample_rate / self.hop_length

    def get_example(self, i: int) -> dict[str, Any]:
        """Return the example at a position."""
        # The next usable utterance; after the last, the first.
        place = np.searchsorted(self._usable, i)
        utterance = self.data[int(self._usable[place % len(self._usable)])]
        mel = np.maximum(utterance.mel.T, np.float32(FLOOR), dtype=np.float32, order="C")
        return {"mel_spec": to_tensors(mel), "text": utterance.text}


def load_f5tts_dataset(
    dataset_name: str | Path,
    tokenizer: str = "pinyin",  # noqa: ARG001
    dataset_type: str = "CustomDataset",
    audio_type: str = "raw",  # noqa: ARG001
    mel_spec_module: Any = None,  # noqa: ARG001
    mel_spec_kwargs: Mapping[str, Any] | None = None,
    *,
    settings: Settings = "preset",
) -> F5TTSDataset:
    """Return the dataset of a store.

    Args:
        dataset_name: the store.
        tokenizer: ignored.
        dataset_type: ``"CustomDataset"`` or ``"CustomDatasetPath"``.
        audio_type: ignored.
        mel_spec_module: ignored.
        mel_spec_kwargs: settings of `F5TTSDataset`.
        settings: see `F5TTSDataset`.

    Raises:
        ConfigurationError: see `F5TTSDataset`; or `dataset_type` is unknown.
    """
    if dataset_type not in ("CustomDataset", "CustomDatasetPath"):
        raise ConfigurationError(
            f"dataset_type: expected 'CustomDataset' or 'CustomDatasetPath', found {dataset_type!r}"
        )
    return F5TTSDataset(dataset_name, **(mel_spec_kwargs or {}), settings=settings)


def collate_f5tts(batch: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Pad examples of `F5TTSDataset` with zeros.

    Returns a dict: ``mel`` [B, n_mels, T] float32, ``mel_lengths`` [B] int64, ``text``, a list, and ``text_lengths``
    [B] int64, characters.
    """
    mel, mel_lengths = pad_spectrograms([example["mel_spec"] for example in batch])
    text = [example["text"] for example in batch]
    lengths = np.array([len(one) for one in text], np.int64)
    mel, mel_lengths, lengths = to_tensors((mel, mel_lengths, lengths))
    return {"mel": mel, "mel_lengths": mel_lengths, "text": text, "text_lengths": lengths}


class DynamicBatchSampler(Sampler[list[int]]):
    """Batches limited by their number of frames, of utterances sorted by length, as F5-TTS' ``DynamicBatchSampler``.

    The batches are the same in every epoch; with a seed, their order changes. Utterances longer than the threshold are
    dropped.

    Args:
        sampler: a sampler of positions such as torch's ``SequentialSampler``, whose `data_source` has `get_frame_len`.
        frames_threshold: the maximum number of frames per batch, without padding.
        max_samples: the maximum number of utterances per batch; 0 means no limit.
        random_seed: a non-negative integer; None keeps the batches sorted by length.
        drop_residual: drop the last batch.

    Attributes:
        batches: lists of positions, sorted by length.

    Raises:
        ConfigurationError: the seed is negative.
    """

    def __init__(
        self,
        sampler: Any,
        frames_threshold: int,
        max_samples: int = 0,
        random_seed: int | None = None,
        drop_residual: bool = False,
    ) -> None:
        super().__init__()
        self.random_seed = None if random_seed is None else check_seed(random_seed)
        self.drop_last = True
        lengths = [(position, sampler.data_source.get_frame_len(position)) for position in sampler]
        lengths.sort(key=lambda pair: pair[1])
        self.batches: list[list[int]] = []
        batch: list[int] = []
        frames = 0.0
        for position, length in lengths:
            full = max_samples and len(batch) >= max_samples
            if batch and (full or frames + length > frames_threshold):
                self.batches.append(batch)
                batch, frames = [], 0.0
            if length <= frames_threshold:
                batch.append(position)
                frames += length
        if batch and not drop_residual:
            self.batches.append(batch)

    @property
    def size(self) -> None:
        """None: some positions may be dropped."""
        return

    def order(self, epoch: int) -> Iterator[list[int]]:
        """Iterate over the batches of an epoch."""
        n = len(self.batches)
        numbers = np.arange(n) if self.random_seed is None else permutation(n, self.random_seed, epoch)
        info = BatchInfo(epoch)
        return (BatchItems(self.batches[number], info) for number in numbers.tolist())

    def _order_size(self, epoch: int) -> int:  # noqa: ARG002
        """Return the number of batches of an epoch."""
        return len(self.batches)

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        flat = [position for batch in self.batches for position in [*batch, -1]]
        return {"batches": digest(np.array(flat, np.int64)), "seed": self.random_seed}
