"""Columns of lists of numbers in JSON lines and tables, such as codes of codecs, which become arrays of a store.

The plan of a store has the checksums of lists and where they are; their values are read when a shard is made.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import xxhash

from tts_prep.errors import AudioError, ConfigurationError, CorpusChangedError, CorpusError, FeatureError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.layout import ARRAY_DTYPES, FIXED_COLUMNS, OWN, UTTERANCE
from tts_prep.format.records.arrays import ArraySpec, is_reserved
from tts_prep.preprocess.features.feature import FeatureInput, FeatureValues
from tts_prep.preprocess.features.kinds import number_or_text
from tts_prep.preprocess.source_utterance import place_inside, read_inside
from tts_prep.tables.process import ask_table

_DECLARED: Final = re.compile("([^@,]+)(?:@(own|utterance|frame|phoneme)(?::([^,]+))?)?(?:,axis=([01]))?")
_NAME: Final = re.compile("[a-z][a-z0-9_]{0,63}")
_MAX_SHAPES: Final = 10_000
"""The number of different shapes of a column that are counted."""


def _array_of(value: Any) -> Array | None:
    """Return a list of numbers, or of lists of numbers of one length, as an array; None for anything else."""
    try:
        found = np.asarray(value)
    except (ValueError, OverflowError):
        return None
    return found if found.dtype.kind in "iuf" and 1 <= found.ndim <= 2 and found.size else None


@dataclass
class SeenLists:
    """What is known of a column after its values were seen.

    Attributes:
        dtype: that of the file; empty in JSON.
        shapes: the number of lists of each kind of numbers, ``f`` with fractions and ``i`` without, and shape.
        low, high: the range of the numbers without fractions.
    """

    dtype: str = ""
    shapes: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    low: int = 0
    high: int = 0

    def add(self, value: list[Any]) -> None:
        """Add the value of a row."""
        if (found := _array_of(value)) is None:
            return
        kind = "f" if found.dtype.kind == "f" else "i"
        self.shapes[(kind, *found.shape) if len(self.shapes) < _MAX_SHAPES else self.most] += 1
        if kind == "i":
            self.low, self.high = min(self.low, int(found.min())), max(self.high, int(found.max()))

    @property
    def most(self) -> tuple[Any, ...]:
        """The most frequent kind and shape."""
        return self.shapes.most_common(1)[0][0]

    @property
    def best_dtype(self) -> str:
        """The dtype of the file, or the smallest one that holds the integers, or float32."""
        if self.dtype in ARRAY_DTYPES:
            return self.dtype
        fits = (name for name in ("int16", "int32") if max(-self.low, self.high) <= np.iinfo(name).max)
        return "float32" if self.most[0] == "f" else next(fits, "int64")

    def lengths(self, axis: int) -> list[int]:
        """Return the length that an axis of lists of lists has in more than half of them, if there is one."""
        counts: Counter[int] = Counter()
        for (_, *shape), count in self.shapes.items():
            counts[shape[axis] if len(shape) == 2 else 0] += count
        return [length for length, count in counts.items() if 2 * count > counts.total()]


@dataclass(frozen=True)
class ListColumn:
    """A column of lists that becomes an array.

    Attributes:
        column: its name in the manifest.
        spec: the array.
        time: the axis of lists of lists that has the rows of the array, 0 or 1.
    """

    column: str
    spec: ArraySpec
    time: int = 0

    @classmethod
    def of_entry(cls, name: str, entry: Mapping[str, Any]) -> ListColumn:
        """Return the column of an entry of `entry`."""
        return cls(entry["column"], ArraySpec.from_dict(entry["column"], name, entry["spec"]), entry["time"])

    def __str__(self) -> str:
        shape = [*(["T"] if self.spec.axis != UTTERANCE else []), *map(str, self.spec.row_shape)]
        rate = f", {self.spec.rate:g} Hz" if self.spec.rate else ""
        turned = f", given as [{', '.join(reversed(shape))}]" if self.time else ""
        return f"{self.spec.name} [{', '.join(shape)}] {self.spec.dtype}{rate}{turned}"

    def entry(self, value: Any) -> dict[str, Any]:
        """Return what stands for the value of a row in a plan; errors as in `stored`."""
        spec, values = self.spec.as_dict(), self.stored(value)
        return {"column": self.column, "spec": spec, "time": self.time, "rows": len(values), "xxh3": _digest(values)}

    def stored(self, value: Any) -> Array:
        """Return the value of a row as the store has it, with the axis of time first.

        Raises:
            FeatureError: it is no list of numbers, or does not fit those of the other rows.
        """
        spec, found = self.spec, _array_of(value)
        turned = found.T if found is not None and self.time else found
        if turned is None or (turned.shape if spec.axis == UTTERANCE else turned.shape[1:]) != spec.row_shape:
            shown = str(value)[:40] if found is None else list(found.shape)
            raise FeatureError(f"{self.column}: expected {self}, as in most rows, found {shown}")
        with np.errstate(all="ignore"):
            stored = np.ascontiguousarray(turned, dtype=spec.dtype)
        if stored.dtype.kind != "f" and not np.array_equal(stored, turned):
            raise FeatureError(f"{self.column}: expected {spec.dtype}, as in most rows, found other numbers")
        return stored


def list_columns(where: str, seen: Mapping[str, SeenLists], declared: Sequence[str]) -> tuple[ListColumn, ...]:
    """Return the columns that become arrays: those that are declared, or all but those with names of other arrays.

    Args:
        where: the manifest, for messages.
        seen: what was seen of the columns that have lists.
        declared: values of ``--list``.

    Raises:
        ConfigurationError: a declared column has no lists, or it is not known which axis of a column is time.
    """
    given = {} if declared else dict.fromkeys(name for name in seen if not is_reserved(name.lower()))
    for text in (text for text in declared if text != "none"):
        found = _DECLARED.fullmatch(text)
        if not found or found[1] not in seen:
            raise ConfigurationError(
                f"list: expected a column of lists of numbers, as COLUMN, COLUMN@own:HZ or COLUMN,axis=1, found "
                f"{text!r}; {where} has {', '.join(seen) or 'none'}; of JSON, uncompressed files of an object per line "
                "are read"
            )
        given[found[1]] = found.groups()[1:]
    columns = (_column(where, name, seen[name], *(how or (None, None, None))) for name, how in given.items())
    return tuple({one.spec.name: one for one in columns}.values())


def _column(where: str, name: str, seen: SeenLists, axis: str | None, rate: str | None, time: str | None) -> ListColumn:
    hertz = number_or_text(f"list: {name}: rate", float, rate) if rate else None
    of_rows, (_, *shape) = int(time or 0), seen.most
    if axis != UTTERANCE and len(shape) == 2:
        lengths = seen.lengths(0), seen.lengths(1)
        if time is None and len(lengths[0]) == len(lengths[1]):
            found = "both axes have" if lengths[0] else "no axis has"
            raise ConfigurationError(
                f"{where}: {name}: {found} the same length in most rows, such as {shape}; say which is time by "
                f"--list {name},axis=0 or --list {name},axis=1"
            )
        of_rows = len(lengths[0]) if time is None else of_rows
        shape = [0, *(lengths[1 - of_rows] or shape[1 - of_rows : 2 - of_rows])]
    plain = re.sub("[^a-z0-9_]", "_", name.lower())
    is_free = _NAME.fullmatch(plain) and plain not in FIXED_COLUMNS and not is_reserved(plain)
    row_shape = tuple(shape if axis == UTTERANCE else shape[1:])
    spec = ArraySpec(plain if is_free else f"corpus_{plain}"[:64], seen.best_dtype, row_shape, axis or OWN, hertz)
    return ListColumn(name, spec.checked(), of_rows)


@dataclass(frozen=True)
class ListedArrays:
    """Arrays whose values are lists in the rows of manifests.

    Attributes:
        root: the folder of relative paths.
        lists: an entry of `ListColumn.entry` for each array.
    """

    root: Path
    lists: Mapping[str, Mapping[str, Any]]

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """The specifications of the arrays."""
        return tuple(ListColumn.of_entry(name, entry).spec for name, entry in self.lists.items())

    def source(self, utterance_id: str, speaker: str) -> None:
        """Return None: checksums of lists are in the keys of rows."""

    def restored(self, arrays: Mapping[str, Array]) -> FeatureValues:
        """Return the values of an unchanged row, as they are stored."""
        return FeatureValues({name: arrays[name] for name in self.lists})

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the arrays of one utterance; one without a list has no rows.

        Raises:
            FeatureError: there is no list for an array with another axis than ``own``.
            CorpusChangedError: it was modified after the run was planned, or cannot be read any more.
        """
        row = utterance.row
        if row is None:
            raise FeatureError("arrays of lists need the corpus that the store was made from")
        arrays: dict[str, Array] = {}
        values = _values_at(self.root, row.lists_at) if row.lists else {}
        for spec in self.specs:
            entry = row.lists.get(spec.name)
            if entry is None:
                if spec.axis != OWN:
                    raise FeatureError(f"{row.where}: {self.lists[spec.name]['column']}: no list")
                arrays[spec.name] = np.empty((0, *spec.row_shape), spec.dtype)
                continue
            try:
                arrays[spec.name] = ListColumn.of_entry(spec.name, entry).stored(values[entry["column"]])
            except (FeatureError, LookupError, TypeError):
                arrays[spec.name] = np.empty(0)
            if _digest(arrays[spec.name]) != entry["xxh3"]:
                raise CorpusChangedError(
                    f"{row.where}: {entry['column']}: modified after the run was planned; do not modify the corpus "
                    "while a store is made, run again to resume"
                )
        return FeatureValues(arrays)


def _values_at(root: Path, place: str) -> Any:
    """Return the values of a row at `SourceUtterance.lists_at`; none if they cannot be read any more."""
    name, _, inside = place.partition("\n")
    try:
        if place_inside(inside):
            return json.loads(read_inside(root / name, inside))
        _, group, row, _, audio = inside.split(" ", 4)
        columns = ask_table(root / name, "rows", audio, int(group), int(row), 1)[0]["columns"]
        return {column: values[0] for column, values in columns.items()}
    except (OSError, ValueError, RecursionError, AudioError, CorpusError, IndexError):
        return {}


def _digest(values: Array) -> str:
    return str(xxhash.xxh3_128_hexdigest(values.tobytes()))
