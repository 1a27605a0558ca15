"""The Korean Single Speaker (KSS) corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import SourceUtterance

SPEAKER: Final = "kss"

_TRANSCRIPTS: Final = "transcript*.txt"


def read_kss(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``transcript.v.1.4.txt`` with their recordings, such as ``1/1_0000.wav``.

    The fields are the recording, the original text, the normalized text, the normalized text decomposed into jamo, the
    duration in seconds, and an English translation, which becomes the column ``translation``. The normalized text is
    used. Earlier versions lack the translation, and the first version also lacks the normalized text. If there are
    several transcripts, the latest version is read. The recordings are next to the transcript, or in ``kss/`` as in
    the archive.

    Raises:
        CorpusError: there is no transcript, or it is empty.
    """
    transcripts = sorted(root.glob(_TRANSCRIPTS))
    if not transcripts:
        raise CorpusError(f"{root}: expected the KSS corpus, with transcript.v.1.4.txt and the folders 1, 2, 3 and 4")
    folder = "kss/" if (root / "kss").is_dir() and not (root / "1").is_dir() else ""
    for where, line in read_lines(transcripts[-1]):
        yield line if isinstance(line, Failure) else _parse(where, line, folder)


def _parse(where: str, line: str, folder: str) -> SourceUtterance | Failure:
    fields = [field.strip() for field in line.split("|")]
    name = PurePosixPath(fields[0])
    if len(fields) not in (4, 5, 6) or not name.name:
        reason = f"{where}: expected 'recording|text|text as spoken|jamo|seconds|translation', found {line[:60]!r}"
        return Failure(name.stem, where, "corpus", reason)
    # With four fields, the third is the original text decomposed into jamo.
    has_spoken = len(fields) > 4 and bool(fields[2])
    meta = {"translation": fields[5]} if len(fields) == 6 else {}
    text = fields[2] if has_spoken else fields[1]
    return SourceUtterance(name.stem, text, f"{folder}{name}", where, SPEAKER, meta, normalized=has_spoken)


CORPUS = Corpus(
    "kss",
    read_kss,
    r"""Make STORE of the Korean Single Speaker corpus at CORPUS.

    CORPUS contains transcript.v.1.4.txt and the folders 1 to 4. Phonemes are computed from the text
    with expanded numbers; the translation becomes a column.

    \b
    Example:
      tts-prep kss kss store
    """,
    languages=("ko",),
)
