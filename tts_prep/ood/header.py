"""The header of the out-of-domain texts of a store."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tts_prep.format.contents.shard import FindLocations, inspect_file
from tts_prep.format.decoding import Record, check_version, parse_json
from tts_prep.format.hdf5.datasets import Locations, read_string
from tts_prep.format.hdf5.process import locations_apart
from tts_prep.format.layout import OOD_FORMAT


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
