"""The LibriTTS and LibriTTS-R corpora."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tts_prep.corpora.subsets import chosen_subsets, subset_option
from tts_prep.corpora.transcripts import files_with, read_transcript, subfolders
from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import SourceUtterance

_NORMALIZED = ".normalized.txt"
_ORIGINAL = ".original.txt"


def read_libritts(root: Path, subsets: Sequence[str] = ()) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``<subset>/<speaker>/<chapter>/<id>.wav`` with their normalized texts.

    The subset becomes the column ``split``, the chapter ``chapter``; ``gender`` is from ``speakers.tsv``. A recording
    that has only an original text is normalized by the frontend.

    Args:
        subsets: names such as ``"train-clean-100"``; default: all that exist.

    Raises:
        CorpusError: the folder is not a LibriTTS corpus.
        ConfigurationError: a subset does not exist.
    """
    if not root.is_dir():
        raise CorpusError(f"{root}: no such folder; expected a LibriTTS corpus with folders such as train-clean-100/")
    existing = [name for name in subfolders(root) if name.split("-")[0].split("_")[0] in ("train", "dev", "test")]
    if not existing:
        raise CorpusError(f"{root}: expected a LibriTTS corpus with folders such as train-clean-100/, found none")
    chosen = chosen_subsets(root, existing, subsets)
    genders = _read_genders(root / "speakers.tsv")
    empty = True
    for subset in chosen:
        for speaker in subfolders(root / subset):
            for chapter in subfolders(root / subset / speaker):
                for name in files_with(root / subset / speaker / chapter, (".wav", ".flac")):
                    empty = False
                    meta = {"split": subset, "chapter": chapter, "gender": genders.get(speaker, "")}
                    yield _utterance(root, f"{subset}/{speaker}/{chapter}/{name}", speaker, meta)
    if empty:
        raise CorpusError(f"{root}: no recordings, expected <subset>/<speaker>/<chapter>/<id>.wav")


def _utterance(root: Path, audio: str, speaker: str, meta: dict[str, str]) -> SourceUtterance | Failure:
    stem = audio.rpartition(".")[0]
    identifier = stem.rpartition("/")[2]
    normalized = (root / (stem + _NORMALIZED)).exists() or not (root / (stem + _ORIGINAL)).exists()
    file = stem + (_NORMALIZED if normalized else _ORIGINAL)
    text = read_transcript(root, file, identifier)
    if isinstance(text, Failure):
        return text
    return SourceUtterance(identifier, text, audio, f"{file}:1", speaker, {**meta}, normalized=normalized)


def _read_genders(path: Path) -> dict[str, str]:
    """Return speaker → gender from a TSV file with the header READER, GENDER, SUBSET, NAME.

    Some rows have more cells than the header, because names contain tabs.
    """
    if not path.exists():
        return {}
    genders: dict[str, str] = {}
    for where, line in read_lines(path):
        if isinstance(line, Failure):
            raise CorpusError(line.reason)
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) < 2:
            raise CorpusError(f"{where}: expected 'READER GENDER SUBSET NAME' with tabs, found {len(fields)} field")
        if fields[0] != "READER":
            genders[fields[0]] = fields[1]
    return genders


CORPUS = Corpus(
    "libritts",
    read_libritts,
    r"""Make STORE of the LibriTTS or LibriTTS-R corpus at CORPUS.

    CORPUS contains the subsets, such as train-clean-100, and speakers.tsv. The subset becomes the column split;
    chapter and gender are columns too.

    \b
    Example:
      tts-prep libritts LibriTTS_R store --subset train-clean-100 --subset dev-clean
    """,
    options=(subset_option("dev-clean"),),
    layout=(("train-*",), ("dev-*",), ("test-*",)),
)
