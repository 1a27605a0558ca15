"""A folder of recordings without texts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tts_prep.errors import CorpusError
from tts_prep.preprocess.corpora.suffixes import AUDIO_SUFFIXES
from tts_prep.preprocess.corpora.utterance import ANONYMOUS, Failure, Utterance


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
        raise CorpusError(f"{root}: no recordings; their names end in {', '.join(AUDIO_SUFFIXES)}")
    for name in names:
        path = PurePosixPath(name)
        folder = "" if str(path.parent) == "." else str(path.parent)
        yield Utterance(str(path.with_suffix("")), "", name, name, ANONYMOUS, {"folder": folder})


def _names(root: Path, folder: str = "", above: tuple[tuple[int, int], ...] = ()) -> Iterator[str]:
    """Yield the paths of the recordings in a folder, relative to the root.

    Args:
        folder: the path of the folder relative to the root, with a final ``/``.
        above: devices and inodes of the folders that contain it; a link to one of them is not followed.
    """
    try:
        status = (root / folder).stat()
        entries = list(os.scandir(root / folder))
    except OSError as error:
        raise CorpusError(f"{error.filename}: cannot be read ({error.strerror})") from error
    identity = (status.st_dev, status.st_ino)
    if identity in above:
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if Path(entry).is_dir():
            yield from _names(root, f"{folder}{entry.name}/", (*above, identity))
        elif entry.name.lower().endswith(AUDIO_SUFFIXES):
            yield folder + entry.name
