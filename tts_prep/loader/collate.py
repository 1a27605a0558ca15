"""From utterances to one padded batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.datasets import Array
from tts_prep.loader.metadata import StoreMetadata
from tts_prep.loader.padding import Lengths, pad_sequences
from tts_prep.loader.utterances import Utterance, UtteranceDataset


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """B utterances, padded. All arrays are the caller's own.

    Attributes:
        ids: [B] the utterances' ids.
        indices: [B] int64, their rows in the whole store.
        mel: [B, T, n_mels] float32.
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

    def __repr__(self) -> str:
        waveform = "" if self.waveform is None else f", waveform {list(self.waveform.shape)}"
        return f"<Batch: mel {list(self.mel.shape)}, phonemes {list(self.phonemes.shape)}{waveform}>"


def collate(
    utterances: UtteranceDataset | Sequence[Utterance],
    *,
    mel_padding: float | Literal["silence"] = 0.0,
    waveform: bool = True,
) -> Batch:
    """Pad utterances into one batch.

    A dataset is padded straight from its maps, without an object an utterance between.

    Args:
        utterances: at least one, of one store or of stores that agree on vocabulary and mel.
        mel_padding: the value of padded mel bins, or ``"silence"``: the store's frame of digital silence.
        waveform: whether the batch has the waveforms, where the store keeps them.

    Raises:
        ConfigurationError: there is no utterance, a setting is unknown, or the stores do not agree.
        CorruptStoreError: a shard is not what the manifest or the index says.
    """
    if not len(utterances):
        raise ConfigurationError("cannot make a batch of no utterances; is the dataset empty?")
    if isinstance(mel_padding, str) and mel_padding != "silence":
        raise ConfigurationError(f"mel_padding: expected a number or 'silence', found {mel_padding!r}")
    samples: list[Array] | None = None
    speakers: list[int] | Array
    if isinstance(utterances, UtteranceDataset):
        store = utterances.metadata
        ids = list(utterances.id)
        indices = utterances.indices
        speakers = utterances.speaker.checked_codes()
        mels, phonemes = utterances.views("mel"), utterances.views("phonemes")
        if waveform and store.has_waveform:
            samples = utterances.views("waveform")
    else:
        store = _common_metadata(utterances)
        ids = [utterance.id for utterance in utterances]
        indices = np.array([utterance.index for utterance in utterances], np.int64)
        speakers = [utterance.speaker_code for utterance in utterances]
        mels = [utterance.mel for utterance in utterances]
        phonemes = [utterance.phonemes for utterance in utterances]
        kept = [utterance.waveform for utterance in utterances if utterance.waveform is not None]
        if waveform and len(kept) == len(utterances):
            samples = kept
    padding: Any = store.silence if mel_padding == "silence" else mel_padding
    mel, mel_lengths = pad_sequences(mels, padding, np.float32)
    phoneme_ids, phoneme_lengths = pad_sequences(phonemes, store.pad_id, np.int64)
    batch_samples, sample_lengths = (None, None) if samples is None else _pad_samples(samples)
    return Batch(
        ids=ids,
        indices=indices,
        mel=mel,
        mel_lengths=mel_lengths,
        phonemes=phoneme_ids,
        phoneme_lengths=phoneme_lengths,
        speakers=np.array(speakers, np.int64),
        waveform=batch_samples,
        waveform_lengths=sample_lengths,
    )


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


def _pad_samples(samples: list[Array]) -> tuple[npt.NDArray[np.float32], Lengths]:
    batch, lengths = pad_sequences(samples, 0, np.float32)
    # In place, on memory that is in the cache by now; stores keep one dtype for all of their waveforms.
    for row, array in zip(batch, samples, strict=True):
        if array.dtype == np.int16:
            row /= 32768
    return batch, lengths
