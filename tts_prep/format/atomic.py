"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tts_prep.errors import WriteError
from tts_prep.format.layout import PARTIAL_SUFFIX

# HDF5 puts the system's reason into a text of its own.
_HDF5_ERRNO = re.compile(r"errno = (\d+)")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success make it durable and rename it to ``path``.

    Whoever has the old file mapped goes on seeing the old one. On an exception the temporary file is removed; after
    a kill it stays, under a name that the next run removes. The name has the process in it, so that a worker that
    outlives a killed run never writes to a file of the next one.

    Raises:
        WriteError: a write, the flush to disk or the rename failed.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL_SUFFIX}")
    try:
        with writing(path):
            yield partial
            sync(partial)
            partial.replace(path)
            sync(path.parent)
    except BaseException:
        _remove(partial)
        raise


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system or HDF5 says of a failed write into a `WriteError` that names the file."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise WriteError(
            f"{path}: cannot be written ({write_fault(error)}); what was done is kept, run again to go on"
        ) from error


def write_fault(error: BaseException) -> str:
    """Return the system's reason for a failed write, in a few words.

    HDF5 goes on after a failed write and fails again in closing the file; then the first failure has the reason.
    """
    reason = ""
    link: BaseException | None = error
    while link is not None:
        found = _HDF5_ERRNO.search(str(link))
        if isinstance(link, OSError) and link.strerror:
            reason = link.strerror
        elif found:
            reason = os.strerror(int(found[1]))
        link = link.__context__
    return reason or (str(error).splitlines() or [type(error).__name__])[0]


def sync(path: Path) -> None:
    """Make a file's bytes, or a folder's entries, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        # The folder is gone or read-only; the error that led here says more.
        return
