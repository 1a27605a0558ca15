"""The store's folder before a run: new, begun, whole, of other settings, or something else altogether."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tts_prep.errors import StoreError
from tts_prep.format.atomic import writing
from tts_prep.format.layout import FAILURES, INDEX, LOCK, MANIFEST, OOD_TEXTS, PARTIAL_SUFFIX, SHARDS
from tts_prep.format.lock import Lock, locked
from tts_prep.format.manifest import Manifest, read_manifest
from tts_prep.preprocess.configuration import differences
from tts_prep.preprocess.shards import existing_header

_STORE_FILE = re.compile(rf"({re.escape(LOCK)}|({MANIFEST}|{INDEX}|{FAILURES}|{OOD_TEXTS})(\.\d+)?({PARTIAL_SUFFIX})?)")
_SHARD_FILE = re.compile(rf"\d{{5,}}\.h5(\.\d+)?({PARTIAL_SUFFIX})?")


@contextmanager
def locked_folder(store: Path, *, overwrite: bool) -> Iterator[Lock]:
    """Make a store's folder where there is none, and hold its lock.

    Nothing is ever deleted from, or written to, a folder that holds anything but a store.

    Raises:
        StoreError: the folder holds something else, cannot be written, or another process is making the store.
    """
    if "\0" in str(store):
        raise StoreError(f"{str(store)!r}: not a path; give the path of a new folder")
    try:
        if store.exists() and not store.is_dir():
            raise StoreError(f"{store}: not a folder; give a path for a new store")
        _refuse_strangers(store)
        made = not store.exists()
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{store}: cannot be written ({error.strerror}); give another path") from error
    try:
        with locked(store) as lock:
            if overwrite:
                with writing(store):
                    _erase(store)
            yield lock
    finally:
        if made:
            with contextlib.suppress(OSError):
                store.rmdir()  # where nothing came of it


def open_folder(store: Path, settings: Mapping[str, Any], broken: Collection[str] = ()) -> Manifest | None:
    """Make the folder of a store ready for a run, and return its manifest where it is whole already.

    A store that was begun with the same settings is gone on with.

    Args:
        settings: ``configuration`` and ``software`` of this run.
        broken: files that are not to be looked at.

    Raises:
        StoreError: the store was made with other settings, or cannot be written.
    """
    manifest = read_manifest(store) if (store / MANIFEST).exists() and MANIFEST not in broken else None
    made_with = manifest.__dict__ if manifest else _settings_of_shards(store, broken)
    if made_with:
        found = [part for name in ("configuration", "software") for part in _compare(name, made_with, settings)]
        if found:
            raise StoreError(
                f"{store}: made with other settings: {'; '.join(found)}; "
                "give another path, or --overwrite to replace it"
            )
    return manifest


@contextmanager
def tidied(store: Path) -> Iterator[None]:
    """Make the folder of the shards, and keep it free of unfinished files: those of a run before, and of this one."""
    with writing(store):
        (store / SHARDS).mkdir(exist_ok=True)
    _remove_leftovers(store)
    try:
        yield
    finally:
        # What a worker was killed at. Where it cannot be removed, there is a greater trouble to report.
        with contextlib.suppress(StoreError):
            _remove_leftovers(store)


def _remove_leftovers(store: Path) -> None:
    with writing(store):
        for leftover in (*store.glob(f"*{PARTIAL_SUFFIX}"), *(store / SHARDS).glob(f"*{PARTIAL_SUFFIX}")):
            leftover.unlink(missing_ok=True)


def remove_broken(store: Path, broken: Collection[str]) -> None:
    """Remove files that are to be made again; the manifest first, so that the store is never taken for a whole one."""
    with writing(store):
        for name in (MANIFEST, *broken):
            (store / name).unlink(missing_ok=True)


def remove_extra_shards(store: Path, count: int) -> None:
    """Remove shards beyond the last planned one: an earlier run had a longer corpus."""
    with writing(store):
        for path in (store / SHARDS).iterdir():
            if _SHARD_FILE.fullmatch(path.name) and int(path.name.split(".")[0]) >= count:
                path.unlink()


def _compare(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    prefix = "" if name == "configuration" else f"{name}."
    return list(differences(old[name], new[name], prefix))


def _strangers(store: Path) -> list[str]:
    """Return what a folder holds that no store would."""
    if not store.is_dir():
        return []
    found = [path.name for path in store.iterdir() if path.name != SHARDS and not _STORE_FILE.fullmatch(path.name)]
    if (store / SHARDS).is_dir():
        found += [f"{SHARDS}/{p.name}" for p in (store / SHARDS).iterdir() if not _SHARD_FILE.fullmatch(p.name)]
    return sorted(found)


def _refuse_strangers(store: Path) -> None:
    found = _strangers(store)
    if found:
        raise StoreError(
            f"{store}: not a store, it holds '{found[0]}'{f' and {len(found) - 1} more' if len(found) > 1 else ''}; "
            "nothing was changed; give the path of a new or empty folder"
        )


def _erase(store: Path) -> None:
    """Delete a store, whole or begun, the manifest first: what is left after a kill is never taken for a whole one."""
    (store / MANIFEST).unlink(missing_ok=True)
    for path in store.iterdir():
        if path.name not in (SHARDS, LOCK):
            path.unlink(missing_ok=True)
    if (store / SHARDS).is_dir():
        for path in (store / SHARDS).iterdir():
            path.unlink()


def _settings_of_shards(store: Path, broken: Collection[str]) -> Mapping[str, Any] | None:
    """Return the settings that a begun store's first readable shard was made with."""
    for path in sorted((store / SHARDS).glob("*.h5")):
        header = existing_header(path) if f"{SHARDS}/{path.name}" not in broken else None
        if header is not None:
            return header.__dict__
    return None
