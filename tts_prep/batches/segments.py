"""Batches of segments: a few frames of mel and the same interval of the waveform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from tts_prep.batches.epoch_draws import EpochDraws
from tts_prep.errors import ConfigurationError
from tts_prep.loader.batch_info import info_of
from tts_prep.loader.batching.batch import BatchFields, OwnCollator
from tts_prep.loader.batching.normalization import Normalization, normalize_rows
from tts_prep.loader.batching.padding import Lengths, Padding, check_padding, padding_of
from tts_prep.loader.batching.unpadded import Unpadded
from tts_prep.loader.dataset.half_precision import is_half, widened
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.randomness import check_seed

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False, repr=False)
class SegmentBatch(BatchFields["TorchSegmentBatch"]):
    """B segments of equal length. The caller owns all arrays.

    Row *i* of an array is frames ``starts[i]`` up to ``starts[i] + F`` of its utterance, or samples
    ``starts[i] * hop_length`` up to ``(starts[i] + F) * hop_length``. Fields are also available by name; see
    `BatchFields`.

    Attributes:
        ids: [B] the ids of the utterances; segments of one utterance follow one another.
        indices: [B] int64, the row of each segment's utterance in its store.
        starts: [B] int64, the first frame of each segment.
        mel: [B, F, n_mels] float32, or [B, n_mels, F] on request.
        mel_lengths: [B] int64, frames that are not padding.
        speakers: [B] int64, speaker codes.
        waveform: [B, F · hop_length] float32, -1 to 1; None if the store has none or it was not requested.
        waveform_lengths: [B] int64, samples that are not padding; None without `waveform`.
        arrays: the requested further arrays by name, [B, F, …] per frame or [B, F · hop_length, …] per sample, in
            their own dtype; None if none was requested.
    """

    indices: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    mel: npt.NDArray[np.float32]
    mel_lengths: Lengths
    speakers: npt.NDArray[np.int64]
    waveform: npt.NDArray[np.float32] | None = None
    waveform_lengths: Lengths | None = None
    arrays: dict[str, npt.NDArray[Any]] | None = None

    @property
    def _tensors(self) -> type[TorchSegmentBatch]:
        return TorchSegmentBatch


@dataclass(frozen=True, eq=False, repr=False)
class TorchSegmentBatch(BatchFields["TorchSegmentBatch"]):
    """A `SegmentBatch` of torch tensors, with the same fields: what ``output="torch"`` gives."""

    indices: Tensor
    starts: Tensor
    mel: Tensor
    mel_lengths: Tensor
    speakers: Tensor
    waveform: Tensor | None = None
    waveform_lengths: Tensor | None = None
    arrays: dict[str, Tensor] | None = None

    @property
    def _tensors(self) -> type[TorchSegmentBatch]:
        return TorchSegmentBatch


class SegmentCollator(OwnCollator):
    """A collate function that cuts random segments from utterances.

    Example:
        >>> from tts_prep.loader import DataLoader, SegmentCollator, UtteranceDataset
        >>> dataset = UtteranceDataset("store")
        >>> for batch in DataLoader(dataset, batch_size=8, collate_fn=SegmentCollator(frames=32, seed=0)):
        ...     print(batch)
        <SegmentBatch: mel [8, 32, 5], waveform [8, 8192]>

    Frame *t* of a mel corresponds to samples ``t * hop_length`` up to ``(t + 1) * hop_length`` of the stored waveform,
    with any framing. With centred framing, the waveform does not fill the last frame; a segment includes that frame
    only if the utterance has no more than F − 1 others.

    The start of a segment is a function of seed, epoch and the utterance's row in its store. Positions of tts-prep's
    samplers carry their epoch, also with torch's ``DataLoader``. With another sampler, every further use of a row is
    its next epoch; `set_epoch` before every epoch makes the segments those of that epoch.

    Args:
        frames: F, the length of a segment in frames.
        segments: the number of segments per utterance; they may overlap.
        seed: a non-negative integer.
        redraw: cut other segments in each epoch; False, for validation, always uses those of epoch 0.
        waveform: include waveforms: True requires them, False leaves them out, None takes them if the stores have them.
        normalize: see `Collator`.
        mel_padding: the value of padded mel bins, after any normalization, or ``"silence"``: the store's mel frame of
            digital silence. Only utterances shorter than a segment are padded, at the end; waveforms with 0, which is
            why mels are padded with silence here, and not with 0 as by `Collator`.
        time_major: mels are [B, F, n_mels]; False makes them [B, n_mels, F].
        arrays: names of further arrays per frame or per sample to cut at the same place.
        array_padding: see `Collator`.

    Raises:
        ConfigurationError: a setting is out of range.
    """

    def __init__(
        self,
        frames: int,
        segments: int = 1,
        *,
        seed: int = 0,
        redraw: bool = True,
        waveform: bool | None = None,
        normalize: Normalization | None = None,
        mel_padding: float | Literal["silence"] = "silence",
        time_major: bool = True,
        arrays: Sequence[str] = (),
        array_padding: Mapping[str, Padding] = MappingProxyType({}),
    ) -> None:
        if frames < 1 or segments < 1:
            raise ConfigurationError(f"frames, segments: expected integers >= 1, found {frames} and {segments}")
        if isinstance(mel_padding, str) and mel_padding != "silence":
            raise ConfigurationError(f"mel_padding: expected a number or 'silence', found {mel_padding!r}")
        self.frames = frames
        self.segments = segments
        self.redraw = redraw
        self.waveform = waveform
        self.normalize = normalize
        self.mel_padding = mel_padding
        self.time_major = time_major
        self.arrays = tuple(arrays)
        self.array_padding = dict(array_padding)
        check_padding(self.array_padding, self.arrays)
        self._draws = EpochDraws(check_seed(seed))

    def __repr__(self) -> str:
        several = f", {self.segments} per utterance" if self.segments > 1 else ""
        return f"<SegmentCollator: {self.frames} frames{several}>"

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch for batches whose positions carry none."""
        self._draws.set_epoch(epoch)

    def _fingerprint_settings(self) -> dict[str, Any]:
        """Return the settings that determine the segments."""
        drawn = {"frames": self.frames, "segments": self.segments, "redraw": self.redraw}
        return drawn | {"segment_seed": self._draws.seed}

    def __call__(self, utterances: UtteranceDataset | Sequence[Utterance]) -> SegmentBatch:
        """Cut segments.

        Raises:
            ConfigurationError: there are no utterances, they are of another type, or their stores do not match.
            CorruptStoreError: a shard contradicts the manifest or the index.
        """
        unpadded = Unpadded.of(utterances, waveform=self.waveform, arrays=self.arrays)
        starts = self._starts(unpadded, info_of(utterances).epoch)
        which = np.repeat(np.arange(len(unpadded.ids)), self.segments).tolist()
        mel, mel_lengths = self._mels(unpadded, which, starts)
        waveform = waveform_lengths = None
        if unpadded.samples is not None:
            hop = unpadded.store.hop_length
            waveform, waveform_lengths = _cut(
                [unpadded.samples[i] for i in which], [start * hop for start in starts], self.frames * hop, 0
            )
            for row, i in zip(waveform, which, strict=True):
                if unpadded.samples[i].dtype == np.int16:
                    row *= np.float32(1 / 32768)
        return SegmentBatch(
            ids=[unpadded.ids[i] for i in which],
            indices=np.asarray(unpadded.indices, np.int64)[which],
            starts=np.array(starts, np.int64),
            mel=mel,
            mel_lengths=mel_lengths,
            speakers=np.asarray(unpadded.speakers, np.int64)[which],
            waveform=waveform,
            waveform_lengths=waveform_lengths,
            arrays={name: self._cut_array(unpadded, name, which, starts) for name in self.arrays} or None,
        )

    def _cut_array(self, unpadded: Unpadded, name: str, which: list[int], starts: list[int]) -> npt.NDArray[Any]:
        """Return the segments of an array that has one row per frame or per sample."""
        views, axis = unpadded.arrays[name], unpadded.specs[name].axis
        if axis not in ("frame", "sample"):
            raise ConfigurationError(f"arrays: '{name}' has not one row per frame or per sample, so it cannot be cut")
        if axis == "sample" and unpadded.samples is None:
            raise ConfigurationError(f"array '{name}' has one row per sample; pass waveform=True")
        rows = 1 if axis == "frame" else unpadded.store.hop_length
        sequences, places = [views[i] for i in which], [start * rows for start in starts]
        dtype = np.result_type(*{view.dtype for view in views})
        padding = padding_of(name, self.array_padding, unpadded.specs[name], dtype)
        return _cut(sequences, places, self.frames * rows, padding, dtype)[0]

    def _starts(self, unpadded: Unpadded, epoch: int | None) -> list[int]:
        """Return the first frame of each segment, [B]."""
        starts: list[int] = []
        for place, mel in enumerate(unpadded.mels):
            n_frames = len(mel)
            if unpadded.samples is not None:
                n_frames = min(n_frames, len(unpadded.samples[place]) // unpadded.store.hop_length)
            last = max(0, n_frames - self.frames)
            words = self._draws.words(self.segments, int(unpadded.indices[place]), epoch if self.redraw else 0)
            starts += [int(word) % (last + 1) for word in words]
        return starts

    def _mels(self, unpadded: Unpadded, which: list[int], starts: list[int]) -> tuple[npt.NDArray[Any], Lengths]:
        padding: Any = unpadded.store.silence if self.mel_padding == "silence" else self.mel_padding
        # Cut first: only the segments have to be converted to float32.
        stops = [start + self.frames for start in starts]
        segments = [unpadded.mels[i][start:stop] for i, start, stop in zip(which, starts, stops, strict=True)]
        segments = [
            widened(segment, unpadded.stores[i].mel_offset) if is_half(segment) else segment
            for segment, i in zip(segments, which, strict=True)
        ]
        rows, lengths = _cut(segments, [0] * len(segments), self.frames, padding)
        if self.normalize is not None:
            ends = [self.frames] * len(rows) if self.mel_padding == "silence" else lengths.tolist()
            stores, speakers = [unpadded.stores[i] for i in which], [int(unpadded.speakers[i]) for i in which]
            normalize_rows(rows, ends, stores, speakers, self.normalize)
        return rows if self.time_major else np.ascontiguousarray(rows.transpose(0, 2, 1)), lengths


def _cut(
    sequences: Sequence[npt.NDArray[Any]],
    starts: Sequence[int],
    length: int,
    padding: Any,
    dtype: npt.DTypeLike = np.float32,
) -> tuple[npt.NDArray[Any], Lengths]:
    """Return an interval of each sequence, padded at the end, [B, length, …], and the unpadded lengths [B]."""
    batch = np.empty((len(sequences), length, *sequences[0].shape[1:]), dtype)
    lengths = np.empty(len(sequences), np.int64)
    for number, (row, sequence, start) in enumerate(zip(batch, sequences, starts, strict=True)):
        segment = sequence[start : start + length]
        n = lengths[number] = len(segment)
        row[:n] = segment
        if n < length:
            row[n:] = padding
    return batch, lengths
