"""The folder of a store: create it, lock it, check its contents, and replace it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tts_prep.errors import StoreError, WriteError
from tts_prep.format.files.atomic import writing
from tts_prep.format.files.lock import Lock, locked
from tts_prep.format.files.paths import shard_files, shard_folder_files
from tts_prep.format.files.replacement import (
    recover_store,
    remove_folder,
    remove_replaced,
    replace_store,
    replacement_folder,
)
from tts_prep.format.layout import (
    ADDED_ARRAYS,
    FAILURES,
    INDEX,
    LOCK,
    MANIFEST,
    OOD_TEXTS,
    PARTIAL_SUFFIX,
    PLAN,
    SHARDS,
    array_file_number,
    shard_number,
)
from tts_prep.preprocess.configuration.records import differences
from tts_prep.preprocess.configuration.software import install_line
from tts_prep.preprocess.runs.shards import existing_header

_PURPOSE = ".purpose"
"""The file that identifies an unfinished replacement of a store; see `beside`."""

_FILES = "|".join(map(re.escape, (MANIFEST, INDEX, FAILURES, OOD_TEXTS, PLAN)))
_PARTIAL = rf"((\.\w+)?{re.escape(PARTIAL_SUFFIX)})?"
_STORE_FILE = re.compile(rf"{re.escape(LOCK)}|{re.escape(_PURPOSE)}|({_FILES}){_PARTIAL}")
_DATA_FILE = re.compile(rf"(?P<name>.*\d\.h5){_PARTIAL}")


@contextmanager
def locked_folder(store: Path, *, shared: bool = False) -> Iterator[Lock]:
    """Create the folder of a store if necessary, and hold its lock.

    Args:
        shared: hold a shared lock, as processes that make parts of one store do.

    A folder with other contents than a store is never modified.

    Raises:
        StoreError: the folder has other contents, cannot be written, or is in use by another process.
    """
    if "\0" in str(store):
        raise StoreError(f"{str(store)!r}: not a path; give the path of a new folder")
    try:
        recover_store(store)
        if store.exists() and not store.is_dir():
            raise StoreError(f"{store}: not a folder; give a path for a new store")
        _refuse_foreign_files(store)
        made = not store.exists()
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{store}: cannot be written ({error.strerror}); give another path") from error
    try:
        with locked(store, shared=shared) as lock:
            remove_replaced(store)
            yield lock
    finally:
        if made:
            with contextlib.suppress(OSError):
                store.rmdir()  # if it is still empty


@contextmanager
def in_place(store: Path, lock: Lock, *, shared: bool = False) -> Iterator[Path]:
    """Yield the folder of a new or unfinished store, in which the run makes the store.

    Args:
        shared: other processes make shards in it at the same time, so that temporary files may be theirs.

    Raises:
        StoreError: its folder of shards is a link.
    """
    if (store / SHARDS).is_symlink():
        raise StoreError(
            f"{store / SHARDS}: a link to another folder, which could be another store's; expected a folder"
        )
    if shared:
        with writing(store):
            (store / SHARDS).mkdir(exist_ok=True)
        yield store
        return
    lock.begun = True
    with _tidied(store):
        yield store
    lock.begun = False


@contextmanager
def beside(store: Path, purpose: str) -> Iterator[Path]:
    """Yield a folder beside a store in which to make its replacement, which then replaces the store atomically.

    If the block raises, the store is unchanged. The folder is kept if it holds a shard: a later run with the same
    purpose continues with it, and a run with another purpose gets an empty folder.

    Args:
        purpose: identifies the inputs of the replacement, such as a checksum of them.

    Raises:
        StoreError: the store cannot be replaced, or another process is replacing it.
    """
    folder = replacement_folder(store)
    if folder.is_symlink():
        raise StoreError(f"{folder}: unexpected link; remove it")
    _refuse_foreign_files(folder)
    try:
        if (folder / MANIFEST).exists() or _purpose(folder) != purpose:
            remove_folder(folder)
        folder.mkdir(exist_ok=True)
        (folder / _PURPOSE).write_text(purpose, encoding="utf-8")
        if folder.stat().st_dev != store.stat().st_dev:
            remove_folder(folder)
            raise StoreError(f"{store}: is a mount point and cannot be replaced; give another path")
    except OSError as error:
        raise WriteError(
            f"{folder}: cannot be written ({error.strerror}); the replacement of a store is made in this folder"
        ) from error
    try:
        with locked(folder) as lock, in_place(folder, lock):
            yield folder
    except BaseException:
        if not any(shard_files(folder)):
            remove_folder(folder)
        raise
    with writing(folder):
        (folder / _PURPOSE).unlink()
    replace_store(store)


def _purpose(folder: Path) -> str | None:
    try:
        return (folder / _PURPOSE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def made_with(store: Path) -> Mapping[str, Any] | None:
    """Return the settings of an unfinished store, from the header of a shard; None if it has no intact shard."""
    for _, path in shard_files(store):
        header = existing_header(path)
        if header is not None:
            return vars(header)
    return None


def check_settings(store: Path, old: Mapping[str, Any], new: Mapping[str, Any], what_to_do: str) -> None:
    """Check that a store was made with the settings of this run.

    Args:
        old, new: settings with the keys ``configuration`` and ``software``.
        what_to_do: the end of the error message.

    Raises:
        StoreError: settings differ; the message lists them.
    """
    settings = list(_compare("configuration", old, new))
    # With another preset, most settings of audio differ; name the preset instead.
    audio = [difference for difference in settings if difference.startswith("audio.")]
    preset = [difference for difference in settings if difference.startswith("preset ")]
    if preset and audio:
        rest = [difference for difference in settings if difference not in (*audio, *preset)]
        settings = [f"{preset[0]} ({len(audio)} settings of audio)", *rest]
    versions = list(_compare("software", old, new))
    if settings or versions:
        # Other settings are meant; a newer library seldom is.
        back = "" if settings else install_line(old["software"], new["software"])
        to_do = f"{back}, or {what_to_do}" if back else what_to_do
        raise StoreError(f"{store}: made with other settings: {'; '.join(settings + versions)}; {to_do}")


@contextmanager
def _tidied(store: Path) -> Iterator[None]:
    """Create the folder of shards, and remove temporary files before and after the block."""
    with writing(store):
        (store / SHARDS).mkdir(exist_ok=True)
    _remove_leftovers(store)
    try:
        yield
    finally:
        # Remains of killed workers. If they cannot be removed, the block's own exception is more important.
        with contextlib.suppress(StoreError):
            _remove_leftovers(store)


def _remove_leftovers(store: Path) -> None:
    with writing(store):
        shards = (store / name for name in shard_folder_files(store) if name.endswith(PARTIAL_SUFFIX))
        for leftover in (*store.glob(f"*{PARTIAL_SUFFIX}"), *shards):
            leftover.unlink(missing_ok=True)


def remove_extra_shards(store: Path, count: int) -> None:
    """Remove shards beyond the last planned one, from an earlier run with a longer corpus."""
    with writing(store):
        for number, path in list(shard_files(store)):
            if number >= count:
                path.unlink()


def _compare(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    prefix = "" if name == "configuration" else f"{name}."
    return list(differences(old[name], new[name], prefix))


def _foreign_files(store: Path) -> list[str]:
    """Return the paths in a folder that do not belong to a store."""
    if not store.is_dir():
        return []
    folders = (SHARDS, ADDED_ARRAYS)
    found = [path.name for path in store.iterdir() if path.name not in folders and not _STORE_FILE.fullmatch(path.name)]
    inside = [
        *shard_folder_files(store),
        *(str(path.relative_to(store)) for path in (store / ADDED_ARRAYS).rglob("*") if not path.is_dir()),
    ]
    return sorted(found + [name for name in inside if not _is_data_file(name)])


def _is_data_file(name: str) -> bool:
    """Return whether a path is that of a shard or an array file, finished or temporary."""
    match = _DATA_FILE.fullmatch(name)
    return match is not None and (
        shard_number(match["name"]) is not None or array_file_number(match["name"]) is not None
    )


def _refuse_foreign_files(store: Path) -> None:
    found = _foreign_files(store)
    if found:
        raise StoreError(
            f"{store}: not a store, it holds '{found[0]}'{f' and {len(found) - 1} more' if len(found) > 1 else ''}; "
            "nothing was changed; give the path of a new or empty folder"
        )
