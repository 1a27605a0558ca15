"""Keep the values of those rows of a changed shard whose inputs have not changed.

A shard has the key of each of its rows. In an update, a row with the same key and the same settings has the same
values, so that only the other rows of a changed shard are made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import CorruptStoreError
from tts_prep.format.hdf5.columns import column_datasets, column_of
from tts_prep.format.hdf5.datasets import Array, map_file
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.layout import shard_name
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import FileEntry, Manifest
from tts_prep.format.records.remarks import Remarks
from tts_prep.format.statistics import MelStatistics
from tts_prep.preprocess.audio.mel import bin_moments
from tts_prep.preprocess.features.feature import Feature, FeatureInput, FeatureValues
from tts_prep.preprocess.make.array_files import computed
from tts_prep.preprocess.make.examples import Example, lengths_of, row_of
from tts_prep.preprocess.make.feature_inputs import StoredRows, read_again, stored_values
from tts_prep.preprocess.make.recordings import read_as
from tts_prep.preprocess.make.resuming import row_keys
from tts_prep.preprocess.plan.contents import ShardContents
from tts_prep.preprocess.plan.planned_store import PlannedStore
from tts_prep.preprocess.plan.shard_plans import OldRow, OldRows, OldShard, PlannedUtterance
from tts_prep.preprocess.plan.shard_settings import ShardRecipe


def find_old_rows(
    source: Path, manifest: Manifest, planned: PlannedStore, old: Mapping[str, OldShard]
) -> dict[int, OldRows]:
    """Return where rows of changed shards are in the old store, by the number of the planned shard.

    Args:
        source, manifest: the old store and its manifest.
        old: the shards of the old store by key.
    """
    recipe = planned.recipe
    if not _has_settings(manifest, recipe.settings):
        return {}
    # The statistics of a mel need the values before they are stored at half precision.
    if recipe.arrays["mel"]["dtype"] != "float32":
        return {}
    # A shard with the planned key can have other recordings, unless they are known to be the same.
    pairs = zip(planned.shards, planned.keys, strict=True)
    kept = {key for plan, key in pairs if key in old and plan.known}
    places = _rows_by_id(source, (shard.number for key, shard in old.items() if key not in kept))
    if not places:
        return {}
    changed = (plan for plan, key in zip(planned.shards, planned.keys, strict=True) if key not in kept)
    return {plan.number: OldRows(source, tuple(places.get(name) for name, _ in plan.places)) for plan in changed}


def _has_settings(manifest: Manifest, settings: Mapping[str, Any]) -> bool:
    """Return whether a store was made with these settings, and with the same versions of libraries."""
    return all(getattr(manifest, name) == settings[name] for name in ("configuration", "software"))


def _rows_by_key(store: Path, shards: Iterable[int]) -> dict[bytes, OldRow]:
    """Return the place of each row of some shards by its key."""
    return {
        key: OldRow(number, position)
        for number in shards
        for position, key in enumerate(row_keys(store / shard_name(number)))
    }


def _rows_by_id(store: Path, shards: Iterable[int]) -> dict[str, OldRow]:
    """Return the place of each row of some shards by its id."""
    places: dict[str, OldRow] = {}
    for number in shards:
        # A broken shard has no rows to keep.
        with contextlib.suppress(CorruptStoreError):
            path = store / shard_name(number)
            ids = column_of(map_file(path), column_datasets(read_locations(path))["id"])
            places |= {ids[position]: OldRow(number, position) for position in range(len(ids))}
    return places


def unchanged_shards(old: Manifest, shards: Sequence[FileEntry]) -> dict[int, int]:
    """Return the number in an old store of each shard of a new one that has the same bytes."""
    numbers = {entry.sha256: number for number, entry in enumerate(old.shards)}
    return {number: numbers[entry.sha256] for number, entry in enumerate(shards) if entry.sha256 in numbers}


def unchanged_rows(old: Path, old_manifest: Manifest, new: Path, manifest: Manifest) -> npt.NDArray[np.int64]:
    """Return for each row of a store the row of an older one with the same inputs and settings, [n_rows], or -1."""
    found = np.full(manifest.index.rows, -1, np.int64)
    if not _has_settings(old_manifest, vars(manifest)):
        return found
    same = unchanged_shards(old_manifest, manifest.shards)
    places = _rows_by_key(old, sorted({*range(len(old_manifest.shards))} - {*same.values()}))
    starts = np.cumsum([0, *(entry.rows for entry in old_manifest.shards)])
    start = 0
    for number, entry in enumerate(manifest.shards):
        if number in same:
            first = starts[same[number]]
            found[start : start + entry.rows] = np.arange(first, first + entry.rows)
        else:
            for position, key in enumerate(row_keys(new / entry.file)):
                if place := places.get(key):
                    found[start + position] = starts[place.shard] + place.position
        start += entry.rows
    return found


class KeptRows:
    """The rows of a changed shard whose values the old store has.

    Args:
        old: where they are.
        recipe: how the new shard is made.
        contents: the contents of its recordings.
    """

    def __init__(self, old: OldRows, recipe: ShardRecipe, contents: ShardContents) -> None:
        self._old, self._recipe, self._contents = old, recipe, contents
        self._shards: dict[int, _OldShard | None] = {}

    def has(self, number: int) -> bool:
        """Return whether the old store has a row with the same key."""
        return self._found(number) is not None

    def _found(self, number: int) -> tuple[_OldShard, int] | None:
        """Return the shard of the row with the same key, and its position there."""
        place = self._old.places[number]
        shard = self._shard(place.shard) if place else None
        if place is None or shard is None or shard.keys[place.position] != self._contents.row_key(number):
            return None
        return shard, place.position

    def example(self, number: int, row: PlannedUtterance, remarks: Remarks) -> Example | None:
        """Return an utterance as the old store has it; None if it has to be made.

        Args:
            number: the number of the row in the new shard.
            remarks: the remarks on the row are added to it.

        Raises:
            UtteranceError: a feature that the old store does not have cannot be computed.
        """
        if not (found := self._found(number)):
            return None
        shard, position = found
        for kind, symbols in shard.stored.header.row_remarks.get(str(position), {}).items():
            for symbol, count in symbols.items():
                remarks.add(kind, symbol, row.utterance.id, count)
        return shard.example(position, row, self._recipe)

    def _shard(self, number: int) -> _OldShard | None:
        if number not in self._shards:
            try:
                shard = _OldShard(self._old.store, number)
                self._shards[number] = shard if shard.is_made_by(self._recipe) else None
            except CorruptStoreError:
                # Its rows are made again.
                self._shards[number] = None
        return self._shards[number]


class _OldShard:
    """A shard of the old store, and the array files of its rows.

    Raises:
        CorruptStoreError: the shard is broken.
    """

    def __init__(self, store: Path, number: int) -> None:
        self.stored = StoredRows.read(store, number)
        self.keys = self.stored.row_keys
        self._store, self._number = store, number
        self._arrays = {name: self.stored.array(name, spec["axis"]) for name, spec in self.stored.header.arrays.items()}
        self._phoneme_texts = self.stored.texts("phoneme_text")
        self._values: dict[str, Sequence[Array] | None] = {}

    def is_made_by(self, recipe: ShardRecipe) -> bool:
        """Return whether the shard was made with the settings of a recipe."""
        header = vars(self.stored.header)
        return all(header[name] == value for name, value in recipe.settings.items())

    def example(self, position: int, row: PlannedUtterance, recipe: ShardRecipe) -> Example:
        """Return one of its utterances."""
        utterance, cleaning = row.utterance, recipe.config.cleaning
        arrays = {name: values[position] for name, values in self._arrays.items()}
        mel = np.ascontiguousarray(arrays["mel"])
        names = ("seconds", *cleaning.columns)
        columns = {name: float(self.stored.numbers(name)[position]) for name in names}
        phoneme_text = self._phoneme_texts[position]
        source = FeatureInput(
            id=utterance.id,
            speaker=utterance.speaker,
            text=utterance.text,
            phoneme_text=phoneme_text,
            phonemes=np.asarray(arrays["phonemes"]),
            n_frames=len(mel),
            extractor=recipe.extractor,
            read=partial(read_again, recipe, utterance, len(mel)),
            known={"mel": mel},
            cut=self.stored.cuts(recipe.config.mel.sample_rate)[position] if cleaning.trims else None,
            read_again=partial(read_as, recipe, utterance),
        )
        lengths = lengths_of(arrays)
        values = tuple(
            self._stored_values(feature, source, position) or computed(feature, source, lengths)
            for feature in recipe.features
        )
        statistics = MelStatistics(len(mel), *bin_moments(mel))
        return Example(arrays, row_of(utterance, phoneme_text, columns), statistics, values, self.keys[position])

    def _stored_values(self, feature: Feature, utterance: FeatureInput, position: int) -> FeatureValues | None:
        """Return the values of a feature if the old store has them, made in the same way."""
        restored = getattr(feature, "restored", None)
        if restored is None or feature.source(utterance.id, utterance.speaker) is not None:
            return None
        found = {spec.name: self._array(spec) for spec in feature.specs}
        arrays = {name: values[position] for name, values in found.items() if values is not None}
        values: FeatureValues | None = restored(arrays) if len(arrays) == len(found) else None
        return values

    def _array(self, spec: ArraySpec) -> Sequence[Array] | None:
        if spec.name not in self._values:
            try:
                self._values[spec.name] = stored_values(self._store, spec, self._number, self.stored)
            except CorruptStoreError:
                self._values[spec.name] = None
        return self._values[spec.name]
