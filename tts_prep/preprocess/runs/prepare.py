"""Make a store of a corpus: plan and check everything, make the shards, write index and manifest.

Nothing is changed before the plan is complete and checked. A new store is made in place; a replacement of an existing
store is made beside it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tts_prep.errors import ConfigurationError, CorpusError, CorruptStoreError, StoreError
from tts_prep.format.assembly import assemble_store, file_entry
from tts_prep.format.files.checksums import json_sha256
from tts_prep.format.files.lock import Lock
from tts_prep.format.layout import ADDED_ARRAYS, MANIFEST, array_file_name, shard_name
from tts_prep.format.records.failures import Failure
from tts_prep.format.records.manifest import FileEntry, Manifest, read_manifest
from tts_prep.format.records.store_plan import plan_sha256, read_plan, write_plan
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.corpora.source_utterance import SourceUtterance
from tts_prep.preprocess.features.alignments.applying import Alignments
from tts_prep.preprocess.features.feature import Feature
from tts_prep.preprocess.runs.array_files import check_arrays_of, specs_of
from tts_prep.preprocess.runs.failure_limit import FailureLimit, give_up
from tts_prep.preprocess.runs.folder import (
    beside,
    check_settings,
    in_place,
    locked_folder,
    made_with,
    remove_extra_shards,
)
from tts_prep.preprocess.runs.log import LOG
from tts_prep.preprocess.runs.ood_texts import make_ood_texts
from tts_prep.preprocess.runs.parts import Part
from tts_prep.preprocess.runs.plan import ShardPlan, first_rows, plan_shards
from tts_prep.preprocess.runs.recipe import ShardRecipe, recipe_of
from tts_prep.preprocess.runs.shards import ShardSummary, get_ready, make_shard, take_over
from tts_prep.preprocess.workers.cluster import Backend
from tts_prep.preprocess.workers.processes import WorkerPool, worker_pool
from tts_prep.preprocess.workers.scratch import scratch_folder
from tts_prep.quantities import count_text


@dataclass(frozen=True)
class Progress:
    """The progress of a run, passed to the callback before the first shard, after every shard, and at other steps.

    Attributes:
        done, total: the numbers of finished and of all rows of the corpus, including failed ones.
        seconds: the duration of the audio in finished shards.
        failures: the number of failed rows so far.
        made_seconds: the duration of the audio in shards made by this run, not by an earlier one.
        compiling: the seconds spent compiling the mel kernel before the first shard; 0 unless this run compiled it.
        step: what the run does at the moment, if that is not making shards, such as compiling the mel kernel.
    """

    done: int
    total: int
    seconds: float
    failures: int
    made_seconds: float
    compiling: float = 0.0
    step: str = ""


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Attributes:
        manifest: the manifest of the finished store; None if the run made a part.
        shards: the number of shards of the store or the part.
        shards_made: the number of shards made by this run, not by an earlier one.
        failures: the number of failed rows.
        seconds: the duration of all audio.
        compiling: the seconds spent compiling the mel kernel; 0 unless this run compiled it.
    """

    store: Path
    manifest: Manifest | None
    shards: int
    shards_made: int
    failures: int
    seconds: float
    compiling: float = 0.0


@dataclass(frozen=True)
class Repair:
    """The repair of a store.

    Attributes:
        broken: files to make again, such as ``shards/00003.h5``.
        made_with: ``configuration`` and ``software`` of the store.
        check_plan: raises if the keys of all shards do not match the store.
    """

    broken: Collection[str]
    made_with: Mapping[str, Any]
    check_plan: Callable[[Sequence[str]], None]


