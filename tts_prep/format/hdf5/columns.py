"""Index columns: numbers, texts and categories, stored in contiguous datasets that can be memory-mapped."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tts_prep.errors import CorruptStoreError, broken
from tts_prep.format.decoding import shown
from tts_prep.format.hdf5.datasets import Array, Location, Locations, MappedFile
from tts_prep.format.layout import CATEGORY, FIXED_COLUMNS, NUMBER, NUMBER_DTYPES, TEXT


class TextColumn(Sequence[str]):
    """Texts stored as UTF-8 bytes and offsets.

    Args:
        data: [n_bytes] uint8.
        offsets: [n + 1] int64; text ``i`` is ``data[offsets[i]:offsets[i + 1]]``.
    """

    def __init__(self, data: Array, offsets: Array) -> None:
        self.data = data
        self.offsets = offsets

    @classmethod
    def encode(cls, texts: Iterable[str]) -> TextColumn:
        """Encode texts."""
        encoded = [text.encode("utf-8") for text in texts]
        offsets = np.zeros(len(encoded) + 1, "<i8")
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        """Return the text at an integer index, or a list of texts at a slice."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = int(index)
        if i < 0:
            i += len(self)
        if not 0 <= i < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} texts")
        return self.at(i)

    def at(self, i: int) -> str:
        """Return the text of a row, which is in range."""
        start, stop = self.offsets.item(i), self.offsets.item(i + 1)
        if not 0 <= start <= stop <= len(self.data):
            raise CorruptStoreError(f"text {i}: offsets {start} and {stop} are out of range for {len(self.data)} bytes")
        try:
            return self.data[start:stop].tobytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise broken(f"text {i}: not UTF-8 ({error.reason})") from error

    def take(self, rows: npt.NDArray[np.int64]) -> list[str]:
        """Return the texts of rows (non-negative), several times faster than one by one."""
        starts, stops = self.offsets[rows], self.offsets[rows + 1]
        if ((starts < 0) | (starts > stops) | (stops > len(self.data))).any():
            return [self[row] for row in rows]  # one of them raises the error
        data = memoryview(self.data)
        try:
            return [str(data[a:b], "utf-8") for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
        except UnicodeDecodeError:
            return [self[row] for row in rows]

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))


class CategoryColumn:
    """A column whose values come from a small table.

    Args:
        codes: [n] int32, indices into `table`.
        table: the distinct values, sorted.
    """

    def __init__(self, codes: Array, table: Sequence[str]) -> None:
        self.codes = codes
        self.table = table

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: int) -> str:
        code = int(self.codes[index])
        if not 0 <= code < len(self.table):
            raise CorruptStoreError(
                f"row {index}: category code {code} is out of range for {len(self.table)} categories"
            )
        return str(self.table[code])


Column: TypeAlias = "Array | TextColumn | CategoryColumn"


def column_datasets(locations: Locations, group: str = "columns") -> dict[str, dict[str, Location]]:
    """Return the datasets of each column of a file, by their names within it (``""`` for a column of numbers)."""
    columns: dict[str, dict[str, Location]] = {}
    for path, location in locations.items():
        start, _, rest = path.partition("/")
        name, _, dataset = rest.partition("/")
        if start == group and name:
            columns.setdefault(name, {})[dataset] = location
    return columns


def column_kind(name: str, datasets: Mapping[str, Location]) -> str:
    """Return the kind of a column: number, text or category.

    It follows from the column's datasets and name. The HDF5 attribute is not used, because it has no checksum. Shards
    store categories as texts.
    """
    if "" in datasets:
        return NUMBER
    return CATEGORY if "codes" in datasets else FIXED_COLUMNS.get(name, CATEGORY)


def check_columns(
    path: Path, columns: Mapping[str, Mapping[str, Location]], rows: int, *, in_index: bool, integers: Collection[str]
) -> None:
    """Check the kinds and the lengths of columns. No value is read.

    Args:
        in_index: categories are stored as codes and a table, as in the index; False expects texts, as in a shard.
        integers: columns not named by the format that must hold integers.

    Raises:
        CorruptStoreError: a column has the wrong kind or length.
    """
    for name, datasets in columns.items():
        kind = FIXED_COLUMNS.get(name)
        stored = NUMBER if "" in datasets else CATEGORY if "codes" in datasets else TEXT
        if kind is not None and stored != (kind if in_index or kind == NUMBER else TEXT):
            raise CorruptStoreError(f"{path}: the column '{name}' is a {stored}, expected a {kind}")
        if stored == NUMBER:
            integral = name in integers or np.dtype(NUMBER_DTYPES.get(name, "<f8")).kind == "i"
            _expect(path, name, datasets[""], (rows,), "i" if integral else "f" if name in NUMBER_DTYPES else "if")
            continue
        if (
            not {"bytes", "offsets"} <= set(datasets)
            or datasets["bytes"].dtype != np.uint8
            or len(datasets["bytes"].shape) != 1
        ):
            raise CorruptStoreError(f"{path}: column '{name}' should have 'bytes', uint8 [n], and 'offsets'")
        n_values = rows
        if stored == CATEGORY:
            _expect(path, name, datasets["codes"], (rows,), "i")
            # A category without rows would be useless, so the table is at most as long as the rows.
            n_values = min(rows, max(0, math.prod(datasets["offsets"].shape) - 1))
        _expect(path, name, datasets["offsets"], (n_values + 1,), "i")


def check_texts(file: MappedFile, columns: Mapping[str, Mapping[str, Location]]) -> None:
    """Decode every text of the columns.

    Raises:
        CorruptStoreError: offsets do not run from 0 to the end, or a text is not UTF-8.
    """
    for name, datasets in columns.items():
        if "" in datasets:
            continue
        offsets, end = file.dataset(datasets["offsets"]), datasets["bytes"].shape[0]
        if offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
            raise CorruptStoreError(f"{file.path}: the offsets of column '{name}' do not go from 0 to {end:,}")
        for _ in TextColumn(file.dataset(datasets["bytes"]), offsets):
            pass


def _expect(path: Path, name: str, location: Location, shape: tuple[int, ...], kinds: str) -> None:
    if location.shape != shape or location.dtype.kind not in kinds:
        raise CorruptStoreError(
            f"{path}: column '{name}' is {location.dtype} {shown(list(location.shape))}, "
            f"expected {shown(list(shape))} of kind {kinds!r}"
        )


def column_of(file: MappedFile, datasets: Mapping[str, Location]) -> Column:
    """Return a column, given its datasets."""
    arrays = {name: file.dataset(location) for name, location in datasets.items()}
    if "" in arrays:
        return arrays[""]
    texts = TextColumn(arrays["bytes"], arrays["offsets"])
    return CategoryColumn(arrays["codes"], tuple(texts)) if "codes" in arrays else texts
