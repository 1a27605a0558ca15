"""Statistics of the rows of an array: those of a store, and those of selected utterances."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.format.contents.index import Index
from tts_prep.format.decoding import Record
from tts_prep.format.layout import MANIFEST
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import Manifest
from tts_prep.loader.dataset.metadata import speaker_values


@dataclass(frozen=True, eq=False, repr=False)
class RowStatistics:
    """Statistics of the rows of an added array; for pitch, of voiced frames only.

    All values are 0 if there are no rows.

    Attributes:
        count: the number of rows.
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

    def __repr__(self) -> str:
        return f"<RowStatistics of {self.count:,} rows>"


def parse_statistics(store: Path, manifest: Manifest, index: Index, spec: ArraySpec) -> RowStatistics:
    """Return the statistics of an added array.

    Raises:
        CorruptStoreError: they violate the format.
    """
    record = Record(f"{store / MANIFEST}: array '{spec.name}'", manifest.arrays[spec.name]).record("statistics")
    n = int(np.prod(spec.row_shape, dtype=np.int64))
    n_speakers = len(manifest.speakers)
    values: dict[str, npt.NDArray[Any]] = {}
    for key in ("mean", "std", "min", "max"):
        values[key] = np.array(record.numbers(key, n), np.float64).reshape(spec.row_shape)
        by_speaker = speaker_values(index, f"{spec.name}_{key}", (n_speakers, n), "f")
        values[f"speaker_{key}"] = by_speaker.reshape(n_speakers, *spec.row_shape)
    counts = speaker_values(index, f"{spec.name}_count", (n_speakers,), "i")
    return RowStatistics(count=record.integer("count"), speaker_count=counts, **values)


def statistics_of_rows(
    utterances: Iterable[tuple[int, npt.NDArray[Any]]], row_shape: tuple[int, ...], n_speakers: int
) -> RowStatistics:
    """Compute the statistics of the rows of an array in float64.

    Args:
        utterances: for each utterance, the code of its speaker and its rows, [n, *row_shape].
        row_shape: the shape of a row.
        n_speakers: the number of speakers of the store.
    """
    from tts_prep.format.statistics import ArrayStatistics

    n = int(np.prod(row_shape, dtype=np.int64))
    speakers = [ArrayStatistics.empty(n) for _ in range(n_speakers)]
    for code, rows in utterances:
        speakers[code] = speakers[code].merged(ArrayStatistics.of(rows, n))
    total = ArrayStatistics.empty(n)
    for speaker in speakers:
        total = total.merged(speaker)
    found = [total, *speakers]
    values = {
        "mean": np.stack([part.moments.mean for part in found]),
        "std": np.stack([part.moments.std for part in found]),
        "min": np.stack([part.low for part in found]),
        "max": np.stack([part.high for part in found]),
    }
    shaped = {key: value.reshape(len(found), *row_shape) for key, value in values.items()}
    return RowStatistics(
        count=total.moments.count,
        speaker_count=np.array([part.moments.count for part in speakers], np.int64),
        **{key: value[0] for key, value in shaped.items()},
        **{f"speaker_{key}": value[1:] for key, value in shaped.items()},
    )
