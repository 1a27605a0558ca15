"""The Emotional Speech Dataset (ESD): ten speakers each of Mandarin and English, in five emotions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tts_prep.corpora.transcript_lists import read_transcript_lists
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.source_utterance import SourceUtterance

_LAST_MANDARIN = 10
"""The number of the last speaker of Mandarin; the others speak English."""


def read_esd(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``<speaker>/<speaker>.txt``, lines of an id, the text and an emotion.

    Recordings are ``<speaker>/<emotion>/<id>.wav``, also in folders ``train``, ``evaluation`` and ``test`` below the
    emotion. Language and emotion, by the folder, become columns: the lists of some speakers have it in Chinese.

    Raises:
        CorpusError: there is no such list.
    """
    recordings = {path.stem: path.relative_to(root).as_posix() for path in sorted(root.rglob("*.wav"))}

    def utterance(folder: PurePosixPath, names: tuple[str, ...], line: re.Match[str], where: str) -> SourceUtterance:
        path = recordings.get(line["id"], f"{folder / line['emotion'] / line['id']}.wav")
        emotion = PurePosixPath(path).relative_to(folder).parts[0]
        language = "zh" if int(names[-1]) <= _LAST_MANDARIN else "en-us"
        meta = {"language": language, "emotion": emotion.lower()}
        return SourceUtterance(line["id"], line["text"], path, where, names[-1], meta)

    pattern = "**/[0-9][0-9][0-9][0-9].txt"
    line = r"(?P<id>\d{4}_\d{6})\s+(?P<text>.+?)\s+(?P<emotion>\S+)"
    return read_transcript_lists(root, pattern, line, utterance, "an id, a text and an emotion")


CORPUS = Corpus(
    "esd",
    read_esd,
    r"""Make STORE of the Emotional Speech Dataset (ESD), or of one of its speakers, at CORPUS.

    CORPUS contains 0001 to 0020, each with <speaker>.txt and a folder of recordings for each emotion. Language and
    emotion become columns.

    \b
    Example:
      tts-prep esd ESD store
    """,
    layout=(("00[0-2][0-9]/00[0-2][0-9].txt",),),
)
