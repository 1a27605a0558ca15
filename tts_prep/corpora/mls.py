"""Multilingual LibriSpeech (MLS): eight languages, from LibriVox."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tts_prep.corpora.transcript_lists import first_file, read_transcript_lists
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.source_utterance import SourceUtterance


def read_mls(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``mls_<language>/<split>/transcripts.txt``, lines of an id, a tab and the text.

    Recordings are ``audio/<speaker>/<book>/<id>.flac`` or ``.opus`` beside the list; an id is
    ``<speaker>_<book>_<number>``. Language, split and book become columns. Texts are in lower case without punctuation.

    Raises:
        CorpusError: there is no such list.
    """
    # Imported late, because help texts do not need it.
    from tts_prep.preprocess.text.language_codes import language_code

    def utterance(folder: PurePosixPath, names: tuple[str, ...], line: re.Match[str], where: str) -> SourceUtterance:
        speaker, book, *_ = (*str(line["id"]).split("_"), "", "")
        audio = folder / "audio" / speaker / book / line["id"]
        path = first_file(root, *(audio.with_name(f"{line['id']}{suffix}") for suffix in (".flac", ".opus", ".wav")))
        meta = {"split": names[-1], "book": book}
        language = next((name.split("_")[1] for name in names if name.startswith("mls_")), "")
        if language:
            meta["language"] = language_code(language)
        return SourceUtterance(line["id"], line["text"].strip(), path, where, speaker, meta, normalized=True)

    return read_transcript_lists(
        root, "**/transcripts.txt", r"(?P<id>[^\t]+)\t(?P<text>.+)", utterance, "an id, a tab and a text"
    )


CORPUS = Corpus(
    "mls",
    read_mls,
    r"""Make STORE of one or several languages of Multilingual LibriSpeech at CORPUS.

    CORPUS is mls_german, or contains folders of this form, with <split>/transcripts.txt and
    <split>/audio/<speaker>/<book>/<id>.flac or .opus. Language, split and book become columns.

    \b
    Example:
      tts-prep mls mls_german store
    """,
    layout=(("*/transcripts.txt", "*/audio"), ("mls_*/*/transcripts.txt",)),
)
