"""Batches for a WaveNet vocoder: random clips of audio that start at a frame, their starts, and full mels."""

import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.batches.epoch_draws import EpochDraws
from tts_prep.errors import NO_WAVEFORMS, ConfigurationError
from tts_prep.loader.batch_info import info_of
from tts_prep.loader.batching.padding import pad_sequences, pad_spectrograms
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.randomness import check_seed
from tts_prep.recipes.accepted import WAVENET, ChecksStores, Settings, StoreCheck


class DataCollector(ChecksStores):
    """Batch utterances with random audio clips of equal length, which change every epoch.

    The start of a clip is a function of seed, epoch and audio; `EpochDraws` says how the epoch
    is determined in torch's workers.

    Args:
        context_size: the number of samples of context before the samples to train on.
        sample_rate: Hz.
        hop_length: samples per frame.
        train_clip_seconds: the duration to train on, in seconds.
        valid: use the full audio, padded, starting at 0.
        seed: a non-negative integer.
        settings: ``"preset"`` requires utterances of stores with all settings of the preset ``parakeet-wavenet``, but
            for those given above; ``"any"`` accepts every store.

    Raises:
        ConfigurationError: the seed is negative.
    """

    def __init__(
        self,
        context_size: int,
        sample_rate: int,
        hop_length: int,
        train_clip_seconds: float,
        valid: bool = False,
        *,
        seed: int = 0,
        settings: Settings = "preset",
    ) -> None:
        frames_per_second = sample_rate // hop_length
        self.num_frames = math.ceil(train_clip_seconds * frames_per_second) + context_size // hop_length
        self.sample_rate = sample_rate
        self.hop_length = hop_length
        self.valid = valid
        self._draws = EpochDraws(check_seed(seed))
        self._check = StoreCheck(WAVENET, settings, {"sample_rate": sample_rate, "hop_length": hop_length})

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch for batches whose positions carry none."""
        self._draws.set_epoch(epoch)

    def _fingerprint_settings(self) -> dict[str, Any]:
        """Return the settings that determine the clips."""
        return {"num_frames": self.num_frames, "valid": self.valid, "clip_seed": self._draws.seed}

    def random_crop(
        self, sample: tuple[npt.NDArray[Any], npt.NDArray[Any]], epoch: int | None = None
    ) -> tuple[Any, Any, int]:
        """Return a clip [hop_length · num_frames], the unchanged mel, and the first sample of the clip.

        Raises:
            ConfigurationError: the audio is shorter than a clip.
        """
        audio, mel = sample
        last = len(audio) // self.hop_length - self.num_frames
        if last < 0:
            raise ConfigurationError(
                f"audio of {len(audio):,} samples is too short for a clip of {self.num_frames} frames of "
                f"{self.hop_length}; filter: dataset.filter(lambda m: m.n_frames >= {self.num_frames})"
            )
        word = int(self._draws.words(1, zlib.crc32(np.ascontiguousarray(audio)), epoch)[0])
        start = word % (last + 1) * self.hop_length
        return audio[start : start + self.num_frames * self.hop_length], mel, start

    def __call__(
        self, samples: UtteranceDataset | Sequence[Any]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Return audios [B, samples] float32, mels [B, F, T] float32 and the starts of clips [B] int64, in samples.

        Args:
            samples: utterances of a store with waveforms, or pairs of audio [samples] and mel [F, T]. The audio of an
                utterance is truncated or zero-padded to ``n_frames * hop_length`` samples.
        """
        every = list(samples)
        self._check(every)
        pairs = [self._pair(sample) for sample in every]
        epoch = info_of(samples).epoch
        triples = (
            [(audio, mel, 0) for audio, mel in pairs]
            if self.valid
            else [self.random_crop(pair, epoch) for pair in pairs]
        )
        audios, _ = pad_sequences([audio for audio, _, _ in triples], 0, np.float32)
        mels, _ = pad_spectrograms([mel for _, mel, _ in triples])
        return audios, mels, np.array([start for _, _, start in triples], np.int64)

    def _pair(self, sample: Any) -> tuple[Any, Any]:
        if not isinstance(sample, Utterance):
            audio, mel = sample
            return audio, mel
        if sample.waveform is None:
            raise ConfigurationError(f"utterance '{sample.id}': {NO_WAVEFORMS}")
        if (sample.store.sample_rate, sample.store.hop_length) != (self.sample_rate, self.hop_length):
            raise ConfigurationError(
                f"utterance '{sample.id}' has {sample.store.sample_rate} Hz and {sample.store.hop_length} samples per "
                f"frame, the collector was made for {self.sample_rate} and {self.hop_length}"
            )
        audio = np.zeros(len(sample.mel) * self.hop_length, np.float32)
        kept = sample.waveform[: len(audio)]
        audio[: len(kept)] = kept / 32_768 if kept.dtype == np.int16 else kept
        return audio, np.transpose(sample.mel)
