"""The folder of a store: create it, lock it, and check and tidy its contents."""

import contextlib
import os
import re
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from tts_prep.errors import StoreError
from tts_prep.format import layout
from tts_prep.format.files.atomic import recover_store, remove_replaced, replacing, sync, writing
from tts_prep.format.files.lock import Lock, locked
from tts_prep.format.files.paths import array_folder_files, is_store, shard_files, shard_folder_files, stored_file

PURPOSE = ".purpose"
"""The file that identifies an unfinished replacement of a store."""

_FILES = "|".join(
    map(
        re.escape,
        (
            layout.MANIFEST,
            layout.INDEX,
            layout.FAILURES,
            layout.OOD_TEXTS,
            layout.PLAN,
            layout.CORRECTIONS,
            layout.PROVENANCE,
            layout.SOURCES,
        ),
    )
)
_OF_PARTS = rf"{re.escape(Path(layout.SOURCES).stem)}-\d{{1,19}}-\d{{1,19}}\.json"
_PARTIAL = rf"((\.\w+)?{re.escape(layout.PARTIAL_SUFFIX)})?"
_STORE_FILE = re.compile(rf"{re.escape(layout.LOCK)}|{re.escape(PURPOSE)}|({_FILES}|{_OF_PARTS}){_PARTIAL}")
_DATA_FILE = re.compile(rf"(?P<name>.*\d\.h5){_PARTIAL}")


@contextlib.contextmanager
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
        refuse_foreign_files(store)
        made = not store.exists()
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{store}: cannot be written ({error.strerror}); give another path") from error
    try:
        with locked(store, shared=shared) as lock:
            remove_replaced(store)
            # Left by a run that was killed when its store was complete, after which none makes anything.
            for path in () if shared else store.glob(f"{Path(layout.SOURCES).stem}*{layout.PARTIAL_SUFFIX}"):
                with contextlib.suppress(OSError):
                    path.unlink()
            yield lock
    finally:
        if made:
            with contextlib.suppress(OSError):
                store.rmdir()  # if it is still empty


@contextlib.contextmanager
def tidied(store: Path) -> Iterator[None]:
    """Create the folder of shards, and remove temporary files before and after the block."""
    with writing(store):
        (store / layout.SHARDS).mkdir(exist_ok=True)
    _remove_temporary_files(store)
    try:
        yield
    finally:
        # Remains of killed workers. If they cannot be removed, the block's own exception is more important.
        with contextlib.suppress(StoreError):
            _remove_temporary_files(store)


def _remove_temporary_files(store: Path) -> None:
    with writing(store):
        data = (store / name for name in _data_folder_files(store) if name.endswith(layout.PARTIAL_SUFFIX))
        for path in (*store.glob(f"*{layout.PARTIAL_SUFFIX}"), *data):
            path.unlink(missing_ok=True)
        _remove_empty_folders(store / layout.ADDED_ARRAYS)


def remove_unplanned_files(store: Path, count: int, arrays: Collection[str]) -> None:
    """Remove shards and array files that are not planned, from an earlier run on a longer corpus or with other arrays.

    Args:
        count: the number of planned shards.
        arrays: the names of planned added arrays.
    """
    with writing(store):
        for number, path in list(shard_files(store)):
            if number >= count:
                path.unlink()
        for name in list(array_folder_files(store)):
            found = layout.array_file_number(name)
            if found and (found[0] not in arrays or found[1] >= count):
                (store / name).unlink()
        _remove_empty_folders(store / layout.ADDED_ARRAYS)


def _remove_empty_folders(folder: Path) -> None:
    """Remove the empty folders below a folder, and the folder itself if it is then empty."""
    for path, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(path)  # noqa: PTH106 - os.walk gives texts


def refuse_foreign_files(store: Path) -> None:
    """Check that a folder holds nothing but the files of a store.

    Raises:
        StoreError: it holds something else.
    """
    found = _foreign_files(store)
    if not found:
        return
    shown = f"'{found[0]}'{f' and {len(found) - 1} more' if len(found) > 1 else ''}"
    if is_store(store):
        raise StoreError(
            f"{store}: a store that also holds {shown}, which is not part of it; nothing was changed; move it to "
            "another folder"
        )
    raise StoreError(
        f"{store}: not a store, it holds {shown}; nothing was changed; give the path of a new or empty folder"
    )


def _foreign_files(store: Path) -> list[str]:
    """Return the paths in a folder that do not belong to a store."""
    if not store.is_dir():
        return []
    folders = (layout.SHARDS, layout.ADDED_ARRAYS)
    names = (path.name for path in store.iterdir() if path.name not in folders)
    return sorted(name for name in (*names, *_data_folder_files(store)) if not is_store_file(name))


def is_store_file(name: str) -> bool:
    """Return whether a path, relative to a store, is one that files of a store have, finished or temporary."""
    return _STORE_FILE.fullmatch(name) is not None or _is_data_file(name)


def _data_folder_files(store: Path) -> Iterator[str]:
    yield from shard_folder_files(store)
    yield from array_folder_files(store)


def _is_data_file(name: str) -> bool:
    """Return whether a path is that of a shard or an array file, finished or temporary."""
    match = _DATA_FILE.fullmatch(name)
    return match is not None and (
        layout.shard_number(match["name"]) is not None or layout.array_file_number(match["name"]) is not None
    )


def take_over_file(source: Path, folder: Path, name: str, new_name: str | None = None) -> None:
    """Take over a file of another store: by a hard link, or by a copy if the file system has no hard links.

    Args:
        name: the path of the file, relative to its store.
        new_name: its path relative to the new store; None if it is the same.

    Raises:
        CorruptStoreError: the file is missing, or is a link to a file outside of the other store.
        WriteError: the file can be neither linked nor copied.
    """
    path, old = folder / (new_name or name), stored_file(source, name)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        try:
            # Resolve links, because a hard link to a symbolic link could point anywhere.
            os.link(os.path.realpath(old), path)
            sync(path.parent)
        except OSError:
            with replacing(path) as partial:
                shutil.copyfile(old, partial)
