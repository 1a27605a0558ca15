"""VITS' datasets, collate functions and bucket sampler, reading a store instead of wav files.

In its ``train.py``, import `TextAudioLoader`, `TextAudioCollate` and `DistributedBucketSampler` from `tts_prep.recipes`
instead of ``data_utils``, and make the folder in the file lists (``DUMMY1``) the store, or a link to it.
"""

import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.format.blanks import with_blanks, without_blanks
from tts_prep.loader.batch_info import BatchInfo, BatchItems
from tts_prep.loader.batching.buffers import RecycledBuffers
from tts_prep.loader.batching.padding import pad_sequences, pad_spectrograms
from tts_prep.loader.batching.tensors import import_torch, to_tensors
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.randomness import check_seed, digest, permutation
from tts_prep.loader.samplers.base import Sampler, check_batch_size
from tts_prep.loader.samplers.ranks import Rank, process_group
from tts_prep.preprocess.audio.mel import compiled_kernel
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.recipes.accepted import VITS, Settings
from tts_prep.recipes.stores import (
    DirectExamples,
    ListedExamples,
    ListedUtterances,
    Missing,
    arrays_of,
    read_numbered_list,
)
from tts_prep.signals.spectrograms import SpectrogramConfig, SpectrogramFeature

_SHUFFLE_SEED = 1234
_WAV_HEADER = 44
_POWER_OFFSET = 1e-6
_FRAMES = {"framing": "hifigan", "pad_mode": "reflect", "window": "hann", "periodic_window": True, "preemphasis": 0}

Float32Array = npt.NDArray[np.float32]


def ids_without_blanks(utterance: Utterance) -> npt.NDArray[np.int32]:
    """Return the ids of an utterance without the blanks of a store that was built with them."""
    blanks = utterance.store.blanks
    if blanks == "groups":
        raise ConfigurationError("its ids have blanks after groups of pinyin; build the store with --blanks none")
    if blanks is None:
        return utterance.phonemes
    return without_blanks(utterance.phonemes, "around" if blanks == "around" else "between")


