"""The FLEURS corpus: 102 languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tts_prep.corpora.transcript_lists import first_file, read_transcript_lists
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.source_utterance import SourceUtterance

_LINE = r"\d+\t(?P<file>[^\t]+)\t(?P<text>[^\t]+)\t[^\t]*\t[^\t]*\t\d+(\t(?P<gender>\w+))?"
_CODES = {"cmn": "zh", "nb": "nb", "fil": "tl"}
"""Languages whose codes are those of a macrolanguage or of another name here."""


def read_fleurs(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``<language>/<split>.tsv``.

    Fields are the number of the sentence, file, text, text in lower case, its characters, number of samples and
    gender. Recordings are in ``audio/<split>/`` or ``<split>/`` beside the list. The id is the name of the file,
    because several speakers, whom the corpus does not tell apart, read each sentence. Language, split and gender become
    columns.

    Raises:
        CorpusError: there is no such list.
    """

    def utterance(folder: PurePosixPath, names: tuple[str, ...], line: re.Match[str], where: str) -> SourceUtterance:
        split = PurePosixPath(where.rpartition(":")[0]).stem
        code, *region = names[-1].split("_")
        # lhotse keeps the lists of a language in metadata/<language>.
        beside = PurePosixPath(*folder.parts[:-2], folder.name)
        path = first_file(root, *(place / split / line["file"] for place in (folder / "audio", folder, beside)))
        meta = {
            "language": "-".join((_CODES.get(code, code), *(part.upper() for part in region[-1:]))),
            "split": split,
            "gender": (line["gender"] or "").lower(),
        }
        return SourceUtterance(PurePosixPath(line["file"]).stem, line["text"].strip(), path, where, "0", meta)

    return read_transcript_lists(root, "**/[dt]*.tsv", _LINE, utterance, "seven fields separated by tabs")


CORPUS = Corpus(
    "fleurs",
    read_fleurs,
    r"""Make STORE of one or several languages of the FLEURS corpus at CORPUS.

    CORPUS is a folder such as de_de, or contains several, with train.tsv, dev.tsv and test.tsv, and the recordings in
    audio/<split>/ or <split>/. Language, split and gender become columns.

    \b
    Example:
      tts-prep fleurs fleurs/de_de store
    """,
    layout=(("train.tsv", "dev.tsv", "audio/dev"), ("*_*/train.tsv", "*_*/dev.tsv")),
)
