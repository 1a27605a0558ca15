"""The header of a shard: what makes it complete without index and manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tts_prep.errors import CorruptStoreError
from tts_prep.format.checksum import canonical_json
from tts_prep.format.columns import TextColumn, locate_column
from tts_prep.format.datasets import Array, Location, locate, map_dataset, read_string, reading, write_string
from tts_prep.format.layout import ARRAYS, SHARD_FORMAT, VERSION, version_text
from tts_prep.format.manifest import check_arrays, check_version
from tts_prep.format.remarks import check_remarks
from tts_prep.format.seals import broken_datasets

_HEADER = "header"
_FAILURE = {"id", "where", "stage", "reason"}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "number": int,
    "key": str,
    "configuration": dict,
    "software": dict,
    "arrays": dict,
    "vocabulary": dict,
    "rows": int,
    "seconds": (float, int),
    "mel_statistics": dict,
    "failures": list,
}


@dataclass(frozen=True)
class ShardHeader:
    """The JSON object in a shard's dataset ``header``; the keys are described in ``docs/FORMAT.md``."""

    number: int
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

    def without_statistics(self, settings: Mapping[str, Any]) -> ShardHeader:
        """Return the header in little memory, for those who hold thousands of them.

        Args:
            settings: values of the fields that all shards of a store share; where they are equal, these objects are
                used.
        """
        shared = ("configuration", "software", "arrays", "vocabulary")
        same = {name: settings[name] for name in shared if getattr(self, name) == settings[name]}
        return replace(self, mel_statistics={}, **same)


def write_header(file: h5py.File, header: ShardHeader) -> None:
    """Write the header into an open shard."""
    write_string(
        file, _HEADER, canonical_json({"format": SHARD_FORMAT, "version": version_text(VERSION), **asdict(header)})
    )


def read_header(file: h5py.File) -> ShardHeader:
    """Read the header of an open shard.

    Raises:
        CorruptStoreError: the file has no header, or not one of a shard.
    """
    path = Path(file.filename)
    try:
        value = json.loads(read_string(file, _HEADER))
        if value["format"] != SHARD_FORMAT:
            raise CorruptStoreError(f"{path}: expected a {SHARD_FORMAT}, found {str(value['format'])[:40]!r}")
        check_version(path, value["version"])
        _check_types(value)
        return ShardHeader(
            **{name: value[name] for name in _TYPES if name != "failures"},
            failures=tuple(value["failures"]),
            remarks=value.get("remarks", {}),
        )
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise CorruptStoreError(f"{path}: the header is not that of a shard ({error!r})") from error


def _check_types(value: Mapping[str, Any]) -> None:
    for key, kind in _TYPES.items():
        if not isinstance(value[key], kind) or isinstance(value[key], bool):
            raise TypeError(f"'{key}' cannot be of type {type(value[key]).__name__}")
    check_arrays(value["arrays"])
    check_remarks(value.get("remarks", {}))
    if not 0 <= value["rows"] < 1 << 40 or not 0 <= value["seconds"] < float("inf") or not 0 <= value["number"] < 1e9:
        raise ValueError("'number', 'rows' and 'seconds' should be counts")
    for failure in value["failures"]:
        if set(failure) != _FAILURE or not all(isinstance(text, str) for text in failure.values()):
            raise ValueError(f"a failure should have the texts {', '.join(sorted(_FAILURE))}")
    n_mels = value["arrays"]["mel"]["row_shape"][0]
    for part in value["mel_statistics"].values():
        numbers = [*part["mean"], *part["m2"]]
        if len(part["mean"]) != n_mels or len(part["m2"]) != n_mels or not _are_numbers(numbers):
            raise ValueError("the mel statistics should be a count and two numbers a mel bin")
        if type(part["count"]) is not int or not 0 <= part["count"] < 1 << 48 or min(part["m2"]) < 0:
            raise ValueError("the mel statistics should be those of some frames")


def _are_numbers(values: list[Any]) -> bool:
    # Squares of them, times a count, have to be numbers too.
    return all(type(value) in (int, float) and abs(value) < 1e100 for value in values)


def read_shard_header(path: Path) -> ShardHeader:
    """Open a shard and read its header."""
    with reading(path) as file:
        return read_header(file)


