"""Numeric columns of utterances: measures of the checks, and means of features."""

import contextlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep import doors
from tts_prep.checks.catalogue import MEASURES, in_sentence
from tts_prep.checks.findings import Measures
from tts_prep.checks.measuring import NAMES
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.features.feature import COLUMNS, FeatureArrays, FeatureColumn, hertz
from tts_prep.quantities import number_text

_FIRST = ("seconds", "phone_rate", "pitch", "loudness", "snr", "energy", "symbol_length")


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A number for each checked utterance.

    Attributes:
        key: the name in files.
        name: the displayed name.
        unit: the unit of the values.
        values: [n] float64; NaN is a missing value.
        meaning: what the values are, in one line.
        by_speaker: whether a mean says something about a speaker.
    """

    key: str
    name: str
    unit: str
    values: npt.NDArray[np.float64]
    meaning: str = ""
    by_speaker: bool = True

    @property
    def label(self) -> str:
        """The name inside a sentence."""
        return in_sentence(self.name)

    @property
    def axis(self) -> str:
        """The label of an axis."""
        named = not self.unit or f" {self.unit} " in f" {self.label} "
        return self.label if named else f"{self.label} ({self.unit})"

    def fact(self, position: int) -> str:
        """Return the value of an utterance with its unit, and with its name if the unit does not tell."""
        name = "" if self.key in ("seconds", "phone_rate") else f"{self.label} "
        return f"{name}{number_text(float(self.values[position]))} {self.unit}".rstrip()

    @property
    def varies(self) -> bool:
        """Whether there are two different finite values that are not only 0 and 1, for no and yes."""
        finite = self.values[np.isfinite(self.values)]
        return len(finite) > 1 and float(finite.min()) < float(finite.max()) and not np.isin(finite, (0, 1)).all()


def number_columns(measures: Measures) -> list[NumberColumn]:
    """Return the columns of a store, the most important first, including its pitch, energy and durations."""
    columns = [
        NumberColumn(m.name, m.label, m.unit, measures.columns[m.name], m.meaning, m.by_speaker) for m in MEASURES
    ]
    known = {column.key for column in columns if np.isfinite(column.values).any()}
    features = [column for column in _features(measures.dataset) if column.key not in known]
    columns = [column for column in columns if column.key not in {feature.key for feature in features}] + features
    columns += _own_columns(measures.dataset, {column.key for column in columns})
    order = {key: place for place, key in enumerate(_FIRST)}
    return sorted(columns, key=lambda column: order.get(column.key, len(order)))


def _own_columns(dataset: UtteranceDataset, known: Collection[str]) -> Iterator[NumberColumn]:
    """Yield the numbers of the corpus, and those that were added as columns."""
    own = {column for spec in dataset.arrays.values() for column in spec.columns or ()}
    for name in sorted({*dataset.columns} - {*FIXED_COLUMNS, *NAMES, *own, *known}):
        values: Any = dataset.columns[name]
        if isinstance(values, np.ndarray):
            yield NumberColumn(name, name.replace("_", " ").capitalize(), "", values.astype(np.float64))


def _features(dataset: UtteranceDataset) -> Iterator[NumberColumn]:
    frame_seconds = dataset.hop_length / dataset.sample_rate
    for column in _columns(dataset):
        if has_numbers(dataset, column.array, column.axis):
            names = [name for name in (column.array, *column.others) if has_numbers(dataset, name, column.axis)]
            views = zip(*(dataset.views(name) for name in names), strict=True)
            arrays = (FeatureArrays(dict(zip(names, row, strict=True)), dataset.arrays, frame_seconds) for row in views)
            values = np.array([column.number(given) for given in arrays], np.float64)
            yield NumberColumn(column.name, column.label, column.unit, values, column.meaning)


def _columns(dataset: UtteranceDataset) -> Iterator[FeatureColumn]:
    """Yield the columns of built-in features, and of those of other packages that have added arrays to the store."""
    yield from COLUMNS
    if doors.others("features") and any(spec.added for spec in dataset.arrays.values()):
        # Packages of features need the libraries that make stores; a report without them shows built-in features.
        with contextlib.suppress(ImportError):
            from tts_prep.preprocess.features.registry import all_features

            others = (kind for kind in all_features() if kind.name not in doors.rows("features"))
            yield from (column for kind in others for column in kind.columns)


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
        yield hertz(spec.settings.get("unit"), values, mask)
