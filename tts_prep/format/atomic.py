"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tts_prep.format.layout import PARTIAL_SUFFIX


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success make it durable and rename it to ``path``.

    Whoever has the old file mapped goes on seeing the old one. On an exception the temporary file is removed; after
    a kill it stays, under a name that the next run overwrites or removes.
    """
    partial = path.with_name(path.name + PARTIAL_SUFFIX)
    try:
        yield partial
        sync(partial)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Make a file's bytes, or a folder's entries, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
