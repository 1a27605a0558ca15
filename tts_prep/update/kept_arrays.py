"""Keep what an update of a store does not make again: rows with the same inputs, and added arrays.

A shard has the key of each of its rows. In an update, a row with the same key and the same settings has the same
values, so that only the other rows of a changed shard are made.

An array that is computed from the corpus is made again with its recorded settings, so that its files of unchanged
shards are taken over by their keys. The values of any other array are kept for unchanged rows: rows with the same
texts, phonemes and mel, or with those of them that a column says it depends on. If rows have no values, columns of the
index get NaN or empty texts there, and other arrays are left out; those of a function of batches are kept, as it says
of each utterance whether it has a value.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep import doors
from tts_prep.errors import CorruptStoreError, TtsPrepError
from tts_prep.format.assembly import StoredShard, assemble_store
from tts_prep.format.contents.array_file import array_key, read_array_header
from tts_prep.format.contents.array_writer import write_array_file
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.hdf5.columns import column_datasets, column_of
from tts_prep.format.hdf5.datasets import Array, dataset_at, map_file
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.layout import COUNTED, FRAME, PHONEME, array_file_name, shard_name
from tts_prep.format.records.arrays import AUDIO, DEPENDENCIES, OF_MODEL, OF_PLAN, SPEAKER, TEXT, ArraySpec
from tts_prep.format.records.manifest import FileEntry, Manifest
from tts_prep.format.records.sources import IncompleteArray
from tts_prep.preprocess.configuration.records import Configuration, without_lexicon
from tts_prep.preprocess.features.feature import Feature
from tts_prep.preprocess.features.kinds import get_feature, make_feature, recorded_feature
from tts_prep.preprocess.make.array_files import index_array_file, index_array_files
from tts_prep.preprocess.make.feature_inputs import StoredRows, stored_values
from tts_prep.preprocess.make.folder import take_over_file
from tts_prep.preprocess.make.resuming import row_keys
from tts_prep.preprocess.make.shards import MadeShard
from tts_prep.preprocess.make.transaction import StoreTransaction
from tts_prep.preprocess.plan.planned_store import PlannedStore
from tts_prep.preprocess.plan.shard_plans import OldRow, OldRows, OldShard
from tts_prep.quantities import count_text


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


_ALL: Final = frozenset(DEPENDENCIES)


@dataclass(frozen=True)
class KeptArrays:
    """The arrays of an old store in the new one.

    Attributes:
        files: the files of each kept array, one per shard, in order.
        incomplete: the arrays that have no values for some rows.
    """

    files: Mapping[str, Sequence[FileEntry]] = field(default_factory=dict)
    incomplete: tuple[IncompleteArray, ...] = ()


def recorded_features(manifest: Manifest, config: Configuration, given: Collection[str]) -> tuple[Feature, ...]:
    """Return the built-in features that compute arrays of a store from its corpus, with their recorded settings.

    Args:
        given: the names of arrays that are made anyway.
    """
    found: list[Feature] = []
    # A trained model knows phonemes by their ids.
    has_same_ids = manifest.configuration["text"] == config.as_dict()["text"]
    for name, spec in manifest.specs.items():
        recorded = recorded_feature(spec)
        if recorded is None or name in given or (get_feature(recorded[0]).trained and not has_same_ids):
            continue
        # A feature that needs more than the corpus, or that another version computes, is not made again.
        with contextlib.suppress(TtsPrepError):
            feature = make_feature(*recorded, config.mel)
            if all(manifest.specs.get(of_feature.name) == of_feature for of_feature in feature.specs):
                found.append(feature)
    return tuple(found)


def keep_arrays(
    source: Path, folder: Path, manifest: Manifest, shards: Sequence[StoredShard], made: Collection[str]
) -> KeptArrays:
    """Keep the arrays of an old store that a new one does not make, as far as rows are unchanged.

    Args:
        source, manifest: the old store and its manifest.
        folder, shards: the new store and its shards.
        made: the names of the arrays that the new store has already.
    """
    specs = {name: spec for name, spec in manifest.specs.items() if spec.added and name not in made}
    if not specs:
        return KeptArrays()
    rows = OldPlaces(source, folder, manifest, shards)
    files: dict[str, Sequence[FileEntry]] = {}
    incomplete: list[IncompleteArray] = []
    for row in doors.rows("kept").values():
        if any(getattr(spec, key) for key in row.keys for spec in specs.values()):
            for names, kept_together in doors.load("kept", row)(source, folder, manifest, shards, rows):
                if names <= specs.keys():
                    files |= kept_together.files
                    incomplete += kept_together.incomplete
                    specs = {name: spec for name, spec in specs.items() if name not in names}
    for spec in specs.values():
        values = _KeptArray(source, folder, manifest, spec, rows)
        missing = np.concatenate([values.missing(shard) for shard in shards])
        n_missing = int(missing.any(axis=1).sum())
        columns = {name: n for name, n in zip(spec.own_names or ("",), missing.sum(axis=0).tolist(), strict=True) if n}
        # Scores of a model belong to the durations of the same model.
        needs_all = OF_PLAN in spec.settings or OF_MODEL in spec.settings
        is_kept = not n_missing or (spec.holds_columns and not needs_all)
        if is_kept:
            kept = values.spec_of(shards, columns)
            files[spec.name] = [values.keep(shard, kept) for shard in shards]
        if n_missing:
            incomplete.append(IncompleteArray(spec, n_missing, is_kept, columns if is_kept else {}))
    return KeptArrays(files, tuple(incomplete))


@dataclass(frozen=True, eq=False)
class ShardRowsByValue:
    """The rows of a shard: what values of other arrays depend on."""

    stored: StoredRows
    texts: Sequence[tuple[str, ...]]
    phonemes: Sequence[Array]
    mels: Sequence[Array]

    @classmethod
    def read(cls, store: Path, number: int) -> ShardRowsByValue:
        """Read a shard of a store."""
        stored = StoredRows.read(store, number)
        columns = (stored.texts(name) for name in ("id", "speaker", "text", "phoneme_text"))
        texts = list(zip(*columns, strict=True))
        return cls(stored, texts, stored.array("phonemes", PHONEME), stored.array("mel", FRAME))

    def same(self, position: int, other: ShardRowsByValue, of_other: int) -> frozenset[str]:
        """Return which of `DEPENDENCIES` a row has in common with one of another shard."""
        _, speaker, *texts = self.texts[position]
        _, speaker_of_other, *texts_of_other = other.texts[of_other]
        is_same = {
            AUDIO: np.array_equal(self.mels[position], other.mels[of_other]),
            SPEAKER: speaker == speaker_of_other,
            TEXT: texts == texts_of_other and np.array_equal(self.phonemes[position], other.phonemes[of_other]),
        }
        return frozenset(name for name in DEPENDENCIES if is_same[name])


class OldPlaces:
    """Finds the rows of the changed shards of a new store among those of the old one."""

    def __init__(self, source: Path, folder: Path, manifest: Manifest, shards: Sequence[StoredShard]) -> None:
        self._folder = folder
        # Several rows of a shard are asked for one after another.
        self._old = lru_cache(maxsize=4)(partial(ShardRowsByValue.read, source))
        self.old_numbers = unchanged_shards(manifest, [shard.entry for shard in shards])
        """The number of each unchanged shard in the old store."""
        self._places: dict[str, OldRow] = {}
        for number in sorted(set(range(len(manifest.shards))) - set(self.old_numbers.values())):
            # A broken shard has no rows to keep.
            with contextlib.suppress(CorruptStoreError):
                for position, texts in enumerate(self._old(number).texts):
                    self._places[texts[0]] = OldRow(number, position)
        self._found: dict[int, list[tuple[OldRow, frozenset[str]] | None]] = {}

    def places(self, number: int) -> list[OldRow | None]:
        """Return the old place of each row of a new shard; None for a row that is new or has changed."""
        return [found[0] if found and found[1] == _ALL else None for found in self.same(number)]

    def same(self, number: int) -> list[tuple[OldRow, frozenset[str]] | None]:
        """Return the old place of each row of a new shard, and what is the same there; None for a new row."""
        if number not in self._found:
            new = ShardRowsByValue.read(self._folder, number)
            self._found[number] = [self._same(new, position) for position in range(len(new.texts))]
        return self._found[number]

    def _same(self, new: ShardRowsByValue, position: int) -> tuple[OldRow, frozenset[str]] | None:
        place = self._places.get(new.texts[position][0])
        return (place, self._old(place.shard).same(place.position, new, position)) if place else None

    def stored(self, number: int) -> StoredRows:
        """Return the rows of an old shard."""
        return self._old(number).stored


class _KeptArray:
    """One array of an old store, whose values are kept for unchanged rows."""

    def __init__(self, source: Path, folder: Path, manifest: Manifest, spec: ArraySpec, rows: OldPlaces) -> None:
        self._source, self._folder, self._manifest, self._spec, self._rows = source, folder, manifest, spec, rows
        self._entries = manifest.array_files[spec.name]
        self._values: dict[int, Sequence[Array] | None] = {}
        self._known: dict[int, Sequence[str | None]] = {}
        self._depends = [frozenset(spec.depends.get(name, DEPENDENCIES)) for name in spec.own_names or ("",)]

    def missing(self, shard: StoredShard) -> npt.NDArray[np.bool_]:
        """Return for each row of a new shard, and each column that the array holds, whether it has no value, [n, m]."""
        rows = np.full(shard.header.rows, OF_PLAN in self._spec.settings)
        if rows.any() or self._unchanged(shard):
            return np.repeat(rows[:, np.newaxis], len(self._depends), axis=1)
        return np.array(list(self._lost(shard.number)), np.bool_).reshape(len(rows), len(self._depends))

    def _lost(self, number: int) -> Iterator[list[bool]]:
        for found in self._rows.same(number):
            is_kept = found is not None and self._old_values(found[0].shard) is not None
            yield [not (is_kept and found and depends <= found[1]) for depends in self._depends]

    def spec_of(self, shards: Sequence[StoredShard], missing: Collection[str]) -> ArraySpec:
        """Return the specification in the new store: its categories are those of its rows, as if they were added to it.

        Args:
            missing: the columns without values in some rows, which are empty texts in those of categories.
        """
        spec = self._spec
        if not spec.categories:
            return spec
        values = np.concatenate([np.empty((0, len(spec.index_columns))), *map(self._table, shards)])
        tables = {}
        for name, table in spec.categories.items():
            codes = np.unique(values[:, spec.index_columns.index(name)])
            used = {table[int(code)] for code in codes[~np.isnan(codes)]}
            tables[name] = sorted({*used, *([""] if name in missing else [])})
        return replace(spec, settings={**spec.settings, "categories": tables})

    def _table(self, shard: StoredShard) -> Array:
        """Return the numbers of those rows of a new shard that have some, [n, n_columns]."""
        if entry := self._unchanged(shard):
            # What the seal covers is not read again.
            path = self._source / entry.file
            return map_file(path).dataset(dataset_at(path, read_locations(path), self._spec.name))
        rows = [row for row in self._of(shard.number) if row is not None]
        return np.array(rows).reshape(len(rows), len(self._spec.index_columns))

    def keep(self, shard: StoredShard, spec: ArraySpec) -> FileEntry:
        """Take over or write the file of a new shard; return its entry.

        Args:
            spec: the specification in the new store, which may have other categories.
        """
        entry = self._unchanged(shard)
        if entry and spec == self._spec:
            file = array_file_name(spec.name, shard.number)
            take_over_file(self._source, self._folder, entry.file, file)
            return replace(entry, file=file)
        if entry:
            # Only columns of numbers get other specifications.
            return index_array_file(self._folder, spec, shard, list(self._recoded(self._table(shard), spec)))
        found = list(self._of(shard.number))
        if spec.holds_columns:
            return index_array_file(self._folder, spec, shard, self._columns(spec, found))
        values = [row for row in found if row is not None]
        rows = ShardRowsByValue.read(self._folder, shard.number).stored.rows
        places = [place for place in self._rows.places(shard.number) if place]  # all that the array depends on
        sources = [self._sources(place.shard)[place.position] for place in places]
        sources = sources if any(source is not None for source in sources) else []
        counted = self._counted(shard) if spec.name in COUNTED else None
        key = array_key(spec, rows.key, sources)
        return write_array_file(self._folder, spec, rows, key, values, counted=counted, sources=sources)

    def _counted(self, shard: StoredShard) -> list[Array] | None:
        """Return which values of each row the statistics count, by another array."""
        name = COUNTED[self._spec.name]
        if name not in self._manifest.specs:
            return None
        mask = _KeptArray(self._source, self._folder, self._manifest, self._manifest.specs[name], self._rows)
        return [np.asarray(row, np.bool_) for row in mask._of(shard.number) if row is not None]

    def _sources(self, number: int) -> Sequence[str | None]:
        """Return the sources of the utterances of an old shard, which their values stay with."""
        if number not in self._known:
            path = self._source / self._entries[number].file
            header = read_array_header(path, read_locations(path))
            self._known[number] = header.sources or [None] * header.rows
        return self._known[number]

    def _columns(self, spec: ArraySpec, found: Sequence[Array | None]) -> list[Array]:
        """Return the rows of an array of columns, with missing values where nothing was found."""
        if spec.text_columns:
            return [np.zeros(len(spec.text_columns), np.uint8) if row is None else row for row in found]
        missing = np.full(len(spec.index_columns), np.nan)
        return [self._recoded((missing if row is None else row)[np.newaxis], spec)[0] for row in found]

    def _recoded(self, table: Array, spec: ArraySpec) -> Array:
        """Return rows of the old store with the codes of the categories of a new one, [n, n_columns]."""
        recoded = np.array(table)
        for name, texts in spec.categories.items():
            new = {text: code for code, text in enumerate(texts)}
            codes = np.array([new.get(text, 0) for text in self._spec.categories[name]], np.float64)
            column = spec.index_columns.index(name)
            # The first category is the empty one, if values are missing.
            old = recoded[:, column]
            recoded[:, column] = np.where(np.isnan(old), 0, codes[np.nan_to_num(old).astype(np.int64)])
        return recoded

    def _unchanged(self, shard: StoredShard) -> FileEntry | None:
        """Return the old file of an unchanged shard, if it is intact."""
        number = self._rows.old_numbers.get(shard.number)
        if number is None or OF_PLAN in self._spec.settings:
            return None
        entry = self._entries[number]
        path = self._source / entry.file
        return entry if path.is_file() and file_sha256(path) == entry.sha256 else None

    def _of(self, number: int) -> Iterator[Array | None]:
        """Yield the values of each row of a new shard, or None; NaN or an empty text for those that are lost."""
        for found, lost in zip(self._rows.same(number), self._lost(number), strict=True):
            values = self._old_values(found[0].shard) if found and not all(lost) else None
            yield self._without(values[found[0].position], lost) if found and values is not None else None

    def _without(self, values: Array, lost: Sequence[bool]) -> Array:
        """Return the values of a row without those of the columns that are lost."""
        if not any(lost):
            return values
        if self._spec.text_columns:
            texts = values.tobytes().split(b"\0")
            kept = [b"" if is_lost else text for text, is_lost in zip(texts[:-1], lost, strict=True)]
            return np.frombuffer(b"".join(text + b"\0" for text in kept), np.uint8)
        return np.where(lost, np.nan, values)

    def _old_values(self, number: int) -> Sequence[Array] | None:
        """Return the values of an old shard by position; None if their file is broken."""
        if number not in self._values:
            try:
                self._values[number] = stored_values(self._source, self._spec, number, self._rows.stored(number))
            except CorruptStoreError:
                self._values[number] = None
        return self._values[number]


def complete_store(
    transaction: StoreTransaction, made: Sequence[MadeShard], added: Mapping[str, Sequence[FileEntry]]
) -> tuple[Manifest, KeptArrays]:
    """Write index and manifest of a store whose shards are made, with what is kept of the arrays of the old one."""
    old, source, folder = transaction.old, transaction.source, transaction.folder
    shards = [shard.stored for shard in made]
    if not old or not source:
        return assemble_store(folder, shards, added), KeptArrays()
    kept = keep_arrays(source, folder, old, shards, added.keys())
    files: dict[str, Sequence[FileEntry]] = {**added, **kept.files}
    manifest = assemble_store(folder, shards, files)
    makers = doors.rows("arrays")
    again = [array for array in kept.incomplete if OF_PLAN in array.spec.settings and array.spec.name in makers]
    if not again:
        return manifest, kept
    rows = unchanged_rows(source, old, folder, manifest)
    for array in again:
        spec, table = makers[array.spec.name].load()(source, folder, rows)
        values = partial(_slice_of, table)
        files[spec.name] = index_array_files(folder, spec.checked(), shards, values)
    rest = tuple(array for array in kept.incomplete if array not in again)
    return assemble_store(folder, shards, files), replace(kept, incomplete=rest)


def _slice_of(table: npt.NDArray[np.float64], rows: slice) -> list[npt.NDArray[np.float64]]:
    return list(table[rows])


def incomplete_text(store: Path, array: IncompleteArray) -> str:
    """Return one line about an array of an updated store that has no values for some rows."""
    spec, rows = array.spec, count_text(array.rows, "row")
    if spec.failures and array.is_kept:
        return (
            f"{spec.name}: no values for {rows}, new or changed; the same 'tts-prep add {store} …' computes them alone"
        )
    if array.is_kept:
        of_rows: dict[int, list[str]] = {}
        for name, count in (array.columns or dict.fromkeys(spec.own_names, array.rows)).items():
            of_rows.setdefault(count, []).append(name)
        lines = [f"{', '.join(names)}: no values for {count_text(n, 'row')}" for n, names in of_rows.items()]
        return f"{'; '.join(lines)}, new or changed"
    row = doors.rows("arrays").get(spec.name)
    option = row.about if row else f"--array {spec.name}@{spec.axis}=PATH"
    if OF_MODEL in spec.settings:
        of_model = spec.settings[OF_MODEL]
        option = f"--feature {of_model['function']}" if "function" in of_model else "--feature durations"
    why = "its values depend on all rows" if OF_PLAN in spec.settings else f"no values for {rows}, new or changed"
    return f"{spec.name}: left out, {why}; 'tts-prep add {store} {option}' adds it again"