def prepare(
    items: Iterable[SourceUtterance | Failure],
    root: Path,
    store: Path,
    config: Configuration,
    *,
    jobs: int = 1,
    backend: Backend = Backend(),
    max_failures: str | int = "1%",
    part: Part | None = None,
    overwrite: bool = False,
    update: bool = False,
    repair: Repair | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    features: Sequence[Feature] = (),
    alignments: Alignments | None = None,
) -> Result:
    """Make a store of a corpus, or resume an unfinished one.

    The bytes of the store depend only on the corpus, the configuration and the versions of the libraries, not on
    ``jobs`` or on interruptions.

    A complete store is never modified in place: with ``overwrite``, ``update`` or ``repair``, a new store is made
    beside it, which then replaces it atomically.

    Args:
        items: rows from a corpus reader, such as `tts_prep.preprocess.corpora.read_ljspeech`.
        root: the folder of relative audio paths.
        store: the folder of the store.
        jobs: the number of worker processes.
        backend: where the workers run.
        max_failures: the maximum number of rows that may fail, or their share (``"1%"``, rounded down).
        part: make only the shards of this part; `tts_prep.preprocess.runs.finish.finish_store` finishes the store.
            Parts can be made in any order, in parallel, on several machines with a common file system, and repeatedly.
        overwrite: replace an existing store.
        update: replace an existing store, and reuse its shards whose rows and settings are unchanged.
        repair: the files to make again; see `tts_prep.preprocess.runs.repair.repair_store`.
        features: the features of added arrays; see `tts_prep.preprocess.features.registry.make_feature`.
        alignments: the alignments, if the configuration says that they change shards.

    Raises:
        TtsPrepError: the run failed. Finished shards are kept.
    """
    allowed = FailureLimit.parse(max_failures)
    if overwrite + update + (part is not None) + (repair is not None) > 1:
        raise ConfigurationError("overwrite, update, part: expected at most one of them")
    replaces = overwrite or update or repair is not None
    with (
        locked_folder(store, shared=part is not None) as lock,
        scratch_folder(store) as scratch,
        worker_pool(jobs, backend, partial(get_ready, config, scratch)) as pool,
    ):
        # A complete store needs no workers, and most other corpora at least two.
        needs_workers = replaces or not (store / MANIFEST).exists()
        if needs_workers:
            pool.start(2)
        recipe = replace(recipe_of(config, root), features=tuple(features), alignments=alignments)
        specs = specs_of(features)
        marked = alignments.marked(items) if alignments else items
        plans: list[ShardPlan] = []
        for plan in plan_shards(first_rows(marked, config.limit), root, config.store):
            plans.append(plan)
            if needs_workers:
                pool.start(len(plans))
        if not plans:
            raise CorpusError(f"{root}: no rows, expected one per recording")
        if taken := sorted(plans[0].columns.keys() & set(config.cleaning.columns)):
            raise CorpusError(f"{root}: a corpus may not name a column '{taken[0]}' where cleaning does; rename it")
        keys = [recipe.key(plan) for plan in plans]
        if repair:
            check_settings(store, repair.made_with, recipe.settings, "install what it was made with")
            repair.check_plan(keys)
        manifest = None if repair or overwrite else _finished(store, recipe, keys, update=update)
        if manifest and part:
            raise StoreError(f"{store}: already complete; there is no part to make")
        if manifest:
            check_arrays_of(store, manifest, features)
            totals = manifest.totals
            return Result(store, manifest, len(plans), 0, totals["failures"], totals["seconds"])
        arrays = _added_arrays(store, repair, specs, update=update)
        own = plans[part.number - 1 :: part.count] if part else plans
        mode = "overwrite" if overwrite else "update" if update else "repair" if repair else None
        # Without the rows: shards with other rows have other keys.
        purpose = json_sha256([mode, recipe.settings_sha256, arrays, sorted(specs)]) if mode else None
        with _place(store, lock, recipe, purpose, shared=part is not None) as folder:
            if part:
                _check_same_plan(store, keys, specs)
            else:
                remove_extra_shards(folder, len(plans))
            write_plan(folder, keys, [*arrays, *specs])
            source = store.absolute() if (update or repair) and folder != store else None
            if config.ood_texts:
                make_ood_texts(config.ood_texts, config.text, recipe.settings, folder, pool, source)
            make = partial(
                make_shard,
                # Remote workers may have another working directory.
                recipe=replace(recipe, root=root.absolute()),
                store=folder.absolute(),
                source=source,
                broken=frozenset(repair.broken if repair else ()),
            )
            summaries, compiling = _make_shards(own, make, recipe, folder, pool, allowed, progress)
            if not part:
                if not any(summary.header.rows for summary in summaries):
                    total = sum(plan.n_rows for plan in plans)
                    give_up(folder, [summary.header for summary in summaries], total, allowed, root)
                added = {name: _take_over_array(name, store, folder, summaries) for name in arrays}
                added |= {name: [summary.arrays[name] for summary in summaries] for name in specs}
                manifest = assemble_store(folder, [(summary.entry, summary.header) for summary in summaries], added)
    return Result(
        store,
        manifest,
        len(own),
        sum(summary.made for summary in summaries),
        sum(len(summary.header.failures) for summary in summaries),
        sum(summary.header.seconds for summary in summaries),
        compiling,
    )


def _finished(store: Path, recipe: ShardRecipe, keys: Sequence[str], *, update: bool) -> Manifest | None:
    """Return the manifest of a store that is complete and up to date, else None.

    Raises:
        StoreError: the store was made with other settings or from another corpus, and ``update`` is False.
    """
    manifest = read_manifest(store) if (store / MANIFEST).exists() else None
    if manifest and manifest.plan == plan_sha256(keys):
        return manifest
    begun_with = vars(manifest) if manifest else made_with(store)
    if begun_with and not update:
        check_settings(store, begun_with, recipe.settings, "give another path, or --overwrite to replace it")
        if manifest:
            raise StoreError(
                f"{store}: complete, but the corpus has changed since it was made; give another path, or --update "
                "or --overwrite to replace it"
            )
    return None


