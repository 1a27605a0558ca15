"""The arrays of the outputs of a function of batches: which utterances have them, and what an update keeps of them."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from tts_prep.errors import ConfigurationError, CorruptStoreError
from tts_prep.format.assembly import StoredShard
from tts_prep.format.contents.array_file import array_key
from tts_prep.format.contents.array_writer import ShardRows, write_array_file
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.layout import OWN, UTTERANCE, array_file_name
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import FileEntry, Manifest
from tts_prep.format.records.sources import IncompleteArray
from tts_prep.models.function import Description, Missing
from tts_prep.models.processes import Outcome
from tts_prep.preprocess.make.feature_inputs import StoredRows, stored_values
from tts_prep.preprocess.make.folder import take_over_file
from tts_prep.update.kept_arrays import KeptArrays, OldPlaces, ShardRowsByValue

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


def keep_outputs(
    source: Path, folder: Path, manifest: Manifest, shards: Sequence[StoredShard], rows: OldPlaces
) -> Iterator[tuple[Collection[str], KeptArrays]]:
    """Yield the names of the arrays of each function of an old store, and these arrays in the new one."""
    for outputs in Outputs.recorded(manifest):
        yield outputs.specs.keys(), _KeptOutputs(source, folder, manifest, outputs, rows).keep(shards)


class _KeptOutputs:
    """The arrays of a function of batches, which says of each utterance whether it has a value."""

    def __init__(self, source: Path, folder: Path, manifest: Manifest, outputs: Outputs, rows: OldPlaces) -> None:
        self._source, self._folder, self._outputs, self._rows = source, folder, outputs, rows
        self._entries = manifest.array_files
        self._outcomes = lru_cache(maxsize=4)(self._read_outcomes)

    def keep(self, shards: Sequence[StoredShard]) -> KeptArrays:
        """Take over or write the files of the new shards; new and changed rows wait for the function."""
        names = self._outputs.specs
        n_pending = sum(outcome == PENDING for shard in shards for outcome in self._of(shard))
        is_kept = n_pending < sum(shard.header.rows for shard in shards)
        entries = [self._files(shard) for shard in shards] if is_kept else []
        files = {name: [of_shard[name] for of_shard in entries] for name in names} if is_kept else {}
        arrays = self._outputs.arrays or (self._outputs.texts,)
        incomplete = tuple(IncompleteArray(spec, n_pending, is_kept) for spec in arrays if n_pending)
        return KeptArrays(files, incomplete)

    def _files(self, shard: StoredShard) -> dict[str, FileEntry]:
        old = self._rows.old_numbers.get(shard.number)
        if old is not None and self._outcomes(old) is not None:
            return {name: self._taken_over(name, old, shard.number) for name in self._outputs.specs}
        rows = ShardRowsByValue.read(self._folder, shard.number).stored.rows
        return self._outputs.write(self._folder, rows, self._of(shard))

    def _taken_over(self, name: str, old: int, number: int) -> FileEntry:
        entry, file = self._entries[name][old], array_file_name(name, number)
        take_over_file(self._source, self._folder, entry.file, file)
        return replace(entry, file=file)

    def _of(self, shard: StoredShard) -> Sequence[Outcome]:
        """Return the outcome of each row of a new shard."""
        old = self._rows.old_numbers.get(shard.number)
        if old is not None:
            return self._outcomes(old) or [PENDING] * shard.header.rows
        found: list[Outcome] = []
        for place in self._rows.places(shard.number):
            outcomes = self._outcomes(place.shard) if place else None
            found.append(outcomes[place.position] if place and outcomes else PENDING)
        return found

    def _read_outcomes(self, number: int) -> Sequence[Outcome] | None:
        """Return the outcomes of an old shard; None if a file is broken."""
        entries = [self._entries[name][number] for name in self._outputs.specs]
        paths = [self._source / entry.file for entry in entries]
        are_intact = all(
            path.is_file() and file_sha256(path) == entry.sha256 for path, entry in zip(paths, entries, strict=True)
        )
        with contextlib.suppress(CorruptStoreError):
            return self._outputs.outcomes(self._source, self._rows.stored(number)) if are_intact else None
        return None
