"""Make index and manifest of a store again from its files."""

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.format.assembly import StoredShard, assemble_store
from tts_prep.format.contents.array_file import inspect_array_file
from tts_prep.format.contents.shard import FindLocations, inspect_shard
from tts_prep.format.files.atomic import writing
from tts_prep.format.files.lock import locked
from tts_prep.format.files.paths import shard_files, stored_file
from tts_prep.format.hdf5.process import hdf5_process
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.layout import LOCK, MANIFEST, PARTIAL_SUFFIX, PLAN, SHARDS, array_file_name, shard_name
from tts_prep.format.records.manifest import FileEntry, Manifest, read_manifest
from tts_prep.format.records.store_plan import StorePlan, read_plan


def reindex_store(store: Path, *, find: FindLocations | None = None) -> Manifest:
    """Rebuild failure list, index and manifest of a store from its shards and array files.

    The seal of each file is checked. The number of shards is taken from ``plan.json``, or else from the manifest. After
    an interruption, call it again.

    Args:
        find: finds the datasets of an HDF5 file; None starts another process for this.

    Raises:
        StoreError: there are no shards, or the store was never finished.
        CorruptStoreError: a shard or an array file is broken or missing.
    """
    if "\0" in str(store) or not (store / SHARDS).is_dir():
        raise StoreError(f"{store}: not a store, it has no folder '{SHARDS}'")
    with locked(store) as lock, nullcontext(find) if find else hdf5_process() as find_datasets:
        count, names = _expected_files(store)
        if not count:
            raise StoreError(f"{store}: has no shards; run the command that makes it again")
        shards, arrays = checked_files(store, count, names, find_datasets)
        if (plan := _read_plan(store)) and plan.shards != tuple(shard.header.plan_key for shard in shards):
            raise CorruptStoreError(f"{store}: its shards do not match {PLAN}; run the command that makes it again")
        manifest = assemble_store(store, shards, arrays, find=find_datasets)
        with writing(store):
            for leftover in store.glob(f"*{PARTIAL_SUFFIX}"):
                leftover.unlink()
        lock.begun = False
        return manifest


def _expected_files(store: Path) -> tuple[int, tuple[str, ...]]:
    """Return the number of shards and the names of the added arrays, from ``plan.json`` or else the manifest.

    Raises:
        StoreError: shards are missing.
    """
    count = sum(1 for _ in shard_files(store))
    plan = _read_plan(store)
    if plan:
        missing = [number for number in range(len(plan.shards)) if not (store / shard_name(number)).exists()]
        if missing:
            raise CorruptStoreError(
                f"{store}: {len(missing):,} of {len(plan.shards):,} shards missing, {shard_name(missing[0])} first; "
                "run the command that makes the store again to resume, or 'tts-prep verify --repair CORPUS'"
            )
        return len(plan.shards), plan.arrays
    try:
        manifest = read_manifest(store, checked=False)
    except StoreError as error:
        if (store / LOCK).exists() and not (store / MANIFEST).exists():
            raise StoreError(f"{store}: not finished; run the command that makes it again to resume") from error
        if count:
            raise CorruptStoreError(
                f"{store}: without {PLAN} and {MANIFEST} the number of its shards is unknown; "
                "'tts-prep verify --repair CORPUS' makes them again"
            ) from error
        return count, ()
    return max(count, len(manifest.shards)), tuple(manifest.array_files)


def _read_plan(store: Path) -> StorePlan | None:
    """Return the plan; None if there is none, or it is broken but there is a manifest with the same information."""
    try:
        return read_plan(store)
    except CorruptStoreError:
        if (store / MANIFEST).exists():
            return None
        raise


def checked_files(
    store: Path, count: int, names: Iterable[str], find: FindLocations = read_locations
) -> tuple[list[StoredShard], dict[str, list[FileEntry]]]:
    """Check the first `count` shards of a store and their array files, and return them.

    Args:
        names: the names of the added arrays.

    Raises:
        CorruptStoreError: a shard or an array file is broken or missing.
    """
    shards: list[StoredShard] = []
    arrays: dict[str, list[FileEntry]] = {name: [] for name in names}
    for number in range(count):
        checked = inspect_shard(stored_file(store, shard_name(number)), number, find)
        shard = StoredShard.of(checked)
        shards.append(shard.sharing_settings(vars(shards[0].header)) if shards else shard)
        for name, entries in arrays.items():
            path, key, lengths = array_file_name(name, number), checked.header.key, checked.lengths()
            digest = inspect_array_file(stored_file(store, path), name, number, key, lengths, find).digest
            entries.append(FileEntry(path, digest.size, checked.header.rows, digest.sha256))
    return shards, arrays
