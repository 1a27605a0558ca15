"""Atomic and durable writes of files, and of stores: a reader finds either the old or the new one."""

import contextlib
import ctypes
import errno
import os
import shutil
import stat
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tts_prep.errors import StoreError, WriteError
from tts_prep.format.layout import MANIFEST, PARTIAL_SUFFIX

_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success sync it and rename it to ``path``.

    Existing memory maps of the old file stay valid. After an exception the temporary file is removed; after a kill it
    remains, and the next run removes it. Its name is unique, so that two processes, also on different machines, that
    write the same file do not interfere.

    Raises:
        WriteError: a write, the sync or the rename failed; or the path exists and is not a regular file, such as a link
            or a device, which is left unchanged.
    """
    check_replaceable(path)
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}{PARTIAL_SUFFIX}")
    try:
        with writing(path):
            yield partial
            sync(partial)
            partial.replace(path)
            sync(path.parent)
    except BaseException:
        _remove(partial)
        raise


def check_replaceable(path: Path) -> None:
    """Check that a path is a regular file, or does not exist.

    Raises:
        WriteError: it is something else, such as a link or a device.
    """
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        return  # the path does not exist, or the write raises the error
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise WriteError(f"{path}: is {kind}, expected a regular file; nothing was changed, give another path")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an OSError in the block into a `WriteError` that names the file."""
    try:
        yield
    except OSError as error:
        raise WriteError(
            f"{path}: cannot be written ({error.strerror or error}); finished work is kept, run again to resume"
        ) from error


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk. File systems that cannot sync folders are tolerated."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED or not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def syncing(path: Path) -> Iterator[None]:
    """Sync a file in another thread while the block runs, which may read the file."""
    with ThreadPoolExecutor(1) as thread:
        try:
            synced = thread.submit(sync, path)
        except RuntimeError:  # the system cannot start another thread
            yield
            sync(path)
        else:
            yield
            synced.result()


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        # The folder is gone or read-only; the exception being handled is more informative.
        return


_RENAME_EXCHANGE = 2  # Linux, renameat2(2)
_RENAME_SWAP = 2  # macOS, renamex_np(2)
_AT_FDCWD = -100


def replacement_folder(store: Path) -> Path:
    """Return the folder in which the replacement of a store is built: a sibling of the store, with links resolved."""
    real = Path(os.path.realpath(store))
    return real.with_name(f".{real.name}.replacement")


def replaced_folder(store: Path) -> Path:
    """Return the path to which a replaced store is renamed before it is deleted."""
    real = Path(os.path.realpath(store))
    return real.with_name(f".{real.name}.replaced")


def replace_store(store: Path) -> None:
    """Replace a store by its finished replacement, and delete the old store.

    Raises:
        WriteError: a rename failed; the old store is still in place.
    """
    real, new, old = Path(os.path.realpath(store)), replacement_folder(store), replaced_folder(store)
    remove_folder(old)
    try:
        with writing(store):
            _put_in_place(new, real, old)
            sync(real.parent)
        remove_folder(old)
    except BaseException:
        # After an interruption, the new store may be in place, and the rest of the old one is in nobody's way.
        if not new.exists() and (real / MANIFEST).exists():
            remove_folder(old)
        raise


def _put_in_place(new: Path, real: Path, old: Path) -> None:
    """Rename a store to ``old``, and its replacement to the name of the store."""
    try:
        exchange(new, real)
        new.rename(old)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        # After a kill between these two renames, `recover_store` reverts the first one.
        real.rename(old)
        try:
            new.rename(real)
        except BaseException:
            old.rename(real)
            raise


def recover_store(store: Path) -> bool:
    """Revert the first rename of `replace_store` if a kill prevented the second. Return whether it was reverted."""
    if "\0" in str(store):
        return False
    old = replaced_folder(store)
    if os.path.lexists(store) or not (old / MANIFEST).is_file():
        return False
    with contextlib.suppress(OSError):
        old.rename(os.path.realpath(store))
        return True
    return False


def remove_replaced(store: Path) -> None:
    """Delete the remains of a run that was killed after it had replaced a store."""
    if (Path(store) / MANIFEST).exists():
        remove_folder(replaced_folder(store))
        new = replacement_folder(store)
        if (new / MANIFEST).exists():
            # Either the old store or another complete replacement; the store in place is complete in both cases.
            remove_folder(new)


def remove_folder(folder: Path) -> None:
    """Delete a folder. Links are deleted, not followed."""
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)


def check_own_folder(path: Path) -> None:
    """Check that an existing folder, in which the next command will work, is what an earlier command has left.

    Anybody can create such a folder in a place like ``/tmp``, or pack one, or a link, into an archive.

    Raises:
        StoreError: it is a link, or belongs to somebody else than this user and the owner of the folder around it.
    """
    try:
        status = path.lstat()
        owners = (os.geteuid(), path.parent.stat().st_uid) if hasattr(os, "geteuid") else (status.st_uid,)
    except OSError:
        return  # it does not exist, or its use raises the error
    if stat.S_ISLNK(status.st_mode):
        raise StoreError(f"{path}: unexpected link; remove it")
    if status.st_uid not in owners:
        raise StoreError(f"{path}: belongs to another user (number {status.st_uid}); remove it, or use another path")


def exchange(a: Path, b: Path) -> None:
    """Exchange the names of two folders atomically.

    Raises:
        OSError: as for a rename; ENOSYS, EINVAL or ENOTSUP if the system or the file system does not support it.
    """
    library = ctypes.CDLL(None, use_errno=True)
    paths = os.fsencode(a), os.fsencode(b)
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        done = library.renameat2(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE)
    elif sys.platform == "darwin" and hasattr(library, "renamex_np"):
        done = library.renamex_np(*paths, _RENAME_SWAP)
    else:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if done:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(a))


def keep_contents(path: Path, data: bytes) -> None:
    """Write a file atomically, unless it exists with the same contents; without contents, remove it.

    Raises:
        WriteError: the file cannot be written.
    """
    if not data:
        with writing(path):
            path.unlink(missing_ok=True)
    elif not path.is_file() or path.read_bytes() != data:
        with replacing(path) as partial:
            partial.write_bytes(data)
