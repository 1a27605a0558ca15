"""The export layouts by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.export.espnet import export_espnet
from tts_prep.export.fastspeech2 import export_fastspeech2
from tts_prep.export.lhotse import export_lhotse
from tts_prep.export.nemo import export_nemo
from tts_prep.export.parquet import export_parquet
from tts_prep.export.webdataset import export_webdataset
from tts_prep.loader import UtteranceDataset

EXPORTS: Final[Mapping[str, Callable[[UtteranceDataset, Path], Iterator[Path]]]] = {
    "espnet": export_espnet,
    "fastspeech2": export_fastspeech2,
    "lhotse": export_lhotse,
    "nemo": export_nemo,
    "parquet": export_parquet,
    "webdataset": export_webdataset,
}


def export_store(store: Path, layout: str, folder: Path) -> Iterator[Path]:
    """Export a store to a new or empty folder, and yield the paths of complete files.

    Raises:
        ConfigurationError: the layout is unknown or needs arrays that the store lacks, or the folder is not empty.
        StoreError: the store is missing or incomplete, or a file cannot be written.
    """
    if layout not in EXPORTS:
        raise ConfigurationError(f"to: expected one of {', '.join(EXPORTS)}, found {layout!r}")
    dataset = UtteranceDataset(store)
    if not len(dataset):
        raise ConfigurationError(f"{store}: has no utterances; there is nothing to export")
    try:
        if folder.exists() and any(folder.iterdir()):
            raise ConfigurationError(f"{folder}: not empty; use a new folder")
        yield from EXPORTS[layout](dataset, folder)
    except OSError as error:
        raise StoreError(f"{error.filename or folder}: cannot be written ({error.strerror})") from error
