"""Out-of-domain texts of a store: written once, mapped by readers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep.errors import CorruptStoreError
from tts_prep.format.atomic import replacing
from tts_prep.format.checksum import canonical_json
from tts_prep.format.columns import TextColumn, locate_column, map_column, write_number, write_texts
from tts_prep.format.datasets import (
    Array,
    Location,
    create_file,
    locate,
    map_dataset,
    read_string,
    reading,
    write_dataset,
    write_string,
)
from tts_prep.format.layout import NUMBER_DTYPES, OOD_FORMAT, version_text
from tts_prep.format.manifest import check_version

_TEXTS = ("text", "phoneme_text")
_NUMBERS = ("phonemes_start", "n_phonemes")


@dataclass(frozen=True)
class OodHeader:
    """The JSON object in the dataset ``header``.

    Attributes:
        key: SHA-256 of what the texts were made from.
        rows: texts.
        failures: ``where`` and ``reason`` of each line that could not be used.
    """

    key: str
    rows: int
    failures: tuple[Mapping[str, str], ...]


def write_ood_texts(
    path: Path,
    key: str,
    texts: Sequence[str],
    phoneme_texts: Sequence[str],
    phonemes: Sequence[Array],
    failures: Sequence[Mapping[str, str]],
) -> None:
    """Write the file, atomically.

    Args:
        phonemes: one array [n_phonemes] of ids a text.
    """
    starts = np.cumsum([0, *map(len, phonemes)])
    header = {"format": OOD_FORMAT, "version": version_text(), "key": key, "rows": len(texts)}
    with replacing(path) as partial, create_file(partial) as file:
        write_string(file, "header", canonical_json({**header, "failures": list(failures)}))
        write_dataset(file, "phonemes", np.concatenate([np.empty(0, np.int32), *phonemes]).astype("<i4"))
        columns = file.create_group("columns")
        write_texts(columns, "text", texts)
        write_texts(columns, "phoneme_text", phoneme_texts)
        write_number(columns, "phonemes_start", starts[:-1], NUMBER_DTYPES["phonemes_start"])
        write_number(columns, "n_phonemes", np.diff(starts), NUMBER_DTYPES["n_phonemes"])


def read_ood_header(path: Path) -> OodHeader:
    """Read the header.

    Raises:
        CorruptStoreError: the file is missing or has no such header.
    """
    with reading(path) as file:
        try:
            value = json.loads(read_string(file, "header"))
            if value["format"] != OOD_FORMAT:
                raise CorruptStoreError(f"{path}: expected {OOD_FORMAT}, found {str(value['format'])[:40]!r}")
            check_version(path, value["version"])
            return OodHeader(str(value["key"]), int(value["rows"]), tuple(value["failures"]))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise CorruptStoreError(f"{path}: the header is not that of out-of-domain texts ({error!r})") from error


@dataclass(frozen=True)
class OodLocations:
    """Where the datasets lie.

    Attributes:
        rows: texts.
        columns: name → the datasets of the column.
        phonemes: of the concatenated ids.
    """

    path: Path
    rows: int
    columns: Mapping[str, Mapping[str, Location]]
    phonemes: Location

    def text(self, name: str) -> TextColumn:
        """Map ``text`` or ``phoneme_text``."""
        column = map_column(self.path, dict(self.columns[name]))
        assert isinstance(column, TextColumn)
        return column

    def number(self, name: str) -> Array:
        """Map ``phonemes_start`` or ``n_phonemes``, [rows]."""
        return map_dataset(self.path, self.columns[name][""])

    def ids(self) -> Array:
        """Map the concatenated ids, [sum of n_phonemes] int32."""
        return map_dataset(self.path, self.phonemes)


def open_ood_texts(path: Path, rows: int) -> OodLocations:
    """Locate every dataset and check its length; no array is read.

    Args:
        rows: the number of texts that the manifest says.

    Raises:
        CorruptStoreError: a dataset is missing, or not as long as the manifest says.
    """
    with reading(path) as file:
        group = file.get("columns")
        columns = {name: locate_column(group, name) for name in (*_TEXTS, *_NUMBERS) if group and name in group}
        phonemes = locate(file, "phonemes")
    expected: dict[str, Any] = {
        **{f"{name}/offsets": ((rows + 1,), columns.get(name, {}).get("offsets")) for name in _TEXTS},
        **{name: ((rows,), columns.get(name, {}).get("")) for name in _NUMBERS},
    }
    for name, (shape, location) in expected.items():
        if location is None or location.shape != shape or location.dtype.kind != "i":
            found = "none" if location is None else f"{location.dtype} {list(location.shape)}"
            raise CorruptStoreError(f"{path}: column '{name}' should be integers {list(shape)}, found {found}")
    if len(phonemes.shape) != 1 or phonemes.dtype.str != "<i4":
        raise CorruptStoreError(f"{path}: 'phonemes' should be int32 [n], found {phonemes.dtype} {phonemes.shape}")
    return OodLocations(path, rows, columns, phonemes)
