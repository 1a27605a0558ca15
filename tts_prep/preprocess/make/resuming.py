"""Resuming: what an earlier run has finished, whether this one may continue with it, and the end of one in parts.

A run resumes without a journal: a shard or array file is finished if it exists, is intact, and has the key of its
inputs. The settings of an unfinished store are those in the header of any of its shards.
"""

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tts_prep import doors
from tts_prep.errors import CorruptStoreError, StoreError, one_line
from tts_prep.format.assembly import assemble_store
from tts_prep.format.contents.shard import CheckedShard, ShardHeader, inspect_shard, read_header
from tts_prep.format.files.paths import shard_files
from tts_prep.format.hdf5.datasets import map_file
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.layout import CORRECTIONS, MANIFEST, ROW_KEYS, shard_name
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.format.records.sources import sources_of_parts, write_sources
from tts_prep.format.records.store_plan import StorePlan, plan_sha256, read_plan
from tts_prep.format.reindexing import checked_files
from tts_prep.preprocess.configuration.records import FUSED_MULTIPLY_ADD
from tts_prep.preprocess.make.folder import take_over_file
from tts_prep.preprocess.make.shard_run import FailureLimit, give_up
from tts_prep.preprocess.make.transaction import Change, StoreTransaction
from tts_prep.preprocess.plan.planned_store import PlannedStore
from tts_prep.preprocess.plan.shard_plans import OldShard, PlannedUtterance, ShardPlan
from tts_prep.preprocess.plan.shard_settings import ShardContents
from tts_prep.quantities import count_text


def finished_shard(store: Path, plan: ShardPlan, planned: str, key: Callable[[], str]) -> CheckedShard | None:
    """Return the planned shard of a store if it exists, is intact and has this key, else None.

    If the store has none, the one of the store that is replaced is taken over.

    Args:
        planned: the planned key of the shard.
        key: returns its key with the contents of recordings; called if there is an intact shard with the planned one.

    Raises:
        WriteError: the shard cannot be taken over.
    """
    name, old = shard_name(plan.number), plan.old
    finished = _intact_shard(store / name, plan, planned, key)
    if finished is None and old and not old.is_broken and has_taken_over(old, shard_name(old.number), store, name):
        finished = _intact_shard(store / name, plan, planned, key)
    return finished


def has_taken_over(old: OldShard, old_file: str, store: Path, file: str) -> bool:
    """Take over a file of the store that is replaced, if that has it. It is then checked like any other."""
    if not (old.store / old_file).is_file():
        return False
    take_over_file(old.store, store, old_file, file)
    return True


def _intact_shard(path: Path, plan: ShardPlan, planned: str, key: Callable[[], str]) -> CheckedShard | None:
    if not path.exists():
        return None
    try:
        shard = inspect_shard(path, plan.number, read_locations)
    except CorruptStoreError:
        return None
    header = shard.header
    is_same = header.plan_key == planned and plan.has_places_of(header.failures) and header.key == key()
    return shard if is_same else None


def planned_keys(store: Path, manifest: Manifest) -> tuple[str, ...]:
    """Return the planned keys of the shards of a complete store.

    Raises:
        CorruptStoreError: a shard is broken, and so is the plan.
    """
    with contextlib.suppress(CorruptStoreError):
        if plan := read_plan(store):
            return plan.shards
    paths = (store / entry.file for entry in manifest.shards)
    return tuple(read_header(path, read_locations(path)).plan_key for path in paths)


def check_recordings(store: Path, planned: PlannedStore) -> None:
    """Check that the recordings of a planned store are those that the shards of a store were made from.

    Raises:
        StoreError: some are others; the message names the first ones.
    """
    changed: list[str] = []
    for plan, key in zip(planned.shards, planned.keys, strict=True):
        header = _header(store / shard_name(plan.number))
        if header is None or header.plan_key != key or header.key == plan.known:
            continue
        if not header.planned:
            raise StoreError(
                f"{store}: format version {header.version}, which does not know the contents of its recordings; "
                f"{_UPDATE} makes it with them"
            )
        contents, kept = ShardContents(plan, planned.recipe), {*row_keys(store / shard_name(plan.number))}
        changed += [
            row.utterance.audio
            for number, row in enumerate(contents.rows)
            if isinstance(row, PlannedUtterance) and contents.row_key(number) not in kept
        ]
    if changed:
        shown = ", ".join(changed[:3]) + (", …" if len(changed) > 3 else "")
        raise StoreError(
            one_line(f"{store}: older than {count_text(len(changed), 'recording')}: {shown}; {_UPDATE} makes it again")
        )


