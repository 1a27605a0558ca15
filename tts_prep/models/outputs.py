"""The arrays in which the outputs of a function of batches are stored, and which utterances have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from tts_prep.errors import ConfigurationError
from tts_prep.format.contents.array_file import array_key
from tts_prep.format.contents.array_writer import ShardRows, write_array_file
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.layout import OWN, UTTERANCE
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import FileEntry, Manifest
from tts_prep.models.function import Description, Missing
from tts_prep.models.processes import Outcome
from tts_prep.preprocess.make.feature_inputs import StoredRows, stored_values

PENDING: Final = Missing("not computed yet: it is new or has changed; run the same 'tts-prep add' again")
"""Why a new utterance of an updated store has no value: functions are not called by an update."""

_FAILURE, _TEXTS, _NUMBERS = "_failure", "_texts", "_numbers"


@dataclass(frozen=True)
class Outputs:
    """The arrays in which the outputs of a function are stored.

    Attributes:
        arrays: those of its arrays.
        numbers: that of its numbers, or None.
        texts: that of its texts; the first of them is why an utterance has no value.
    """

    arrays: tuple[ArraySpec, ...]
    numbers: ArraySpec | None
    texts: ArraySpec

    @classmethod
    def of(cls, name: str, description: Description) -> Outputs:
        """Return the arrays of a function's outputs.

        Args:
            name: the name of the outputs together.
        """
        failure = f"{name}{_FAILURE}"
        settings, software = description.settings, description.software
        numbers = tuple(sorted(name for name, kind in description.columns.items() if kind is float))
        texts = (failure, *sorted(name for name, kind in description.columns.items() if kind is str))
        of_numbers = ArraySpec(
            f"{name}{_NUMBERS}",
            "float64",
            (len(numbers),),
            UTTERANCE,
            settings=settings,
            software=software,
            index_columns=numbers,
        )
        of_texts = ArraySpec(
            f"{name}{_TEXTS}", "uint8", (), OWN, settings=settings, software=software, text_columns=texts
        )
        arrays = tuple(replace(spec, failures=failure) for spec in description.arrays)
        return cls(
            tuple(spec.checked() for spec in arrays), of_numbers.checked() if numbers else None, of_texts.checked()
        )

    @classmethod
    def recorded(cls, manifest: Manifest) -> Iterator[Outputs]:
        """Yield the outputs of each function that a store has."""
        for texts in manifest.specs.values():
            name = texts.name.removesuffix(_TEXTS)
            if texts.text_columns[:1] == (f"{name}{_FAILURE}",):
                arrays = [spec for spec in manifest.specs.values() if spec.failures == texts.text_columns[0]]
                yield cls(tuple(arrays), manifest.specs.get(f"{name}{_NUMBERS}"), texts)

    @property
    def name(self) -> str:
        """The name of the outputs together."""
        return self.texts.name.removesuffix(_TEXTS)

    @property
    def failure(self) -> str:
        """The column that says why an utterance has no value."""
        return self.texts.text_columns[0]

    @property
    def specs(self) -> dict[str, ArraySpec]:
        """All arrays by name."""
        found = (*self.arrays, *([self.numbers] if self.numbers else []), self.texts)
        names = sorted(name for spec in found for name in (spec.name, *spec.own_columns))
        if same := [name for name, after in pairwise(names) if name == after]:
            raise ConfigurationError(
                f"two outputs have the same name '{same[0]}', or one has that of a column for another; there are "
                f"{', '.join(names)}"
            )
        return {spec.name: spec for spec in found}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the index."""
        return (*(self.numbers.index_columns if self.numbers else ()), *self.texts.text_columns)

    def values(self, spec: ArraySpec, outcome: Outcome, lengths: Mapping[str, int]) -> Array:
        """Return the value of an array for an utterance; without one, zeros, or no rows with the axis ``own``."""
        if spec is self.texts:
            reason, values = (outcome.reason, {}) if isinstance(outcome, Missing) else ("", outcome)
            texts = (reason, *(values.get(name, "") for name in spec.text_columns[1:]))
            return np.frombuffer("".join(f"{text}\0" for text in texts).encode(), np.uint8)
        if spec is self.numbers:
            numbers = {} if isinstance(outcome, Missing) else outcome
            return np.array([numbers.get(name, np.nan) for name in spec.index_columns], np.float64)
        if isinstance(outcome, Missing):
            rows = () if spec.axis == UTTERANCE else (0 if spec.axis == OWN else lengths[spec.axis],)
            return np.zeros((*rows, *spec.row_shape), spec.dtype)
        value: Array = outcome[spec.name]
        return value

    def write(self, folder: Path, rows: ShardRows, outcomes: Sequence[Outcome]) -> dict[str, FileEntry]:
        """Write the files of a shard."""
        lengths = [{axis: of_axis[row] for axis, of_axis in rows.lengths.items()} for row in range(len(outcomes))]
        entries = {}
        for spec in self.specs.values():
            values = [self.values(spec, outcome, of_row) for outcome, of_row in zip(outcomes, lengths, strict=True)]
            counted = [
                np.full(1 if spec.axis == UTTERANCE else len(value), not isinstance(outcome, Missing))
                for value, outcome in zip(values, outcomes, strict=True)
            ]
            key = array_key(spec, rows.key)
            entries[spec.name] = write_array_file(folder, spec, rows, key, values, counted=counted)
        return entries

    def missing(self, store: Path, stored: StoredRows) -> dict[str, str]:
        """Return the ids of the utterances of a finished shard without values, and the reasons."""
        reasons = (texts[0] for texts in self._texts(store, stored))
        return {uid: reason for uid, reason in zip(stored.rows.ids, reasons, strict=True) if reason}

    def outcomes(self, store: Path, stored: StoredRows) -> list[Outcome]:
        """Return the outcome of each utterance of a finished shard.

        Raises:
            CorruptStoreError: a file is broken or missing.
        """
        arrays = {spec.name: stored_values(store, spec, stored.rows.number, stored) for spec in self.arrays}
        numbers = stored_values(store, self.numbers, stored.rows.number, stored) if self.numbers else ()
        found: list[Outcome] = []
        for row, texts in enumerate(self._texts(store, stored)):
            values: dict[str, Any] = {name: of_rows[row] for name, of_rows in arrays.items()}
            values |= dict(zip(self.texts.text_columns, texts, strict=True))
            if self.numbers:
                values |= dict(zip(self.numbers.index_columns, numbers[row].tolist(), strict=True))
            found.append(Missing(texts[0]) if texts[0] else values)
        return found

    def _texts(self, store: Path, stored: StoredRows) -> Iterator[list[str]]:
        """Yield the texts of each utterance of a finished shard, the reason why it has no value first."""
        for values in stored_values(store, self.texts, stored.rows.number, stored):
            yield values.tobytes().decode("utf-8").split("\0")[:-1]