def check_shard(path: Path, number: int) -> ShardHeader:
    """Check a shard on its own: every checksum, and that its rows tile its arrays; return its header.

    Raises:
        CorruptStoreError: the message names the shard and what of it is broken.
    """
    broken = broken_datasets(path)
    if broken:
        raise CorruptStoreError(f"{path}: {broken_text(broken)}; make the shard again")
    with reading(path) as file:
        header = read_header(file)
        if header.number != number:
            raise CorruptStoreError(f"{path}: is shard {header.number}, expected shard {number}")
        places = {name: locate(file, name) for name in header.arrays}
        columns = file.get("columns")
        if not isinstance(columns, h5py.Group):
            raise CorruptStoreError(f"{path}: expected the group 'columns'")
        parts = {name: locate_column(columns, name) for name in columns}
    for name, place in places.items():
        spec = header.arrays[name]
        if place.dtype != np.dtype(spec["dtype"]) or list(place.shape[1:]) != spec["row_shape"]:
            raise CorruptStoreError(f"{path}: '{name}' is {place.dtype} {list(place.shape)}, not as the header says")
        layout = ARRAYS[name]
        starts, lengths = (_numbers(path, parts, column) for column in (layout.start_column, layout.length_column))
        check_tiling(path, name, starts, lengths, place.shape[0])
    for name, found in parts.items():
        _check_column(path, name, found, header.rows)
    return header


def broken_text(names: list[str]) -> str:
    """Return which datasets are broken, in words."""
    shown = ", ".join(f"'{name}'" for name in names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"{shown} {'is' if len(names) == 1 else 'are'} not what the checksums in the file say"


def check_tiling(path: Path, name: str, starts: Array, lengths: Array, end: int) -> None:
    """Make sure that rows lie one behind the other in an array, from its start to its end.

    Raises:
        CorruptStoreError: rows overlap, or leave a gap, or go beyond the end.
    """
    # Each of at most 2**31 and at least 0, so the sums below cannot wrap around.
    if len(lengths) and (lengths.min() < 0 or lengths.max() >= 1 << 31 or len(lengths) >= 1 << 31):
        raise CorruptStoreError(f"{path}: '{name}' has a row of a negative or enormous length")
    ends = np.cumsum(lengths, dtype=np.int64)
    if len(starts) != len(lengths) or not np.array_equal(starts[1:], ends[:-1]) or starts[:1].any():
        raise CorruptStoreError(f"{path}: the rows of '{name}' overlap or leave gaps; run 'tts-prep verify'")
    if (int(ends[-1]) if len(ends) else 0) != end:
        raise CorruptStoreError(f"{path}: the rows of '{name}' end at {int(ends[-1:].sum()):,}, the array at {end:,}")


def _numbers(path: Path, parts: Mapping[str, Mapping[str, Location]], name: str) -> Array:
    if name not in parts or "" not in parts[name] or parts[name][""].dtype.kind != "i":
        raise CorruptStoreError(f"{path}: the column '{name}' is missing or holds no integers")
    return map_dataset(path, parts[name][""])


def _check_column(path: Path, name: str, parts: Mapping[str, Location], rows: int) -> None:
    if "" in parts:
        if parts[""].shape != (rows,):
            raise CorruptStoreError(f"{path}: column '{name}' has the shape {list(parts[''].shape)}, expected [{rows}]")
        return
    if set(parts) != {"bytes", "offsets"} or parts["bytes"].dtype != np.uint8 or len(parts["bytes"].shape) != 1:
        raise CorruptStoreError(f"{path}: column '{name}' should have 'bytes', uint8 [n], and 'offsets'")
    if parts["offsets"].shape != (rows + 1,) or parts["offsets"].dtype.kind != "i":
        raise CorruptStoreError(f"{path}: column '{name}' should have {rows + 1} offsets")
    offsets = map_dataset(path, parts["offsets"])
    end = parts["bytes"].shape[0]
    if offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
        raise CorruptStoreError(f"{path}: the offsets of column '{name}' do not go from 0 to {end:,}")
    texts = TextColumn(map_dataset(path, parts["bytes"]), offsets)
    for _ in texts:  # each is decoded, and refused where it is not UTF-8
        pass
