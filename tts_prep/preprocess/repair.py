"""Making the broken files of a store again, from the corpus, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from tts_prep.errors import StoreError
from tts_prep.format.files import shard_files
from tts_prep.format.layout import MANIFEST
from tts_prep.format.manifest import read_manifest
from tts_prep.format.verification import verify_store
from tts_prep.preprocess.audio.compression import Compression
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.reading import ReadingConfig
from tts_prep.preprocess.configuration import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.corpora import READERS
from tts_prep.preprocess.pipeline import Progress, Result, prepare
from tts_prep.preprocess.shards import existing_header


def repair_store(
    store: Path, root: Path, *, jobs: int = 1, progress: Callable[[Progress], None] = lambda _: None
) -> tuple[Result, list[str]]:
    """Make the broken files of a store again; return the result and the files that were broken.

    The settings are those that the store was made with, the rows those of its corpus. Whatever is whole is kept.

    Args:
        root: of the corpus that the store was made from.
        jobs: worker processes.

    Raises:
        StoreError: the corpus, or the versions of the libraries, are not those that the store was made with.
    """
    broken, settings = _look(store)
    config = configuration_of(store, settings)
    if config.corpus not in READERS:
        raise StoreError(f"{store}: made by the reader {config.corpus!r}; expected one of {', '.join(READERS)}")
    # Counted already when the store was made: a failure is no reason to stop now.
    items = READERS[config.corpus](root)
    return prepare(items, root, store, config, jobs=jobs, max_failures="100%", progress=progress, broken=broken), broken


def configuration_of(store: Path, settings: dict[str, Any]) -> Configuration:
    """Return the configuration that `Configuration.as_dict` gave.

    Raises:
        StoreError: it has settings that this version does not know, or lacks some.
    """
    try:
        audio = dict(settings["audio"])
        audio["compression"] = Compression(**audio["compression"])
        reading = {field.name: audio.pop(field.name) for field in fields(ReadingConfig)}
        config = Configuration(
            corpus=settings["corpus"]["reader"],
            limit=settings["corpus"]["limit"],
            mel=MelConfig(**audio),
            reading=ReadingConfig(**reading),
            text=TextConfig(**settings["text"]),
            store=StoreConfig(**settings["store"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{store}: its settings are not those of this version ({error}); make it again") from error
    return config


def _look(store: Path) -> tuple[list[str], dict[str, Any]]:
    """Return the broken files of a store and the settings that it was made with."""
    try:
        manifest = read_manifest(store)
    except StoreError:
        # Broken, or gone with a repair that was interrupted: the shards know the settings too.
        for _, path in shard_files(store):
            header = existing_header(path)
            if header:
                return [MANIFEST], dict(header.configuration)
        raise
    return [entry.file for entry, fault in verify_store(store, manifest) if fault], dict(manifest.configuration)
