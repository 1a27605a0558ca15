"""The store's folder before a run: new, begun, whole, of other settings, or something else altogether."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tts_prep.errors import StoreError
from tts_prep.format.layout import FAILURES, INDEX, MANIFEST, PARTIAL_SUFFIX, SHARDS
from tts_prep.format.manifest import Manifest, read_manifest
from tts_prep.preprocess.configuration import differences
from tts_prep.preprocess.shards import existing_header

_FILES = {name + suffix for name in (MANIFEST, INDEX, FAILURES) for suffix in ("", PARTIAL_SUFFIX)}
_SHARD_FILE = re.compile(r"\d{5,}\.h5(\.partial)?")


def open_folder(store: Path, settings: Mapping[str, Any], *, overwrite: bool) -> Manifest | None:
    """Make the folder of a store ready for a run, and return its manifest where it is whole already.

    A store that was begun with the same settings is gone on with. Nothing is ever deleted from a folder that holds
    anything but a store.

    Args:
        settings: ``configuration`` and ``software`` of this run.

    Raises:
        StoreError: the folder holds something else, or a store made with other settings, or cannot be written.
    """
    try:
        if store.exists() and not store.is_dir():
            raise StoreError(f"{store}: not a folder; give a path for a new store")
        if overwrite:
            _erase(store)
        else:
            _refuse_strangers(store)
        (store / SHARDS).mkdir(parents=True, exist_ok=True)
        for leftover in (*store.glob(f"*{PARTIAL_SUFFIX}"), *(store / SHARDS).glob(f"*{PARTIAL_SUFFIX}")):
            leftover.unlink()
    except OSError as error:
        raise StoreError(f"{store}: cannot be written ({error.strerror}); give another path") from error
    manifest = read_manifest(store) if (store / MANIFEST).exists() else None
    made_with = manifest.__dict__ if manifest else _settings_of_shards(store)
    if made_with:
        found = [part for name in ("configuration", "software") for part in _compare(name, made_with, settings)]
        if found:
            raise StoreError(
                f"{store}: made with other settings: {'; '.join(found)}; "
                "give another path, or --overwrite to replace it"
            )
    return manifest


def remove_extra_shards(store: Path, count: int) -> None:
    """Remove shards beyond the last planned one: an earlier run had a longer corpus."""
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
    found = [path.name for path in store.iterdir() if path.name not in (*_FILES, SHARDS)]
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
    _refuse_strangers(store)
    if not store.is_dir():
        return
    (store / MANIFEST).unlink(missing_ok=True)
    for name in _FILES:
        (store / name).unlink(missing_ok=True)
    if (store / SHARDS).is_dir():
        for path in (store / SHARDS).iterdir():
            path.unlink()


def _settings_of_shards(store: Path) -> Mapping[str, Any] | None:
    """Return the settings that a begun store's first readable shard was made with."""
    for path in sorted((store / SHARDS).glob("*.h5")):
        header = existing_header(path)
        if header is not None:
            return header.__dict__
    return None
