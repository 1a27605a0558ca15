"""Numeric columns of utterances: measures of the checks, and means of features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.checks.measures import UNITS, Measures
from tts_prep.loader import UtteranceDataset
from tts_prep.loader.dataset.showing import hertz

_NAMES = {"seconds": "Length", "phone_rate": "Speaking rate", "phones": "Phones", "snr": "SNR"}
_FIRST = ("seconds", "phone_rate", "pitch", "loudness", "snr", "energy", "symbol_length")


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A number for each checked utterance.

    Attributes:
        key: the name in files.
        name: the displayed name.
        unit: the unit of the values.
        values: [n] float64; NaN is a missing value.
    """

    key: str
    name: str
    unit: str
    values: npt.NDArray[np.float64]

    @property
    def label(self) -> str:
        """The name inside a sentence: only abbreviations keep their capitals."""
        return self.name if self.name.isupper() else self.name.lower()

    @property
    def varies(self) -> bool:
        """Whether there are two different finite values."""
        finite = self.values[np.isfinite(self.values)]
        return len(finite) > 1 and float(finite.min()) < float(finite.max())


def number_columns(measures: Measures) -> list[NumberColumn]:
    """Return the columns of a store, the most important first, including its pitch, energy and durations."""
    columns = [
        NumberColumn(key, _NAMES.get(key, key.replace("_", " ").capitalize()), UNITS[key], values)
        for key, values in measures.columns.items()
    ]
    known = {column.key for column in columns if np.isfinite(column.values).any()}
    features = [column for column in _features(measures.dataset) if column.key not in known]
    columns = [column for column in columns if column.key not in {feature.key for feature in features}] + features
    order = {key: place for place, key in enumerate(_FIRST)}
    return sorted(columns, key=lambda column: order.get(column.key, len(order)))


def _features(dataset: UtteranceDataset) -> Iterator[NumberColumn]:
    seconds_per_frame = dataset.hop_length / dataset.sample_rate
    if has_numbers(dataset, "pitch", "frame"):
        values = [_mean(track[np.isfinite(track)]) for track in pitch_tracks(dataset)]
        yield NumberColumn("pitch", "Pitch", "Hz", np.array(values, float))
    if has_numbers(dataset, "energy", "frame"):
        values = [_mean(view) for view in dataset.views("energy")]
        yield NumberColumn("energy", "Energy", "L2 norm", np.array(values, float))
    if has_numbers(dataset, "durations", "phoneme"):
        values = [_mean(view[view > 0]) * seconds_per_frame * 1000 for view in dataset.views("durations")]
        yield NumberColumn("symbol_length", "Length of a symbol", "ms", np.array(values, float))


def has_numbers(dataset: UtteranceDataset, name: str, axis: str) -> bool:
    """Return whether the store has an array with one number per frame or phoneme."""
    spec = dataset.arrays.get(name)
    return spec is not None and spec.axis == axis and not spec.row_shape


def pitch_tracks(dataset: UtteranceDataset) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the pitch of each utterance, [n_frames] Hz, NaN where unvoiced."""
    spec = dataset.arrays["pitch"]
    pitch = dataset.views("pitch")
    voiced = dataset.views("voiced") if has_numbers(dataset, "voiced", "frame") else [None] * len(pitch)
    for values, mask in zip(pitch, voiced, strict=True):
        yield hertz(spec, values, mask)


def _mean(values: npt.NDArray[np.generic]) -> float:
    return float(values.mean(dtype=np.float64)) if len(values) else float("nan")
