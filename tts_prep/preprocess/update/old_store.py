"""The store that an update replaces: which rows it has by key, and which with the same values.

The first is asked before rows are made, so that their values need not be computed; the second after, because arrays
that nothing computes again belong to values, not to the inputs of a run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import CorruptStoreError
from tts_prep.format.assembly import StoredShard
from tts_prep.format.hdf5.columns import column_datasets, column_of
from tts_prep.format.hdf5.datasets import Array, map_file
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.layout import FRAME, PHONEME, shard_name
from tts_prep.format.records.manifest import FileEntry, Manifest
from tts_prep.preprocess.make.feature_inputs import StoredRows
from tts_prep.preprocess.make.resuming import row_keys
from tts_prep.preprocess.plan.planned_store import PlannedStore
from tts_prep.preprocess.plan.shard_plans import OldRow, OldRows, OldShard


@dataclass(frozen=True)
class OldStore:
    """A complete store that is replaced by a new one.

    Attributes:
        folder: its folder.
        manifest: its manifest.
    """

    folder: Path
    manifest: Manifest

    def rows_by_key(self, planned: PlannedStore, old: Mapping[str, OldShard]) -> dict[int, OldRows]:
        """Return where rows of changed shards may be, by the number of the planned shard.

        Whether the key of a row is the same is known when its recording is read.

        Args:
            old: its shards by key.
        """
        recipe = planned.recipe
        if not self._has_settings(recipe.settings):
            return {}
        # The statistics of a mel need the values before they are stored at half precision.
        if recipe.arrays["mel"]["dtype"] != "float32":
            return {}
        # A shard with the planned key can have other recordings, unless they are known to be the same.
        pairs = zip(planned.shards, planned.keys, strict=True)
        kept = {key for plan, key in pairs if key in old and plan.known}
        places = self._places_by_id(shard.number for key, shard in old.items() if key not in kept)
        if not places:
            return {}
        changed = (plan for plan, key in zip(planned.shards, planned.keys, strict=True) if key not in kept)
        return {
            plan.number: OldRows(self.folder, tuple(places.get(name) for name, _ in plan.places)) for plan in changed
        }

    def rows_by_value(self, folder: Path, shards: Sequence[StoredShard]) -> RowsByValue:
        """Return what finds the rows of a new store, which has been made, by their values.

        Args:
            folder, shards: the new store and its shards.
        """
        return RowsByValue(self, folder, shards)

    def positions(self, folder: Path, manifest: Manifest) -> npt.NDArray[np.int64]:
        """Return for each row of a new store the row here with the same inputs and settings, [n_rows], or -1.

        Args:
            folder, manifest: the new store and its manifest.
        """
        found = np.full(manifest.index.rows, -1, np.int64)
        if not self._has_settings(vars(manifest)):
            return found
        same = self.same_shards(manifest.shards)
        places = self._places_by_key(sorted({*range(len(self.manifest.shards))} - {*same.values()}))
        starts = np.cumsum([0, *(entry.rows for entry in self.manifest.shards)])
        start = 0
        for number, entry in enumerate(manifest.shards):
            if number in same:
                first = starts[same[number]]
                found[start : start + entry.rows] = np.arange(first, first + entry.rows)
            else:
                for position, key in enumerate(row_keys(folder / entry.file)):
                    if place := places.get(key):
                        found[start + position] = starts[place.shard] + place.position
            start += entry.rows
        return found

    def same_shards(self, shards: Sequence[FileEntry]) -> dict[int, int]:
        """Return the number here of each shard of a new store that has the same bytes."""
        numbers = {entry.sha256: number for number, entry in enumerate(self.manifest.shards)}
        return {number: numbers[entry.sha256] for number, entry in enumerate(shards) if entry.sha256 in numbers}

    def _has_settings(self, settings: Mapping[str, Any]) -> bool:
        """Return whether it was made with these settings, and with the same versions of libraries."""
        return all(getattr(self.manifest, name) == settings[name] for name in ("configuration", "software"))

    def _places_by_key(self, shards: Iterable[int]) -> dict[bytes, OldRow]:
        """Return the place of each row of some shards by its key."""
        return {
            key: OldRow(number, position)
            for number in shards
            for position, key in enumerate(row_keys(self.folder / shard_name(number)))
        }

    def _places_by_id(self, shards: Iterable[int]) -> dict[str, OldRow]:
        """Return the place of each row of some shards by its id."""
        places: dict[str, OldRow] = {}
        for number in shards:
            # A broken shard has no rows to keep.
            with contextlib.suppress(CorruptStoreError):
                path = self.folder / shard_name(number)
                ids = column_of(map_file(path), column_datasets(read_locations(path))["id"])
                places |= {ids[position]: OldRow(number, position) for position in range(len(ids))}
        return places


@dataclass(frozen=True, eq=False)
class ShardValues:
    """The rows of a shard: what values of other arrays depend on."""

    stored: StoredRows
    texts: Sequence[tuple[str, ...]]
    phonemes: Sequence[Array]
    mels: Sequence[Array]

    @classmethod
    def read(cls, store: Path, number: int) -> ShardValues:
        """Read a shard of a store."""
        stored = StoredRows.read(store, number)
        columns = (stored.texts(name) for name in ("id", "speaker", "text", "phoneme_text"))
        texts = list(zip(*columns, strict=True))
        return cls(stored, texts, stored.array("phonemes", PHONEME), stored.array("mel", FRAME))

    def is_same(self, position: int, other: ShardValues, of_other: int) -> bool:
        """Return whether a row has the same texts, phonemes and mel as one of another shard."""
        return (
            self.texts[position] == other.texts[of_other]
            and np.array_equal(self.phonemes[position], other.phonemes[of_other])
            and np.array_equal(self.mels[position], other.mels[of_other])
        )


class RowsByValue:
    """Finds the rows of the changed shards of a new store among those of the old one.

    Attributes:
        old_numbers: the number of each unchanged shard in the old store.
    """

    def __init__(self, old: OldStore, folder: Path, shards: Sequence[StoredShard]) -> None:
        self._folder = folder
        # Several rows of a shard are asked for one after another.
        self._old = lru_cache(maxsize=4)(partial(ShardValues.read, old.folder))
        self.old_numbers = old.same_shards([shard.entry for shard in shards])
        self._places: dict[str, OldRow] = {}
        for number in sorted(set(range(len(old.manifest.shards))) - set(self.old_numbers.values())):
            # A broken shard has no rows to keep.
            with contextlib.suppress(CorruptStoreError):
                for position, texts in enumerate(self._old(number).texts):
                    self._places[texts[0]] = OldRow(number, position)
        self._found: dict[int, list[OldRow | None]] = {}

    def places(self, number: int) -> list[OldRow | None]:
        """Return the old place of each row of a new shard; None for a row that is new or has changed."""
        if number not in self._found:
            new = ShardValues.read(self._folder, number)
            self._found[number] = [self._place(new, position) for position in range(len(new.texts))]
        return self._found[number]

    def _place(self, new: ShardValues, position: int) -> OldRow | None:
        place = self._places.get(new.texts[position][0])
        return place if place and self._old(place.shard).is_same(place.position, new, position) else None

    def stored(self, number: int) -> StoredRows:
        """Return the rows of an old shard."""
        return self._old(number).stored
