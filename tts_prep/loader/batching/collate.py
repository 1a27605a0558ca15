"""From utterances to one padded batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.datasets import Array
from tts_prep.loader.batching.buffers import Buffers, FreshBuffers
from tts_prep.loader.batching.normalization import MelNormalizer, Normalization
from tts_prep.loader.batching.padding import Lengths, fill
from tts_prep.loader.batching.tensors import to_tensors
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.utterances import Utterance, UtteranceDataset
from tts_prep.loader.samplers.shapes import BatchShape


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """B utterances, padded. All arrays are the caller's own.

    Where a sampler fixes the shape, there may be empty utterances at the end: index −1, no id, all lengths 0.

    Attributes:
        ids: [B] the utterances' ids.
        indices: [B] int64, their rows in the whole store.
        mel: [B, T, n_mels] float32, or [B, n_mels, T] on request.
        mel_lengths: [B] int64, frames.
        phonemes: [B, L] int64, padded with the store's pad id.
        phoneme_lengths: [B] int64.
        speakers: [B] int64, speaker codes.
        waveform: [B, S] float32, from -1 to 1, padded with zeros; None where the store keeps none, or not asked for.
        waveform_lengths: [B] int64, samples; None likewise.
    """

    ids: list[str]
    indices: npt.NDArray[np.int64]
    mel: npt.NDArray[np.float32]
    mel_lengths: Lengths
    phonemes: npt.NDArray[np.int64]
    phoneme_lengths: Lengths
    speakers: npt.NDArray[np.int64]
    waveform: npt.NDArray[np.float32] | None = None
    waveform_lengths: Lengths | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, less those that are None."""
        return {part.name: value for part in fields(self) if (value := getattr(self, part.name)) is not None}

    def torch(self) -> Batch:
        """Return the batch with torch tensors on the same memory in the place of arrays.

        Raises:
            ConfigurationError: torch is not installed.
        """
        return replace(self, **to_tensors(self.as_dict()))

    def __repr__(self) -> str:
        waveform = "" if self.waveform is None else f", waveform {list(self.waveform.shape)}"
        return f"<Batch: mel {list(self.mel.shape)}, phonemes {list(self.phonemes.shape)}{waveform}>"


@dataclass(frozen=True)
class Collator:
    """Pad utterances into one `Batch`: what `collate` does, with its settings.

    A dataset is padded straight from its maps, without an object an utterance between.

    Attributes:
        mel_padding: the value of padded mel bins, after any normalization, or ``"silence"``: the store's frame of
            digital silence.
        waveform: whether the batch has the waveforms, where the store keeps them.
        normalize: ``"corpus"`` or ``"speaker"``: mels with zero mean and unit variance per bin, by the statistics of
            the whole store or of each utterance's speaker.
        time_major: [B, T, n_mels]; False makes [B, n_mels, T].
        pad_to_multiple: of frames; the padded length of mels is a multiple of it.
        buffers: where the batch's memory comes from; None allocates it.
    """

    mel_padding: float | Literal["silence"] = 0.0
    waveform: bool = True
    normalize: Normalization | None = None
    time_major: bool = True
    pad_to_multiple: int = 1
    buffers: Buffers | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.mel_padding, str) and self.mel_padding != "silence":
            raise ConfigurationError(f"mel_padding: expected a number or 'silence', found {self.mel_padding!r}")
        if self.normalize not in (None, "corpus", "speaker"):
            raise ConfigurationError(f"normalize: expected 'corpus', 'speaker' or None, found {self.normalize!r}")
        if self.pad_to_multiple < 1:
            raise ConfigurationError(f"pad_to_multiple: expected a number from 1 on, found {self.pad_to_multiple}")

    def __call__(self, utterances: UtteranceDataset | Sequence[Utterance]) -> Batch:
        """Pad utterances into one batch.

        Raises:
            ConfigurationError: there is no utterance, or they are of stores that do not agree.
            CorruptStoreError: a shard is not what the manifest or the index says.
        """
        if not len(utterances):
            raise ConfigurationError("cannot make a batch of no utterances; is the dataset empty?")
        if isinstance(utterances, UtteranceDataset):
            parts = _dataset_parts(utterances, self)
        else:
            parts = _utterance_parts(utterances, self)
        buffers = self.buffers or FreshBuffers()
        size, lengths = (len(parts.ids), {}) if parts.shape is None else (parts.shape.size, parts.shape.lengths)
        mel, mel_lengths = self._mels(parts, size, lengths.get("n_frames", 0), buffers)
        phonemes, phoneme_lengths = fill(
            parts.phonemes, size, lengths.get("n_phonemes", 0), parts.store.pad_id, np.int64, buffers
        )
        waveform = waveform_lengths = None
        if parts.samples is not None:
            waveform, waveform_lengths = fill(parts.samples, size, lengths.get("n_samples", 0), 0, np.float32, buffers)
            if parts.samples[0].dtype == np.int16:
                for row, length in zip(waveform, waveform_lengths.tolist(), strict=True):
                    # In place, on memory that is in the cache by now.
                    row[:length] *= np.float32(1 / 32768)
        empty = size - len(parts.ids)
        return Batch(
            ids=[*parts.ids, *[""] * empty],
            indices=_filled(parts.indices, empty, -1),
            mel=mel,
            mel_lengths=mel_lengths,
            phonemes=phonemes,
            phoneme_lengths=phoneme_lengths,
            speakers=_filled(parts.speakers, empty, 0),
            waveform=waveform,
            waveform_lengths=waveform_lengths,
        )

    def _mels(self, parts: _Parts, size: int, longest: int, buffers: Buffers) -> tuple[Array, Lengths]:
        padding: Any = parts.store.silence if self.mel_padding == "silence" else self.mel_padding
        if self.time_major and self.normalize is None:
            return fill(parts.mels, size, longest, padding, np.float32, buffers, self.pad_to_multiple)
        lengths = np.zeros(size, np.int64)
        lengths[: len(parts.mels)] = [len(mel) for mel in parts.mels]
        longest = max(longest, int(lengths.max()))
        longest += -longest % self.pad_to_multiple
        n_mels = parts.store.n_mels
        batch = buffers.take((size, longest, n_mels) if self.time_major else (size, n_mels, longest), np.float32)
        rows = batch if self.time_major else batch.transpose(0, 2, 1)
        normalizer = None if self.normalize is None else MelNormalizer.of(parts.store, self.normalize)
        for row, mel, speaker in zip(rows, parts.mels, parts.speakers, strict=False):
            n = len(mel)
            filler = padding
            if normalizer is None:
                row[:n] = mel
            else:
                mean, std = normalizer.parts(int(speaker))
                np.subtract(mel, mean, out=row[:n])
                row[:n] /= std
                if self.mel_padding == "silence":
                    filler = (padding - mean) / std
            if n < longest:
                row[n:] = filler
        rows[len(parts.mels) :] = padding
        return batch, lengths


