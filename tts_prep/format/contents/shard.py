"""The header of a shard, and checks of a single shard, which need neither index nor manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from tts_prep.errors import CorruptStoreError
from tts_prep.format.decoding import Record, check_version, parse_json
from tts_prep.format.files.checksums import CHECKSUMS, FileDigest, canonical_json, digest_file
from tts_prep.format.hdf5 import datasets
from tts_prep.format.hdf5.columns import check_columns, check_texts, column_datasets
from tts_prep.format.layout import ARRAYS, KEY_BYTES, ROW_KEYS, SHARD_FORMAT, UTTERANCE, version_text
from tts_prep.format.records.arrays import parse_arrays
from tts_prep.format.records.remarks import check_remarks, check_row_remarks

HEADER: Final = "header"
_FAILURE = {"id", "where", "stage", "reason"}

FindLocations: TypeAlias = Callable[[Path], datasets.Locations]


@dataclass(frozen=True)
class ShardHeader:
    """The JSON object in a shard's dataset ``header``; the keys are described in ``docs/format.md``.

    Attributes:
        row_remarks: position of a row as text → kind → symbol → count, for rows with remarks.
        planned: the key without the contents of recordings; empty in format 1.3, where `key` is without them.
    """

    key: str
    configuration: Mapping[str, Any]
    software: Mapping[str, str]
    arrays: Mapping[str, Mapping[str, Any]]
    vocabulary: Mapping[str, Any]
    rows: int
    seconds: float
    mel_statistics: Mapping[str, Mapping[str, Any]]
    failures: tuple[Mapping[str, str], ...]
    remarks: Mapping[str, Any] = field(default_factory=dict)
    row_remarks: Mapping[str, Any] = field(default_factory=dict)
    version: str = version_text()
    planned: str = ""

    @property
    def plan_key(self) -> str:
        """The key of the shard in ``plan.json``, which is known before its recordings are read."""
        return self.planned or self.key

    def without_statistics(self, settings: Mapping[str, Any]) -> ShardHeader:
        """Return the header without statistics and remarks on single rows, to hold thousands of headers in memory.

        Args:
            settings: the fields that all shards of a store have in common; equal objects are shared.
        """
        shared = ("configuration", "software", "arrays", "vocabulary")
        same = {name: settings[name] for name in shared if getattr(self, name) == settings[name]}
        return replace(self, mel_statistics={}, row_remarks={}, **same)


def header_text(header: ShardHeader) -> str:
    """Return a header as the JSON text in a shard."""
    values = {key: value for key, value in vars(header).items() if value or key not in ("row_remarks", "planned")}
    return canonical_json({"format": SHARD_FORMAT, **values})


def _check_statistics(record: Record, n_mels: int) -> None:
    """Check the mel statistics of a speaker."""
    record.integer("count", 0, 1 << 48)
    record.numbers("mean", n_mels)
    record.numbers("m2", n_mels, 0, 1e250)


def read_header(path: Path, locations: datasets.Locations) -> ShardHeader:
    """Read the header of a shard.

    Raises:
        CorruptStoreError: the file has no header, or not that of a shard.
    """
    where = f"{path}: {HEADER}"
    record = Record(where, parse_json(where, datasets.read_string(path, locations, HEADER)))
    if record.text("format") != SHARD_FORMAT:
        raise record.fault("format", f"'{SHARD_FORMAT}'")
    check_version(path, record.values.get("version"))
    arrays = record.mapping("arrays")
    n_mels = parse_arrays(where, arrays)["mel"].row_shape[0]
    failures = record.items("failures")
    for failure in failures:
        if not isinstance(failure, dict) or set(failure) != _FAILURE or {*map(type, failure.values())} != {str}:
            raise record.fault("failures", f"objects with the texts {', '.join(sorted(_FAILURE))}")
    statistics = record.mapping("mel_statistics")
    for of_speaker in statistics.values():
        _check_statistics(Record(f"{where}: mel_statistics", of_speaker), n_mels)
    remarks = record.mapping("remarks") if "remarks" in record else {}
    check_remarks(where, remarks)
    row_remarks = record.mapping("row_remarks") if "row_remarks" in record else {}
    check_row_remarks(where, row_remarks)
    return ShardHeader(
        key=record.text("key"),
        configuration=record.mapping("configuration"),
        software=record.text_mapping("software"),
        arrays=arrays,
        vocabulary=record.mapping("vocabulary"),
        rows=record.integer("rows", 0, 1 << 40),
        seconds=record.number("seconds", 0),
        mel_statistics=statistics,
        failures=tuple(failures),
        remarks=remarks,
        row_remarks=row_remarks,
        version=record.text("version"),
        planned=record.text("planned") if "planned" in record else "",
    )


@dataclass(frozen=True)
class CheckedShard:
    """An intact shard.

    Attributes:
        number: its number.
        locations: the locations of its datasets.
    """

    number: int
    header: ShardHeader
    digest: FileDigest
    locations: datasets.Locations

    def lengths(self) -> dict[str, int]:
        """Return the total number of rows of the shard's utterances by axis."""
        shared = {layout.axis: name for name, layout in ARRAYS.items() if name in self.header.arrays}
        return {UTTERANCE: self.header.rows, **{axis: self.locations[name].shape[0] for axis, name in shared.items()}}


