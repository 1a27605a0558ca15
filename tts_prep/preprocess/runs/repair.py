"""Making the broken files of a store again, from the corpus, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from tts_prep.errors import ConfigurationError, CorruptStoreError, StoreError
from tts_prep.format.files import shard_files, stored_file
from tts_prep.format.layout import MANIFEST, OOD_TEXTS, shard_name
from tts_prep.format.manifest import manifest_fault, read_manifest
from tts_prep.format.shard import ShardHeader, check_shard
from tts_prep.format.store_plan import plan_sha256
from tts_prep.format.verification import verify_store
from tts_prep.preprocess.audio.compression import Compression
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.reading import ReadingConfig
from tts_prep.preprocess.configuration.records import Configuration, OodConfig, StoreConfig, TextConfig
from tts_prep.preprocess.corpora import read_corpus
from tts_prep.preprocess.corpora.splits import split_checksums
from tts_prep.preprocess.runs.folder import locked_folder
from tts_prep.preprocess.runs.ood_texts import existing_ood_header
from tts_prep.preprocess.runs.prepare import Progress, Repair, Result, prepare
from tts_prep.preprocess.workers.scratch import scratch_folder


@dataclass(frozen=True)
class _Findings:
    """What is broken in a store, and what is known of how it was made.

    Attributes:
        broken: files to make again.
        settings: ``configuration`` (as `Configuration.as_dict` gives it) and ``software`` of the store.
        plan: SHA-256 of the plan, where the manifest is whole.
        keys: number → key of each shard that is whole, where the manifest is broken.
    """

    broken: list[str]
    settings: Mapping[str, Any]
    plan: str | None
    keys: Mapping[int, str]

    def are_of(self, keys: Sequence[str]) -> bool:
        """Return whether the store was made of a plan whose shards have these keys."""
        if self.plan is not None:
            return self.plan == plan_sha256(keys)
        return all(number < len(keys) and keys[number] == key for number, key in self.keys.items())


def repair_store(
    store: Path,
    corpus: Path,
    *,
    root: Path | None = None,
    splits: Mapping[str, Path] | None = None,
    ood_texts: Path | None = None,
    jobs: int = 1,
    progress: Callable[[Progress], None] = lambda _: None,
) -> tuple[Result, list[str]]:
    """Make the broken files of a store again; return the result and the files that were broken.

    The settings are those that the store was made with, the rows those of its corpus. Whatever is whole is kept. A
    store does not know where the files lay that it was made from: the arguments say so.

    Args:
        corpus, root, splits: as `tts_prep.preprocess.corpora.read_corpus` has them; all that the store was made with.
        ood_texts: the file of its out-of-domain texts; needed where ``ood.h5`` is broken.
        jobs: worker processes.

    Raises:
        ConfigurationError: a file is missing, or is not the one that the store was made from.
        StoreError: the corpus, or the versions of the libraries, are not those that the store was made with.
    """
    found = _look(store)
    if not found.broken:
        # What a repair left that was killed in its last instant.
        with locked_folder(store), scratch_folder(store):
            manifest = read_manifest(store)
        totals = manifest.totals
        return Result(store, manifest, totals["shards"], 0, totals["failures"], totals["seconds"]), []
    config = configuration_of(store, found.settings["configuration"])
    if config.alignments is not None:
        raise StoreError(
            f"{store}: made with alignments that change what it holds, which a repair does not read; make it "
            "again with --overwrite"
        )
    _check_splits(store, config, splits or {})
    config = _with_ood_texts(store, config, ood_texts, needed=OOD_TEXTS in found.broken)

    def check_plan(keys: Sequence[str]) -> None:
        # Whole shards of other rows would be made again, as something else.
        if not found.are_of(keys):
            raise StoreError(
                f"{store}: made from other rows or recordings than {corpus} has now, with audio paths relative to "
                f"{audio_root}; give what it was made from"
            )

    items, audio_root = read_corpus(config.corpus, corpus, root=root, splits=splits, options=config.options)
    result = prepare(
        items,
        audio_root,
        store,
        config,
        jobs=jobs,
        # Counted already when the store was made: a failure is no reason to stop now.
        max_failures="100%",
        progress=progress,
        repair=Repair(found.broken, found.settings, check_plan),
    )
    return result, found.broken


def configuration_of(store: Path, settings: Mapping[str, Any]) -> Configuration:
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
        splits = dict(corpus.pop("splits", {}))
        config = Configuration(
            corpus=corpus.pop("reader"),
            limit=corpus.pop("limit"),
            mel=MelConfig(**audio),
            reading=ReadingConfig(**reading),
            text=TextConfig(**text, symbols=tuple(symbols) if isinstance(symbols, list) else symbols),
            store=StoreConfig(**settings["store"]),
            options=corpus,
            # Where the file lies is not known; it is not looked at while its texts are whole.
            ood_texts=OodConfig(Path(), ood_texts) if ood_texts else None,
            splits=splits,
            preset=settings.get("preset"),
            alignments=settings.get("alignments"),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{store}: its settings are not those of this version ({error}); make it again") from error
    return config


def _check_splits(store: Path, config: Configuration, splits: Mapping[str, Path]) -> None:
    """Refuse lists of ids that are not those that a store was made with."""
    found = split_checksums(splits)
    for name, made_with in config.splits.items():
        if name not in found:
            raise ConfigurationError(
                f"split: {store} was made with a list of ids for '{name}'; give --split {name}=FILE"
            )
        _check_file("split", splits[name], found[name], made_with)


def _with_ood_texts(store: Path, config: Configuration, path: Path | None, *, needed: bool) -> Configuration:
    """Return a configuration that knows where the file of out-of-domain texts lies."""
    if path is None:
        if needed:
            raise ConfigurationError(
                f"ood-texts: {store / OOD_TEXTS} is broken; give the file that it was made from with --ood-texts FILE"
            )
        return config
    if config.ood_texts is None:
        raise ConfigurationError(f"ood-texts: {store} was made without any; leave the option out")
    found = OodConfig.of(path)
    _check_file("ood-texts", path, found.sha256, config.ood_texts.sha256)
    return replace(config, ood_texts=found)


def _check_file(option: str, path: Path, found: str, made_with: str) -> None:
    if found != made_with:
        raise ConfigurationError(
            f"{option}: {path}: SHA-256 {found[:12]}…, the store was made with {made_with[:12]}…; give that file"
        )


def _look(store: Path) -> _Findings:
    try:
        manifest = read_manifest(store)
        if fault := manifest_fault(store):
            raise CorruptStoreError(f"{store / MANIFEST}: {fault}")
    except StoreError as error:
        # Broken, or gone with a repair that was interrupted: the shards know the settings too.
        return _look_at_shards(store, error)
    broken = [entry.file for entry, fault in verify_store(store, manifest) if fault]
    return _Findings(broken, vars(manifest), manifest.plan, {})


def _look_at_shards(store: Path, error: StoreError) -> _Findings:
    """Look at a store whose manifest is broken, which is an error where no shard is whole."""
    broken, keys = [MANIFEST], {}
    settings: Mapping[str, Any] | None = None
    for number, _ in shard_files(store):
        header = _whole_header(store, number)
        if header is None:
            broken.append(shard_name(number))
        else:
            keys[number] = header.key
            settings = settings or vars(header)
    if settings is None:
        raise error
    if settings["configuration"].get("text", {}).get("ood_texts") and existing_ood_header(store / OOD_TEXTS) is None:
        broken.append(OOD_TEXTS)
    return _Findings(broken, settings, None, keys)


def _whole_header(store: Path, number: int) -> ShardHeader | None:
    try:
        return check_shard(stored_file(store, shard_name(number)), number)
    except CorruptStoreError:
        return None
