"""Make a store of a corpus: plan and check everything, make the shards, write index and manifest.

Nothing is changed before the plan is complete and checked. How a store is resumed or replaced is in
`tts_prep.preprocess.make.transaction`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, Protocol

from tts_prep import doors
from tts_prep.errors import ConfigurationError, CorruptStoreError, StoreError
from tts_prep.format.assembly import assemble_store, file_entry
from tts_prep.format.layout import ADDED_ARRAYS, CORRECTIONS, array_file_name
from tts_prep.format.records.failures import Failure
from tts_prep.format.records.manifest import FileEntry, Manifest, read_manifest
from tts_prep.format.records.provenance import write_provenance
from tts_prep.format.records.sources import IncompleteArray, read_sources, write_sources
from tts_prep.format.records.store_plan import read_plan
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.make.asked import Asked
from tts_prep.preprocess.make.examples import needs_energy
from tts_prep.preprocess.make.folder import take_over_file
from tts_prep.preprocess.make.shard_run import FailureLimit, ShardRun
from tts_prep.preprocess.make.shards import MadeShard, get_ready, make_shard
from tts_prep.preprocess.make.transaction import Change, StoreTransaction
from tts_prep.preprocess.option import takes_fields
from tts_prep.preprocess.plan.planned_store import CorpusRows, PlannedStore, plan_store
from tts_prep.preprocess.plan.shard_plans import ShardPlan
from tts_prep.preprocess.plan.shard_settings import make_recipe
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.preprocess.text.symbols import AUTO
from tts_prep.preprocess.workers.pool import WorkerPool, worker_pool

if TYPE_CHECKING:
    from tts_prep.preprocess.features.feature import Feature


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
        incomplete: the arrays of an updated store that have no values for some of its rows; of a complete one, those
            that no command has named since.
    """

    store: Path
    manifest: Manifest | None = field(repr=False)
    shards: int
    shards_made: int
    failures: int
    seconds: float
    compiling: float = 0.0
    incomplete: tuple[IncompleteArray, ...] = field(default=(), repr=False)

    @classmethod
    def of_complete(cls, store: Path, manifest: Manifest) -> Result:
        """Return the result of a run that found the store complete."""
        totals, arrays = manifest.totals, read_sources(store).incomplete_of(manifest.array_files.keys())
        numbers = (totals["shards"], 0, totals["failures"], totals["seconds"])
        return cls(store, manifest, *numbers, incomplete=arrays)


P = ParamSpec("P")
Items = Iterable[SourceUtterance | Failure]


class Prepare(Protocol[P]):
    """The parameters of `prepare` for type checkers, P being those of `Asked`."""

    def __call__(
        self, items: Items, root: Path, store: Path, config: Configuration, *_: P.args, **asked: P.kwargs
    ) -> Result:
        """See `prepare`."""


def _takes(record: Callable[P, Asked]) -> Callable[[Callable[..., Result]], Prepare[P]]:
    return takes_fields(record)


