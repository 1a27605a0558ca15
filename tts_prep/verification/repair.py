"""Repair a store: make its broken files again from the corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tts_prep import doors
from tts_prep.errors import ConfigurationError, CorruptStoreError, StoreError
from tts_prep.format.contents.shard import ShardHeader, inspect_shard
from tts_prep.format.files.paths import shard_files, stored_file
from tts_prep.format.layout import ADDED_ARRAYS, CORRECTIONS, MANIFEST, OOD_TEXTS, shard_name
from tts_prep.format.records.manifest import manifest_fault, read_manifest
from tts_prep.format.records.sources import read_sources
from tts_prep.format.records.store_plan import plan_sha256
from tts_prep.preprocess.configuration.records import Configuration, OodConfig
from tts_prep.preprocess.corpora.corpus import Corpus, Reader
from tts_prep.preprocess.corpora.lines import split_checksums
from tts_prep.preprocess.features.feature import CorpusAlignments, Feature
from tts_prep.preprocess.make.asked import Asked
from tts_prep.preprocess.make.resuming import check_recordings, check_settings
from tts_prep.preprocess.make.shards import get_ready
from tts_prep.preprocess.make.transaction import Change, StoreTransaction
from tts_prep.preprocess.plan.planned_store import CorpusRows, PlannedStore, plan_store, stored_corrections
from tts_prep.preprocess.plan.shard_settings import make_recipe
from tts_prep.preprocess.run import Result, make_store
from tts_prep.preprocess.workers.pool import Backend, worker_pool
from tts_prep.progress import ShowProgress, in_notebooks
from tts_prep.verification.files import verify_store


@dataclass(frozen=True)
class _Findings:
    """The broken files of a store, and its settings.

    Attributes:
        broken: files to make again.
        settings: ``configuration`` (the result of `Configuration.as_dict`) and ``software`` of the store.
        plan: the SHA-256 of the plan, if the manifest is intact.
        keys: the keys of intact shards by number, if the manifest is broken.
    """

    broken: list[str]
    settings: Mapping[str, Any]
    plan: str | None
    keys: Mapping[int, str]

    def check(self, store: Path, planned: PlannedStore, sources: str) -> None:
        """Check that a store was made as it is planned; otherwise intact shards would be replaced by others.

        Args:
            sources: what it is planned from, for the message.

        Raises:
            StoreError: it was made with other settings, or from other rows.
        """
        check_settings(store, self.settings, planned.recipe.settings, "install what it was made with")
        if not self._match(planned.known):
            check_recordings(store, planned)
            raise StoreError(f"{store}: not made from the rows and recordings of {sources}; give what it was made from")

    def features(self, store: Path, config: Configuration) -> tuple[Feature, ...]:
        """Return the features of the corpus whose arrays are broken."""
        names = {file.split("/")[1] for file in self.broken if file.startswith(f"{ADDED_ARRAYS}/")}
        if not names:
            return ()
        manifest = read_manifest(store)
        made: tuple[Feature, ...] = doors.need("update", "features")(
            manifest, config, manifest.array_files.keys() - names
        )
        return made

    def _match(self, keys: Sequence[str]) -> bool:
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
    alignments: Path | None = None,
    reader: Corpus | Reader | None = None,
    jobs: int = 1,
    progress: ShowProgress = in_notebooks,
) -> tuple[Result, list[str]]:
    """Make the broken files of a store again; return the result and the files that were broken.

    Also where nothing is broken, the corpus is compared with the one that the store was made from. The
    settings are read from the store, which does not record the paths of its inputs. Intact files are kept.

    Args:
        corpus, root, splits: see `tts_prep.preprocess.read_corpus`; the same as when the store was made.
        reader: the reader that made the store, if no package registers it.
        ood_texts: the file of its out-of-domain texts; required if ``ood.h5`` is broken.
        alignments: the folder or CTM file of its alignments; required if they change its shards.
        jobs: the number of worker processes.

    Raises:
        ConfigurationError: a file is missing, or is not the one that the store was made from.
        StoreError: the corpus or the versions of libraries differ from those that the store was made with.
    """
    findings = _inspect(store)
    config = Configuration.from_dict(store, findings.settings["configuration"])
    aligned = _alignments(store, config, alignments)
    _check_splits(store, config, splits or {})
    config = _with_ood_texts(store, config, ood_texts, needed=OOD_TEXTS in findings.broken)
    corrections = _corrections(store, findings)
    rows = CorpusRows.read(config, corpus, root=root, splits=splits, reader=reader, corrections=corrections)
    # Also if nothing is broken: it removes the remains of a repair that was killed at its end.
    with (
        # Failures were counted when the store was made.
        StoreTransaction.begin(store, Change.REPAIR, Asked(max_failures="100%", progress=progress)) as transaction,
        worker_pool(jobs, Backend(), partial(get_ready, config)) as pool,
    ):
        planned = plan_store(rows, make_recipe(config, rows.root, findings.features(store, config), aligned))
        planned = planned.with_known(read_sources(store)).with_contents()
        sources = f"{corpus}, with audio paths relative to {rows.root}"
        findings.check(store, planned, f"{sources} and alignments of {alignments}" if alignments else sources)
        if not findings.broken:
            return Result.of_complete(store, read_manifest(store)), []
        result = make_store(transaction, planned, pool, findings.broken)
    return result, findings.broken


def _corrections(store: Path, findings: _Findings) -> Any:
    """Return the corrections that a store was made with, which the corpus does not have."""
    if CORRECTIONS in findings.broken:
        raise StoreError(
            f"{store / CORRECTIONS}: broken, and cannot be made again from the corpus; run the command that made the "
            "store with the same --corrections and --exclude, or none for one that it had not, and with --update"
        )
    return stored_corrections(store)


def _alignments(store: Path, config: Configuration, path: Path | None) -> CorpusAlignments | None:
    """Return the alignments that change the shards of a store."""
    if config.alignments is None:
        if path is not None:
            raise ConfigurationError(f"alignments: those of {store} do not change its shards; omit the option")
        return None
    if path is None:
        raise ConfigurationError(
            f"alignments: {store} was made with alignments that change its shards; give them with --alignments PATH"
        )
    aligned: CorpusAlignments = doors.need("imports", "alignments")(path, config.alignments)
    return aligned


def _check_splits(store: Path, config: Configuration, splits: Mapping[str, Path]) -> None:
    """Check that lists of ids are those that the store was made with."""
    found = split_checksums(splits)
    for name, made_with in config.splits.items():
        if name not in found:
            raise ConfigurationError(
                f"split: {store} was made with a list of ids for '{name}'; give --split {name}=FILE"
            )
        _check_file("split", splits[name], found[name], made_with)


def _with_ood_texts(store: Path, config: Configuration, path: Path | None, *, needed: bool) -> Configuration:
    """Return the configuration with the path of the file of out-of-domain texts."""
    if path is None:
        if needed:
            raise ConfigurationError(
                f"ood-texts: {store / OOD_TEXTS} is broken; give the file that it was made from with --ood-texts FILE"
            )
        return config
    if config.ood_texts is None:
        raise ConfigurationError(f"ood-texts: {store} was made without any; drop the option")
    found = OodConfig.of(path)
    _check_file("ood-texts", path, found.sha256, config.ood_texts.sha256)
    return replace(config, ood_texts=found)


def _check_file(option: str, path: Path, found: str, made_with: str) -> None:
    if found != made_with:
        raise ConfigurationError(
            f"{option}: {path}: SHA-256 {found[:12]}…, the store was made with {made_with[:12]}…; give that file"
        )


def _inspect(store: Path) -> _Findings:
    try:
        manifest = read_manifest(store)
        if fault := manifest_fault(store):
            raise CorruptStoreError(f"{store / MANIFEST}: {fault}")
    except StoreError as error:
        # The manifest is broken or missing. The shards have the settings too.
        return _inspect_shards(store, error)
    broken = [entry.file for entry, fault in verify_store(store, manifest) if fault]
    return _Findings(broken, vars(manifest), manifest.plan, {})


def _inspect_shards(store: Path, error: StoreError) -> _Findings:
    """Inspect a store whose manifest is broken; raise the error if no shard is intact."""
    broken, keys = [MANIFEST], {}
    settings: Mapping[str, Any] | None = None
    for number, _ in shard_files(store):
        header = _intact_header(store, number)
        if header is None:
            broken.append(shard_name(number))
        else:
            keys[number] = header.key
            settings = settings or vars(header)
    if settings is None:
        raise error
    has_ood_texts = settings["configuration"].get("text", {}).get("ood_texts")
    if has_ood_texts and doors.need("ood", "existing")(store / OOD_TEXTS) is None:
        broken.append(OOD_TEXTS)
    return _Findings(broken, settings, None, keys)


def _intact_header(store: Path, number: int) -> ShardHeader | None:
    try:
        return inspect_shard(stored_file(store, shard_name(number)), number).header
    except CorruptStoreError:
        return None
