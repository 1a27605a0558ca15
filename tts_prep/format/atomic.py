"""Files that appear whole or not at all."""

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
    """Yield a temporary path beside ``path``; on success make it durable and rename it to ``path``.

    Whoever has the old file mapped goes on seeing the old one. On an exception the temporary file is removed; after
    a kill it stays, under a name that the next run removes. The name is never used twice, so that two processes,
    here or on other machines, that make the same file do not write to each other's.

    Args:
        synced: the caller has made it durable by then, as with `syncing`.

    Raises:
        WriteError: a write, the flush to disk or the rename failed; or there is something other than a regular file at
            the path, such as a link or a device, which is left as it is.
    """
    _refuse_other_than_files(path)
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


def _refuse_other_than_files(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        return  # nothing is there, or the write says what is wrong
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise WriteError(f"{path}: is {kind}, expected a regular file; nothing was changed, give another path")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says of a failed write into a `WriteError` that names the file."""
    try:
        yield
    except OSError as error:
        raise WriteError(
            f"{path}: cannot be written ({error.strerror or error}); what was done is kept, run again to go on"
        ) from error


def sync(path: Path) -> None:
    """Make a file's bytes, or a folder's entries, durable; on a file system that flushes no folders, only files'."""
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
    """Make a file's bytes durable while the block runs, which may read them: a flush is waiting for the disk."""
    with ThreadPoolExecutor(1) as thread:
        try:
            synced = thread.submit(sync, path)
        except RuntimeError:  # the system has no thread left to give
            yield
            sync(path)
        else:
            yield
            synced.result()


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        # The folder is gone or read-only; the error that led here says more.
        return
