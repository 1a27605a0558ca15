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
"""Suffixes of recordings, compared without regard to case."""


def read_recordings(root: Path) -> Iterator[Utterance | Failure]:
    """Yield the recordings below a folder, sorted by path, with empty texts.

    The id is the path without its suffix; the folder, relative to the root, becomes the column ``folder``. Files and
    folders whose names start with a dot are skipped.

    Raises:
        CorpusError: the folder is missing, cannot be read, or has no recordings.
    """
    if not root.is_dir():
        raise CorpusError(f"{root}: no such folder; expected a folder of recordings")
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
