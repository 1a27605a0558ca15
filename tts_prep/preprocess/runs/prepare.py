"""From a corpus to a store: plan, shards in parallel, index, manifest."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tts_prep.errors import ConfigurationError, CorpusError, StoreError, TooManyFailuresError
from tts_prep.format.assembly import assemble_store, write_failures
from tts_prep.format.layout import FAILURES, FRAME, MANIFEST, PHONEME, SAMPLE, shard_name
from tts_prep.format.manifest import Manifest
from tts_prep.format.shard import ShardHeader
from tts_prep.format.store_plan import plan_sha256, write_plan
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.configuration.records import Configuration, make_frontend
from tts_prep.preprocess.configuration.software import software_versions
from tts_prep.preprocess.corpora.utterance import Failure, Utterance
from tts_prep.preprocess.runs.folder import (
    locked_folder,
    open_folder,
    remove_broken,
    remove_extra_shards,
    tidied,
)
from tts_prep.preprocess.runs.ood_texts import make_ood_texts
from tts_prep.preprocess.runs.plan import ShardPlan, first_rows, make_plan
from tts_prep.preprocess.runs.shards import ShardRecipe, ShardSummary, get_ready, make_shard
from tts_prep.preprocess.workers.cluster import Backend
from tts_prep.preprocess.workers.processes import WorkerPool, worker_pool
from tts_prep.preprocess.workers.scratch import scratch_folder


@dataclass(frozen=True)
class Progress:
    """How far a run has come; given to the callback before the first shard and after every one.

    Attributes:
        done, total: rows of the corpus, those that failed included.
        seconds: of audio, in the shards done.
        failures: rows left out so far.
        made_seconds: of audio, in the shards that this run made; the others were there already.
    """

    done: int
    total: int
    seconds: float
    failures: int
    made_seconds: float


@dataclass(frozen=True)
class Result:
    """What a run made.

    Attributes:
        shards_made: shards that this run made; the others were there already.
    """

    store: Path
    manifest: Manifest
    shards_made: int


def prepare(
    items: Iterable[Utterance | Failure],
    root: Path,
    store: Path,
    config: Configuration,
    *,
    jobs: int = 1,
    backend: Backend = Backend(),
    max_failures: str | int = "1%",
    overwrite: bool = False,
    progress: Callable[[Progress], None] = lambda _: None,
    broken: Collection[str] = (),
    check_plan: Callable[[Sequence[str]], None] | None = None,
) -> Result:
    """Make a store of a corpus, or go on with one that was begun.

    The bytes of the store depend on the corpus, the configuration and the versions of the libraries, and on nothing
    else: not on ``jobs``, nor on how often the run was interrupted.

    Args:
        items: from a corpus reader, such as `tts_prep.preprocess.corpora.read_ljspeech`.
        root: what the utterances' relative audio paths are relative to.
        store: the folder to make.
        jobs: worker processes.
        backend: where they run.
        max_failures: most rows that may fail, as a number or as a share of all (``"1%"``, rounded up).
        overwrite: replace a store that is there.
        broken: files of a whole store to make again, such as ``shards/00003.h5``; see `repair_store`.
        check_plan: called with the keys of all shards before anything is removed; raises where they are not as they
            should be.

    Raises:
        TtsPrepError: the message says what and where. Shards that were made are kept.
    """
    allowed = FailureLimit.parse(max_failures)
    with (
        locked_folder(store, overwrite=overwrite) as lock,
        scratch_folder(store) as scratch,
        worker_pool(
            jobs,
            backend,
            # A whole store needs no workers.
            None if (store / MANIFEST).exists() else partial(get_ready, config, scratch),
        ) as pool,
    ):
        recipe = recipe_of(config, root)
        manifest = open_folder(store, recipe.settings, broken)
        plans = make_plan(first_rows(items, config.limit), root, config.store)
        if not plans:
            raise CorpusError(f"{root}: no rows, expected one a recording")
        keys = [recipe.key(plan) for plan in plans]
        if check_plan:
            check_plan(keys)
        if manifest:
            if manifest.plan != plan_sha256(keys):
                raise StoreError(
                    f"{store}: a whole store, but the corpus has changed since it was made; give another path, or "
                    "--overwrite to replace it"
                )
            if not broken:
                return Result(store, manifest, 0)
        lock.begun = True
        if broken:
            remove_broken(store, broken)
        with tidied(store):
            remove_extra_shards(store, len(plans))
            write_plan(store, keys)
            if config.ood_texts:
                make_ood_texts(config.ood_texts, config.text, recipe.settings, store, pool)
            summaries = make_shards(plans, recipe, store, pool, allowed, progress)
        manifest = assemble_store(store, [(summary.entry, summary.header) for summary in summaries])
        lock.begun = False
    return Result(store, manifest, sum(summary.made for summary in summaries))


@dataclass(frozen=True)
class FailureLimit:
    """The most rows that may fail: a number, or a share of all."""

    text: str
    number: float
    is_share: bool

    @classmethod
    def parse(cls, value: str | int) -> FailureLimit:
        """Read ``"20"`` or ``"1%"``.

        Raises:
            ConfigurationError: it is neither.
        """
        text = str(value).strip()
        is_share = text.endswith("%")
        try:
            number = float(text.removesuffix("%")) if is_share else int(text)
        except ValueError:
            number = -1
        if not 0 <= number <= (100 if is_share else float("inf")):
            raise ConfigurationError(
                f"max-failures: expected a number such as 20 or a share such as 1%, found {text!r}"
            )
        return cls(text, number, is_share)

    def of(self, total: int) -> int:
        """Return the number of rows, a share rounded up."""
        return -int(-self.number * total // 100) if self.is_share else int(self.number)


def available_jobs() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def recipe_of(config: Configuration, root: Path) -> ShardRecipe:
    """Return what every shard of a store is made with."""
    extractor = MelExtractor(config.mel)
    frontend = make_frontend(config.text)
    settings: dict[str, Any] = {
        "configuration": config.as_dict(),
        "software": {**software_versions(), **frontend.software()},
        "arrays": {
            "mel": {
                "dtype": config.store.mel_dtype,
                "row_shape": [config.mel.n_mels],
                "axis": FRAME,
                "sample_rate": config.mel.sample_rate,
                "hop_length": config.mel.hop_length,
                "silence": extractor.silence().tolist(),
                **({"offset": extractor.half_precision_offset()} if config.store.mel_dtype == "float16" else {}),
            },
            "phonemes": {"dtype": "int32", "row_shape": [], "axis": PHONEME},
            **(
                {"waveform": {"dtype": config.store.waveform_dtype, "row_shape": [], "axis": SAMPLE}}
                if config.store.waveform_dtype
                else {}
            ),
        },
        "vocabulary": frontend.vocab.as_dict(),
    }
    return ShardRecipe(root, settings, extractor, config.reading, config.text)


def make_shards(
    plans: Sequence[ShardPlan],
    recipe: ShardRecipe,
    store: Path,
    pool: WorkerPool[ShardPlan, ShardSummary],
    allowed: FailureLimit,
    progress: Callable[[Progress], None],
) -> list[ShardSummary]:
    """Make all shards that are not there yet, and return them in order."""
    total = sum(plan.n_rows for plan in plans)
    # Workers elsewhere need not have this process's working directory.
    make = partial(make_shard, recipe=replace(recipe, root=recipe.root.absolute()), store=store.absolute())
    summaries: list[ShardSummary] = []
    rows = failures = 0
    seconds = made_seconds = 0.0
    progress(Progress(0, total, 0.0, 0, 0.0))
    with contextlib.closing(pool.run(make, plans, partial(_shard_text, store), _without)) as results:
        for summary in results:
            summaries.append(summary.sharing(recipe.settings))
            rows += summary.header.rows
            failures += len(summary.header.failures)
            seconds += summary.header.seconds
            made_seconds += summary.header.seconds if summary.made else 0.0
            progress(Progress(rows + failures, total, seconds, failures, made_seconds))
            if failures > allowed.of(total):
                give_up(store, [done.header for done in sorted(summaries, key=_number)], total, allowed)
    return sorted(summaries, key=_number)


def _shard_text(store: Path, plan: ShardPlan) -> str:
    return f"{store / shard_name(plan.number)} ({plan.name})"


def _without(plan: ShardPlan, number: int) -> ShardPlan:
    return plan.without(number, "ends the process that reads it, each of three times; is the file what it should be?")


def _number(summary: ShardSummary) -> int:
    return summary.number


def give_up(store: Path, headers: Sequence[ShardHeader], total: int, allowed: FailureLimit) -> None:
    """Write the failures of shards, in order, and raise a `TooManyFailuresError`."""
    failures = write_failures(store, headers)
    first = failures[0]
    raise TooManyFailuresError(
        f"{len(failures)} of {total} rows failed so far, more than --max-failures {allowed.text} allows; the first is "
        f"{first['id'] or 'without an id'} ({first['stage']}): {first['reason']}; all are in {store / FAILURES}; "
        "what was done is kept"
    )
