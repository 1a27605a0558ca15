"""Making a store in parts that know nothing of each other: one command a part, in any order, then one that finishes.

For batch systems without a running cluster. A part is every n-th shard of the same plan.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tts_prep.errors import ConfigurationError, CorruptStoreError, StoreError
from tts_prep.format.assembly import assemble_store, checked_shards
from tts_prep.format.atomic import replacing, writing
from tts_prep.format.files import read_text
from tts_prep.format.layout import MANIFEST, PARTS, SHARDS, shard_name
from tts_prep.format.manifest import Manifest, read_manifest
from tts_prep.format.store_plan import plan_sha256, write_plan
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.corpora.utterance import Failure, Utterance
from tts_prep.preprocess.runs.folder import locked_folder, open_folder, tidied
from tts_prep.preprocess.runs.ood_texts import make_ood_texts
from tts_prep.preprocess.runs.plan import first_rows, make_plan
from tts_prep.preprocess.runs.prepare import FailureLimit, Progress, give_up, make_shards, recipe_of
from tts_prep.preprocess.runs.shards import get_ready
from tts_prep.preprocess.workers.cluster import Backend
from tts_prep.preprocess.workers.processes import worker_pool
from tts_prep.preprocess.workers.scratch import scratch_folder


@dataclass(frozen=True)
class Part:
    """Part ``number`` of ``count``, counted from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """Read ``"3/16"``.

        Raises:
            ConfigurationError: it is no such thing.
        """
        number, slash, count = text.partition("/")
        digits = number.isascii() and number.isdecimal() and count.isascii() and count.isdecimal() and len(text) < 20
        if not (slash and digits and 1 <= int(number) <= int(count)):
            raise ConfigurationError(f"part: expected K/N with K from 1 to N, such as 3/16, found {text!r}")
        return cls(int(number), int(count))


@dataclass(frozen=True)
class PartResult:
    """What came of one part.

    Attributes:
        shards: how many the part has; ``shards_made`` of them were made by this run.
    """

    store: Path
    part: Part
    shards: int
    shards_made: int
    failures: int
    seconds: float


@dataclass(frozen=True)
class _Agreement:
    """What all parts of a store have in common; kept in the store until it is finished."""

    parts: int
    shards: int
    plan: str


def prepare_part(
    items: Iterable[Utterance | Failure],
    root: Path,
    store: Path,
    config: Configuration,
    part: Part,
    *,
    jobs: int = 1,
    backend: Backend = Backend(),
    max_failures: str | int = "1%",
    progress: Callable[[Progress], None] = lambda _: None,
) -> PartResult:
    """Make the shards of one part; `finish_store` makes the rest of the store when all parts are there.

    Parts may be made in any order, at once, on several machines with a common file system, and twice.

    Args:
        max_failures: as for `tts_prep.preprocess.runs.prepare.prepare`, of the rows of this part.

    Raises:
        StoreError: the store is of other settings, another corpus or another number of parts.
    """
    allowed = FailureLimit.parse(max_failures)
    with (
        locked_folder(store, shared=True),
        scratch_folder(store) as scratch,
        worker_pool(jobs, backend, partial(get_ready, config, scratch)) as pool,
    ):
        recipe = recipe_of(config, root)
        if open_folder(store, recipe.settings) is not None:
            raise StoreError(f"{store}: whole already; there is no part to make")
        plans = make_plan(first_rows(items, config.limit), root, config.store)
        keys = [recipe.key(plan) for plan in plans]
        _agree(store, _Agreement(part.count, len(plans), plan_sha256(keys)))
        write_plan(store, keys)
        with writing(store):
            (store / SHARDS).mkdir(exist_ok=True)
        if config.ood_texts:
            make_ood_texts(config.ood_texts, config.text, recipe.settings, store, pool)
        own = plans[part.number - 1 :: part.count]
        summaries = make_shards(own, recipe, store, pool, allowed, progress)
    return PartResult(
        store,
        part,
        len(own),
        sum(summary.made for summary in summaries),
        sum(len(summary.header.failures) for summary in summaries),
        sum(summary.header.seconds for summary in summaries),
    )


def finish_store(store: Path, *, max_failures: str | int = "1%") -> Manifest:
    """Look that every shard of every part is there, and write failure list, index and manifest.

    Raises:
        StoreError: a part is missing; the message says which.
        TooManyFailuresError: more rows of the whole failed than are allowed.
    """
    allowed = FailureLimit.parse(max_failures)
    if (store / MANIFEST).exists():
        # What an end in the last instant left.
        (store / PARTS).unlink(missing_ok=True)
        return read_manifest(store)
    if not (store / PARTS).exists():
        raise StoreError(f"{store}: no part of a store; make parts with a corpus command and --part K/N first")
    with locked_folder(store) as lock:
        lock.begun = True
        agreement = _read_agreement(store)
        missing = [number for number in range(agreement.shards) if not (store / shard_name(number)).exists()]
        if missing:
            parts = sorted({number % agreement.parts + 1 for number in missing})
            named = ", ".join(f"{number}/{agreement.parts}" for number in parts[:8]) + (", …" if parts[8:] else "")
            raise StoreError(
                f"{store}: {len(missing)} of {agreement.shards} shards are missing, "
                f"of part{'s' * (len(parts) > 1)} {named}; run that again, then finish"
            )
        with tidied(store):
            shards = list(checked_shards(store, agreement.shards))
        if plan_sha256(header.key for _, header in shards) != agreement.plan:
            raise CorruptStoreError(f"{store}: its shards are not those of the plan; run all parts again")
        total = sum(header.rows + len(header.failures) for _, header in shards)
        if sum(len(header.failures) for _, header in shards) > allowed.of(total):
            give_up(store, [header for _, header in shards], total, allowed)
        manifest = assemble_store(store, shards)
        lock.begun = False
    return manifest


def _agree(store: Path, wanted: _Agreement) -> None:
    """Write what this part takes for granted, or compare it with what another part wrote."""
    if not (store / PARTS).exists():
        with replacing(store / PARTS) as partial:
            partial.write_text(json.dumps(wanted.__dict__) + "\n", encoding="utf-8")
    found = _read_agreement(store)
    if found.parts != wanted.parts:
        raise StoreError(f"{store}: begun in {found.parts} parts, not in {wanted.parts}; give --part K/{found.parts}")
    if found != wanted:
        raise StoreError(
            f"{store}: the corpus has changed since the first part was made ({found.shards} shards then, "
            f"{wanted.shards} now); leave it alone while a store is made, or start over with another path"
        )


def _read_agreement(store: Path) -> _Agreement:
    path = store / PARTS
    try:
        value = json.loads(read_text(path, 1 << 16))
        agreement = _Agreement(**value)
        if not (agreement.parts > 0 and 0 <= agreement.shards < 10**9 and isinstance(agreement.plan, str)):
            raise ValueError(f"impossible numbers {value}")
    except (ValueError, TypeError, RecursionError) as error:
        raise CorruptStoreError(
            f"{path}: not what a part writes ({error}); remove it and run all parts again"
        ) from error
    return agreement
