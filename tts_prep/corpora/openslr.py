"""The corpora of low-resource languages that Google has published at OpenSLR."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tts_prep.corpora.transcript_lists import first_file, read_transcript_lists
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.source_utterance import SourceUtterance


def read_openslr(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``line_index.tsv``, lines of an id, tabs and the text.

    Recordings are ``<id>.wav`` or ``wavs/<id>.wav`` beside the list, or in a folder beside it. The speaker is the
    beginning of the id: that of ``jvf_00027_00001`` is ``jvf_00027``.

    Raises:
        CorpusError: there is no such list.
    """
    elsewhere: dict[str, PurePosixPath] = {}

    def utterance(folder: PurePosixPath, _: tuple[str, ...], line: re.Match[str], where: str) -> SourceUtterance:
        name = f"{line['id'].removesuffix('.wav')}.wav"
        path = first_file(root, folder / name, folder / "wavs" / name)
        if not (root / path).is_file():
            if not elsewhere:
                found = sorted(root.rglob("*.wav"))
                elsewhere.update({file.name: PurePosixPath(file.relative_to(root).as_posix()) for file in found})
            path = str(elsewhere.get(name, path))
        identifier = name.removesuffix(".wav")
        speaker = "_".join(re.split(r"[_-]", identifier)[:2])
        return SourceUtterance(identifier, line["text"].strip(), path, where, speaker)

    return read_transcript_lists(
        root,
        "**/line_index*.tsv",
        r"(?P<id>[^\t]+?)\s*\t\s*(?P<text>[^\t]+)(\t.*)?",
        utterance,
        "an id, a tab and a text",
    )


CORPUS = Corpus(
    "openslr",
    read_openslr,
    r"""Make STORE of a corpus of OpenSLR with line_index.tsv at CORPUS, such as SLR41 (Javanese) or SLR61 (Spanish).

    CORPUS contains line_index.tsv and <id>.wav or wavs/<id>.wav, or folders with these. The speaker is the beginning of
    the id. Give the --language.

    \b
    Example:
      tts-prep openslr es_ar_female store --language es-419
    """,
    layout=(("line_index*.tsv",), ("*/line_index*.tsv",)),
)
