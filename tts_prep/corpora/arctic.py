"""The CMU ARCTIC corpora."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tts_prep.corpora.transcript_lists import read_transcript_lists
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.source_utterance import SourceUtterance


def read_arctic(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``etc/txt.done.data``, lines ``( arctic_a0001 "Text." )``, with ``wav/<id>.wav``.

    The root is the folder of a speaker, such as ``cmu_us_slt_arctic``, or contains such folders. The id starts with the
    speaker, because speakers read the same sentences.

    Raises:
        CorpusError: there is no such list.
    """
    line = r'\(\s*(?P<id>\S+)\s+"(?P<text>.*)"\s*\)'
    return read_transcript_lists(root, "**/etc/txt.done.data", line, _utterance, "'( id \"text\" )'")


def _utterance(folder: PurePosixPath, names: tuple[str, ...], line: re.Match[str], where: str) -> SourceUtterance:
    parts = names[-2].split("_")
    speaker = parts[2] if len(parts) > 2 else names[-2]
    audio = f"{folder.parent / 'wav' / line['id']}.wav"
    return SourceUtterance(f"{speaker}-{line['id']}", line["text"].replace('\\"', '"'), audio, where, speaker)


CORPUS = Corpus(
    "arctic",
    read_arctic,
    r"""Make STORE of a speaker, or of several speakers, of the CMU ARCTIC corpora at CORPUS.

    CORPUS contains etc/txt.done.data and wav/<id>.wav, or folders such as cmu_us_slt_arctic with these.

    \b
    Example:
      tts-prep arctic cmu_us_slt_arctic store
    """,
    layout=(("etc/txt.done.data",), ("*/etc/txt.done.data",)),
)
