"""Collate utterances into one padded batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from tts_prep.errors import ConfigurationError
from tts_prep.format.blanks import Blanks, length_with_blanks, with_blanks
from tts_prep.format.hdf5.datasets import Array
from tts_prep.loader.batch_info import BatchShape, info_of
from tts_prep.loader.batching.batch import Batch, OwnCollator
from tts_prep.loader.batching.buffers import Buffers, FreshBuffers
from tts_prep.loader.batching.padding import Lengths, Padding, check_padding, fill, pad_arrays
from tts_prep.loader.batching.unpadded import Unpadded
from tts_prep.loader.dataset.half_precision import half_bits, is_half, widen, widened
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset


@dataclass(frozen=True, repr=False)
class Collator(OwnCollator):
    """Pad utterances into one `Batch`: `collate` as an object with settings.

    Utterances of a dataset are copied directly from the memory maps of their stores.

    Example:
        >>> from tts_prep.loader import Collator, DataLoader, UtteranceDataset
        >>> collator = Collator(waveform=False, time_major=False, normalize="corpus")
        >>> collator
        Collator(waveform=False, normalize='corpus', time_major=False)
        >>> for batch in DataLoader(UtteranceDataset("store"), batch_size=8, collate_fn=collator):
        ...     print(batch.mel.shape)
        (8, 5, 75)

    Attributes:
        mel_padding: the value of padded mel bins, after any normalization, or ``"silence"``: the store's mel frame of
            digital silence. The default is 0, as in most systems, whose losses leave padding out by the lengths.
            `SegmentCollator` pads with silence, because segments are used in full, beside waveforms of zeros.
        waveform: include waveforms: True requires them, False leaves them out, None takes them if the stores have them.
        normalize: normalize each mel bin to zero mean and unit variance, by the statistics of the utterance's store
            (``"corpus"``) or of its speaker in that store (``"speaker"``).
        time_major: mels are [B, T, n_mels]; False makes them [B, n_mels, T].
        pad_to_multiple: pad mels to a multiple of this number of frames.
        blanks: insert the store's blank symbol between all phonemes (``"between"``), or also at both ends
            (``"around"``). `Batch.phoneme_lengths` includes blanks.
        shapes: the fixed shapes of a sampler: ``LengthBucketBatchSampler(..., n_shapes=8).shapes``. A batch gets the
            smallest shape that holds it. Needed only if a wrapper such as torch's ``Subset`` converts
            positions to a plain list; `DataLoader` sets them itself.
        arrays: names of further arrays to include, such as ``("pitch", "durations")``.
        array_padding: the value of padding by name of an array, such as ``{"codes": 1024}``, or one for each number
            of a row, such as each codebook; 0 for the others. 0 is
            right for durations, pitch and energy, and a valid code of most codecs: give a value that is no code.
        buffers: the allocator of the batch; None uses `numpy.empty`.
    """

    mel_padding: float | Literal["silence"] = 0.0
    waveform: bool | None = None
    normalize: Literal["corpus", "speaker"] | None = None
    time_major: bool = True
    pad_to_multiple: int = 1
    shapes: tuple[BatchShape, ...] = ()
    blanks: Blanks | None = None
    arrays: tuple[str, ...] = ()
    array_padding: Mapping[str, Padding] = field(default_factory=dict, hash=False)
    buffers: Buffers | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.mel_padding, str) and self.mel_padding != "silence":
            raise ConfigurationError(f"mel_padding: expected a number or 'silence', found {self.mel_padding!r}")
        if self.normalize not in (None, "corpus", "speaker"):
            raise ConfigurationError(f"normalize: expected 'corpus', 'speaker' or None, found {self.normalize!r}")
        if self.blanks not in (None, "between", "around"):
            raise ConfigurationError(f"blanks: expected 'between', 'around' or None, found {self.blanks!r}")
        if self.pad_to_multiple < 1:
            raise ConfigurationError(f"pad_to_multiple: expected an integer >= 1, found {self.pad_to_multiple}")

        check_padding(self.array_padding, self.arrays)

    def __repr__(self) -> str:
        given = [
            (entry.name, getattr(self, entry.name))
            for entry in fields(self)
            if entry.compare and getattr(self, entry.name) not in (entry.default, {})
        ]
        settings = (f"{name}={f'<{len(value)}>' if name == 'shapes' else repr(value)}" for name, value in given)
        return f"Collator({', '.join(settings)})"

    def __call__(self, utterances: UtteranceDataset | Sequence[Utterance]) -> Batch:
        """Pad utterances into one batch.

        Raises:
            ConfigurationError: there are no utterances, they are of another type, or their stores do not match.
            CorruptStoreError: a shard contradicts the manifest or the index.
        """
        unpadded = Unpadded.of(utterances, waveform=self.waveform, arrays=self.arrays)
        buffers = self.buffers or FreshBuffers()
        shape = self._shape(unpadded, info_of(utterances).shape)
        size, lengths = (len(unpadded.ids), {}) if shape is None else (shape.size, shape.lengths)
        mel, mel_lengths = self._mels(unpadded, size, lengths.get("n_frames", 0), buffers)
        phonemes, phoneme_lengths = self._phonemes(unpadded, size, lengths.get("n_phonemes", 0), buffers)
        waveform = waveform_lengths = None
        if unpadded.samples is not None:
            waveform, waveform_lengths = _waveforms(unpadded.samples, size, lengths.get("n_samples", 0), buffers)
        n_frames, n_samples = mel.shape[1 if self.time_major else 2], 0 if waveform is None else waveform.shape[1]
        axes = {"frame": n_frames, "phoneme": phonemes.shape[1], "sample": n_samples}
        arrays, array_lengths = self._arrays(unpadded, size, axes, buffers)
        empty = size - len(unpadded.ids)
        return Batch(
            ids=[*unpadded.ids, *[""] * empty],
            indices=_extended(unpadded.indices, empty, -1),
            mel=mel,
            mel_lengths=mel_lengths,
            phonemes=phonemes,
            phoneme_lengths=phoneme_lengths,
            speakers=_extended(unpadded.speakers, empty, 0),
            waveform=waveform,
            waveform_lengths=waveform_lengths,
            arrays=arrays,
            array_lengths=array_lengths,
        )

    def _shape(self, unpadded: Unpadded, carried: BatchShape | None) -> BatchShape | None:
        """Return the fixed shape of a batch: the one its positions carry, or the smallest that holds it."""
        if carried is not None or not self.shapes:
            return carried
        lengths = {
            "n_frames": max(len(mel) for mel in unpadded.mels),
            "n_phonemes": max(len(ids) for ids in unpadded.phonemes),
            "n_samples": max(len(samples) for samples in unpadded.samples) if unpadded.samples else 0,
        }
        for shape in self.shapes:
            if len(unpadded.ids) <= shape.size and all(
                lengths.get(name, 0) <= longest for name, longest in shape.lengths.items()
            ):
                return shape
        raise ConfigurationError(
            f"none of {len(self.shapes)} shapes holds {len(unpadded.ids)} utterances of up to {lengths['n_frames']} "
            "frames; pass the shapes of the sampler that makes the batches"
        )

    def _phonemes(self, unpadded: Unpadded, size: int, longest: int, buffers: Buffers) -> tuple[Array, Lengths]:
        """Pad ids, with blanks between them if they are wanted."""
        ids = unpadded.phonemes
        if self.blanks is not None:
            ids = [with_blanks(sequence, unpadded.store.blank_id, self.blanks) for sequence in ids]
            longest = length_with_blanks(longest, self.blanks) if longest else 0
        return fill(ids, size, longest, unpadded.store.pad_id, np.int64, buffers)

    def _arrays(
        self, unpadded: Unpadded, size: int, axes: Mapping[str, int], buffers: Buffers
    ) -> tuple[dict[str, Array] | None, dict[str, Lengths] | None]:
        """Pad the further arrays, and return the lengths of those with an axis of their own; None without arrays."""
        if not self.arrays:
            return None, None
        for name, spec in unpadded.specs.items():
            if self.blanks and spec.axis == "phoneme":
                raise ConfigurationError(f"array '{name}' has no rows for blanks; drop either blanks or the array")
        return pad_arrays(unpadded.arrays, unpadded.specs, size, axes, buffers, self.array_padding)

    def _mels(self, unpadded: Unpadded, size: int, longest: int, buffers: Buffers) -> tuple[Array, Lengths]:
        padding: Any = unpadded.store.silence if self.mel_padding == "silence" else self.mel_padding
        axis, multiple, mels, stores = int(not self.time_major), self.pad_to_multiple, unpadded.mels, unpadded.stores
        types = {mel.dtype.char for mel in mels}  # "e" is float16
        if types == {"e"}:
            # Without a float32 copy of each: rows get the bits, and what they stand for while they are in the cache.
            pad_bits, halves = np.asarray(padding, np.float32).view(np.int32), [half_bits(mel) for mel in mels]
            batch, lengths = fill(
                halves, size, longest, pad_bits, np.int32, buffers, multiple, axis,
                finish=lambda place, _, bits: widen(bits, stores[place].mel_offset),
            )  # fmt: skip
            batch = batch.view(np.float32)
        else:
            if "e" in types:
                each = zip(mels, stores, strict=True)
                mels = [widened(mel, of.mel_offset) if is_half(mel) else mel for mel, of in each]
            batch, lengths = fill(mels, size, longest, padding, np.float32, buffers, multiple, axis)
        if self.normalize is not None:
            from tts_prep.loader.batching.normalization import normalize_rows

            rows = batch if self.time_major else batch.transpose(0, 2, 1)
            # Padding with silence is normalized like the rest of the row.
            ends = [rows.shape[1]] * size if self.mel_padding == "silence" else lengths.tolist()
            normalize_rows(rows, ends, unpadded.stores, unpadded.speakers.tolist(), self.normalize)
        return batch, lengths


def collate(
    utterances: UtteranceDataset | Sequence[Utterance],
    *,
    mel_padding: float | Literal["silence"] = 0.0,
    waveform: bool | None = None,
    normalize: Literal["corpus", "speaker"] | None = None,
    time_major: bool = True,
    pad_to_multiple: int = 1,
    blanks: Blanks | None = None,
    arrays: tuple[str, ...] = (),
    array_padding: Mapping[str, Padding] = MappingProxyType({}),
) -> Batch:
    """Pad utterances into one batch; the settings are those of `Collator`.

    Example:
        >>> from tts_prep.loader import UtteranceDataset, collate
        >>> dataset = UtteranceDataset("store")
        >>> collate(dataset[:2]).mel.shape
        (2, 45, 5)
        >>> collate([dataset[5], dataset[0]], mel_padding="silence").mel.shape
        (2, 65, 5)

    Args:
        utterances: at least one, of one store or of stores with equal vocabulary and mel settings.

    Raises:
        ConfigurationError: there are no utterances, they are of another type, a setting is unknown, or the stores do
            not match.
        CorruptStoreError: a shard contradicts the manifest or the index.
    """
    collator = Collator(
        mel_padding,
        waveform,
        normalize,
        time_major,
        pad_to_multiple,
        blanks=blanks,
        arrays=arrays,
        array_padding=dict(array_padding),
    )
    return collator(utterances)


def _extended(values: Array, empty: int, value: int) -> Array:
    if not empty:
        return np.array(values, np.int64)
    return np.concatenate([values, np.full(empty, value, np.int64)], dtype=np.int64)


def _waveforms(samples: Sequence[Array], size: int, longest: int, buffers: Buffers) -> tuple[Array, Lengths]:
    """Pad waveforms as float32, with integers scaled to -1 to 1."""

    def finish(_: int, stored: Array, waveform: Array) -> None:
        if stored.dtype == np.int16:
            waveform *= np.float32(1 / 32768)

    return fill(samples, size, longest, 0, np.float32, buffers, finish=finish)
