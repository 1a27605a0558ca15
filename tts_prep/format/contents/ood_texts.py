"""Read the out-of-domain texts of a store."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tts_prep.errors import CorruptStoreError
from tts_prep.format.contents.shard import FindLocations, inspect_file
from tts_prep.format.decoding import Record, check_version, parse_json
from tts_prep.format.hdf5.columns import TextColumn, check_columns, column_datasets, column_of
from tts_prep.format.hdf5.datasets import Array, Location, Locations, MappedFile, dataset_at, read_string
from tts_prep.format.hdf5.process import locations_apart
from tts_prep.format.layout import OOD_FORMAT

_TEXTS = ("text", "phoneme_text")
_NUMBERS = ("phonemes_start", "n_phonemes")


@dataclass(frozen=True)
class OodHeader:
    """The JSON object in the dataset ``header``.

    Attributes:
        key: SHA-256 of the inputs of the texts.
        rows: the number of texts.
        failures: ``where`` and ``reason`` of each line that failed.
    """

    key: str
    rows: int
    failures: tuple[Mapping[str, str], ...]
    version: str


def check_ood_texts(path: Path, find: FindLocations = locations_apart) -> OodHeader:
    """Check the seal of the file, and return its header.

    Raises:
        CorruptStoreError: the file is missing or broken.
    """
    _, locations = inspect_file(path, find)
    return read_ood_header(path, locations)


def read_ood_header(path: Path, locations: Locations) -> OodHeader:
    """Read the header.

    Raises:
        CorruptStoreError: the header is missing or malformed.
    """
    where = f"{path}: header"
    record = Record(where, parse_json(where, read_string(path, locations, "header")))
    if record.text("format") != OOD_FORMAT:
        raise record.fault("format", f"'{OOD_FORMAT}'")
    check_version(path, record.values.get("version"))
    failures = record.items("failures")
    for failure in failures:
        if not isinstance(failure, dict) or not all(isinstance(text, str) for text in failure.values()):
            raise record.fault("failures", "a list of objects of texts")
    return OodHeader(record.text("key"), record.integer("rows", 0, 1 << 40), tuple(failures), record.text("version"))


@dataclass(frozen=True)
class OodLocations:
    """The locations of the datasets of the out-of-domain texts.

    Attributes:
        file: the memory-mapped file.
        rows: the number of texts.
        columns: the datasets of each column.
        phonemes: the location of the concatenated ids.
    """

    file: MappedFile
    rows: int
    columns: Mapping[str, Mapping[str, Location]]
    phonemes: Location

    def text(self, name: str) -> TextColumn:
        """Return ``text`` or ``phoneme_text``."""
        column = column_of(self.file, self.columns[name])
        assert isinstance(column, TextColumn)
        return column

    def number(self, name: str) -> Array:
        """Return ``phonemes_start`` or ``n_phonemes``, [rows]."""
        return self.file.dataset(self.columns[name][""])

    def ids(self) -> Array:
        """Return the concatenated ids, [sum of n_phonemes] int32."""
        return self.file.dataset(self.phonemes)


def open_ood_texts(file: MappedFile, locations: Locations, rows: int) -> OodLocations:
    """Check the length of every dataset. No array is read.

    Args:
        rows: the number of texts according to the manifest.

    Raises:
        CorruptStoreError: a dataset is missing, or its length contradicts the manifest.
    """
    path = file.path
    columns = column_datasets(locations)
    for name in (*_TEXTS, *_NUMBERS):
        if name not in columns:
            raise CorruptStoreError(f"{path}: the column '{name}' is missing")
    check_columns(path, columns, rows, in_index=True, integers=())
    phonemes = dataset_at(path, locations, "phonemes")
    if len(phonemes.shape) != 1 or phonemes.dtype.str != "<i4":
        raise CorruptStoreError(f"{path}: 'phonemes' should be int32 [n], found {phonemes.dtype} {phonemes.shape}")
    return OodLocations(file, rows, columns, phonemes)
