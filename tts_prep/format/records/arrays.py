"""The specification of an array of a store: name, dtype, row shape, axis, and how it was computed."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from tts_prep.errors import ConfigurationError, CorruptStoreError, one_line
from tts_prep.format.decoding import Record
from tts_prep.format.files.checksums import canonical_json
from tts_prep.format.layout import ARRAY_DTYPES, ARRAYS, AXES, FIXED_COLUMNS, OWN, UTTERANCE

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_RESERVED = {*FIXED_COLUMNS, "header", "columns", "checksums", "shards", "speakers"}
_MAX_ROW = 1 << 20
_MAX_RATE = 1e9

EXTERNAL: Final = "external_columns"
"""The array of all columns of numbers and categories from elsewhere that were added."""

EXTERNAL_TEXTS: Final = "external_texts"
"""The array of all columns of texts from elsewhere that were added."""

OF_PLAN: Final = "plan"
"""The setting of an array whose values depend on all rows of a store: the plan that they belong to."""

OF_MODEL: Final = "model"
"""The setting of an array whose values are those of a model that was trained on the store."""

AUDIO, SPEAKER, TEXT = "audio", "speaker", "text"

DEPENDENCIES: Final = (AUDIO, SPEAKER, TEXT)
"""What the value of a column from elsewhere can depend on, of its row: an update keeps it where these are the same."""


@dataclass(frozen=True)
class ArraySpec:
    """The specification of an array of a store.

    Example:
        >>> from tts_prep.preprocess import ArraySpec
        >>> codes = ArraySpec("codes", "int16", (8,), "own", rate=75.0)
        >>> codes.added, codes.row_shape
        (True, (8,))

    ``mel``, ``phonemes`` and ``waveform`` are stored in the shards. Every other array is an *added array*, stored in
    separate files, one per shard, whether it is computed with the shards or later.

    Attributes:
        name: lower-case letters, digits and underscores, starting with a letter.
        dtype: a numpy dtype name, such as ``"float32"``.
        row_shape: the shape of one row: ``()`` for scalars, ``(513,)`` for frames of a spectrogram.
        axis: the number of rows of an utterance: ``frame`` (one per mel frame), ``phoneme`` (one per phoneme),
            ``sample`` (one per waveform sample), ``utterance`` (one row), ``own`` (any number).
        rate: rows per second, Hz, of an array with the axis ``own``; None if it has no fixed rate.
        settings: everything else that determines the values, as JSON: algorithm, parameters, checksums of sources.
        software: versions by name of the software that computed them.
        index_columns: of a float64 array [n] with the axis ``utterance``, names of its n numbers, which are columns of
            the index too; none for other arrays.
        text_columns: of a uint8 array with the axis ``own``, names of n texts, which are columns of the index: the
            bytes of an utterance are these texts in UTF-8, each followed by a zero byte; none for other arrays.
        failures: the name of a text column of the index that says why an utterance has no value; it is empty for one
            that has. Without a value, rows are zeros, or there are none with the axis ``own``. Empty if every
            utterance has one.
        extra: for ``mel``, its further keys in the manifest: ``sample_rate``, ``hop_length``, ``silence``, ``offset``.
    """

    name: str
    dtype: str
    row_shape: tuple[int, ...]
    axis: str
    rate: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict, repr=False)
    index_columns: tuple[str, ...] = ()
    text_columns: tuple[str, ...] = ()
    failures: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def added(self) -> bool:
        """Whether the array is stored in separate files."""
        return self.name not in ARRAYS

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The dtype in the file, little-endian."""
        return np.dtype(self.dtype).newbyteorder("<")

    @property
    def row_bytes(self) -> int:
        """The size of one row in bytes."""
        return np.dtype(self.dtype).itemsize * math.prod(self.row_shape)

    @property
    def columns(self) -> tuple[str, str] | None:
        """The index columns of start and length; None for the axis ``utterance``."""
        return (f"{self.name}_start", f"n_{self.name}") if self.axis == OWN else AXES[self.axis]

    @property
    def own_columns(self) -> tuple[str, ...]:
        """The columns that the array adds to the index."""
        rows = (self.columns or ()) if self.axis == OWN else ()
        return (*rows, *self.index_columns, *self.text_columns)

    @property
    def holds_columns(self) -> bool:
        """Whether the values are those of columns of the index."""
        return bool(self.index_columns or self.text_columns)

    @property
    def own_names(self) -> tuple[str, ...]:
        """The columns of the index whose values it holds, in order."""
        return (*self.index_columns, *self.text_columns)

    @property
    def depends(self) -> Mapping[str, tuple[str, ...]]:
        """What its columns depend on, by name; one that does not say it depends on all `DEPENDENCIES`."""
        found = self.settings.get("depends_on") if self.holds_columns else None
        return {name: tuple(names) for name, names in found.items()} if isinstance(found, dict) else {}

    @property
    def categories(self) -> Mapping[str, tuple[str, ...]]:
        """The values of the index columns that are categories, whose numbers are indices of them, by name."""
        found = self.settings.get("categories") if self.index_columns else None
        return {name: tuple(values) for name, values in found.items()} if isinstance(found, dict) else {}

    def checked(self) -> ArraySpec:
        """Check that this is a valid added array, and return it.

        Raises:
            ConfigurationError: it is not valid.
        """
        fault = self._fault_of_types() or self._fault()
        if not fault and not self.added:
            fault = "is stored in the shards, choose another name"
        if fault:
            raise ConfigurationError(one_line(f"array '{str(self.name)[:64]}': {fault}"))
        # As they are read again: with lists for tuples.
        return replace(self, settings=json.loads(canonical_json(dict(self.settings))))

    def _fault_of_types(self) -> str | None:
        """Return what has another type than a manifest can hold; records that are parsed have these types."""
        if not isinstance(self.name, str):
            return f"name: expected a text, found {reprlib.repr(self.name)}"
        for name, value, example in (("dtype", self.dtype, "float32"), ("axis", self.axis, "frame")):
            if not isinstance(value, str):
                return f"{name}: expected a text such as '{example}', found {reprlib.repr(value)}"
        if not isinstance(self.row_shape, tuple):
            return f"row_shape: expected a tuple of integers, such as (80,), found {reprlib.repr(self.row_shape)}"
        if self.rate is not None and (isinstance(self.rate, bool) or not isinstance(self.rate, (int, float))):
            return f"rate: expected a number of Hz, found {reprlib.repr(self.rate)}"
        if not isinstance(self.settings, Mapping):
            return f"settings: expected a dict, found {reprlib.repr(self.settings)}"
        try:
            canonical_json(dict(self.settings)).encode()
        except (TypeError, ValueError, RecursionError) as error:
            return f"settings: expected values that JSON has, numbers, texts, lists and dicts of them ({error})"
        if not isinstance(self.software, Mapping) or not all(
            isinstance(text, str) for item in self.software.items() for text in item
        ):
            return f"software: expected a dict of names and versions, found {reprlib.repr(self.software)}"
        return None

    def _fault(self) -> str | None:
        layout = ARRAYS.get(self.name)
        if not _NAME.fullmatch(self.name) or self.name in _RESERVED:
            return "expected a name of lower-case letters, digits and underscores that the format does not reserve"
        if self.axis not in AXES or (layout and self.axis != layout.axis):
            return f"cannot have the axis '{self.axis[:20]}'"
        if self.dtype not in (layout.dtypes if layout else ARRAY_DTYPES):
            return f"cannot have the dtype '{self.dtype[:20]}'; expected one of {', '.join(ARRAY_DTYPES)}"
        if layout and len(self.row_shape) != (self.name == "mel"):
            return f"cannot have rows of the shape {list(self.row_shape)[:8]}"
        if len(self.row_shape) > 4 or any(
            type(n) is not int or not (self.name != "mel") <= n <= _MAX_ROW for n in self.row_shape
        ):
            return f"cannot have rows of the shape {list(self.row_shape)[:8]}"
        if self.row_bytes > 8 * _MAX_ROW:
            return f"rows of {self.row_bytes:,} bytes exceed the maximum of {8 * _MAX_ROW:,}"
        if self.holds_columns and (fault := self._fault_of_dependencies()):
            return fault
        if self.index_columns and (fault := self._fault_of_columns()):
            return fault
        if self.text_columns and (fault := self._fault_of_texts()):
            return fault
        if self.failures and (self.holds_columns or not _NAME.fullmatch(self.failures)):
            return f"cannot have the column of failures '{self.failures[:64]}'"
        if self.rate is not None and (self.axis != OWN or not 0 < self.rate <= _MAX_RATE):
            return "only an array with the axis 'own' has a rate, in Hz"
        return None

    def _fault_of_columns(self) -> str | None:
        if (self.axis, self.dtype, self.row_shape) != (UTTERANCE, "float64", (len(self.index_columns),)):
            return "only a float64 array with the axis 'utterance' has index columns, one for each number of a row"
        if fault := _fault_of_names(self.index_columns):
            return fault
        tables = self.settings.get("categories", {})
        if not isinstance(tables, dict) or not tables.keys() <= {*self.index_columns}:
            return "expected categories for some of its index columns"
        for name, values in tables.items():
            are_texts = isinstance(values, list) and all(isinstance(value, str) for value in values)
            if not are_texts or values != sorted({*values}):
                return f"expected sorted, different texts as the categories of '{name}'"
        return None

    def _fault_of_dependencies(self) -> str | None:
        found = self.settings.get("depends_on", {})
        if not isinstance(found, dict) or not all(isinstance(of, list) for of in found.values()):
            return "expected lists of what its columns depend on"
        if any(name not in DEPENDENCIES for of in found.values() for name in of):
            return f"expected columns that depend on some of {', '.join(DEPENDENCIES)}"
        return None

    def _fault_of_texts(self) -> str | None:
        if (self.axis, self.dtype, self.row_shape) != (OWN, "uint8", ()):
            return "only a uint8 array with the axis 'own' has columns of texts"
        return _fault_of_names(self.text_columns)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the array in manifests and headers."""
        shape = list(self.row_shape)
        value: dict[str, Any] = {"dtype": self.dtype, "row_shape": shape, "axis": self.axis, **self.extra}
        if self.axis == OWN:
            value["rate"] = self.rate
        if self.index_columns:
            value["index_columns"] = list(self.index_columns)
        if self.text_columns:
            value["text_columns"] = list(self.text_columns)
        if self.failures:
            value["failures"] = self.failures
        if self.added:
            value.update(settings=dict(self.settings), software=dict(self.software))
        return value

    @classmethod
    def from_dict(cls, where: Path | str, name: str, value: object) -> ArraySpec:
        """Parse the result of `as_dict`.

        Raises:
            CorruptStoreError: the array is not valid.
        """
        record = Record(f"{where}: array '{name[:64]}'", value)
        layout = ARRAYS.get(name)
        shape = record.items("row_shape")
        if not all(type(n) is int for n in shape):
            raise record.fault("row_shape", "a list of integers")
        rate = None if record.values.get("rate") is None else record.number("rate", 0, _MAX_RATE)
        own = {"rate", "index_columns", "text_columns", "failures", "settings", "software"}
        known = {"dtype", "row_shape", "axis", *own, "statistics", "remarks"}
        spec = cls(
            name=name,
            dtype=record.text("dtype"),
            row_shape=tuple(shape),
            axis=record.text("axis"),
            rate=rate,
            settings={} if layout else record.mapping("settings"),
            software={} if layout else record.text_mapping("software"),
            index_columns=tuple(record.texts("index_columns")) if "index_columns" in record else (),
            text_columns=tuple(record.texts("text_columns")) if "text_columns" in record else (),
            failures=record.text("failures") if "failures" in record else "",
            extra={key: item for key, item in record.values.items() if key not in known} if layout else {},
        )
        if fault := spec._fault():
            raise CorruptStoreError(f"{record.where}: {fault}")
        return spec


def _fault_of_names(names: Sequence[str]) -> str | None:
    if len(set(names)) < len(names):
        return "two of its index columns have the same name"
    for name in names:
        if not _NAME.fullmatch(name) or name in _RESERVED:
            return f"cannot have the index column '{name[:64]}'"
    return None


def is_reserved(name: str) -> bool:
    """Return whether no added array and no index column of one can have a name."""
    return name in _RESERVED or name in ARRAYS


def parse_arrays(where: Path | str, values: Mapping[str, Any]) -> dict[str, ArraySpec]:
    """Parse the arrays of a manifest or of a shard's header; ``mel`` and ``phonemes`` come first.

    Arrays with an unknown axis, of a later minor version of the format, are skipped.

    Raises:
        CorruptStoreError: ``mel`` or ``phonemes`` is missing, or an array is not valid.
    """
    for name in ("mel", "phonemes"):
        if name not in values:
            raise CorruptStoreError(f"{where}: the array '{name}' is missing")
    specs = {}
    for name in sorted(values, key=lambda name: (list(ARRAYS).index(name) if name in ARRAYS else len(ARRAYS), name)):
        value = values[name]
        axis = value.get("axis") if isinstance(value, dict) else None
        if name not in ARRAYS and isinstance(axis, str) and axis not in AXES:
            continue
        specs[name] = ArraySpec.from_dict(where, name, value)
        if specs[name].axis == "sample" and "waveform" not in values:
            raise CorruptStoreError(f"{where}: array '{name}' has the axis 'sample', but there is no waveform")
    return specs
