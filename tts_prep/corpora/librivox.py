"""Corpora of LibriVox's audiobooks: LibriSpeech, Multilingual LibriSpeech, LibriTTS, Hi-Fi TTS, M-AILABS and CSS10."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tts_prep.corpora.transcripts import (
    chosen_subsets,
    files_with,
    first_file,
    read_transcript,
    read_transcript_lists,
    subfolders,
    subset_option,
)
from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import SourceUtterance


def read_librispeech(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``<subset>/<speaker>/<chapter>/<speaker>-<chapter>.trans.txt``, lines ``id TEXT``.

    Texts are in capitals without punctuation, and become lower case, because frontends spell capitals. The subset
    becomes the column ``split``, the chapter ``chapter``. The root can also be a subset.

    Raises:
        CorpusError: there is no such list.
    """
    return read_transcript_lists(root, "**/*.trans.txt", r"(?P<id>\S+)\s+(?P<text>.+)", _of_librispeech, "'id TEXT'")


def _of_librispeech(folder: PurePosixPath, names: tuple[str, ...], line: re.Match[str], where: str) -> SourceUtterance:
    speaker, chapter, *_ = (*str(line["id"]).split("-"), "", "")
    meta = {"split": names[-3] if len(names) > 2 else "", "chapter": chapter}
    audio = f"{folder / line['id']}.flac"
    return SourceUtterance(line["id"], line["text"].lower(), audio, where, speaker, meta, normalized=True)


