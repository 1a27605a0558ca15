"""An array file, which holds an added array's rows of one shard: its header, and checks of a single file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep.errors import CorruptStoreError, FeatureError
from tts_prep.format.contents.shard import FindLocations, inspect_file, integer_column, locations_apart
from tts_prep.format.decoding import Record, check_version, parse_json, shown
from tts_prep.format.files.checksums import FileDigest, canonical_json, json_sha256
from tts_prep.format.hdf5.columns import column_datasets
from tts_prep.format.hdf5.datasets import Array, Locations, check_tiling, dataset_at, map_file, read_string
from tts_prep.format.layout import ARRAY_FORMAT, OWN, UTTERANCE, version_text
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.remarks import check_remarks

HEADER = "header"

_RATE_ROWS, _RATE_SECONDS = 2, 0.1
"""How far rows with a rate may be from the duration of their utterance, whichever is more: models treat the ends of
recordings in different ways, by up to one of their windows."""


@dataclass(frozen=True)
class ArrayHeader:
    """The JSON object in an array file's dataset ``header``.

    Attributes:
        spec: the specification of the array, equal in all of its files.
        shard: the key of the shard.
        key: the key of the file's inputs; see `array_key`.
        rows: the number of utterances.
        statistics: statistics of the counted rows by speaker; see `ArrayStatistics`.
        remarks: remarks, as in the header of a shard.
        sources: further inputs of each utterance, such as the checksum of a file, which are in the key; empty if none
            has any. They stay with values that another shard takes over.
    """

    spec: ArraySpec
    shard: str
    key: str
    rows: int
    statistics: Mapping[str, Mapping[str, Any]]
    remarks: Mapping[str, Any] = field(default_factory=dict)
    version: str = version_text()
    sources: Sequence[str | None] = ()


def array_key(spec: ArraySpec, shard: str, sources: Sequence[str | None] = ()) -> str:
    """Return the key of an array file: SHA-256 of everything that determines its contents.

    A file with the expected key is up to date.

    Args:
        shard: the key of the shard.
        sources: see `ArrayHeader`.
    """
    return json_sha256([spec.name, spec.as_dict(), shard, [*sources] or None])


def checked_values(spec: ArraySpec, values: Array, length: int | None = None, seconds: float | None = None) -> Array:
    """Check the values of one utterance, and return them as a contiguous array of the specified dtype.

    Args:
        values: [length, *row_shape]; [*row_shape] with the axis ``utterance``. Integers may have another dtype that
            holds them.
        length: the expected number of rows; None with the axes ``own`` and ``utterance``.
        seconds: the duration of the utterance, which the rows of an array with a rate must have; None if unknown.

    Raises:
        FeatureError: the dtype, shape or length is wrong, or a value is not finite, which only those of
            index columns may be.
    """
    array = _of_dtype(spec, np.asarray(values))
    shape = (1, *array.shape) if spec.axis == UTTERANCE else array.shape
    n_rows = 1 if spec.axis == UTTERANCE else length
    if not shape or shape[1:] != spec.row_shape or (n_rows is not None and shape[0] != n_rows):
        rows = "rows" if n_rows is None else f"{n_rows:,}"
        expected = list(spec.row_shape) if spec.axis == UTTERANCE else [rows, *spec.row_shape]
        text = ", ".join(map(str, expected))
        hint = ""
        if spec.axis != UTTERANCE and _is_transposed(shape, spec.row_shape, n_rows):
            hint = f"; it is transposed: with --array, {spec.name}@{spec.axis}:axis=1=PATH reads it as [{text}]"
        raise FeatureError(f"array '{spec.name}': expected the shape [{text}], found {list(array.shape)}{hint}")
    if spec.rate and seconds is not None:
        _check_duration(spec, shape[0], seconds)
    if array.dtype.kind == "f" and not spec.index_columns and not np.isfinite(array).all():
        raise FeatureError(f"array '{spec.name}': {int((~np.isfinite(array)).sum()):,} values are not finite")
    return np.ascontiguousarray(array).reshape(shape)


def _of_dtype(spec: ArraySpec, array: Array) -> Array:
    """Return values in the dtype of the store, if they have it or are integers that it holds."""
    dtype = np.dtype(spec.dtype)
    if array.dtype == dtype:
        return array
    if array.dtype.kind not in "iu" or dtype.kind not in "iu":
        raise FeatureError(f"array '{spec.name}': expected {spec.dtype}, found {array.dtype}")
    limits = np.iinfo(dtype)
    if array.size and (int(array.min()) < limits.min or int(array.max()) > limits.max):
        raise FeatureError(
            f"array '{spec.name}': expected {spec.dtype}, from {limits.min:,} to {limits.max:,}, found {array.dtype} "
            f"from {int(array.min()):,} to {int(array.max()):,}"
        )
    return array.astype(dtype)


def _check_duration(spec: ArraySpec, rows: int, seconds: float) -> None:
    """Check that rows last as long as their utterance."""
    assert spec.rate is not None
    if abs(rows - seconds * spec.rate) > max(_RATE_ROWS, _RATE_SECONDS * spec.rate):
        raise FeatureError(
            f"array '{spec.name}': expected about {seconds * spec.rate:,.0f} rows, {seconds:.2f} s at its rate of "
            f"{spec.rate:g} Hz, found {rows:,}; is it padded, or has another rate?"
        )


def _is_transposed(shape: tuple[int, ...], row_shape: tuple[int, ...], n_rows: int | None) -> bool:
    """Return whether the second axis of values has what the first one should have."""
    if len(shape) < 2:
        return False
    if n_rows is not None:
        return shape[0] != n_rows and shape[1] == n_rows
    return (shape[0], *shape[2:]) == row_shape


def header_text(header: ArrayHeader) -> str:
    """Return a header as the JSON text of a file."""
    return canonical_json(
        {
            "format": ARRAY_FORMAT,
            "version": header.version,
            "name": header.spec.name,
            "array": header.spec.as_dict(),
            "shard": header.shard,
            "key": header.key,
            "rows": header.rows,
            "statistics": header.statistics,
            "remarks": header.remarks,
            **({"sources": [*header.sources]} if header.sources else {}),
        }
    )


def read_array_header(path: Path, locations: Locations) -> ArrayHeader:
    """Read the header of an array file.

    Raises:
        CorruptStoreError: the file has no header, or not that of an array file.
    """
    where = f"{path}: {HEADER}"
    record = Record(where, parse_json(where, read_string(path, locations, HEADER)))
    if record.text("format") != ARRAY_FORMAT:
        raise record.fault("format", f"'{ARRAY_FORMAT}'")
    check_version(path, record.values.get("version"))
    spec = ArraySpec.from_dict(where, record.text("name"), record.mapping("array"))
    if not spec.added:
        raise record.fault("name", "an array that is not stored in the shards")
    n = int(np.prod(spec.row_shape, dtype=np.int64))
    statistics = record.mapping("statistics")
    for speaker in statistics:
        of_speaker = Record(f"{where}: statistics", statistics[speaker])
        of_speaker.integer("count", 0, 1 << 48)
        for key in ("mean", "min", "max"):
            of_speaker.numbers(key, n)
        of_speaker.numbers("m2", n, 0, 1e250)
    remarks = record.mapping("remarks")
    check_remarks(where, remarks)
    rows, sources = record.integer("rows", 0, 1 << 40), record.items("sources") if "sources" in record else []
    if sources and (len(sources) != rows or not all(item is None or isinstance(item, str) for item in sources)):
        raise record.fault("sources", f"a list of {rows:,} texts or nulls")
    return ArrayHeader(
        spec=spec,
        shard=record.text("shard"),
        key=record.text("key"),
        rows=rows,
        statistics=statistics,
        remarks=remarks,
        version=record.text("version"),
        sources=sources,
    )


@dataclass(frozen=True)
class CheckedArrayFile:
    """An array file that is intact and belongs to its shard.

    Attributes:
        locations: the locations of its datasets.
    """

    header: ArrayHeader
    digest: FileDigest
    locations: Locations


def inspect_array_file(
    path: Path,
    name: str,
    number: int,
    shard: str,
    lengths: Mapping[str, int],
    find: FindLocations = locations_apart,
    digest: FileDigest | None = None,
) -> CheckedArrayFile:
    """Check an array file: its seal, its header, and its lengths against its shard.

    Args:
        name: the name of the array.
        number, shard: the number and the key of the shard.
        lengths: the total number of rows of the shard's utterances by axis; see `CheckedShard.lengths`.
        find: finds the datasets of an HDF5 file; for untrusted files, in another process.
        digest: the digest of the file, if known.

    Raises:
        CorruptStoreError: a check failed.
    """
    digest, locations = inspect_file(path, find, digest)
    header = read_array_header(path, locations)
    spec = header.spec
    if spec.name != name:
        raise CorruptStoreError(f"{path}: holds the array '{spec.name}', expected '{name}'")
    if header.shard != shard:
        raise CorruptStoreError(
            f"{path}: made from a shard with the key {shown(header.shard[:12])}, the store has shard "
            f"{number} with the key {shown(shard[:12])}; 'tts-prep verify --repair CORPUS' makes it again"
        )
    if header.rows != lengths[UTTERANCE]:
        raise CorruptStoreError(f"{path}: {header.rows:,} utterances, its shard has {lengths[UTTERANCE]:,}")
    _check_values(path, header, locations, lengths)
    return CheckedArrayFile(header, digest, locations)


def _check_values(path: Path, header: ArrayHeader, locations: Locations, lengths: Mapping[str, int]) -> None:
    """Check the type and the number of values of an array file, without reading them."""
    spec = header.spec
    place = dataset_at(path, locations, spec.name)
    if place.dtype != spec.numpy_dtype or place.shape[1:] != spec.row_shape or not place.shape:
        raise CorruptStoreError(
            f"{path}: '{spec.name}' is {place.dtype} {list(place.shape)}, which contradicts the header"
        )
    if spec.axis == OWN:
        starts, n_rows = own_columns(path, locations)
        if len(starts) != header.rows:
            raise CorruptStoreError(f"{path}: starts of {len(starts):,} utterances, expected {header.rows:,}")
        check_tiling(path, spec.name, starts, n_rows, place.shape[0])
    elif place.shape[0] != lengths.get(spec.axis):
        expected = f"{lengths[spec.axis]:,}" if spec.axis in lengths else "no array of that axis"
        raise CorruptStoreError(f"{path}: '{spec.name}' has {place.shape[0]:,} rows, its shard has {expected}")


def own_columns(path: Path, locations: Locations) -> tuple[Array, Array]:
    """Memory-map the columns ``start`` and ``length`` of an array with the axis ``own``."""
    columns, file = column_datasets(locations), map_file(path)
    return integer_column(file, columns, "start"), integer_column(file, columns, "length")
