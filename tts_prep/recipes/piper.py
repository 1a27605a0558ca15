"""Piper's dataset and collate function, reading a store instead of wav files and a cache.

In piper1-gpl's ``piper/train/vits/dataset.py``, make the datasets of ``setup`` from `PiperDataset`, and use
`PiperCollate` as ``UtteranceCollate``. ``tts-prep export STORE FOLDER --to piper`` writes the list and the recordings
for an unchanged Piper instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tts_prep.errors import ConfigurationError
from tts_prep.loader.batching.buffers import RecycledBuffers
from tts_prep.loader.batching.padding import pad_sequences, pad_spectrograms
from tts_prep.loader.batching.tensors import to_tensors
from tts_prep.recipes.accepted import PIPER, Settings, check_store
from tts_prep.recipes.stores import DirectExamples, StoreExamples, arrays_of, dataset_of
from tts_prep.recipes.vits import spectrogram_of


@dataclass
class PiperUtterance:
    """An example: ``phoneme_ids`` [L] int64, ``spectrogram`` [F, T] and ``audio_norm`` [N] float32, tensors.

    ``speaker_id`` is a tensor [1] int64, or None if the store has one speaker in all; ``text`` is the text.
    """

    phoneme_ids: Any
    spectrogram: Any
    audio_norm: Any
    speaker_id: Any = None
    text: str | None = None


@dataclass
class PiperBatch:
    """A batch, the longest spectrogram first: tensors with the names of Piper's ``Batch``.

    ``phoneme_ids`` [B, L] int64, ``spectrograms`` [B, F, T] float32, ``audios`` [B, 1, N] float32, the lengths of each
    [B] int64, and ``speaker_ids`` [B] int64 or None.
    """

    phoneme_ids: Any
    phoneme_lengths: Any
    spectrograms: Any
    spectrogram_lengths: Any
    audios: Any
    audio_lengths: Any
    speaker_ids: Any = None


class PiperDataset(StoreExamples, DirectExamples):
    """Utterances of a store as Piper's ``VitsDataset`` has them; see `PiperUtterance`.

    Ids have Piper's ``^`` and ``$`` at the ends and its pad between all symbols. Piper phonemizes each sentence of a
    text by itself, with ``^`` and ``$``; here, they are at the ends of the text.

    Args:
        store: a store, a selection of one, or a chain of several, built with ``--preset piper --symbols piper
            --blanks between`` and waveforms.
        sample_rate: Hz.
        filter_length, hop_length, win_length: samples.
        settings: ``"preset"`` requires a store with the waveforms of the preset ``piper`` and with Piper's ids;
            ``"any"`` accepts every store.

    Raises:
        ConfigurationError: the store has other settings, or no waveforms.
    """

    def __init__(
        self,
        store: Any,
        sample_rate: int = 22_050,
        filter_length: int = 1024,
        hop_length: int = 256,
        win_length: int = 1024,
        *,
        settings: Settings = "preset",
    ) -> None:
        self.store = dataset_of(store)
        given = {"sample_rate": sample_rate, "fmax": sample_rate / 2}
        for one in self.stores():
            check_store(PIPER, one, given, settings)
        self._sizes = filter_length, hop_length, win_length

    @property
    def speaker_id_map(self) -> dict[str, int]:
        """Speaker → id, as Piper's configuration of a voice has it.

        The id is the index into the speakers of the store, or of the chain, so that selections for training and
        validation number them alike.
        """
        return {name: code for code, name in enumerate(self.store.speakers)}

    def _fingerprint_settings(self) -> dict[str, Any]:
        return {"sizes": list(self._sizes)}

    def get_example(self, i: int) -> PiperUtterance:
        """Return the example at a position."""
        made = self._arrays(i)
        spectrogram = np.array(made.spectrogram.T).T
        return PiperUtterance(*to_tensors((made.phoneme_ids, spectrogram, made.audio_norm, made.speaker_id, made.text)))

    def _arrays(self, i: int) -> PiperUtterance:
        """Return the example at a position, with arrays instead of tensors."""
        utterance = self.store[i]
        return PiperUtterance(
            utterance.phonemes.astype(np.int64),
            spectrogram_of(utterance, *self._sizes),
            utterance.audio,
            np.array([utterance.speaker_code], np.int64) if len(utterance.store.speakers) > 1 else None,
            utterance.text,
        )


class PiperCollate:
    """Pad examples of `PiperDataset` with zeros, as Piper's ``UtteranceCollate``; see `PiperBatch`.

    Args:
        is_multispeaker: require speaker ids.
        segment_size: the minimum length of waveforms in samples, to which they are padded.
    """

    def __init__(self, is_multispeaker: bool, segment_size: int) -> None:
        self.is_multispeaker = is_multispeaker
        self.segment_size = segment_size
        self._buffers = RecycledBuffers()

    def __call__(self, utterances: Sequence[PiperUtterance]) -> PiperBatch:
        """Return the batch.

        Raises:
            ConfigurationError: an example has no speaker id, and `is_multispeaker` is True.
        """
        rows = sorted(arrays_of(utterances), key=lambda utterance: -utterance.spectrogram.shape[1])
        has_speakers = all(row.speaker_id is not None for row in rows)
        if self.is_multispeaker and not has_speakers:
            raise ConfigurationError("is_multispeaker: the store has one speaker, and no speaker ids")
        audios, audio_lengths = pad_sequences([row.audio_norm for row in rows], 0, np.float32, buffers=self._buffers)
        missing = self.segment_size - audios.shape[1]
        if missing > 0:
            audios = np.pad(audios, ((0, 0), (0, missing)))
        speakers = np.array([int(row.speaker_id[0]) for row in rows], np.int64) if self.is_multispeaker else None
        ids, id_lengths = pad_sequences([row.phoneme_ids for row in rows], 0, np.int64)
        spectrograms, lengths = pad_spectrograms([row.spectrogram for row in rows], buffers=self._buffers)
        arrays = ids, id_lengths, spectrograms, lengths, audios[:, np.newaxis], audio_lengths
        batch = PiperBatch(*to_tensors(arrays))
        batch.speaker_ids = None if speakers is None else to_tensors(speakers)
        return batch
