"""Opening files of a store that may come from anywhere."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tts_prep.errors import CorruptStoreError
from tts_prep.format.layout import SHARDS, shard_number


def shard_folder_files(store: Path) -> Iterator[str]:
    """Yield the path of everything in a store's folder of shards and its numbered folders, relative to the store."""
    if not (store / SHARDS).is_dir():
        return
    for path in sorted((store / SHARDS).iterdir()):
        if path.name.isdecimal() and path.is_dir() and not path.is_symlink():
            yield from (f"{SHARDS}/{path.name}/{inner.name}" for inner in sorted(path.iterdir()))
        else:
            yield f"{SHARDS}/{path.name}"


def shard_files(store: Path) -> Iterator[tuple[int, Path]]:
    """Yield number and path of every shard in a store's folder."""
    for name in shard_folder_files(store):
        number = shard_number(name)
        if number is not None:
            yield number, store / name


def stored_file(store: Path, name: str) -> Path:
    """Return the path of a store's file after a look at what stands there.

    Raises:
        CorruptStoreError: there is none, it is not a regular file (a pipe would wait for ever), or a link leads out
            of the store.
    """
    path = store / name
    try:
        status = path.stat()
        inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(store))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CorruptStoreError(f"{path}: cannot be opened ({reason}); was the store moved?") from error
    if not inside:
        raise CorruptStoreError(f"{path}: a link that leads out of the store; expected a file, copy it to its place")
    if not stat.S_ISREG(status.st_mode):
        raise CorruptStoreError(f"{path}: expected a regular file, found something else")
    return path


def read_text(path: Path, most: int) -> str:
    """Return the text of a UTF-8 file that `stored_file` has looked at.

    Raises:
        CorruptStoreError: it is longer than ``most`` bytes, cannot be read, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise CorruptStoreError(f"{path}: longer than {most:,} bytes, no store has that; it is not read")
        return data.decode("utf-8")
    except OSError as error:
        raise CorruptStoreError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise CorruptStoreError(f"{path}: expected UTF-8, found byte 0x{error.object[error.start]:02x}") from error
