"""A folder of recordings without texts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.corpora.source_utterance import ANONYMOUS, SourceUtterance
from tts_prep.preprocess.corpora.suffixes import AUDIO_SUFFIXES


def read_recordings(root: Path) -> Iterator[SourceUtterance | Failure]:
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
        yield SourceUtterance(str(path.with_suffix("")), "", name, name, ANONYMOUS, {"folder": folder})


def _names(root: Path) -> Iterator[str]:
    """Yield the paths of the recordings below the root, relative to it."""
    # Paths of folders with a final "/", and devices and inodes of the folders above: links in circles end there.
    folders: list[tuple[str, tuple[tuple[int, int], ...]]] = [("", ())]
    while folders:
        folder, above = folders.pop()
        try:
            status = (root / folder).stat()
            entries = list(os.scandir(root / folder))
        except OSError as error:
            raise CorpusError(f"{error.filename}: cannot be read ({error.strerror})") from error
        identity = (status.st_dev, status.st_ino)
        if identity in above:
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            # DirEntry.is_dir() raises for links in circles; this returns False.
            if Path(entry).is_dir():
                folders.append((f"{folder}{entry.name}/", (*above, identity)))
            elif entry.name.lower().endswith(AUDIO_SUFFIXES):
                yield folder + entry.name


CORPUS = Corpus(
    "recordings",
    read_recordings,
    r"""Make STORE of the recordings in the folder CORPUS, without texts, to train a vocoder.

    All recordings in CORPUS and its subfolders are used; the folder becomes a column. There are no
    phonemes. For a corpus with texts, use its command with --frontend none.

    \b
    Example:
      tts-prep recordings audio store --preset hifigan --waveform int16
    """,
    texts=False,
)
