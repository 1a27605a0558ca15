"""A folder of recordings without texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from tts_prep.corpora.texts_beside import has_text
from tts_prep.corpora.transcripts import recordings_below
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.source_utterance import ANONYMOUS, SourceUtterance

_EXAMINED: Final = 1000
"""The number of recordings for which a text is searched."""


def read_recordings(root: Path, report: Callable[[str], None] = lambda _: None) -> Iterator[SourceUtterance | Failure]:
    """Yield the recordings below a folder, sorted by path, with empty texts.

    The id is the path without its suffix; the folder, relative to the root, becomes the column ``folder``. Files and
    folders whose names start with a dot are skipped.

    Args:
        report: called with one line if recordings have texts, which are not read.

    Raises:
        CorpusError: the folder is missing, cannot be read, or has no recordings.
    """
    names = recordings_below(root)
    if with_text := sum(has_text(root, name) for name in names[:_EXAMINED]):
        report(f"note: {with_text:,} of {len(names[:_EXAMINED]):,} recordings have a text; 'tts-prep folder' reads it")
    for name in names:
        path = PurePosixPath(name)
        folder = "" if str(path.parent) == "." else str(path.parent)
        yield SourceUtterance(str(path.with_suffix("")), "", name, name, ANONYMOUS, {"folder": folder})


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
