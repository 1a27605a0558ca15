"""Transcripts and recordings below the folder of a corpus: one file of each, or lists of one line per recording."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.files.paths import read_regular
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.option import Option

AUDIO_SUFFIXES = (
    *(".wav", ".flac", ".mp3", ".mp2", ".ogg", ".oga", ".opus", ".aif", ".aiff", ".au", ".sph", ".w64"),
    *(".caf", ".m4a", ".mp4", ".aac", ".webm", ".mka"),
)
"""Suffixes of the containers that are read, in lower case."""


_MAX_TEXT = 1 << 22
"""The maximum length of the text of one recording in bytes."""


def read_transcript(root: Path, file: str, identifier: str) -> str | Failure:
    """Return the text of a file, with lines joined by spaces, or a failure.

    Args:
        root: the root of the corpus.
        file: the path relative to the root.
        identifier: the id of the utterance.
    """
    text = read_text_file(root, file, identifier)
    return text if isinstance(text, Failure) else " ".join(text.split())


def read_text_file(root: Path, file: str, identifier: str) -> str | Failure:
    """Return the content of a file of one recording, or a failure; for the arguments, see `read_transcript`."""
    where = f"{file}:1"
    try:
        return read_regular(root / file, _MAX_TEXT).decode("utf-8-sig")
    except FileNotFoundError:
        return Failure(identifier, where, "corpus", f"{file}: no such file; the recording has no text")
    except OSError as error:
        return Failure(identifier, where, "corpus", f"{file}: cannot be read ({error.strerror})")
    except UnicodeDecodeError as error:
        found = error.object[error.start]
        return Failure(identifier, where, "corpus", f"{file}: expected UTF-8, found byte 0x{found:02x}")


def subfolders(folder: Path) -> list[str]:
    """Return the sorted names of the subfolders of a folder, without those that start with a dot.

    Raises:
        CorpusError: the folder cannot be read.
    """
    return [path.name for path in _entries(folder) if path.is_dir()]


def files_with(folder: Path, suffixes: tuple[str, ...]) -> list[str]:
    """Return the sorted names of the files of a folder with one of the suffixes, without regard to case.

    Raises:
        CorpusError: the folder cannot be read.
    """
    return [path.name for path in _entries(folder) if path.name.lower().endswith(suffixes)]


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted((path for path in folder.iterdir() if not path.name.startswith(".")), key=lambda path: path.name)
    except FileNotFoundError:
        raise CorpusError(f"{folder}: no such folder") from None
    except OSError as error:
        raise CorpusError(f"{folder}: cannot be read ({error.strerror})") from error


def recordings_below(root: Path) -> list[str]:
    """Return the sorted paths of all recordings below a folder, relative to it.

    Raises:
        CorpusError: the folder is missing, cannot be read, or has no recordings.
    """
    if not root.is_dir():
        raise CorpusError(f"{root}: no such folder; expected a folder of recordings")
    names = sorted(files_below(root, AUDIO_SUFFIXES))
    if not names:
        raise CorpusError(f"{root}: no recordings; their names end in {', '.join(AUDIO_SUFFIXES)}")
    return names


def files_below(root: Path, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield the paths of the files below a folder with one of the suffixes, relative to it, in no order.

    Files and folders whose names start with a dot are skipped.

    Raises:
        CorpusError: a folder cannot be read.
    """
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
            elif entry.name.lower().endswith(suffixes):
                yield folder + entry.name


def is_file(path: Path) -> bool:
    """Return whether a path is that of a file; False for a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def first_file(root: Path, *paths: PurePosixPath) -> str:
    """Return the first of several paths that is a file, or the first one if there is none; relative to the root."""
    return str(next((path for path in paths if is_file(root / path)), paths[0]))


def chosen_subsets(root: Path, existing: Sequence[str], selected: Sequence[str]) -> list[str]:
    """Return the selected subsets in the order of the corpus, or all existing ones if none is selected.

    Raises:
        ConfigurationError: a selected subset does not exist.
    """
    missing = [name for name in selected if name not in existing]
    if missing:
        raise ConfigurationError(f"subset: {root} has no {missing[0]!r}; it has {', '.join(existing)}")
    return [name for name in existing if not selected or name in selected]


def subset_option(example: str) -> Option:
    """Return the option that selects subsets, with the name of one in its help."""
    return Option(
        "subsets",
        f"Use only this subset, such as {example}; may be repeated.  [default: all]",
        flags=("--subset",),
        metavar="NAME",
        repeated=True,
    )
