"""The array files of one shard, made together with the shard or later."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tts_prep.errors import CorruptStoreError, StoreError, UtteranceError
from tts_prep.format.assembly import StoredShard
from tts_prep.format.contents.array_file import CheckedArrayFile, array_key, inspect_array_file, read_array_header
from tts_prep.format.contents.array_writer import ShardRows, write_array_file
from tts_prep.format.contents.shard import CheckedShard
from tts_prep.format.files.checksums import digest_file
from tts_prep.format.files.paths import stored_file
from tts_prep.format.hdf5.columns import TextColumn, column_datasets, column_of
from tts_prep.format.hdf5.datasets import Array, map_file
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.layout import INDEX, array_file_name, shard_name
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import FileEntry, Manifest
from tts_prep.format.records.remarks import Remarks
from tts_prep.preprocess.features.feature import Feature, FeatureInput, FeatureValues, computed, specs_of
from tts_prep.preprocess.make.feature_inputs import StoredRows
from tts_prep.preprocess.make.resuming import has_taken_over
from tts_prep.preprocess.plan.shard_plans import OldShard

_MAX_NAMED = 3
"""The number of failed utterances that an error names."""


def write_array_files(
    store: Path, rows: ShardRows, feature: Feature, values: Sequence[FeatureValues]
) -> dict[str, FileEntry]:
    """Write the array files of one feature and one shard; return their manifest entries by array name."""
    remarks = Remarks()
    for uid, of_utterance in zip(rows.ids, values, strict=True):
        for kind, what in of_utterance.remarks:
            remarks.add(kind, what, uid)
    entries, sources = {}, _sources(rows, feature)
    for spec in feature.specs:
        counted = [of_utterance.counted.get(spec.name) for of_utterance in values]
        entries[spec.name] = write_array_file(
            store,
            spec,
            rows,
            array_key(spec, rows.key, sources),
            [of_utterance.arrays[spec.name] for of_utterance in values],
            counted=None if any(mask is None for mask in counted) else [mask for mask in counted if mask is not None],
            remarks=remarks.as_dict() if spec.name == feature.specs[0].name else None,
            sources=sources,
        )
    return entries


def complete_array_files(
    store: Path,
    shard: CheckedShard,
    features: Sequence[Feature],
    inputs: Callable[[StoredRows], Iterator[FeatureInput]],
    old: OldShard | None = None,
) -> dict[str, FileEntry]:
    """Make the missing array files of a finished shard; return the entries of all of them.

    Args:
        inputs: yields the input of features for each utterance of the shard, in order.
        old: the shard of another store, whose files are taken over if they have the expected keys.

    Raises:
        StoreError: a feature of an utterance cannot be computed; the message names the first such utterances.
    """
    if not features:
        return {}
    stored = StoredRows(store, shard)
    entries: dict[str, FileEntry] = {}
    missing = []
    for feature in features:
        for spec in feature.specs:
            key = partial(_key, stored.rows, feature, spec)
            if entry := finished_array_file(store, spec.name, key, shard, old):
                entries[spec.name] = entry
        if any(spec.name not in entries for spec in feature.specs):
            missing.append(feature)
    if missing:
        values = _compute(missing, stored.rows, inputs(stored))
        for feature, of_feature in zip(missing, values, strict=True):
            entries.update(write_array_files(store, stored.rows, feature, of_feature))
    return entries


def finished_array_file(
    store: Path, name: str, key: Callable[[], str], shard: CheckedShard, old: OldShard | None = None
) -> FileEntry | None:
    """Return the manifest entry of a shard's array file if it exists, is intact and has this key, else None.

    Args:
        name: the name of the array.
        key: returns the key; called if there is an intact file.
        shard: the finished shard.
        old: the shard whose file is taken over if the store has none.

    Raises:
        WriteError: the file cannot be taken over.
    """
    file = array_file_name(name, shard.number)
    finished = _intact_array_file(store / file, name, key, shard)
    if finished is None and old and has_taken_over(old, array_file_name(name, old.number), store, file):
        finished = _intact_array_file(store / file, name, key, shard)
    return FileEntry(file, finished.digest.size, finished.header.rows, finished.digest.sha256) if finished else None


def _intact_array_file(path: Path, name: str, key: Callable[[], str], shard: CheckedShard) -> CheckedArrayFile | None:
    if not path.is_file():
        return None
    header = shard.header
    try:
        digest = digest_file(path)
        # Every array file has a seal. Damage is found before HDF5 parses the file, so that this needs no other process.
        if not digest.sealed:
            return None
        checked = inspect_array_file(path, name, shard.number, header.key, shard.lengths(), read_locations, digest)
    except (CorruptStoreError, OSError):
        return None
    return checked if checked.header.key == key() else None


def _compute(features: Sequence[Feature], rows: ShardRows, inputs: Iterator[FeatureInput]) -> list[list[FeatureValues]]:
    """Return the values of features for each utterance of a shard.

    Raises:
        StoreError: some cannot be computed.
    """
    values: list[list[FeatureValues]] = [[] for _ in features]
    failures: list[str] = []
    for position, utterance in enumerate(inputs):
        lengths = {axis: of_axis[position] for axis, of_axis in rows.lengths.items()}
        for feature, of_feature in zip(features, values, strict=True):
            computed_values = _try(feature, utterance, lengths)
            if isinstance(computed_values, UtteranceError):
                failures.append(f"{utterance.id}: {computed_values}")
            else:
                of_feature.append(computed_values)
    if failures:
        names = ", ".join(f"'{name}'" for name in specs_of(features))
        more = f"; and {len(failures) - _MAX_NAMED:,} more in this shard" if len(failures) > _MAX_NAMED else ""
        raise StoreError(
            f"{names} cannot be added, {len(failures):,} of the {len(rows.ids):,} utterances of "
            f"{shard_name(rows.number)} fail: {'; '.join(failures[:_MAX_NAMED])}{more}; nothing was changed: fix "
            "them, or make another store without them"
        )
    return values


def _try(feature: Feature, utterance: FeatureInput, lengths: Mapping[str, int]) -> FeatureValues | UtteranceError:
    """Return the values of a feature of an utterance, or the error."""
    try:
        return computed(feature, utterance, lengths)
    except UtteranceError as error:
        return error


def check_arrays_of(store: Path, manifest: Manifest, features: Sequence[Feature]) -> None:
    """Check that a complete store has the arrays of features.

    Raises:
        StoreError: an array is missing, or has other settings.
    """
    for name, spec in specs_of(features).items():
        existing = manifest.specs.get(name)
        if existing is None:
            raise StoreError(
                f"{store}: a complete store without the array '{name}'; add it with 'tts-prep add {store}'"
            )
        check_same(store, existing, spec)


def outdated_arrays(store: Path, manifest: Manifest, features: Sequence[Feature]) -> set[str]:
    """Return the names of those arrays of features whose files have changed since a complete store was made.

    Only features that read files are compared: alignments, and imported arrays.

    Raises:
        CorruptStoreError: a file is broken.
    """
    found: set[str] = set()
    rows = list(zip(*_columns_of_index(store, manifest), strict=True))
    for feature in features:
        first = 0
        sources = [feature.source(uid, speaker) for uid, speaker in rows]
        if all(source is None for source in sources):
            continue
        for number, shard in enumerate(manifest.shards):
            of_shard, first = sources[first : first + shard.rows], first + shard.rows
            for spec in feature.specs:
                path = stored_file(store, array_file_name(spec.name, number))
                header = read_array_header(path, read_locations(path))
                known = of_shard if any(source is not None for source in of_shard) else ()
                if header.key != array_key(spec, header.shard, known):
                    found.add(spec.name)
    return found


def _columns_of_index(store: Path, manifest: Manifest) -> tuple[list[str], ...]:
    """Return the ids and the speakers of a complete store."""
    file = map_file(stored_file(store, INDEX))
    columns = column_datasets(manifest.datasets[INDEX])
    ids, speakers = (column_of(file, columns[name]) for name in ("id", "speaker"))
    return tuple([column[row] for row in range(len(column))] for column in (ids, speakers))


def check_same(store: Path, found: ArraySpec, spec: ArraySpec) -> None:
    """Check that an array of a store has the expected specification.

    Raises:
        StoreError: its dtype, row shape, axis or settings differ.
    """
    if found != spec:
        old, new = found.as_dict(), spec.as_dict()
        differing = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
        shown = "; ".join(f"{key} is {_text(old.get(key))}, expected {_text(new.get(key))}" for key in differing)
        raise StoreError(
            f"{store}: has the array '{spec.name}' already, made with other settings: {shown}; choose another name, or "
            "make another store"
        )


def _text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _key(rows: ShardRows, feature: Feature, spec: ArraySpec) -> str:
    return array_key(spec, rows.key, _sources(rows, feature))


def _sources(rows: ShardRows, feature: Feature) -> Sequence[str | None]:
    """Return the sources of the utterances of a shard; empty if none has any."""
    sources = [feature.source(uid, speaker) for uid, speaker in zip(rows.ids, rows.speakers, strict=True)]
    return sources if any(source is not None for source in sources) else ()


def index_array_files(
    folder: Path,
    array: ArraySpec,
    shards: Sequence[StoredShard],
    values: Callable[[slice], list[Array]],
    report: Callable[[int], None] = lambda _rows: None,
) -> list[FileEntry]:
    """Write the files of an array, whose values are made for the rows of one shard after another.

    Args:
        report: called with the number of rows before each shard is written.
    """
    entries, start = [], 0
    for shard in shards:
        report(start)
        rows = slice(start, start + shard.header.rows)
        entries.append(index_array_file(folder, array, shard, values(rows)))
        start = rows.stop
    return entries


def index_array_file(folder: Path, array: ArraySpec, shard: StoredShard, values: Sequence[Array]) -> FileEntry:
    """Write the file of an array of columns for one shard; return its entry."""
    header, path = shard.header, stored_file(folder, shard.entry.file)
    speakers = column_of(map_file(path), column_datasets(read_locations(path))["speaker"])
    assert isinstance(speakers, TextColumn)
    rows = ShardRows(shard.number, header.key, list(speakers))
    return write_array_file(folder, array, rows, array_key(array, header.key), values)
