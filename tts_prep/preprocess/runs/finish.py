"""Finish a store whose shards were made in parts."""

from __future__ import annotations

from pathlib import Path

from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.format.assembly import assemble_store, checked_store
from tts_prep.format.layout import MANIFEST, shard_name
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.format.records.store_plan import plan_sha256, read_plan
from tts_prep.preprocess.runs.failure_limit import FailureLimit, give_up
from tts_prep.preprocess.runs.folder import in_place, locked_folder
from tts_prep.preprocess.workers.scratch import scratch_folder


def finish_store(store: Path, *, max_failures: str | int = "1%") -> Manifest:
    """Check that all shards exist, and write failure list, index and manifest.

    Raises:
        StoreError: shards are missing; the message says which part makes them.
        TooManyFailuresError: more rows failed than allowed.
    """
    allowed = FailureLimit.parse(max_failures)
    if (store / MANIFEST).exists():
        with locked_folder(store), scratch_folder(store):
            return read_manifest(store)
    plan = read_plan(store)
    if plan is None:
        raise StoreError(f"{store}: no parts of a store; make parts with a corpus command and --part K/N first")
    with locked_folder(store) as lock, scratch_folder(store), in_place(store, lock):
        missing = [number for number in range(len(plan.shards)) if not (store / shard_name(number)).exists()]
        if missing:
            raise StoreError(
                f"{store}: {len(missing)} of {len(plan.shards)} shards are missing, {shard_name(missing[0])} first; "
                f"make all parts, then finish (of N parts, part {missing[0]} mod N + 1 makes it)"
            )
        shards, arrays = checked_store(store, len(plan.shards))
        if plan_sha256(header.key for _, header in shards) != plan.sha256:
            raise CorruptStoreError(f"{store}: its shards do not match the plan; run all parts again")
        total = sum(header.rows + len(header.failures) for _, header in shards)
        if sum(len(header.failures) for _, header in shards) > allowed.of(total):
            give_up(store, [header for _, header in shards], total, allowed)
        return assemble_store(store, shards, arrays)
