"""Index columns: numbers, texts and categories, each in contiguous datasets that can be mapped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tts_prep.errors import CorruptStoreError
from tts_prep.format.datasets import Array, Location, Locations, map_dataset
from tts_prep.format.decoding import shown
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
        """Store texts."""
        encoded = [text.encode("utf-8") for text in texts]
        offsets = np.zeros(len(encoded) + 1, "<i8")
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        """Return the text at an integer index, or the list of texts at a slice."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = int(index)
        if i < 0:
            i += len(self)
        if not 0 <= i < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} texts")
        start, stop = int(self.offsets[i]), int(self.offsets[i + 1])
        if not 0 <= start <= stop <= len(self.data):
            raise CorruptStoreError(f"text {i}: offsets {start} and {stop} are not within {len(self.data)} bytes")
        try:
            return self.data[start:stop].tobytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise CorruptStoreError(f"text {i}: not UTF-8 ({error.reason}); run 'tts-prep verify'") from error

    def take(self, rows: npt.NDArray[np.int64]) -> list[str]:
        """Return the texts of rows, each from 0 on, in one go: several times faster than one by one."""
        starts, stops = self.offsets[rows], self.offsets[rows + 1]
        if ((starts < 0) | (starts > stops) | (stops > len(self.data))).any():
            return [self[row] for row in rows]  # one of them says what is wrong
        data = memoryview(self.data)
        try:
            return [str(data[a:b], "utf-8") for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
        except UnicodeDecodeError:
            return [self[row] for row in rows]

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))


class CategoryColumn:
    """A value out of a small table for each row.

    Args:
        codes: [n] int32, positions in the table.
        table: the different values, sorted.
    """

    def __init__(self, codes: Array, table: Sequence[str]) -> None:
        self.codes = codes
        self.table = table

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: int) -> str:
        code = int(self.codes[index])
        if not 0 <= code < len(self.table):
            raise CorruptStoreError(f"row {index}: category code {code} is not one of {len(self.table)}")
        return str(self.table[code])


Column: TypeAlias = "Array | TextColumn | CategoryColumn"


def column_datasets(locations: Locations, group: str = "columns") -> dict[str, dict[str, Location]]:
    """Return the columns of a file: name → datasets, by their names within it (``""`` for that of a number column)."""
    columns: dict[str, dict[str, Location]] = {}
    for path, location in locations.items():
        start, _, rest = path.partition("/")
        name, _, dataset = rest.partition("/")
        if start == group and name:
            columns.setdefault(name, {})[dataset] = location
    return columns


def column_kind(name: str, parts: Mapping[str, Location]) -> str:
    """Return the kind of a column: number, text or category.

    As its datasets and its name tell, not its attribute: HDF5 keeps the attribute's text on a heap that has no
    checksum. A shard has the values of a category as texts.
    """
    if "" in parts:
        return NUMBER
    return CATEGORY if "codes" in parts else FIXED_COLUMNS.get(name, CATEGORY)


def check_columns(
    path: Path, columns: Mapping[str, Mapping[str, Location]], rows: int, *, in_index: bool, integers: Collection[str]
) -> None:
    """Check that columns have the kinds and the lengths that are due; no value is read.

    Args:
        in_index: whether categories have codes and a table of their values, as in the index; in a shard they are texts.
        integers: columns besides the format's own that have to hold integers.

    Raises:
        CorruptStoreError: the message names the column.
    """
    for name, parts in columns.items():
        kind = FIXED_COLUMNS.get(name)
        found = NUMBER if "" in parts else CATEGORY if "codes" in parts else TEXT
        if kind is not None and found != (kind if in_index or kind == NUMBER else TEXT):
            raise CorruptStoreError(f"{path}: the column '{name}' is a {found}, expected a {kind}")
        if found == NUMBER:
            whole = name in integers or np.dtype(NUMBER_DTYPES.get(name, "<f8")).kind == "i"
            _expect(path, name, parts[""], (rows,), "i" if whole else "f" if name in NUMBER_DTYPES else "if")
            continue
        if not {"bytes", "offsets"} <= set(parts) or parts["bytes"].dtype != np.uint8 or len(parts["bytes"].shape) != 1:
            raise CorruptStoreError(f"{path}: column '{name}' should have 'bytes', uint8 [n], and 'offsets'")
        n_values = rows
        if found == CATEGORY:
            _expect(path, name, parts["codes"], (rows,), "i")
            # A value that no row has would be of no use.
            n_values = min(rows, max(0, int(np.prod(parts["offsets"].shape, dtype=object)) - 1))
        _expect(path, name, parts["offsets"], (n_values + 1,), "i")


def check_texts(path: Path, columns: Mapping[str, Mapping[str, Location]]) -> None:
    """Decode every text of columns.

    Raises:
        CorruptStoreError: offsets that do not go from 0 to the end, or a text that is not UTF-8.
    """
    for name, parts in columns.items():
        if "" in parts:
            continue
        offsets, end = map_dataset(path, parts["offsets"]), parts["bytes"].shape[0]
        if offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
            raise CorruptStoreError(f"{path}: the offsets of column '{name}' do not go from 0 to {end:,}")
        for _ in TextColumn(map_dataset(path, parts["bytes"]), offsets):
            pass


def _expect(path: Path, name: str, location: Location, shape: tuple[int, ...], kinds: str) -> None:
    if location.shape != shape or location.dtype.kind not in kinds:
        raise CorruptStoreError(
            f"{path}: column '{name}' is {location.dtype} {shown(list(location.shape))}, "
            f"expected {shown(list(shape))} of kind {kinds!r}"
        )


def map_column(path: Path, parts: Mapping[str, Location]) -> Column:
    """Map a column that `column_datasets` found."""
    arrays = {part: map_dataset(path, location) for part, location in parts.items()}
    if "" in arrays:
        return arrays[""]
    texts = TextColumn(arrays["bytes"], arrays["offsets"])
    return CategoryColumn(arrays["codes"], list(texts)) if "codes" in arrays else texts
