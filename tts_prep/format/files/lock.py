"""Locks of stores and files, so that only one process writes to them at a time."""

import contextlib
import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from tts_prep.errors import StoreInUseError, WriteError
from tts_prep.format.layout import LOCK, MANIFEST

_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


@dataclass
class Lock:
    """A held lock on a store.

    Attributes:
        begun: set while the store is incomplete. Then releasing the lock keeps its file: a lock file without a
            manifest marks an unfinished store.
    """

    begun: bool = False


@contextlib.contextmanager
def locked(store: Path, *, shared: bool = False) -> Iterator[Lock]:
    """Hold the lock of a store, exclusively or shared.

    It is an operating-system lock on the file ``.lock``, which is released when its holder ends for any reason. The
    text of the file names the holder. A complete store without write permission, and a store on a file system without
    locks, are not locked.

    Raises:
        StoreInUseError: another process holds the lock; the message names it.
        WriteError: the file cannot be created.
    """
    path = store / LOCK
    existed = path.exists()
    try:
        file = _acquire(path, shared, store, "wait until it ends, or end it")
    except OSError as error:
        if error.errno in _READ_ONLY and (store / MANIFEST).exists():
            yield Lock()
            return
        raise WriteError(f"{path}: cannot be written ({error.strerror}); give another path") from error
    with file:
        lock = Lock(begun=existed and _is_begun(store))
        try:
            yield lock
        finally:
            # If the folder is gone or read-only, a remaining file does not block anyone once it is closed.
            with contextlib.suppress(OSError):
                # A store that was completed just before an interruption is not unfinished.
                if (lock.begun or shared) and not (store / MANIFEST).exists():
                    file.truncate(0)
                else:
                    path.unlink(missing_ok=True)


@contextlib.contextmanager
def held(path: Path, subject: Path, advice: str) -> Iterator[None]:
    """Hold a file that is made for this, as the lock of another one, which is replaced when it is written.

    Raises:
        StoreInUseError: another process holds it; the message names that, the subject and the advice.
        OSError: the file cannot be made.
    """
    with _acquire(path, False, subject, advice):
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def _acquire(path: Path, shared: bool, subject: Path, advice: str) -> FileIO:
    # A file object, unlike a descriptor, is closed if an interruption occurs before its holder can close it.
    while True:
        file = FileIO(path, "r+", opener=_open)
        try:
            _flock(file, shared, subject, advice)
            if is_at(file, path):
                file.truncate(0)
                file.write(f"{os.getpid()} {socket.gethostname()}\n".encode())
                return file
        except BaseException:
            file.close()
            raise
        # The previous holder removed the file between open and flock: try again with a new file.
        file.close()


def _open(path: str, _: int) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)


def _is_begun(store: Path) -> bool:
    """Return whether a store with a lock file is unfinished; with nothing else, its run was killed before it began."""
    return not (store / MANIFEST).exists() and any(path.name != LOCK for path in store.iterdir())


def _flock(file: FileIO, shared: bool, subject: Path, advice: str) -> None:
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreInUseError(f"{subject}: in use by {_holder(file)}; {advice}") from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def _holder(file: FileIO) -> str:
    for _ in range(20):
        words = os.pread(file.fileno(), 200, 0).decode(errors="replace").split()
        if len(words) == 2:
            return f"process {words[0]} on {words[1]}"
        # The holder has not written its name yet.
        time.sleep(0.01)
    return "another process"


def is_at(file: FileIO, path: Path) -> bool:
    """Return whether a path is still that of an open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
