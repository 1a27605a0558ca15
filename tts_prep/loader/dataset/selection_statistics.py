"""Statistics of an array over selected utterances, such as those of the training split."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tts_prep.format.statistics import ArrayStatistics
from tts_prep.loader.dataset.metadata import RowStatistics

if TYPE_CHECKING:
    from tts_prep.loader.dataset.utterances import UtteranceDataset

_AT_A_TIME = 256
"""The number of utterances with memory maps at a time."""

_COUNTED = {"pitch": "voiced"}
"""Array → the mask of its counted rows, as in the statistics of a store."""


def selection_statistics(dataset: UtteranceDataset, name: str) -> RowStatistics:
    """Compute the statistics of an array over the utterances of a dataset in float64.

    Raises:
        ConfigurationError: the store has no such array.
    """
    spec = dataset.arrays.get(name)
    row_shape = tuple(spec.row_shape) if spec else ()
    n = int(np.prod(row_shape, dtype=np.int64))
    mask = _COUNTED.get(name)
    mask = mask if mask in dataset.arrays else None
    codes = np.asarray(dataset.speaker.checked_codes(), np.int64)
    speakers = [ArrayStatistics.empty(n) for _ in dataset.speaker.table]
    for start in range(0, max(1, len(dataset)), _AT_A_TIME):
        chunk = dataset[start : start + _AT_A_TIME]
        views = chunk.views(name)
        masks = chunk.views(mask) if mask else [None] * len(views)
        for view, counted, code in zip(views, masks, codes[start : start + _AT_A_TIME].tolist(), strict=True):
            rows = np.reshape(view, (-1, *row_shape))
            rows = rows if counted is None else rows[np.asarray(counted, np.bool_)]
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
