"""Resuming: what an earlier run has finished, and whether this one may continue with it.

A run resumes without a journal: a shard or array file is finished if it exists, is intact, and has the key of its
inputs. The settings of an unfinished store are those in the header of any of its shards.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.format.contents.shard import CheckedShard, ShardHeader, inspect_shard, read_shard_header
from tts_prep.format.files.paths import shard_files
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.records.store_plan import plan_sha256, read_plan
from tts_prep.preprocess.configuration.records import differences
from tts_prep.preprocess.configuration.software import install_line


def finished_shard(path: Path, number: int, key: str) -> CheckedShard | None:
    """Return an existing intact shard with this key, else None."""
    if not path.exists():
        return None
    try:
        shard = inspect_shard(path, number, read_locations)
    except CorruptStoreError:
        return None
    return shard if shard.header.key == key else None


def unfinished_settings(store: Path) -> Mapping[str, Any] | None:
    """Return the settings of an unfinished store, from the header of a shard; None if it has no intact shard."""
    headers = (_header(path) for _, path in shard_files(store))
    return next((vars(header) for header in headers if header), None)


def _header(path: Path) -> ShardHeader | None:
    try:
        return read_shard_header(path, read_locations)
    except CorruptStoreError:
        return None


def check_settings(store: Path, old: Mapping[str, Any], new: Mapping[str, Any], what_to_do: str) -> None:
    """Check that a store was made with the settings of this run.

    Args:
        old, new: settings with the keys ``configuration`` and ``software``.
        what_to_do: the end of the error message.

    Raises:
        StoreError: settings differ; the message lists them.
    """
    settings = list(differences(old["configuration"], new["configuration"]))
    # With another preset, most settings of audio differ; name the preset instead.
    audio = [difference for difference in settings if difference.startswith("audio.")]
    preset = [difference for difference in settings if difference.startswith("preset ")]
    if preset and audio:
        rest = [difference for difference in settings if difference not in (*audio, *preset)]
        settings = [f"{preset[0]} ({len(audio)} settings of audio)", *rest]
    versions = list(differences(old["software"], new["software"], "software."))
    if settings or versions:
        # Other settings are meant; a newer library seldom is.
        back = "" if settings else install_line(old["software"], new["software"])
        to_do = f"{back}, or {what_to_do}" if back else what_to_do
        raise StoreError(f"{store}: made with other settings: {'; '.join(settings + versions)}; {to_do}")


def check_other_parts(store: Path, keys: Sequence[str], arrays: Collection[str]) -> None:
    """Check that other parts of a store were planned from the same corpus, with the same added arrays.

    Raises:
        StoreError: they were not.
    """
    plan = read_plan(store)
    if plan and set(plan.arrays) != set(arrays):
        theirs, own = (", ".join(sorted(names)) or "none" for names in (plan.arrays, arrays))
        raise StoreError(f"{store}: other parts have the added arrays {theirs}, this one {own}; use the same for all")
    if plan and plan.sha256 != plan_sha256(keys):
        raise StoreError(
            f"{store}: the corpus has changed since the first part was made ({len(plan.shards)} shards then, "
            f"{len(keys)} now); do not modify it while a store is made, or start again with another path"
        )
