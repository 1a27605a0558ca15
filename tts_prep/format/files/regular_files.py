"""Open regular files only, so that a named pipe or a device cannot block a run."""

import errno
import os
import stat
from io import FileIO
from pathlib import Path
from typing import Final

from tts_prep.errors import CannotReadError, CorruptStoreError, StoreError

_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}

# Windows has no named pipes among its files, and changes line ends where it is not told otherwise.
_HOW = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))

_OF_THE_SYSTEM: Final = (
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EACCES, errno.EPERM, errno.EAGAIN),
    *(errno.ESTALE, errno.ETIMEDOUT, errno.ENOBUFS),
)


def read_error(error: Exception) -> type[StoreError]:
    """Return what to raise for an error of reading: `CannotReadError` if it says nothing about the file."""
    of_the_system = isinstance(error, OSError) and error.errno in _OF_THE_SYSTEM
    return CannotReadError if of_the_system else CorruptStoreError


def open_regular(path: Path) -> FileIO:
    """Open a regular file, or a link to one, for reading; unbuffered.

    Raises:
        OSError: the file does not exist, cannot be opened, or is not a regular file; ``strerror`` says which.
        ValueError: the path contains a NUL character.
    """
    # Checked before it is opened, because opening a device can have side effects.
    check_regular(path)
    # Non-blocking, because it may have been replaced by a named pipe meanwhile.
    descriptor = os.open(path, os.O_RDONLY | _HOW)
    try:
        _check(os.fstat(descriptor), path)
        return FileIO(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_regular(path: Path) -> None:
    """Check that a file is a regular one; errors as in `open_regular`."""
    _check(os.stat(path), path)  # noqa: PTH116 - Path.stat has no advantage here


def read_regular(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file.

    Args:
        most: the maximum length in bytes. A file of any length can take no space on a disk, or in an archive.

    Raises:
        OSError, ValueError: as in `open_regular`; or the file is longer, which ``strerror`` says.
    """
    with open_regular(path) as file:
        # Not by its size alone, which can grow meanwhile.
        data = file.read(most + 1) if os.fstat(file.fileno()).st_size <= most else None
    if data is None or len(data) > most:
        raise OSError(errno.EFBIG, f"longer than the maximum of {most:,} bytes", str(path))
    return data


def _check(status: os.stat_result, path: Path) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if kind != stat.S_IFREG:
        raise OSError(errno.EINVAL, f"expected a regular file, found {_KINDS.get(kind, 'another kind')}", str(path))


def file_version(path: Path) -> tuple[int, ...]:
    """Return what is different for another version of a file; nothing if it is gone, which reading it says."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
