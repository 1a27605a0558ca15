"""Corpora of several languages: FLEURS, Google's at OpenSLR, and the Emotional Speech Dataset."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tts_prep.corpora.transcripts import first_file, read_transcript_lists
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


FLEURS = Corpus(
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


OPENSLR = Corpus(
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


ESD = Corpus(
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
