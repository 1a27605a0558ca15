"""Making the broken files of a store again, from the corpus, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from tts_prep.errors import StoreError
from tts_prep.format.files import shard_files
from tts_prep.format.layout import MANIFEST, OOD_TEXTS
from tts_prep.format.manifest import read_manifest
from tts_prep.format.verification import verify_store
from tts_prep.preprocess.audio.compression import Compression
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.reading import ReadingConfig
from tts_prep.preprocess.configuration import Configuration, OodConfig, StoreConfig, TextConfig
from tts_prep.preprocess.corpora import get_reader
from tts_prep.preprocess.pipeline import Progress, Result, prepare
from tts_prep.preprocess.shards import existing_header


def repair_store(
    store: Path, root: Path, *, jobs: int = 1, progress: Callable[[Progress], None] = lambda _: None
) -> tuple[Result, list[str]]:
    """Make the broken files of a store again; return the result and the files that were broken.

    The settings are those that the store was made with, the rows those of its corpus. Whatever is whole is kept.

    Args:
        root: of the corpus that the store was made from; a file list, where it was made from that.
        jobs: worker processes.

    Raises:
        StoreError: the corpus, or the versions of the libraries, are not those that the store was made with.
    """
    broken, settings = _look(store)
    config = configuration_of(store, settings)
    if OOD_TEXTS in broken:
        raise StoreError(f"{store / OOD_TEXTS}: broken, and made from a file of its own; make the store again")
    # Counted already when the store was made: a failure is no reason to stop now.
    items = get_reader(config.corpus)(root, **config.options)
    if root.is_file():
        root = root.parent
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
        corpus, text = dict(settings["corpus"]), dict(settings["text"])
        ood_texts, symbols = text.pop("ood_texts"), text.pop("symbols")
        config = Configuration(
            corpus=corpus.pop("reader"),
            limit=corpus.pop("limit"),
            mel=MelConfig(**audio),
            reading=ReadingConfig(**reading),
            text=TextConfig(**text, symbols=None if symbols is None else tuple(symbols)),
            store=StoreConfig(**settings["store"]),
            options=corpus,
            # Where the file lies is not known; it is not looked at while its texts are whole.
            ood_texts=OodConfig(Path(), ood_texts) if ood_texts else None,
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
