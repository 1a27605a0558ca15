"""Transcripts in one text file per recording."""

from __future__ import annotations

from pathlib import Path

from tts_prep.errors import CorpusError
from tts_prep.format.files.regular_files import read_regular
from tts_prep.format.records.failures import Failure


def read_transcript(root: Path, file: str, identifier: str) -> str | Failure:
    """Return the text of a file, with lines joined by spaces, or a failure.

    Args:
        root: the root of the corpus.
        file: the path relative to the root.
        identifier: the id of the utterance.
    """
    where = f"{file}:1"
    try:
        return " ".join(read_regular(root / file).decode("utf-8-sig").split())
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
