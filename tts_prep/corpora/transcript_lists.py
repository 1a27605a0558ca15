"""Corpora whose texts are in lists of one line per recording, in the folders of speakers, chapters or books."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import SourceUtterance

OfLine: TypeAlias = Callable[[PurePosixPath, tuple[str, ...], "re.Match[str]", str], SourceUtterance]
"""A function that returns the utterance of a line.

Its arguments are the folder of the list, relative to the root; the names of the folders down to it, the root first; the
line; and its location.
"""


def read_transcript_lists(
    root: Path, pattern: str, line: str, utterance: OfLine, expected: str
) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of all lists below a folder, sorted by path.

    Args:
        root: the folder.
        pattern: the pattern of the lists, relative to the root.
        line: the regular expression of a line.
        utterance: returns the utterance of a line.
        expected: the form of a line, for error messages.

    Raises:
        CorpusError: there is no list.
    """
    lists = sorted(root.glob(pattern)) if root.is_dir() else []
    if not lists:
        raise CorpusError(f"{root}: no {pattern.rpartition('/')[2]} in it or below it; is it the folder of the corpus?")
    for path in lists:
        name = path.relative_to(root).as_posix()
        folder = PurePosixPath(name).parent
        # The name of the root can be that of a speaker or a subset.
        names = (root.absolute().name, *folder.parts)
        for number, text in _lines(path):
            where = f"{name}:{number}"
            if isinstance(text, Failure):
                yield Failure(text.id, where, "corpus", text.reason)
            elif match := re.fullmatch(line, text.strip()):
                yield utterance(folder, names, match, where)
            else:
                yield Failure("", where, "corpus", f"{where}: expected {expected}, found {text.strip()[:60]!r}")


def _lines(path: Path) -> Iterator[tuple[str, str | Failure]]:
    """Yield numbers and lines; a list that cannot be read is one failure."""
    try:
        for where, line in read_lines(path):
            yield where.rpartition(":")[2], line
    except CorpusError as error:
        yield "1", Failure("", path.name, "corpus", str(error))


def first_file(root: Path, *paths: PurePosixPath) -> str:
    """Return the first of several paths that is a file, or the first one if there is none; relative to the root."""
    return str(next((path for path in paths if (root / path).is_file()), paths[0]))
