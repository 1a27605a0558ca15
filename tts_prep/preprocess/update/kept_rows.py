"""Keep the values of those rows of a changed shard whose inputs have not changed.

A shard has the key of each of its rows. In an update, a row with the same key and the same settings has the same
values, so that only the other rows of a changed shard are made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import CorruptStoreError
from tts_prep.format.hdf5.columns import column_datasets, column_of
from tts_prep.format.hdf5.datasets import map_file
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.layout import shard_name
from tts_prep.format.records.manifest import FileEntry, Manifest
from tts_prep.preprocess.configuration.records import without_lexicon
from tts_prep.preprocess.make.resuming import row_keys
from tts_prep.preprocess.plan.planned_store import PlannedStore
from tts_prep.preprocess.plan.shard_plans import OldRow, OldRows, OldShard


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
    old, new = (without_lexicon(found) for found in (manifest.configuration, settings["configuration"]))
    return old == new and manifest.software == settings["software"]


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
