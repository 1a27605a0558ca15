"""The M-AILABS corpora: nine languages, from LibriVox and Project Gutenberg."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tts_prep.corpora.transcript_lists import read_transcript_lists
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.source_utterance import SourceUtterance


def read_mailabs(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``<language>/by_book/<gender>/<speaker>/<book>/metadata.csv``.

    A line is ``id|text|normalized text``, with ``wavs/<id>.wav`` beside the list. Language, gender and book become
    columns. Books in the folder ``mix`` have several speakers, who are not told apart: their speaker is ``mix``.

    Raises:
        CorpusError: there is no such list.
    """
    line = r"(?P<id>[^|]+)\|(?P<original>[^|]*)\|(?P<text>[^|]+)"
    return read_transcript_lists(root, "**/metadata.csv", line, _utterance, "'id|text|normalized text'")


def _utterance(folder: PurePosixPath, names: tuple[str, ...], line: re.Match[str], where: str) -> SourceUtterance:
    gender = next((name for name in names if name in ("male", "female")), "")
    speaker = names[-2] if len(names) > 1 else "mix"
    meta = {"gender": gender, "book": names[-1]}
    if "by_book" in names[1:]:
        # en_UK is Great Britain.
        meta["language"] = names[names.index("by_book") - 1].replace("_", "-").replace("UK", "GB")
    audio = f"{folder / 'wavs' / line['id'].strip()}.wav"
    return SourceUtterance(line["id"].strip(), line["text"].strip(), audio, where, speaker, meta, normalized=True)


CORPUS = Corpus(
    "mailabs",
    read_mailabs,
    r"""Make STORE of one or several languages of the M-AILABS corpora at CORPUS.

    CORPUS contains de_DE or other languages, each with by_book/<gender>/<speaker>/<book>/metadata.csv and wavs/.
    Language, gender and book become columns.

    \b
    Example:
      tts-prep mailabs M-AILABS/de_DE store
    """,
    layout=(("by_book",), ("*_*/by_book",)),
)
