"""Make a file once for all processes of a machine: under another name, locked, and renamed into its place."""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from tts_prep.errors import CannotReadError, StoreError, StoreInUseError, WriteError
from tts_prep.format.files.atomic import sync
from tts_prep.format.files.lock import is_at

_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)
_LONGEST_PAUSE = 0.05

_held: set[FileIO] = set()
"""The files that this process is making."""


def _close_in_child() -> None:
    # A lock belongs to all processes that have the file open. The child does not make it, and must not hold it.
    for file in _held:
        file.close()
    _held.clear()


os.register_at_fork(after_in_child=_close_in_child)


@contextmanager
def written_once(
    path: Path, partial: Path, is_made: Callable[[], bool], stall: float | None
) -> Iterator[FileIO | None]:
    """Yield a file to write, which then gets its place; None if another process or thread has made it meanwhile.

    The lock on it is one of the operating system, which ends with its holder: what a killed process has left is used by
    the next.

    Args:
        path: the place.
        partial: the name until then, in the same file system.
        is_made: whether the place has the file.
        stall: seconds to wait for another that makes the file without progress; None does not wait for another.

    Raises:
        StoreInUseError: another process holds the file, and makes no progress.
        WriteError: the file cannot be written.
    """
    try:
        file = _locked(partial, is_made, stall)
    except OSError as error:
        raise _write_error(partial, error) from error
    if file is None:
        yield None
        return
    try:
        if is_made():
            partial.unlink(missing_ok=True)
            yield None
            return
        yield file
        if is_made():  # by the block, in another way
            partial.unlink()
            return
        os.fsync(file.fileno())
        # Another process may have removed a folder with nothing in it.
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.replace(path)
        sync(path.parent)
    except (StoreError, OSError) as error:
        # And not if it is interrupted, or broken off by the server: the next one goes on.
        if not isinstance(error, CannotReadError) or not allocated(os.fstat(file.fileno())):
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _write_error(path, error) from error
        raise
    finally:
        _held.discard(file)
        # Not by closing alone: a process that was forked meanwhile may still have the file open.
        fcntl.flock(file, fcntl.LOCK_UN)
        file.close()


def _locked(partial: Path, is_made: Callable[[], bool], stall: float | None) -> FileIO | None:
    """Return the partial file, which only this caller has locked; None if it is not needed or not waited for."""
    pause, seen, since = 0.005, (0, 0), time.monotonic()
    while not is_made():
        file = FileIO(partial, "r+", opener=_open)
        if try_lock(file) and is_at(file, partial):
            _held.add(file)
            return file
        status = os.fstat(file.fileno())
        file.close()
        if stall is None:
            return None
        now, stamp = time.monotonic(), (status.st_mtime_ns, status.st_ino)
        if stamp != seen:
            seen, since = stamp, now
        elif now - since > stall:
            raise StoreInUseError(
                f"{partial}: another process downloads it, and has received nothing for {now - since:.0f} s; end it"
            )
        time.sleep(pause)
        pause = min(_LONGEST_PAUSE, pause * 1.5)
    return None


def try_lock(file: FileIO) -> bool:
    """Lock a file exclusively, unless it is locked; return whether it is. An OSError: the file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def has_size(path: Path, size: int) -> bool:
    """Return whether a file is there as a whole, whatever its contents."""
    try:
        return path.stat().st_size == size
    except OSError:
        return False


def allocated(status: os.stat_result) -> int:
    """Return the bytes that a file takes on its disk: fewer than its size where room is only reserved."""
    return status.st_blocks * 512


def _open(path: str, _: int) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _write_error(path: Path, error: OSError) -> WriteError:
    if error.errno in _NO_LOCKS:
        return WriteError(f"{path}: its file system has no locks; give a cache on a local disk")
    return WriteError(f"{path}: cannot be written ({error.strerror or error}); give another folder for the cache")