def locations_apart(path: Path) -> datasets.Locations:
    """Find the datasets of one HDF5 file in another process; see `tts_prep.format.hdf5.process.hdf5_process`."""
    # Imported with the first file that is not of this run.
    from tts_prep.format.hdf5.process import hdf5_process

    with hdf5_process() as find:
        return find(path)


def inspect_shard(
    path: Path, number: int, find: FindLocations = locations_apart, digest: FileDigest | None = None
) -> CheckedShard:
    """Check a shard: its seal, and that its rows tile its arrays.

    Args:
        find: finds the datasets of an HDF5 file; for untrusted files, in another process.
        digest: the digest of the file, if known.

    Raises:
        CorruptStoreError: the shard is broken.
    """
    digest, locations = inspect_file(path, find, digest)
    header = read_header(path, locations)
    keys = locations.get(ROW_KEYS)
    if keys is not None and (keys.dtype != np.dtype(np.uint8) or keys.shape != (header.rows, KEY_BYTES)):
        raise CorruptStoreError(f"{path}: '{ROW_KEYS}' is {keys.dtype} {list(keys.shape)}, not one key per row")
    columns = column_datasets(locations)
    file = datasets.map_file(path)
    for name, spec in parse_arrays(f"{path}: {HEADER}", header.arrays).items():
        if spec.added:
            raise CorruptStoreError(f"{path}: the header has the array '{name}', which is not stored in shards")
        place = datasets.dataset_at(path, locations, name)
        if place.dtype != spec.numpy_dtype or not place.shape or place.shape[1:] != spec.row_shape:
            raise CorruptStoreError(
                f"{path}: '{name}' is {place.dtype} {list(place.shape)}, which contradicts the header"
            )
        layout = ARRAYS[name]
        starts, lengths = (
            integer_column(file, columns, column) for column in (layout.start_column, layout.length_column)
        )
        datasets.check_tiling(path, name, starts, lengths, place.shape[0])
    check_columns(path, columns, header.rows, in_index=False, integers=())
    check_texts(file, columns)
    return CheckedShard(number, header, digest, locations)


def inspect_file(
    path: Path, find: FindLocations = locations_apart, digest: FileDigest | None = None
) -> tuple[FileDigest, datasets.Locations]:
    """Check the seal of an HDF5 file. Return its digest and its locations.

    Raises:
        CorruptStoreError: it has no seal or does not match it, or the file cannot be read.
    """
    try:
        digest = digest or digest_file(path)
    except OSError as error:
        raise CorruptStoreError(f"{path}: cannot be read ({error.strerror})") from error
    # Checked before HDF5 opens it, so that an accidentally damaged file cannot crash HDF5.
    if digest.sealed is None:
        raise CorruptStoreError(f"{path}: its seal is missing; 'tts-prep verify --repair CORPUS' makes the file again")
    if not digest.sealed:
        raise CorruptStoreError(
            f"{path}: its bytes do not match its seal; 'tts-prep verify --repair CORPUS' makes the file again"
        )
    return digest, {name: place for name, place in find(path).items() if name != CHECKSUMS}


def integer_column(
    file: datasets.MappedFile, columns: Mapping[str, Mapping[str, datasets.Location]], name: str
) -> datasets.Array:
    """Memory-map a column of integers.

    Raises:
        CorruptStoreError: it is missing or does not hold integers.
    """
    place = columns.get(name, {}).get("")
    if place is None or place.dtype.kind != "i" or len(place.shape) != 1:
        raise CorruptStoreError(f"{file.path}: the column '{name}' is missing or does not hold integers")
    return file.dataset(place)
