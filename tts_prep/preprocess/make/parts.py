"""Make a store in independent parts: one command per part, in any order, then one command that finishes the store.

This is for batch systems without a running cluster. A part is every n-th shard of a common plan.
"""

from __future__ import annotations

from pathlib import Path

from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.format.assembly import assemble_store, checked_files
from tts_prep.format.layout import MANIFEST, shard_name
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.format.records.sources import sources_of_parts, write_sources
from tts_prep.format.records.store_plan import StorePlan, read_plan
from tts_prep.preprocess.make.shard_run import FailureLimit, give_up
from tts_prep.preprocess.make.transaction import Change, StoreTransaction


def finish_store(store: Path, *, max_failures: str | int = "1%") -> Manifest:
    """Check that all shards exist, and write failure list, index and manifest.

    Raises:
        StoreError: shards are missing; the message says which part makes them.
        TooManyFailuresError: more rows failed than allowed.
    """
    allowed = FailureLimit.parse(max_failures)
    # Before the store is locked, which would make its folder.
    plan = None if (store / MANIFEST).exists() else read_plan(store)
    if plan is None and not (store / MANIFEST).exists():
        raise StoreError(f"{store}: no parts of a store; make parts with a corpus command and --part K/N first")
    with StoreTransaction.begin(store, Change.FINISH) as transaction:
        if plan is None:
            return read_manifest(store)
        with transaction.build():
            return _finish(transaction, plan, allowed)


def _finish(transaction: StoreTransaction, plan: StorePlan, allowed: FailureLimit) -> Manifest:
    store = transaction.store
    missing = [number for number in range(len(plan.shards)) if not (store / shard_name(number)).exists()]
    if missing:
        raise StoreError(
            f"{store}: {len(missing)} of {len(plan.shards)} shards are missing, {shard_name(missing[0])} first; "
            f"make all parts, then finish (of N parts, part {missing[0]} mod N + 1 makes it)"
        )
    transaction.plan(plan.shards, plan.arrays)
    shards, arrays = checked_files(store, len(plan.shards), plan.arrays)
    headers = [shard.header for shard in shards]
    if tuple(header.plan_key for header in headers) != plan.shards:
        raise CorruptStoreError(f"{store}: its shards do not match the plan; make all parts again with another path")
    total = sum(header.rows + len(header.failures) for header in headers)
    if sum(len(header.failures) for header in headers) > allowed.of(total):
        give_up(store, headers, total, allowed)
    write_sources(store, sources_of_parts(store))
    return assemble_store(store, shards, arrays)