LIBRISPEECH = Corpus(
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


MLS = Corpus(
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
                    yield _of_libritts(root, f"{subset}/{speaker}/{chapter}/{name}", speaker, meta)
    if empty:
        raise CorpusError(f"{root}: no recordings, expected <subset>/<speaker>/<chapter>/<id>.wav")


def _of_libritts(root: Path, audio: str, speaker: str, meta: dict[str, str]) -> SourceUtterance | Failure:
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


LIBRITTS = Corpus(
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


def read_hifitts(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``<speaker>_manifest_<clean|other>_<split>.json``, one JSON object per line.

    The text is ``text_normalized``. The id is the name of the recording. Split and quality become columns.

    Raises:
        CorpusError: there is no such manifest.
    """
    # Imported late, because help texts and worker processes do not read manifests.
    from tts_prep.corpora.manifests.json_lines import json_objects

    manifests = sorted(root.glob("*_manifest_*_*.json")) if root.is_dir() else []
    if not manifests:
        raise CorpusError(f"{root}: no 92_manifest_clean_train.json or other manifest; is it the folder of the corpus?")
    for path in manifests:
        parts = re.fullmatch(r"(?P<speaker>.+)_manifest_(?P<quality>[^_]+)_(?P<split>[^_]+)", path.stem)
        for where, row in json_objects(path):
            if isinstance(row, Failure):
                yield row
                continue
            audio, text = row.get("audio_filepath"), row.get("text_normalized") or row.get("text")
            if not (parts and isinstance(audio, str) and isinstance(text, str) and audio and text):
                yield Failure("", where, "corpus", f"{where}: expected texts 'audio_filepath' and 'text_normalized'")
                continue
            meta = {"split": parts["split"], "quality": parts["quality"]}
            identifier = PurePosixPath(audio).stem
            yield SourceUtterance(identifier, text, audio, where, parts["speaker"], meta, normalized=True)


HIFITTS = Corpus(
    "hifitts",
    read_hifitts,
    r"""Make STORE of the Hi-Fi TTS corpus at CORPUS.

    CORPUS contains manifests such as 92_manifest_clean_train.json, and audio/. Split and quality (clean or other)
    become columns.

    \b
    Example:
      tts-prep hifitts hi_fi_tts_v0 store
    """,
    languages=("en-us",),
    layout=(("*_manifest_clean_*.json",), ("*_manifest_other_*.json",)),
)


def read_mailabs(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``<language>/by_book/<gender>/<speaker>/<book>/metadata.csv``.

    A line is ``id|text|normalized text``, with ``wavs/<id>.wav`` beside the list. Language, gender and book become
    columns. Books in the folder ``mix`` have several speakers, who are not told apart: their speaker is ``mix``.

    Raises:
        CorpusError: there is no such list.
    """
    line = r"(?P<id>[^|]+)\|(?P<original>[^|]*)\|(?P<text>[^|]+)"
    return read_transcript_lists(root, "**/metadata.csv", line, _of_mailabs, "'id|text|normalized text'")


def _of_mailabs(folder: PurePosixPath, names: tuple[str, ...], line: re.Match[str], where: str) -> SourceUtterance:
    gender = next((name for name in names if name in ("male", "female")), "")
    speaker = names[-2] if len(names) > 1 else "mix"
    meta = {"gender": gender, "book": names[-1]}
    if "by_book" in names[1:]:
        # en_UK is Great Britain.
        meta["language"] = names[names.index("by_book") - 1].replace("_", "-").replace("UK", "GB")
    audio = f"{folder / 'wavs' / line['id'].strip()}.wav"
    return SourceUtterance(line["id"].strip(), line["text"].strip(), audio, where, speaker, meta, normalized=True)


MAILABS = Corpus(
    "mailabs",
    read_mailabs,
    r"""Make STORE of one or several languages of the M-AILABS corpora at CORPUS.

    CORPUS contains de_DE or other languages, each with by_book/<gender>/<speaker>/<book>/metadata.csv and wavs/.
    Language, gender and book become columns.

    \b
    Example:
      tts-prep mailabs M-AILABS/de_DE store
    """,
    layout=(("by_book",), ("*_*/by_book",)),
)


_TRANSCRIPT: Final = "transcript.txt"
_BOOKS: Final[Mapping[str, tuple[str, ...]]] = {
    "de": ("achtgesichterambiwasse", "meisterfloh", "serapionsbruederauswahl"),
    "el": ("Paramythi_horis_onoma",),
    "es": ("19demarzo", "bailen", "batalla_arapiles"),
    "fi": ("ensimmaisetnovellit", "gulliverin_matkat_kaukaisilla_mailla", "kaleri-orja", "salmelan_heinatalkoot"),
    "fr": ("lesmis", "lupincontresholme"),
    "hu": ("egri_csillagok",),
    "ja": ("meian",),
    "nl": ("20000_mijlen",),
    "ru": ("early_short_stories", "icemarch", "shortstories_childrenadults"),
    "zh": ("call_to_arms", "chao_hua_si_she"),
}
_ROMANIZED: Final = frozenset({"ja", "zh"})
"""Languages whose third field is a romanization instead of the normalized text."""


def read_css10(root: Path, subsets: Sequence[str] = ()) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``transcript.txt``: ``lesmis/lesmis_0000.wav|text|normalized text|seconds``.

    The root is the folder of one language, or a folder of such folders. The language is recognized by the names of its
    books, and becomes the column ``language``; the book becomes ``book``. The text is the third field, and the second
    one for Japanese and Chinese, whose third field is romanized.

    Args:
        subsets: codes of languages; default: all that exist.

    Raises:
        CorpusError: there is no transcript, or it belongs to another corpus.
        ConfigurationError: a language does not exist.
    """
    folders = css10_languages(root)
    for language in chosen_subsets(root, list(folders), subsets):
        folder = folders[language]
        for place, line in read_lines(root / folder / _TRANSCRIPT):
            where = f"{folder}{place}"
            yield line if isinstance(line, Failure) else _of_css10(where, folder, line, language)


def css10_languages(root: Path) -> dict[str, str]:
    """Return the languages in a folder: code → relative folder with a final ``/``, or an empty string for the root.

    Raises:
        CorpusError: the folder has no language of CSS10.
    """
    if not root.is_dir():
        raise CorpusError(f"{root}: no such folder; expected a language of CSS10, with {_TRANSCRIPT}")
    folders = [""] if (root / _TRANSCRIPT).exists() else [f"{name}/" for name in subfolders(root)]
    languages = {
        language: folder
        for folder in folders
        for language, books in _BOOKS.items()
        if (root / folder / _TRANSCRIPT).exists() and any((root / folder / book).is_dir() for book in books)
    }
    if not languages:
        raise CorpusError(
            f"{root}: expected a language of CSS10, with {_TRANSCRIPT} and the folder of a book such as lesmis/, or a "
            "folder of several languages"
        )
    return languages


def _of_css10(where: str, folder: str, line: str, language: str) -> SourceUtterance | Failure:
    fields = [field.strip() for field in line.split("|")]
    name = PurePosixPath(fields[0])
    if len(fields) != 4 or not name.name:
        reason = f"{where}: expected 'recording|text|normalized text|seconds', found {line[:60]!r}"
        return Failure(name.stem, where, "corpus", reason)
    has_spoken = language not in _ROMANIZED and bool(fields[2])
    meta = {"language": language, "book": name.parent.name}
    text = fields[2] if has_spoken else fields[1]
    return SourceUtterance(name.stem, text, f"{folder}{name}", where, f"css10-{language}", meta, normalized=has_spoken)


def _languages_of_css10(root: Path, options: Mapping[str, Any]) -> list[str]:
    """Return the languages in a folder, or those of them that are selected."""
    subsets = options.get("subsets")
    return [code for code in css10_languages(root) if not subsets or code in subsets]


CSS10 = Corpus(
    "css10",
    read_css10,
    r"""Make STORE of one or several languages of CSS10 at CORPUS.

    CORPUS contains transcript.txt and the folders of its books, or folders such as de and fr with these. The
    language is recognized by the books. Each language uses its default frontend.

    \b
    Example:
      tts-prep css10 CSS10 store --subset de --subset fr
    """,
    options=(subset_option("de"),),
    languages=_languages_of_css10,
)
