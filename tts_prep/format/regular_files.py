"""Opening regular files only, so that a named pipe or a device cannot block a run."""

from __future__ import annotations

import errno
import os
import stat
from io import FileIO
from pathlib import Path

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: Path) -> FileIO:
    """Open a regular file, or a link to one, for reading; unbuffered.

    Raises:
        OSError: there is no such file, it cannot be opened, or it is not a regular file. ``strerror`` says which.
        ValueError: the path holds a NUL character.
    """
    # Before it is opened: to open a device can do something.
    check_regular(path)
    # Without waiting: it may have been replaced by a named pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check(os.fstat(descriptor), path)
        return FileIO(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_regular(path: Path) -> None:
    """Check that a file can be opened without waiting; errors as in `open_regular`."""
    _check(os.stat(path), path)  # noqa: PTH116 - Path.stat says nothing that this does not


def read_regular(path: Path) -> bytes:
    """Return the bytes of a regular file; errors as in `open_regular`."""
    with open_regular(path) as file:
        return file.read()


def _check(status: os.stat_result, path: Path) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if kind != stat.S_IFREG:
        raise OSError(errno.EINVAL, f"expected a regular file, found {_KINDS.get(kind, 'another kind')}", str(path))
