"""The store's folder before a run: new, begun, whole, of other settings, or something else altogether."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tts_prep.errors import StoreError, WriteError
from tts_prep.format.atomic import writing
from tts_prep.format.files import shard_files, shard_folder_files
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
from tts_prep.format.lock import Lock, locked
from tts_prep.format.replacement import (
    recover_store,
    remove_folder,
    remove_replaced,
    replace_store,
    replacement_folder,
)
from tts_prep.preprocess.configuration.records import differences
from tts_prep.preprocess.runs.shards import existing_header

_PURPOSE = ".purpose"
"""What a store is made for that is to replace another; a file in its folder until it does."""

_FILES = "|".join(map(re.escape, (MANIFEST, INDEX, FAILURES, OOD_TEXTS, PLAN)))
_PARTIAL = rf"((\.\w+)?{re.escape(PARTIAL_SUFFIX)})?"
_STORE_FILE = re.compile(rf"{re.escape(LOCK)}|{re.escape(_PURPOSE)}|({_FILES}){_PARTIAL}")
_DATA_FILE = re.compile(rf"(?P<name>.*\d\.h5){_PARTIAL}")


@contextmanager
def locked_folder(store: Path, *, shared: bool = False) -> Iterator[Lock]:
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
        recover_store(store)
        if store.exists() and not store.is_dir():
            raise StoreError(f"{store}: not a folder; give a path for a new store")
        _refuse_strangers(store)
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
                store.rmdir()  # nothing was begun


@contextmanager
def in_place(store: Path, lock: Lock, *, shared: bool = False) -> Iterator[Path]:
    """Yield the folder of a store that is new or begun, for the run to make the store in.

    Args:
        shared: other processes make shards in it at the same time, so that unfinished files may be theirs.

    Raises:
        StoreError: its shards would lie elsewhere.
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
    """Yield a folder beside a store in which to make another one, which then replaces the store at one instant.

    Where the block ends in an error, the store is as it was, and the folder stays if it holds a shard: a later run with
    the same purpose gets it as it is, and one with another purpose gets an empty one.

    Args:
        purpose: all that the new store depends on, such as a checksum of it.

    Raises:
        StoreError: the store cannot be replaced, or another process is replacing it.
    """
    folder = replacement_folder(store)
    if folder.is_symlink():
        raise StoreError(f"{folder}: a link, expected no such file; remove it")
    _refuse_strangers(folder)
    try:
        if (folder / MANIFEST).exists() or _purpose(folder) != purpose:
            remove_folder(folder)
        folder.mkdir(exist_ok=True)
        (folder / _PURPOSE).write_text(purpose, encoding="utf-8")
        if folder.stat().st_dev != store.stat().st_dev:
            remove_folder(folder)
            raise StoreError(f"{store}: lies on a file system of its own and cannot be replaced; give another path")
    except OSError as error:
        raise WriteError(
            f"{folder}: cannot be written ({error.strerror}); a store is replaced by one made beside it"
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
    """Return the settings that a store was begun with, with the key ``configuration`` among others; None for none."""
    for _, path in shard_files(store):
        header = existing_header(path)
        if header is not None:
            return vars(header)
    return None


def check_settings(store: Path, old: Mapping[str, Any], new: Mapping[str, Any], what_to_do: str) -> None:
    """Make sure that a store was made with the settings of this run.

    Args:
        old, new: with the keys ``configuration`` and ``software``.
        what_to_do: the end of the message.

    Raises:
        StoreError: it was not; the message says which settings differ.
    """
    settings = list(_compare("configuration", old, new))
    # Of another preset, every setting of the audio differs.
    audio = [difference for difference in settings if difference.startswith("audio.")]
    preset = [difference for difference in settings if difference.startswith("preset ")]
    if preset and audio:
        rest = [difference for difference in settings if difference not in (*audio, *preset)]
        settings = [f"{preset[0]} ({len(audio)} settings of audio)", *rest]
    found = settings + list(_compare("software", old, new))
    if found:
        raise StoreError(f"{store}: made with other settings: {'; '.join(found)}; {what_to_do}")


@contextmanager
def _tidied(store: Path) -> Iterator[None]:
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
    folders = (SHARDS, ADDED_ARRAYS)
    found = [path.name for path in store.iterdir() if path.name not in folders and not _STORE_FILE.fullmatch(path.name)]
    inside = [
        *shard_folder_files(store),
        *(str(path.relative_to(store)) for path in (store / ADDED_ARRAYS).rglob("*") if not path.is_dir()),
    ]
    return sorted(found + [name for name in inside if not _is_data_file(name)])


def _is_data_file(name: str) -> bool:
    """Return whether a path is that of a shard or of an added array's file, finished or not."""
    match = _DATA_FILE.fullmatch(name)
    return match is not None and (
        shard_number(match["name"]) is not None or array_file_number(match["name"]) is not None
    )


def _refuse_strangers(store: Path) -> None:
    found = _strangers(store)
    if found:
        raise StoreError(
            f"{store}: not a store, it holds '{found[0]}'{f' and {len(found) - 1} more' if len(found) > 1 else ''}; "
            "nothing was changed; give the path of a new or empty folder"
        )
