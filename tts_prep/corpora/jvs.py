"""The JVS corpus: 100 speakers of Japanese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tts_prep.corpora.transcript_lists import read_transcript_lists
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.source_utterance import SourceUtterance


def read_jvs(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``<speaker>/<style>/transcripts_utf8.txt``, lines ``id:text``.

    Recordings are ``wav24kHz16bit/<id>.wav`` beside the list. The style, such as ``parallel100`` or ``whisper10``,
    becomes the column ``style``. The id starts with the speaker, because speakers read the same sentences.

    Raises:
        CorpusError: there is no such list.
    """
    return read_transcript_lists(
        root, "**/transcripts_utf8.txt", r"(?P<id>[^:]+):(?P<text>.+)", _utterance, "'id:text'"
    )


def _utterance(folder: PurePosixPath, names: tuple[str, ...], line: re.Match[str], where: str) -> SourceUtterance:
    speaker, style = (("", *names))[-2:]
    audio = f"{folder / 'wav24kHz16bit' / line['id']}.wav"
    return SourceUtterance(f"{speaker}-{style}-{line['id']}", line["text"], audio, where, speaker, {"style": style})


CORPUS = Corpus(
    "jvs",
    read_jvs,
    r"""Make STORE of the JVS corpus of Japanese at CORPUS.

    CORPUS contains jvs001 to jvs100, each with parallel100 and other styles with transcripts_utf8.txt and
    wav24kHz16bit/<id>.wav. The style becomes a column.

    \b
    Example:
      tts-prep jvs jvs_ver1 store
    """,
    languages=("ja",),
    layout=(("jvs*/*/transcripts_utf8.txt",),),
)
