"""Atomic and durable writes of files."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tts_prep.errors import WriteError
from tts_prep.format.layout import PARTIAL_SUFFIX

_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@contextmanager
def replacing(path: Path, *, synced: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success sync it and rename it to ``path``.

    Existing memory maps of the old file stay valid. After an exception the temporary file is removed; after a kill it
    remains, and the next run removes it. Its name is unique, so that two processes, also on different machines, that
    write the same file do not interfere.

    Args:
        synced: the caller has already synced the temporary file, as `syncing` does.

    Raises:
        WriteError: a write, the sync or the rename failed; or the path exists and is not a regular file, such as a link
            or a device, which is left unchanged.
    """
    check_replaceable(path)
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}{PARTIAL_SUFFIX}")
    try:
        with writing(path):
            yield partial
            if not synced:
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


@contextmanager
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


@contextmanager
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
