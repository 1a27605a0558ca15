"""The file that holds an added array's rows of one shard: its header, and checks of the file on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep.errors import CorruptStoreError, FeatureError
from tts_prep.format.arrays import ArraySpec
from tts_prep.format.checksums import FileDigest, canonical_json, json_sha256
from tts_prep.format.columns import column_datasets
from tts_prep.format.datasets import Array, Locations, dataset_at, map_dataset, read_string
from tts_prep.format.decoding import Record, parse_json, shown
from tts_prep.format.hdf5_process import locations_apart
from tts_prep.format.layout import ARRAY_FORMAT, OWN, UTTERANCE, version_text
from tts_prep.format.remarks import check_remarks
from tts_prep.format.shard import FindLocations, inspect_file, require_seal
from tts_prep.format.tiling import check_tiling
from tts_prep.format.version import check_version

HEADER = "header"


@dataclass(frozen=True)
class ArrayHeader:
    """The JSON object in an array file's dataset ``header``.

    Attributes:
        spec: of the array, the same in all of its files.
        number: of the shard.
        shard: the shard's key.
        key: of what the file was made from; see `array_key`.
        rows: utterances.
        statistics: speaker → statistics of the rows that are counted; see `ArrayStatistics`.
        remarks: as in a shard's header.
    """

    spec: ArraySpec
    number: int
    shard: str
    key: str
    rows: int
    statistics: Mapping[str, Mapping[str, Any]]
    remarks: Mapping[str, Any] = field(default_factory=dict)
    version: str = version_text()


def array_key(spec: ArraySpec, shard: str, source: object = None) -> str:
    """Return the key of an array file: SHA-256 of all that its contents depend on.

    A file whose key is the due one need not be made again.

    Args:
        shard: the shard's key.
        source: JSON: what else the rows of this shard come from, such as sizes of alignment files.
    """
    return json_sha256([spec.name, spec.as_dict(), shard, source])


def checked_values(spec: ArraySpec, values: Array, length: int | None = None) -> Array:
    """Return the values of one utterance, contiguous, after a check that the array can hold them.

    Args:
        values: [length, *row_shape]; with the axis ``utterance`` [*row_shape].
        length: the rows that are due; None with the axes ``own`` and ``utterance``.

    Raises:
        FeatureError: another dtype, shape or length, or a value that is not finite.
    """
    found = np.asarray(values)
    if found.dtype != np.dtype(spec.dtype):
        raise FeatureError(f"array '{spec.name}': expected {spec.dtype}, found {found.dtype}")
    shape = (1, *found.shape) if spec.axis == UTTERANCE else found.shape
    due = 1 if spec.axis == UTTERANCE else length
    if not shape or shape[1:] != spec.row_shape or (due is not None and shape[0] != due):
        rows = "rows" if due is None else f"{due:,}"
        expected = list(spec.row_shape) if spec.axis == UTTERANCE else [rows, *spec.row_shape]
        text = ", ".join(map(str, expected))
        raise FeatureError(f"array '{spec.name}': expected the shape [{text}], found {list(found.shape)}")
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise FeatureError(f"array '{spec.name}': {int((~np.isfinite(found)).sum()):,} values are not finite")
    return np.ascontiguousarray(found).reshape(shape)


def header_text(header: ArrayHeader) -> str:
    """Return a header as it stands in a file."""
    return canonical_json(
        {
            "format": ARRAY_FORMAT,
            "version": header.version,
            "name": header.spec.name,
            "array": header.spec.as_dict(),
            "number": header.number,
            "shard": header.shard,
            "key": header.key,
            "rows": header.rows,
            "statistics": header.statistics,
            "remarks": header.remarks,
        }
    )


def read_array_header(path: Path, locations: Locations) -> ArrayHeader:
    """Read the header of an array file.

    Raises:
        CorruptStoreError: the file has none, or not one of an array file.
    """
    where = f"{path}: {HEADER}"
    record = Record(where, parse_json(where, read_string(path, locations, HEADER)))
    if record.text("format") != ARRAY_FORMAT:
        raise record.fault("format", f"'{ARRAY_FORMAT}'")
    check_version(path, record.values.get("version"))
    spec = ArraySpec.from_dict(where, record.text("name"), record.mapping("array"))
    if not spec.added:
        raise record.fault("name", "an array that does not lie in the shards")
    n = int(np.prod(spec.row_shape, dtype=np.int64))
    statistics = record.mapping("statistics")
    for speaker in statistics:
        part = Record(f"{where}: statistics", statistics[speaker])
        part.integer("count", 0, 1 << 48)
        for key in ("mean", "min", "max"):
            part.numbers(key, n)
        part.numbers("m2", n, 0, 1e250)
    remarks = record.mapping("remarks")
    check_remarks(where, remarks)
    return ArrayHeader(
        spec=spec,
        number=record.integer("number", 0, 10**9),
        shard=record.text("shard"),
        key=record.text("key"),
        rows=record.integer("rows", 0, 1 << 40),
        statistics=statistics,
        remarks=remarks,
        version=record.text("version"),
    )


@dataclass(frozen=True)
class CheckedArrayFile:
    """An array file that is whole and belongs to its shard.

    Attributes:
        locations: where its datasets lie.
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
        name: of the array.
        number, shard: number and key of the shard.
        lengths: axis → rows that the shard's utterances have of that axis all together; see `CheckedShard.lengths`.
        find: finds the datasets of an HDF5 file; of one that may come from anywhere, in another process.
        digest: of the file, where it is known.

    Raises:
        CorruptStoreError: the message says what differs.
    """
    digest, locations = inspect_file(path, find, digest)
    header = read_array_header(path, locations)
    require_seal(path, digest, header.version)
    spec = header.spec
    if spec.name != name:
        raise CorruptStoreError(f"{path}: holds the array '{spec.name}', expected '{name}'")
    if (header.number, header.shard) != (number, shard):
        raise CorruptStoreError(
            f"{path}: made from shard {header.number} with the key {shown(header.shard[:12])}, the store has shard "
            f"{number} with the key {shown(shard[:12])}; make the array again"
        )
    if header.rows != lengths[UTTERANCE]:
        raise CorruptStoreError(f"{path}: {header.rows:,} utterances, its shard has {lengths[UTTERANCE]:,}")
    place = dataset_at(path, locations, spec.name)
    if place.dtype != spec.numpy_dtype or place.shape[1:] != spec.row_shape or not place.shape:
        raise CorruptStoreError(f"{path}: '{spec.name}' is {place.dtype} {list(place.shape)}, not as the header says")
    if spec.axis == OWN:
        starts, n_rows = own_columns(path, locations)
        if len(starts) != header.rows:
            raise CorruptStoreError(f"{path}: starts of {len(starts):,} utterances, its shard has {header.rows:,}")
        check_tiling(path, spec.name, starts, n_rows, place.shape[0])
    elif place.shape[0] != lengths.get(spec.axis):
        due = f"{lengths[spec.axis]:,}" if spec.axis in lengths else "no array of that axis"
        raise CorruptStoreError(f"{path}: '{spec.name}' has {place.shape[0]:,} rows, its shard has {due}")
    return CheckedArrayFile(header, digest, locations)


def own_columns(path: Path, locations: Locations) -> tuple[Array, Array]:
    """Map the columns ``start`` and ``length`` of a file whose array has the axis ``own``.

    Raises:
        CorruptStoreError: one is missing or holds no integers.
    """
    columns = column_datasets(locations)
    found = []
    for name in ("start", "length"):
        place = columns.get(name, {}).get("")
        if place is None or place.dtype.kind != "i" or len(place.shape) != 1:
            raise CorruptStoreError(f"{path}: the column '{name}' is missing or holds no integers")
        found.append(map_dataset(path, place))
    return found[0], found[1]
