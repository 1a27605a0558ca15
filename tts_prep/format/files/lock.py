"""The lock of a store, so that only one process writes to it at a time."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tts_prep.errors import StoreInUseError, WriteError
from tts_prep.format.layout import LOCK, MANIFEST

_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


@dataclass
class Lock:
    """A held lock on a store.

    Attributes:
        former: the process id of a previous holder on this machine that ended without releasing the lock, or None.
        begun: set while the store is incomplete. Then releasing the lock keeps its file: a lock file without a
            manifest marks an unfinished store.
    """

    former: int | None = None
    begun: bool = False


@contextmanager
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
        descriptor, former = _acquire(path, shared)
    except OSError as error:
        if error.errno in _READ_ONLY and (store / MANIFEST).exists():
            yield Lock()
            return
        raise WriteError(f"{path}: cannot be written ({error.strerror}); give another path") from error
    lock = Lock(former, begun=existed and not (store / MANIFEST).exists())
    try:
        yield lock
    finally:
        try:
            if lock.begun or (shared and not (store / MANIFEST).exists()):
                os.ftruncate(descriptor, 0)
            else:
                path.unlink(missing_ok=True)
        except OSError:
            # The folder is gone or read-only. A remaining file does not block anyone once it is closed.
            pass
        finally:
            os.close(descriptor)


def _acquire(path: Path, shared: bool) -> tuple[int, int | None]:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            _flock(descriptor, path, shared)
            if _same_file(descriptor, path):
                former = _former(os.pread(descriptor, 200, 0))
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)
                return descriptor, former
        except BaseException:
            os.close(descriptor)
            raise
        # The previous holder removed the file between open and flock: try again with a new file.
        os.close(descriptor)


def _flock(descriptor: int, path: Path, shared: bool) -> None:
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreInUseError(
            f"{path.parent}: in use by {_holder(descriptor)}; wait until it ends, or end it"
        ) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def _holder(descriptor: int) -> str:
    for _ in range(20):
        words = os.pread(descriptor, 200, 0).decode(errors="replace").split()
        if len(words) == 2:
            return f"process {words[0]} on {words[1]}"
        # The holder has not written its name yet.
        time.sleep(0.01)
    return "another process"


def _former(data: bytes) -> int | None:
    words = data.decode(errors="replace").split()
    return int(words[0]) if len(words) == 2 and words[0].isdecimal() and words[1] == socket.gethostname() else None


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
