"""Paths of the files of an untrusted store, of which regular ones alone are opened: others can block a run."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from io import FileIO
from itertools import islice
from pathlib import Path, PurePath
from typing import Final

from tts_prep.errors import CannotReadError, CorruptStoreError, StoreError
from tts_prep.format.layout import ADDED_ARRAYS, INDEX, MANIFEST, PLAN, SHARDS, array_file_number, shard_number

_URL: Final = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def is_url(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is the URL of something that is not here, and not that of an existing file."""
    text = os.fspath(path)
    return _URL.match(text) is not None and not os.path.lexists(text)


def without_secret(url: str | os.PathLike[str]) -> str:
    """Return a URL for messages: without user name and password, and without a query, which may be a signature.

    The name before the ``@`` of ``az://container@account`` is no secret. Other texts, such as paths, are returned as
    they are.
    """
    text = os.fspath(url)
    scheme, separator, rest = text.partition("://")
    if not is_url(text):
        return text
    host, _, path = rest.partition("/")
    if "@" not in host and ":" in host and not host.rpartition(":")[2].isdecimal() and "@" in path:
        host = rest  # a password with a slash, which is no URL, and is shown in a message that says so
    user, _, _ = host.rpartition("@")
    if user and (":" in user or scheme.lower() != "az"):
        rest = rest[len(user) + 1 :]
    if scheme.lower() in ("http", "https"):
        rest, mark, _ = rest.partition("?")
        rest += "?…" if mark else ""
    return f"{scheme}{separator}{rest}"


def shard_folder_files(store: Path) -> Iterator[str]:
    """Yield all paths in the folder ``shards`` and its numbered subfolders, relative to the store."""
    if not (store / SHARDS).is_dir():
        return
    for path in sorted((store / SHARDS).iterdir()):
        if path.name.isdecimal() and path.is_dir() and not path.is_symlink():
            yield from (f"{SHARDS}/{path.name}/{inner.name}" for inner in sorted(path.iterdir()))
        else:
            yield f"{SHARDS}/{path.name}"


def shard_files(store: Path) -> Iterator[tuple[int, Path]]:
    """Yield number and path of every shard of a store."""
    for name in shard_folder_files(store):
        number = shard_number(name)
        if number is not None:
            yield number, store / name


def array_folder_files(store: Path) -> Iterator[str]:
    """Yield all paths of files in the folder ``arrays``, relative to the store."""
    for path in sorted((store / ADDED_ARRAYS).rglob("*")):
        if path.is_symlink() or not path.is_dir():
            yield path.relative_to(store).as_posix()


def array_files(store: Path) -> Iterator[Path]:
    """Yield the path of every array file of a store."""
    for name in array_folder_files(store):
        if array_file_number(name) is not None:
            yield store / name


def stored_file(store: Path, name: str) -> Path:
    """Check that a file of a store is a regular file, and return its path.

    Raises:
        CorruptStoreError: the file is missing, is not a regular file (reading a pipe would block), or is a link to a
            file outside of the store.
    """
    path = store / name
    try:
        status = path.stat()
        inside = not _may_leave(store, name) or Path(os.path.realpath(path)).is_relative_to(os.path.realpath(store))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise read_error(error)(f"{path}: cannot be opened ({reason}); was the store moved?") from error
    if not inside:
        raise CorruptStoreError(f"{path}: a link to a file outside of the store; replace it by a copy of the file")
    if not stat.S_ISREG(status.st_mode):
        raise CorruptStoreError(f"{path}: expected a regular file, found something else")
    return path


def _may_leave(store: Path, name: str) -> bool:
    """Return whether a path in a store has links, or other steps that can lead out of it.

    Resolving it and the store takes several times as long, since it looks at every folder from the root.
    """
    relative = PurePath(name)
    if relative.anchor or ".." in relative.parts:
        return True
    place = os.fspath(store)
    for part in relative.parts:
        place = os.path.join(place, part)  # noqa: PTH118 - a Path for each takes longer than lstat
        status = os.lstat(place)
        # Windows has junctions too, which are not symbolic links.
        if stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", False):
            return True
    return False


def read_text(path: Path, max_bytes: int) -> str:
    """Return the text of a UTF-8 file that `stored_file` has checked.

    Raises:
        CorruptStoreError: it is longer than ``max_bytes``, cannot be read, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise CorruptStoreError(f"{path}: longer than the maximum of {max_bytes:,} bytes")
        return data.decode("utf-8")
    except OSError as error:
        raise read_error(error)(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise CorruptStoreError(f"{path}: expected UTF-8, found byte 0x{error.object[error.start]:02x}") from error


_ARCHIVES: Final = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip", ".7z")


def is_archive(path: Path) -> bool:
    """Return whether a path is a file whose name is that of an archive."""
    return path.name.lower().endswith(_ARCHIVES) and path.is_file()


def is_store(folder: Path) -> bool:
    """Return whether a folder is a complete store, without reading it."""
    return (folder / MANIFEST).is_file() and (folder / SHARDS).is_dir()


def store_around(path: Path) -> Path | None:
    """Return the store that contains a file or folder, or None."""
    # The deepest files are shards/00000/00000.h5.
    return next((folder for folder in islice(path.parents, 3) if is_store(folder)), None)


_MAX_BESIDE: Final = 1000  # stores beside a missing one that are looked at


def why_no_store(store: Path) -> str:
    """Return why a path without a manifest is no complete store, and which one may have been meant."""
    if not store.exists():
        return f"{store}: no such folder; expected a store made by tts-prep{_near(store)}"
    if not store.is_dir():
        return f"{store}: not a folder; expected a store made by tts-prep{_instead(store)}"
    if (store / SHARDS).is_dir() or any((store / name).is_file() for name in (PLAN, INDEX)):
        return f"{store}: incomplete store, {MANIFEST} is missing; run the command that makes it again to resume"
    what = _instead(store) or "; give the folder that a corpus command made"
    return f"{store}: not a store, it has no {MANIFEST}{what}"


def _near(store: Path) -> str:
    """Return the question whether another store beside a missing one was meant; empty where there is none."""
    import difflib

    try:
        beside = [path.parent.name for path in islice(store.parent.glob(f"*/{MANIFEST}"), _MAX_BESIDE)]
    except OSError:
        return ""
    near = difflib.get_close_matches(store.name, beside, 1)
    return f"; did you mean {store.parent / near[0]}?" if near else ""


def _instead(path: Path) -> str:
    """Return a hint about a file or folder that is not a store, or an empty string."""
    if is_archive(path):
        return "; it is an archive: unpack it, and give the folder"
    if around := store_around(path):
        return f"; give {around}"
    try:
        manifests = [*islice(path.glob(f"*/{MANIFEST}"), _MAX_BESIDE)]
    except OSError:
        return ""
    below = [found.parent for found in manifests if is_store(found.parent)]
    return f"; did you mean {below[0]}?" if len(below) == 1 else ""


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


def open_regular(path: Path | str) -> FileIO:
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


def check_regular(path: Path | str) -> None:
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


def _check(status: os.stat_result, path: Path | str) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if kind != stat.S_IFREG:
        raise OSError(errno.EINVAL, f"expected a regular file, found {_KINDS.get(kind, 'another kind')}", str(path))


def file_version(file: Path | int) -> tuple[int, ...]:
    """Return what is different for another version of a file; nothing if it is gone, which reading it says."""
    try:
        status = os.stat(file)  # noqa: PTH116 - also of a descriptor
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
