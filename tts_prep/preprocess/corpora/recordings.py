"""A folder of recordings without texts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from tts_prep.errors import CorpusError
from tts_prep.preprocess.corpora.utterance import Failure, Utterance

SPEAKER: Final = "0"
SUFFIXES: Final = (
    ".wav",
    ".flac",
    ".mp3",
    ".mp2",
    ".ogg",
    ".oga",
    ".opus",
    ".aif",
    ".aiff",
    ".au",
    ".sph",
    ".w64",
    ".caf",
)
"""Endings of recordings, in any case."""


def read_recordings(root: Path) -> Iterator[Utterance | Failure]:
    """Yield the recordings below a folder, in the order of their paths, with empty texts.

    The id is the path without its suffix; the folder, relative to the root, becomes the column ``folder``. Names that
    begin with a dot are left out.

    Raises:
        CorpusError: the folder is missing, cannot be read, or holds no recording.
    """
    if not root.is_dir():
        raise CorpusError(f"{root}: no such folder; expected one with recordings")
    names = sorted(_names(root))
    if not names:
        raise CorpusError(f"{root}: no recordings; their names end in {', '.join(SUFFIXES)}")
    for name in names:
        path = PurePosixPath(name)
        folder = "" if str(path.parent) == "." else str(path.parent)
        yield Utterance(str(path.with_suffix("")), "", name, name, SPEAKER, {"folder": folder})


def _names(root: Path) -> Iterator[str]:
    def fail(error: OSError) -> None:
        raise CorpusError(f"{error.filename}: cannot be read ({error.strerror})") from error

    for folder, folders, files in os.walk(root, onerror=fail, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                yield (Path(folder) / name).relative_to(root).as_posix()
