"""Putting one store in the place of another, so that a reader finds the old one or the new one and never neither."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import sys
from pathlib import Path

from tts_prep.format.atomic import sync, writing
from tts_prep.format.layout import MANIFEST

_RENAME_EXCHANGE = 2  # Linux, renameat2(2)
_RENAME_SWAP = 2  # macOS, renamex_np(2)
_AT_FDCWD = -100
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


def replacement_folder(store: Path) -> Path:
    """Return the folder in which the replacement of a store is built: a sibling of the store itself, links followed."""
    real = Path(os.path.realpath(store))
    return real.with_name(f".{real.name}.replacement")


def replaced_folder(store: Path) -> Path:
    """Return the name that a store gets once it is replaced, until it is deleted."""
    real = Path(os.path.realpath(store))
    return real.with_name(f".{real.name}.replaced")


def replace_store(store: Path) -> None:
    """Put the finished replacement of a store in its place, and delete what was there.

    Raises:
        WriteError: a rename failed; the old store is in its place.
    """
    real, new, old = Path(os.path.realpath(store)), replacement_folder(store), replaced_folder(store)
    remove_folder(old)
    with writing(store):
        try:
            exchange(new, real)
            new.rename(old)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            # After a kill between these two, `recover_store` takes the first one back.
            real.rename(old)
            try:
                new.rename(real)
            except BaseException:
                old.rename(real)
                raise
        sync(real.parent)
    remove_folder(old)


def recover_store(store: Path) -> bool:
    """Take back the first of two renames where a kill kept `replace_store` from the second; return whether it had."""
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
    """Delete what a run left that was killed after it had replaced a store."""
    if (Path(store) / MANIFEST).exists():
        remove_folder(replaced_folder(store))
        new = replacement_folder(store)
        if (new / MANIFEST).exists():
            # The old store, or one as whole as the store that is in place: it is not known which.
            remove_folder(new)


def remove_folder(folder: Path) -> None:
    """Delete a folder; of a link in it, or in its place, only the link."""
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)


def exchange(a: Path, b: Path) -> None:
    """Exchange the names of two folders at once.

    Raises:
        OSError: as for a rename; ENOSYS, EINVAL or ENOTSUP where the system or the file system cannot do it.
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