@_takes(Asked)
def prepare(items: Items, root: Path, store: Path, config: Configuration, asked: Asked) -> Result:
    """Make a store of a corpus, or resume an unfinished one.

    Its bytes depend on the corpus, the configuration and the versions of libraries alone, not on ``jobs`` or kills.

    Example:
        >>> from pathlib import Path
        >>> from tts_prep.preprocess import configure, prepare, read_corpus
        >>> rows, root = read_corpus("ljspeech", Path("LJSpeech-1.1"))
        >>> config = configure("ljspeech", settings={"text": {"frontend": "characters"}})
        >>> result = prepare(rows, root, Path("ljspeech-store"), config)
        >>> result.manifest.totals["utterances"], result.failures
        (2, 0)

    Args:
        items, root: rows of a corpus, and the folder of relative audio paths; see `tts_prep.preprocess.read_corpus`.
        store: the folder of the store.
        config: the settings of the store.
        asked: see `Asked`.

    Raises:
        TtsPrepError: the run failed. Finished shards are kept.
    """
    # What is not valid is said before anything is read.
    FailureLimit.parse(asked.max_failures)
    change, features = _change(asked), asked.features
    asked.provenance.checked()
    if config.text.symbols == AUTO:
        # Read twice: for their symbols, and for the plan.
        items = list(items)
        config = doors.need("symbols", "auto")(config, items, jobs=asked.jobs, backend=asked.backend)
    with (
        StoreTransaction.begin(store, change, asked) as transaction,
        worker_pool(asked.jobs, asked.backend, partial(get_ready, config, energy=needs_energy(features))) as pool,
    ):
        # A complete store needs no workers, any other at least one; more of them start with the plans of their shards.
        start = pool.start if change.replaces or not transaction.is_complete else lambda _: None
        start(1)
        if old := transaction.old:
            given = {spec.name for feature in features for spec in feature.specs}
            features = (*features, *doors.need("update", "features")(old, config, given))
        recipe = make_recipe(config, root, tuple(features), asked.alignments)
        planned = plan_store(CorpusRows(items, root, asked.corrections), recipe, start)
        features = planned.recipe.features
        planned = transaction.with_known(planned)
        if manifest := transaction.up_to_date(planned):
            changed = _changed_arrays(store, manifest, features)
            if not changed:
                return Result.of_complete(store, manifest)
            if change is not Change.UPDATE:
                names = ", ".join(f"'{name}'" for name in sorted(changed))
                raise StoreError(
                    f"{store}: older than the files that {names} was made from; --update makes it again from them"
                )
        return make_store(transaction, planned, pool)


def _changed_arrays(store: Path, manifest: Manifest, features: Sequence[Feature]) -> set[str]:
    """Check that a complete store has the arrays of features; return those whose files have changed since."""
    if not features:
        return set()
    from tts_prep.preprocess.make.array_files import check_arrays_of, outdated_arrays

    check_arrays_of(store, manifest, features)
    return outdated_arrays(store, manifest, features)


def _change(asked: Asked) -> Change:
    changes = {"resume": Change.NEW, "update": Change.UPDATE, "overwrite": Change.OVERWRITE}
    if asked.existing not in changes:
        raise ConfigurationError(f"existing: expected one of {', '.join(changes)}, found {asked.existing!r}")
    if asked.part is None:
        return changes[asked.existing]
    if asked.existing != "resume":
        raise ConfigurationError("overwrite, update, part: expected at most one of them")
    return Change.PART


def make_store(
    transaction: StoreTransaction,
    planned: PlannedStore,
    pool: WorkerPool[ShardPlan, MadeShard],
    broken: Collection[str] = (),
) -> Result:
    """Make the missing shards of a planned store, or of a part of it; then complete it.

    Args:
        broken: files of the old store that must not be taken over.
    """
    part, allowed = transaction.asked.part, FailureLimit.parse(transaction.asked.max_failures)
    recipe = planned.recipe
    specs = recipe.specs
    intact = _intact_arrays(transaction, specs, broken)
    plans = planned.shards[part.number - 1 :: part.count] if part else planned.shards
    with transaction.build([recipe.settings_sha256, intact, sorted(specs)], recipe.settings["configuration"]) as folder:
        transaction.plan(planned.keys, [*intact, *specs])
        if planned.corrections or os.path.lexists(folder / CORRECTIONS):
            doors.need("corrections", "write")(folder, planned.corrections)
        said = transaction.provenance()
        if said.as_dict() or not part:  # another part may be saying it
            write_provenance(folder, said)
        if recipe.config.ood_texts:
            doors.need("ood", "make")(recipe.config, recipe.settings, folder, pool, transaction.source)
        plans = _with_old(transaction, planned, plans, broken)
        make = partial(make_shard, recipe=recipe, store=folder)
        run = ShardRun(folder, planned, allowed, transaction.asked.progress)
        made = run.make(plans, make, pool)
        known = replace(planned, shards=tuple(plans)).made(shard.stored.header.key for shard in made)
        sources = read_sources(transaction.store).with_shards_of(known.sources)
        write_sources(folder, sources, f"{part.number}-{part.count}" if part else "")
        manifest, incomplete = None, dict[str, IncompleteArray]()
        if not part:
            if not any(shard.stored.header.rows for shard in made):
                run.give_up(made)
            added = _array_files(transaction, made, intact, specs)
            manifest, left_out = _complete(transaction, made, added)
            before = {array.spec.name: array for array in sources.incomplete_of(manifest.array_files.keys())}
            incomplete = before | {array.spec.name: array for array in left_out}
            if incomplete:
                write_sources(folder, replace(sources, incomplete=tuple(incomplete.values())))
    n_made = sum(shard.is_new for shard in made)
    numbers = (len(plans), n_made, run.now.failures, run.now.seconds, run.now.compiling)
    return Result(transaction.store, manifest, *numbers, tuple(incomplete.values()))