def linear_spectrogram(audio: Float32Array, n_fft: int, hop_length: int, win_length: int) -> Float32Array:
    """Return the magnitude spectrogram of VITS, sqrt(|X|² + 1e-6), [n_fft / 2 + 1, ⌊N / hop⌋].

    The waveform is padded by (n_fft − hop) / 2 reflected samples at both ends. The window is a periodic Hann window of
    `win_length` samples, centred in `n_fft`. Each frame is contiguous in memory, as in torch's transforms.

    Args:
        audio: [N] samples, -1 to 1.
        n_fft: samples.
        hop_length: samples between successive frames.
        win_length: samples, at most `n_fft`.
    """
    side = (n_fft - hop_length) // 2
    kernel = _kernel(n_fft, hop_length, win_length) if len(audio) > side else None
    if kernel:
        return kernel.magnitudes(audio).T
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(audio, side, mode="reflect"), n_fft)[::hop_length]
    window = np.zeros(n_fft)
    left = (n_fft - win_length) // 2
    window[left : left + win_length] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(win_length) / win_length)
    result = np.empty((len(frames), n_fft // 2 + 1), np.float32)
    # Spectra of so many frames fit into the second-level cache.
    for first in range(0, len(frames), 64):
        spectrum = np.fft.rfft(frames[first : first + 64] * window, axis=1)
        np.sqrt(spectrum.real**2 + spectrum.imag**2 + _POWER_OFFSET, out=result[first : first + 64])
    return result.T


@lru_cache(maxsize=4)
def _kernel(n_fft: int, hop_length: int, win_length: int) -> SpectrogramFeature | None:
    """Return what computes the spectrograms of stores, five times as fast; None if its compiler is not installed."""
    if compiled_kernel() is None:
        return None
    recipe = replace(get_preset("vits").config, n_fft=n_fft, hop_length=hop_length, win_length=win_length)
    return SpectrogramFeature.of(SpectrogramConfig(power_offset=_POWER_OFFSET), recipe)


def spectrogram_of(utterance: Utterance, n_fft: int, hop_length: int, win_length: int) -> Float32Array:
    """Return that of the store, read-only, if it equals VITS', else compute it; see `linear_spectrogram`."""
    stored = utterance.arrays.specs.get("spectrogram")
    needed = {**_FRAMES, "n_fft": n_fft, "win_length": win_length, "hop_length": hop_length}
    found = utterance.store.audio_settings
    same = stored is not None and stored.settings.get("power_offset") == _POWER_OFFSET
    if same and all(found.get(name, value) == value for name, value in needed.items()):
        return utterance.arrays["spectrogram"].astype(np.float32, copy=False).T
    return linear_spectrogram(utterance.audio, n_fft, hop_length, win_length)


class TextAudioLoader(ListedExamples, DirectExamples):
    """Phoneme ids, linear spectrogram and waveform, as VITS' ``TextAudioLoader``.

    An example is ``(text [L] int64, spec [filter_length / 2 + 1, T] float32, wav [1, N] float32)``, tensors. The text
    consists of the store's phonemes, without a cleaner; `add_blank` inserts a 0 between all symbols and at both ends.

    Args:
        audiopaths_and_text: a file list of ``STORE/ID.wav|text``. As in VITS, its order is shuffled once, and texts
            whose length is not within ``min_text_len`` to ``max_text_len`` are dropped.
        hparams: VITS' ``hps.data``: ``sampling_rate``, ``filter_length``, ``hop_length``, ``win_length`` and
            ``add_blank``.
        settings: ``"preset"`` requires a store with the waveforms of the preset ``vits``, at their own level, and the
            symbols of VITS; ``"any"`` accepts every store.
        missing: ``"leave_out"`` drops lines whose utterances are not in the store.

    Attributes:
        lengths: the lengths of spectrograms in frames, as VITS estimates them for `DistributedBucketSampler`.
        left_out: the paths of dropped lines.

    Raises:
        ConfigurationError: the list cannot be read, or the store has other settings or no waveforms.
    """

    _n_fields: ClassVar = 2

    def __init__(
        self,
        audiopaths_and_text: str | Path,
        hparams: Any,
        *,
        settings: Settings = "preset",
        missing: Missing = "error",
    ) -> None:
        path = audiopaths_and_text
        numbered = read_numbered_list(path)
        for number, line in numbered:
            if len(line) != self._n_fields:
                raise ConfigurationError(f"{path}:{number}: expected {self._n_fields} fields, found {len(line)}")
        lines = [line for _, line in numbered]
        random.Random(_SHUFFLE_SEED).shuffle(lines)
        shortest, longest = getattr(hparams, "min_text_len", 1), getattr(hparams, "max_text_len", 190)
        self.left_out = [line[0] for line in lines if not shortest <= len(line[-1]) <= longest]
        self.lines = [line for line in lines if shortest <= len(line[-1]) <= longest]
        if lines and not self.lines:
            raise ConfigurationError(
                f"{path}: no text has from {shortest} to {longest} characters; change min_text_len or max_text_len"
            )
        self.utterances = ListedUtterances((line[0] for line in self.lines), missing)
        self.lines = [self.lines[position] for position in self.utterances.kept]
        self.left_out += self.utterances.left_out
        self.utterances.check(VITS, {"sample_rate": hparams.sampling_rate, "fmax": hparams.sampling_rate / 2}, settings)
        self.add_blank = hparams.add_blank
        self.filter_length, self.hop_length = hparams.filter_length, hparams.hop_length
        self.win_length = hparams.win_length
        samples = np.array([int(dataset.n_samples[row]) for dataset, row in self.utterances.places])
        # VITS uses the size of the wav file, including its header.
        self.lengths = ((2 * samples + _WAV_HEADER) // (2 * self.hop_length)).tolist()

    def _fingerprint_settings(self) -> dict[str, Any]:
        names = ("add_blank", "filter_length", "hop_length", "win_length")
        speakers = [line[1] for line in self.lines if len(line) > 2]
        return {name: getattr(self, name) for name in names} | {"speakers": speakers}

    def get_example(self, i: int) -> Any:
        """Return the example at a position."""
        ids, spectrogram, *others = self._arrays(i)
        return to_tensors((ids, np.array(spectrogram.T).T, *others))

    def _arrays(self, i: int) -> tuple[npt.NDArray[Any], ...]:
        """Return ids [L] int64, spectrogram [F, T] and waveform [1, N]."""
        utterance = self.utterances[i]
        plain = ids_without_blanks(utterance).astype(np.int64)
        ids = with_blanks(plain, 0, "around") if self.add_blank else plain
        spectrogram = spectrogram_of(utterance, self.filter_length, self.hop_length, self.win_length)
        return ids, spectrogram, utterance.audio[np.newaxis]


class TextAudioSpeakerLoader(TextAudioLoader):
    """`TextAudioLoader` with a speaker, as VITS' ``TextAudioSpeakerLoader``: ``(text, spec, wav, sid [1] int64)``.

    Args:
        audiopaths_sid_text: a file list of ``STORE/ID.wav|sid|text``.
        hparams: see `TextAudioLoader`.
        settings: see `TextAudioLoader`.
        missing: see `TextAudioLoader`.

    Raises:
        ConfigurationError: see `TextAudioLoader`; or a speaker is not a number.
    """

    _n_fields = 3

    def __init__(
        self,
        audiopaths_sid_text: str | Path,
        hparams: Any,
        *,
        settings: Settings = "preset",
        missing: Missing = "error",
    ) -> None:
        super().__init__(audiopaths_sid_text, hparams, settings=settings, missing=missing)
        for line in self.lines:
            if not (line[1].isascii() and line[1].isdecimal()):
                raise ConfigurationError(
                    f"{audiopaths_sid_text}: {line[0]}: expected a speaker number, found {line[1]!r}"
                )

    def _arrays(self, i: int) -> tuple[npt.NDArray[Any], ...]:
        """Return those of the base class, and the speaker [1] int64."""
        return (*super()._arrays(i), np.array([int(self.lines[i][1])], np.int64))


class TextAudioCollate:
    """Pad examples of `TextAudioLoader` with zeros, the longest spectrogram first.

    Returns ``(text [B, L] int64, text_lengths [B] int64, spec [B, F, T] float32, spec_lengths [B],
    wav [B, 1, N] float32, wav_lengths [B])``, tensors.

    Args:
        return_ids: append the position of each row's example, [B] int64.
    """

    def __init__(self, return_ids: bool = False) -> None:
        self.return_ids = return_ids
        self._buffers = RecycledBuffers()

    def __call__(self, batch: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return the batch."""
        torch = import_torch()
        # The order of equal lengths is that of torch's sort, as in VITS.
        examples = arrays_of(batch)
        frames = torch.tensor([example[1].shape[1] for example in examples])
        order = torch.sort(frames, dim=0, descending=True)[1]
        rows = [examples[i] for i in order.tolist()]
        arrays: tuple[Any, ...] = (
            *pad_sequences([row[0] for row in rows], 0, np.int64),
            *pad_spectrograms([row[1] for row in rows], buffers=self._buffers),
            *pad_sequences([row[2] for row in rows], 0, np.float32, buffers=self._buffers),
            *self._speakers(rows),
        )
        return (*to_tensors(arrays), *([order] if self.return_ids else []))

    def _speakers(self, rows: Sequence[tuple[Any, ...]]) -> list[npt.NDArray[np.int64]]:  # noqa: ARG002
        return []


class TextAudioSpeakerCollate(TextAudioCollate):
    """`TextAudioCollate` for `TextAudioSpeakerLoader`, with ``sid [B] int64`` after ``wav_lengths``."""

    def _speakers(self, rows: Sequence[tuple[Any, ...]]) -> list[npt.NDArray[np.int64]]:
        return [np.array([int(row[3][0]) for row in rows], np.int64)]


class DistributedBucketSampler(Sampler[list[int]]):
    """Batches of equal size within ranges of lengths, as VITS' ``DistributedBucketSampler``.

    A bucket holds the lengths above one boundary up to the next; examples outside of the boundaries are dropped. In
    each bucket, examples are repeated until every rank has the same number of full batches. Without `shuffle` the
    batches are those of VITS, and with it they are from another generator. Empty buckets are left out; VITS fails if
    the first one is empty.

    Args:
        dataset: a dataset with `lengths`.
        batch_size: examples per batch.
        boundaries: ascending lengths.
        num_replicas: the number of ranks; defaults to that of ``torch.distributed``.
        rank: the rank of this process; defaults to that of ``torch.distributed``.
        shuffle: make new batches every epoch.
        seed: a non-negative integer, the same on every rank.

    Attributes:
        left_out: the positions of dropped examples.

    Raises:
        ConfigurationError: the rank is out of range, the batch size is below 1, or the seed is negative.
        SamplingError: no example is within the boundaries.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        boundaries: Sequence[int],
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        *,
        seed: int = 0,
    ) -> None:
        group = process_group() or (0, 1)
        own: Rank = group[0] if rank is None else rank
        super().__init__(rank=own, world_size=group[1] if num_replicas is None else num_replicas)
        self.lengths = list(dataset.lengths)
        self.boundaries = list(boundaries)
        self._size = check_batch_size(batch_size)
        self._shuffle = shuffle
        self._seed = check_seed(seed)
        numbers = [bisect_left(self.boundaries, length) - 1 for length in self.lengths]
        last = len(self.boundaries) - 1
        self.left_out = [i for i, number in enumerate(numbers) if not 0 <= number < last]
        buckets = [np.flatnonzero(np.array(numbers) == number) for number in range(last)]
        self.buckets = [bucket for bucket in buckets if len(bucket)]
        if not self.buckets:
            raise SamplingError(f"no example has a length within the boundaries {self.boundaries}")

    @property
    def size(self) -> int:
        """The number of examples that positions index into."""
        return len(self.lengths)

    def order(self, epoch: int) -> Iterator[list[int]]:
        """Iterate over the batches of an epoch, for all ranks."""
        batches: list[npt.NDArray[np.int64]] = []
        for number, bucket in enumerate(self.buckets):
            order = bucket[permutation(len(bucket), self._seed, epoch, number + 1)] if self._shuffle else bucket
            order = np.resize(order, -(-len(bucket) // self._step) * self._step)
            # Each rank gets every world_size-th example of the bucket.
            batches += list(order.reshape(-1, self._size, self.world_size).transpose(0, 2, 1).reshape(-1, self._size))
        steps = np.arange(len(batches)).reshape(-1, self.world_size)
        if self._shuffle:
            steps = steps[permutation(len(steps), self._seed, epoch)]
        info = BatchInfo(epoch)
        return (BatchItems(batches[i].tolist(), info) for i in steps.ravel().tolist())

    @property
    def _step(self) -> int:
        return self._size * self.world_size

    def _order_size(self, epoch: int) -> int:  # noqa: ARG002
        """Return the number of batches of an epoch, for all ranks."""
        return sum(-(-len(bucket) // self._step) for bucket in self.buckets) * self.world_size

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        return {
            "lengths": digest(np.array(self.lengths)),
            "boundaries": self.boundaries,
            "batch_size": self._size,
            "shuffle": self._shuffle,
            "seed": self._seed,
            **({"world_size": self.world_size} if self.world_size > 1 else {}),
        }


def slice_segments(x: Any, ids_str: Any, segment_size: int = 4) -> Any:
    """Return a segment of each row of a tensor.

    Args:
        x: [B, C, T].
        ids_str: [B] the start of each segment.
        segment_size: the length of a segment.

    Returns:
        [B, C, segment_size]
    """
    torch = import_torch()
    places = ids_str[:, None] + torch.arange(segment_size, device=x.device)
    return x.gather(2, places[:, None].expand(-1, x.shape[1], -1))


def rand_slice_segments(
    x: Any, x_lengths: Any = None, segment_size: int = 4, *, generator: Any = None
) -> tuple[Any, Any]:
    """Return a random segment of each row of a tensor, and its start.

    Args:
        x: [B, C, T].
        x_lengths: [B] the lengths of rows; defaults to T.
        segment_size: the length of a segment.
        generator: a torch generator; None uses the global one, as VITS does.

    Returns:
        [B, C, segment_size] and [B] int64.
    """
    torch = import_torch()
    places = (x.shape[2] if x_lengths is None else x_lengths) - segment_size + 1
    starts = (torch.rand([x.shape[0]], generator=generator).to(x.device) * places).to(torch.long)
    return slice_segments(x, starts, segment_size), starts