_UPDATE: Final = "the command that made it, with --update,"


def row_keys(path: Path) -> list[bytes]:
    """Return the keys of the rows of a shard; none if it is broken."""
    try:
        locations = read_locations(path)
        keys = map_file(path).dataset(locations[ROW_KEYS]) if ROW_KEYS in locations else ()
    except CorruptStoreError:
        return []
    return [key.tobytes() for key in keys]


def unfinished_settings(store: Path) -> Mapping[str, Any] | None:
    """Return the settings of an unfinished store, from the header of a shard; None if it has no intact shard.

    A shard all of whose rows have failed has nothing to lose: the settings that a message said to change are changed.
    """
    headers = (_header(path) for _, path in shard_files(store))
    return next((vars(header) for header in headers if header and header.rows), None)


def _header(path: Path) -> ShardHeader | None:
    try:
        return read_header(path, read_locations(path))
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
    settings = list(_differences(old["configuration"], new["configuration"]))
    # With another preset, most settings of audio differ; name the preset instead.
    audio = [difference for difference in settings if difference.startswith("audio.")]
    preset = [difference for difference in settings if difference.startswith("preset ")]
    if preset and audio:
        rest = [difference for difference in settings if difference not in (*audio, *preset)]
        settings = [f"{preset[0]} ({len(audio)} settings of audio)", *rest]
    versions = list(_differences(old["software"], new["software"], "software."))
    if settings or versions:
        # Other settings are meant; a newer library seldom is.
        back = "" if settings else install_line(old["software"], new["software"])
        to_do = f"{back}, or {what_to_do}" if back else what_to_do
        raise StoreError(f"{store}: made with other settings: {'; '.join(settings + versions)}; {to_do}")


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield a phrase for each setting that differs between two configurations."""
    for key in sorted({*old, *new}):
        a, b = old.get(key), new.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            yield from _differences(a, b, f"{prefix}{key}.")
        elif a != b:
            yield f"{prefix}{key} is {_shown(a)} in the store and {_shown(b)} now"


def _shown(value: object) -> str:
    text = "not set" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "…"


# Libraries and data that are installed with another package, and the name of that package.
_INSTALLED_WITH = {"libsndfile": "soundfile", "hdf5": "h5py", "espeak-ng": "espeakng-loader", "heteronyms": "tts-prep"}


def install_line(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Return the command that installs the versions that a store was made with, or an empty string if none does.

    Args:
        old, new: name → version, by `software_versions` and the frontends.
    """
    differ = {name: version for name, version in old.items() if new.get(name) != version}
    if FUSED_MULTIPLY_ADD in differ:
        return ""
    packages = [f"{name}=={version}" for name, version in differ.items() if name not in _INSTALLED_WITH]
    steps = [f"pip install {' '.join(packages)}"] if packages else []
    # The version of the package that contains them is unknown.
    steps += [
        f"a version of {_INSTALLED_WITH[name]} with {name} {differ[name]}" for name in _INSTALLED_WITH if name in differ
    ]
    return f"to continue with the same versions: {', '.join(steps)}" if steps else ""


def has_corrections(store: Path, corrections: Sequence[object]) -> bool:
    """Return whether a store was made with corrections, and with no others."""
    if not os.path.lexists(store / CORRECTIONS):
        return not corrections
    try:
        return bool(doors.need("corrections", "read")(store) == tuple(corrections))
    except CorruptStoreError:
        return False


def check_corrections(store: Path, corrections: Sequence[object]) -> None:
    """Check that a store was made with the corrections of this run.

    Raises:
        StoreError: it was made with others.
    """
    if not has_corrections(store, corrections):
        own = count_text(len(corrections), "row")
        raise StoreError(
            f"{store}: made with other corrections than the {own} that this run corrects or leaves out, see "
            f"{CORRECTIONS} there; give the same files, or another path, or --update to replace what differs"
        )


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