def _with_old(
    transaction: StoreTransaction, planned: PlannedStore, plans: Sequence[ShardPlan], broken: Collection[str]
) -> tuple[ShardPlan, ...]:
    """Return plans with the shards and the rows of the old store that are taken over."""
    old, rows = transaction.old_shards(planned.keys, broken), {}
    if transaction.source and transaction.old:
        rows = doors.need("update", "rows")(transaction.source, transaction.old, planned, old)
    key = planned.recipe.key
    return tuple(replace(plan, old=old.get(key(plan)), old_rows=rows.get(plan.number)) for plan in plans)


def _complete(
    transaction: StoreTransaction, made: Sequence[MadeShard], added: Mapping[str, Sequence[FileEntry]]
) -> tuple[Manifest, Sequence[IncompleteArray]]:
    """Write index and manifest; return the manifest, and the arrays of an old store that lack values."""
    if transaction.old and transaction.source:
        manifest, kept = doors.need("update", "complete")(transaction, made, added)
        return manifest, kept.incomplete
    return assemble_store(transaction.folder, [shard.stored for shard in made], added), ()


def _intact_arrays(transaction: StoreTransaction, made: Collection[str], broken: Collection[str]) -> tuple[str, ...]:
    """Return the names of added arrays that a repair takes over from the old store.

    Args:
        made: the names of arrays that the run makes.

    Raises:
        StoreError: an array would be lost.
    """
    if transaction.change is not Change.REPAIR:
        return ()
    store = transaction.store
    try:
        plan = read_plan(store)
        names = plan.arrays if plan else ()
    except CorruptStoreError:
        names = tuple(read_manifest(store).array_files)
    names = tuple(name for name in names if name not in made)
    for file in broken:
        if file.startswith(f"{ADDED_ARRAYS}/") and (name := file.split("/")[1]) not in made:
            raise StoreError(
                f"{store / file}: not made from the corpus, so it cannot be repaired; run 'tts-prep remove {store} "
                f"--array {name}', and add it again"
            )
    return names


def _array_files(
    transaction: StoreTransaction, made: Sequence[MadeShard], intact: Iterable[str], new: Iterable[str]
) -> dict[str, list[FileEntry]]:
    """Return the files of the arrays that are taken over, and of those that are made with the shards."""
    taken_over = {name: _take_over_array(transaction, name, made) for name in intact}
    return taken_over | {name: [shard.arrays[name] for shard in made] for name in new}


def _take_over_array(transaction: StoreTransaction, name: str, made: Sequence[MadeShard]) -> list[FileEntry]:
    entries = []
    for shard in made:
        file = array_file_name(name, shard.stored.number)
        if transaction.source:
            take_over_file(transaction.source, transaction.folder, file)
        entries.append(file_entry(transaction.folder / file, file, shard.stored.header.rows))
    return entries


def available_jobs() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