def _check_same_plan(store: Path, keys: Sequence[str], names: Collection[str]) -> None:
    """Check that other parts of a store were planned from the same corpus, with the same features."""
    plan = read_plan(store)
    if plan and set(plan.arrays) != set(names):
        theirs, own = (", ".join(sorted(arrays)) or "none" for arrays in (plan.arrays, names))
        raise StoreError(f"{store}: other parts have the added arrays {theirs}, this one {own}; use the same for all")
    if plan and plan.sha256 != plan_sha256(keys):
        raise StoreError(
            f"{store}: the corpus has changed since the first part was made ({len(plan.shards)} shards then, "
            f"{len(keys)} now); do not modify it while a store is made, or start again with another path"
        )


def _added_arrays(store: Path, repair: Repair | None, made: Collection[str], *, update: bool) -> tuple[str, ...]:
    """Return the names of added arrays to copy into the new store.

    Args:
        made: the names of arrays that the run makes.

    Raises:
        StoreError: an array would be lost.
    """
    names: tuple[str, ...] = ()
    if repair or update:
        try:
            plan = read_plan(store)
            names = plan.arrays if plan else ()
        except CorruptStoreError:
            names = tuple(read_manifest(store).array_files)
        names = tuple(name for name in names if name not in made)
    if names and repair is None:
        raise StoreError(
            f"{store}: has the added arrays {', '.join(names)}, which belong to its current rows; give "
            "--overwrite, or another path, and add them again"
        )
    broken = [file for file in repair.broken if file.startswith(f"{ADDED_ARRAYS}/")] if repair else []
    if broken:
        raise StoreError(
            f"{store / broken[0]}: not made from the corpus, so it cannot be repaired; add the array again"
        )
    return names


def _take_over_array(name: str, store: Path, folder: Path, summaries: Sequence[ShardSummary]) -> list[FileEntry]:
    entries = []
    for summary in summaries:
        file = array_file_name(name, summary.number)
        if folder != store:
            take_over(store, folder, file)
        entries.append(file_entry(folder / file, file, summary.header.rows))
    return entries


@contextmanager
def _place(store: Path, lock: Lock, recipe: ShardRecipe, purpose: str | None, *, shared: bool) -> Iterator[Path]:
    """Yield the folder in which to make a store: its own, or one beside it if it replaces another store.

    Args:
        purpose: the purpose of the replacement, see `beside`; None if nothing is replaced.
    """
    begun_with = made_with(store) if purpose and not (store / MANIFEST).exists() else None
    is_own = begun_with is not None and begun_with["configuration"] == recipe.settings["configuration"]
    if purpose and (begun_with or (store / MANIFEST).exists()) and not is_own:
        with beside(store, purpose) as folder:
            yield folder
    else:
        with in_place(store, lock, shared=shared):
            yield store


def available_jobs() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _make_shards(
    plans: Sequence[ShardPlan],
    make: Callable[[ShardPlan], ShardSummary],
    recipe: ShardRecipe,
    folder: Path,
    pool: WorkerPool[ShardPlan, ShardSummary],
    allowed: FailureLimit,
    progress: Callable[[Progress], None],
) -> tuple[list[ShardSummary], float]:
    """Make all missing shards. Return all shards, in order, and the seconds spent compiling."""
    total = sum(plan.n_rows for plan in plans)
    LOG.info("%s: %s in %s", folder, count_text(total, "row"), count_text(len(plans), "shard"))
    summaries: list[ShardSummary] = []
    rows = failures = 0
    seconds = made_seconds = compiling = 0.0
    now = Progress(0, total, 0.0, 0, 0.0)
    progress(now)

    def note(step: str) -> None:
        progress(replace(now, step=step))

    with contextlib.closing(pool.run(make, plans, partial(_shard_text, folder), _without, note)) as results:
        for summary in results:
            summaries.append(summary.sharing(recipe.settings))
            rows += summary.header.rows
            failures += len(summary.header.failures)
            n_rows = count_text(summary.header.rows, "row")
            LOG.debug("%s: %s, %s", summary.entry.file, n_rows, "made" if summary.made else "kept")
            for failure in summary.header.failures:
                LOG.warning("failed: %s: %s", failure["id"] or failure["where"], failure["reason"])
            seconds += summary.header.seconds
            made_seconds += summary.header.seconds if summary.made else 0.0
            compiling = max([compiling, summary.compiling, *filter(None, pool.ready_values)])
            now = Progress(rows + failures, total, seconds, failures, made_seconds, compiling)
            progress(now)
            if failures > allowed.of(total):
                give_up(folder, [done.header for done in sorted(summaries, key=_number)], total, allowed, recipe.root)
    return sorted(summaries, key=_number), compiling


def _shard_text(folder: Path, plan: ShardPlan) -> str:
    return f"{folder / shard_name(plan.number)} ({plan.name})"


def _without(plan: ShardPlan, number: int) -> ShardPlan:
    return plan.without(number, "ended the process that reads it three times; is the file broken?")


def _number(summary: ShardSummary) -> int:
    return summary.number
