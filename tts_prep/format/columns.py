"""Index columns: numbers, texts and categories, each in contiguous datasets that can be mapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import h5py
import numpy as np
import numpy.typing as npt

from tts_prep.errors import CorruptStoreError
from tts_prep.format.datasets import Array, Location, locate, map_dataset, write_dataset
from tts_prep.format.layout import CATEGORY, FIXED_COLUMNS, NUMBER, TEXT


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


def write_number(group: h5py.Group, name: str, values: npt.ArrayLike, dtype: npt.DTypeLike) -> None:
    """Write a column of numbers."""
    write_dataset(group, name, np.asarray(values, dtype))
    group[name].attrs["kind"] = NUMBER


def write_texts(group: h5py.Group, name: str, texts: Iterable[str], kind: str = TEXT) -> None:
    """Write a column of texts, or of categories as they are."""
    column = TextColumn.encode(texts)
    child = group.create_group(name)
    child.attrs["kind"] = kind
    write_dataset(child, "bytes", column.data)
    write_dataset(child, "offsets", column.offsets)


def locate_column(group: h5py.Group, name: str) -> dict[str, Location]:
    """Find the datasets of a column, by their names within it (``""`` for the one of a number column).

    Raises:
        CorruptStoreError: it is neither a dataset nor a group, or a link.
    """
    found = group[name] if isinstance(group.get(name, getlink=True), h5py.HardLink) else None
    if isinstance(found, h5py.Dataset):
        return {"": locate(group, name)}
    if isinstance(found, h5py.Group):
        return {part: locate(found, part) for part in ("bytes", "offsets", "codes") if part in found}
    raise CorruptStoreError(f"{group.file.filename}: column '{name}' should be a dataset or a group in this file")


def column_kind(name: str, parts: Mapping[str, Location]) -> str:
    """Return the kind of a shard's column: number, text or category.

    As its datasets and its name tell, not its attribute: HDF5 keeps the attribute's text on a heap that has no
    checksum, and damage there can send the library round for ever.
    """
    return NUMBER if "" in parts else FIXED_COLUMNS.get(name, CATEGORY)


def map_column(path: Path, parts: dict[str, Location]) -> Column:
    """Map a column that `locate_column` found."""
    arrays = {part: map_dataset(path, location) for part, location in parts.items()}
    if "" in arrays:
        return arrays[""]
    texts = TextColumn(arrays["bytes"], arrays["offsets"])
    return CategoryColumn(arrays["codes"], list(texts)) if "codes" in arrays else texts
