"""What a training run needs to know about a store besides its utterances."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import CorruptStoreError
from tts_prep.format.arrays import ArraySpec
from tts_prep.format.datasets import dataset_at, map_dataset
from tts_prep.format.decoding import Record
from tts_prep.format.index import Index
from tts_prep.format.layout import MANIFEST
from tts_prep.format.manifest import Manifest


@dataclass(frozen=True, eq=False, repr=False)
class StoreMetadata:
    """What holds for every utterance of a store.

    Attributes:
        sample_rate: of the audio that the mels were made from, Hz.
        hop_length: samples between two frames.
        n_mels: bins of a frame.
        silence: [n_mels] float32, the frame of digital silence.
        mel_mean: [n_mels] float64, over all frames of the store.
        mel_std: [n_mels] float64, population standard deviation over all frames.
        symbols: the vocabulary; the position is the id.
        pad_id: the id that pads phonemes.
        blank_id: the id that `Collator` puts between phonemes on request: the table's blank, or its padding.
        speakers: the speaker of each code.
        mel_offset: what has to be added to stored mel values; 0 but for float16.
        has_waveform: whether the store keeps waveforms.
        speaker_frames: [n_speakers] int64, frames of each speaker.
        speaker_mel_mean: [n_speakers, n_mels] float64, over the frames of each speaker.
        speaker_mel_std: [n_speakers, n_mels] float64, population standard deviation over the same.
        audio_settings: how recordings became mels: the manifest's ``configuration.audio``.
    """

    sample_rate: int
    hop_length: int
    n_mels: int
    silence: npt.NDArray[np.float32]
    mel_mean: npt.NDArray[np.float64]
    mel_std: npt.NDArray[np.float64]
    symbols: tuple[str, ...]
    pad_id: int
    blank_id: int
    speakers: tuple[str, ...]
    mel_offset: float
    has_waveform: bool
    speaker_frames: npt.NDArray[np.int64]
    speaker_mel_mean: npt.NDArray[np.float64]
    speaker_mel_std: npt.NDArray[np.float64]
    audio_settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class RowStatistics:
    """Statistics of the rows of an added array that are counted: of pitch, the voiced frames.

    Where nothing is counted, all values are 0.

    Attributes:
        count: rows.
        mean, std, min, max: [*row_shape] float64; ``std`` is the population standard deviation.
        speaker_count: [n_speakers] int64.
        speaker_mean, speaker_std, speaker_min, speaker_max: [n_speakers, *row_shape] float64.
    """

    count: int
    mean: npt.NDArray[np.float64]
    std: npt.NDArray[np.float64]
    min: npt.NDArray[np.float64]
    max: npt.NDArray[np.float64]
    speaker_count: npt.NDArray[np.int64]
    speaker_mean: npt.NDArray[np.float64]
    speaker_std: npt.NDArray[np.float64]
    speaker_min: npt.NDArray[np.float64]
    speaker_max: npt.NDArray[np.float64]


def parse_statistics(store: Path, manifest: Manifest, index: Index, spec: ArraySpec) -> RowStatistics:
    """Return the statistics of an added array.

    Raises:
        CorruptStoreError: the manifest or the index does not have them as the format says.
    """
    record = Record(f"{store / MANIFEST}: array '{spec.name}'", manifest.arrays[spec.name]).record("statistics")
    n = int(np.prod(spec.row_shape, dtype=np.int64))
    n_speakers = len(manifest.speakers)
    values: dict[str, npt.NDArray[Any]] = {}
    for key in ("mean", "std", "min", "max"):
        values[key] = np.array(record.numbers(key, n), np.float64).reshape(spec.row_shape)
        by_speaker = _speaker_values(index, f"{spec.name}_{key}", (n_speakers, n), "f")
        values[f"speaker_{key}"] = by_speaker.reshape(n_speakers, *spec.row_shape)
    counts = _speaker_values(index, f"{spec.name}_count", (n_speakers,), "i")
    return RowStatistics(count=record.integer("count"), speaker_count=counts, **values)


def _speaker_values(index: Index, name: str, shape: tuple[int, ...], kind: str) -> npt.NDArray[Any]:
    place = dataset_at(index.path, index.speaker_statistics, name)
    if place.shape != shape or place.dtype.kind != kind:
        raise CorruptStoreError(f"{index.path}: '{name}' by speaker is {place.dtype} {list(place.shape)}")
    return map_dataset(index.path, place)


def parse_metadata(store: Path, manifest: Manifest, index: Index) -> StoreMetadata:
    """Take from a manifest, and from the index's statistics by speaker, what training needs.

    Raises:
        CorruptStoreError: a key is missing or has the wrong type or length.
    """
    try:
        mel = manifest.arrays["mel"]
        shapes = {name: list(array["row_shape"]) for name, array in manifest.arrays.items()}
        n_mels = shapes["mel"][0] if len(shapes["mel"]) == 1 else 0
        if not n_mels or any(shapes[name] for name in ("phonemes", "waveform") if name in ("phonemes", *shapes)):
            raise ValueError(f"the rows of the arrays cannot have the shapes {shapes}")
        symbols = tuple(manifest.vocabulary["symbols"])
        if not all(isinstance(symbol, str) for symbol in symbols):
            raise TypeError("the symbols of the vocabulary should be texts")
        pad_id = manifest.vocabulary["pad"]
        if type(pad_id) is not int or not 0 <= pad_id < len(symbols):
            raise ValueError(f"the pad id {pad_id!r} is not one of {len(symbols)} symbols")
        blank_id = manifest.vocabulary.get("blank", pad_id)
        if type(blank_id) is not int or not 0 <= blank_id < len(symbols):
            raise ValueError(f"the blank id {blank_id!r} is not one of {len(symbols)} symbols")
        return StoreMetadata(
            sample_rate=_positive(mel["sample_rate"]),
            hop_length=_positive(mel["hop_length"]),
            n_mels=n_mels,
            silence=_vector(mel["silence"], n_mels, np.float32),
            mel_mean=_vector(manifest.mel_statistics["mean"], n_mels, np.float64),
            mel_std=_vector(manifest.mel_statistics["std"], n_mels, np.float64),
            symbols=symbols,
            pad_id=pad_id,
            blank_id=blank_id,
            speakers=tuple(manifest.speakers),
            mel_offset=_finite(mel.get("offset", 0.0)),
            has_waveform="waveform" in manifest.arrays,
            speaker_frames=_statistics(index, "frames", (len(manifest.speakers),)),
            speaker_mel_mean=_statistics(index, "mel_mean", (len(manifest.speakers), n_mels)),
            speaker_mel_std=_statistics(index, "mel_std", (len(manifest.speakers), n_mels)),
            audio_settings=dict(manifest.configuration.get("audio", {})),
        )
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise CorruptStoreError(f"{store / MANIFEST}: a key is missing or cannot be used ({error!r})") from error


def _finite(value: object) -> float:
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"expected a number, found {value!r}")
    return float(value)


def _positive(value: object) -> int:
    if type(value) is not int or not 1 <= value < 1 << 31:
        raise ValueError(f"expected a positive integer of 32 bits, found {str(value)[:40]}")
    return value


def _vector(values: Any, n: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise TypeError("expected a list of numbers")
    with np.errstate(over="ignore"):
        vector = np.array(values, np.float64).astype(dtype)
    if vector.shape != (n,):
        raise ValueError(f"expected {n} numbers, one per mel bin, found the shape {list(vector.shape)}")
    vector.flags.writeable = False
    return vector


def _statistics(index: Index, name: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    values = map_dataset(index.path, index.speaker_statistics[name])
    if values.shape != shape and shape[0]:
        raise ValueError(f"expected '{name}' by speaker as {list(shape)}, found the shape {list(values.shape)}")
    return values
