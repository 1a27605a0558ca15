"""The LibriSpeech corpus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tts_prep.corpora.transcript_lists import read_transcript_lists
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.source_utterance import SourceUtterance


def read_librispeech(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``<subset>/<speaker>/<chapter>/<speaker>-<chapter>.trans.txt``, lines ``id TEXT``.

    Texts are in capitals without punctuation, and become lower case, because frontends spell capitals. The subset
    becomes the column ``split``, the chapter ``chapter``. The root can also be a subset.

    Raises:
        CorpusError: there is no such list.
    """
    return read_transcript_lists(root, "**/*.trans.txt", r"(?P<id>\S+)\s+(?P<text>.+)", _utterance, "'id TEXT'")


def _utterance(folder: PurePosixPath, names: tuple[str, ...], line: re.Match[str], where: str) -> SourceUtterance:
    speaker, chapter, *_ = (*str(line["id"]).split("-"), "", "")
    meta = {"split": names[-3] if len(names) > 2 else "", "chapter": chapter}
    audio = f"{folder / line['id']}.flac"
    return SourceUtterance(line["id"], line["text"].lower(), audio, where, speaker, meta, normalized=True)


CORPUS = Corpus(
    "librispeech",
    read_librispeech,
    r"""Make STORE of the LibriSpeech corpus, or of one of its subsets, at CORPUS.

    CORPUS contains the subsets, such as train-clean-100, with <speaker>/<chapter>/*.trans.txt. The texts, which are in
    capitals, become lower case. The subset becomes the column split; chapter is a column too.

    \b
    Example:
      tts-prep librispeech LibriSpeech/train-clean-100 store
    """,
    layout=(("SPEAKERS.TXT", "CHAPTERS.TXT"),),
)