def collate(
    utterances: UtteranceDataset | Sequence[Utterance],
    *,
    mel_padding: float | Literal["silence"] = 0.0,
    waveform: bool = True,
    normalize: Normalization | None = None,
    time_major: bool = True,
    pad_to_multiple: int = 1,
) -> Batch:
    """Pad utterances into one batch; the settings are those of `Collator`.

    Args:
        utterances: at least one, of one store or of stores that agree on vocabulary and mel.

    Raises:
        ConfigurationError: there is no utterance, a setting is unknown, or the stores do not agree.
        CorruptStoreError: a shard is not what the manifest or the index says.
    """
    return Collator(mel_padding, waveform, normalize, time_major, pad_to_multiple)(utterances)


@dataclass(frozen=True, eq=False)
class _Parts:
    """What goes into a batch, not padded yet."""

    store: StoreMetadata
    ids: list[str]
    indices: Array
    speakers: Array
    mels: list[Array]
    phonemes: list[Array]
    samples: list[Array] | None
    shape: BatchShape | None


def _dataset_parts(dataset: UtteranceDataset, collator: Collator) -> _Parts:
    store, columns = dataset.metadata, dataset.columns
    return _Parts(
        store,
        list(columns.id),
        dataset.indices,
        columns.speaker.checked_codes(),
        dataset.views("mel"),
        dataset.views("phonemes"),
        dataset.views("waveform") if collator.waveform and store.has_waveform else None,
        dataset.batch_shape,
    )


def _utterance_parts(utterances: Sequence[Utterance], collator: Collator) -> _Parts:
    samples = [utterance.waveform for utterance in utterances if utterance.waveform is not None]
    return _Parts(
        _common_metadata(utterances),
        [utterance.id for utterance in utterances],
        np.array([utterance.index for utterance in utterances], np.int64),
        np.array([utterance.speaker_code for utterance in utterances], np.int64),
        [utterance.mel for utterance in utterances],
        [utterance.phonemes for utterance in utterances],
        samples if collator.waveform and len(samples) == len(utterances) else None,
        None,
    )


def _filled(values: Array, empty: int, value: int) -> Array:
    if not empty:
        return np.array(values, np.int64)
    return np.concatenate([values, np.full(empty, value, np.int64)], dtype=np.int64)


def _common_metadata(utterances: Sequence[Utterance]) -> StoreMetadata:
    first = utterances[0].store
    for utterance in utterances:
        store = utterance.store
        if store is first:
            continue
        # Codes and ids of another table would look right and mean something else.
        if _codes(store) != _codes(first) or not np.array_equal(store.silence, first.silence):
            raise ConfigurationError(
                f"utterance '{utterance.id}' is from a store with another vocabulary, speaker table or mel than "
                f"'{utterances[0].id}'; they cannot be in one batch"
            )
    return first


def _codes(store: StoreMetadata) -> tuple[object, ...]:
    return (store.symbols, store.pad_id, store.speakers, store.n_mels, store.sample_rate, store.hop_length)
