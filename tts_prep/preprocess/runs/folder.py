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
from tts_prep.format.files import shard_files, shard_folder_files
from tts_prep.format.layout import (
    FAILURES,
    INDEX,
    LOCK,
    MANIFEST,
    OOD_TEXTS,
    PARTIAL_SUFFIX,
    PARTS,
    PLAN,
    SHARDS,
    shard_name,
    shard_number,
)
from tts_prep.format.lock import Lock, locked
from tts_prep.format.manifest import Manifest, read_manifest
from tts_prep.preprocess.configuration.records import differences
from tts_prep.preprocess.runs.shards import existing_header

_FILES = "|".join(map(re.escape, (MANIFEST, INDEX, FAILURES, OOD_TEXTS, PARTS, PLAN)))
_PARTIAL = rf"((\.\w+)?{re.escape(PARTIAL_SUFFIX)})?"
_STORE_FILE = re.compile(rf"{re.escape(LOCK)}|({_FILES}){_PARTIAL}")
_SHARD_FILE = re.compile(rf"(?P<name>.*\d\.h5){_PARTIAL}")


@contextmanager
def locked_folder(store: Path, *, overwrite: bool = False, shared: bool = False) -> Iterator[Lock]:
    """Make a store's folder where there is none, and hold its lock.

    Args:
        shared: hold it beside others who share it: processes that make parts of one store.

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
        with locked(store, shared=shared) as lock:
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
            way = "install what it was made with" if broken else "give another path, or --overwrite to replace it"
            raise StoreError(f"{store}: made with other settings: {'; '.join(found)}; {way}")
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
        shards = (store / name for name in shard_folder_files(store) if name.endswith(PARTIAL_SUFFIX))
        for leftover in (*store.glob(f"*{PARTIAL_SUFFIX}"), *shards):
            leftover.unlink(missing_ok=True)


def remove_broken(store: Path, broken: Collection[str]) -> None:
    """Remove files that are to be made again; the manifest first, so that the store is never taken for a whole one."""
    with writing(store):
        for name in (MANIFEST, *broken):
            (store / name).unlink(missing_ok=True)


def remove_extra_shards(store: Path, count: int) -> None:
    """Remove shards beyond the last planned one: an earlier run had a longer corpus."""
    with writing(store):
        for number, path in list(shard_files(store)):
            if number >= count:
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
        found += [name for name in shard_folder_files(store) if not _is_shard(name)]
    return sorted(found)


def _is_shard(name: str) -> bool:
    """Return whether a path is that of a shard, finished or not."""
    match = _SHARD_FILE.fullmatch(name)
    return match is not None and shard_number(match["name"]) is not None


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
        for name in list(shard_folder_files(store)):
            (store / name).unlink()


def _settings_of_shards(store: Path, broken: Collection[str]) -> Mapping[str, Any] | None:
    """Return the settings that a begun store's first readable shard was made with."""
    for number, path in shard_files(store):
        header = existing_header(path) if shard_name(number) not in broken else None
        if header is not None:
            return header.__dict__
    return None
