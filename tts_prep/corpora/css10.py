"""The reader of CSS10, whose languages are known by the names of books."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tts_prep.corpora.transcripts import chosen_subsets, subfolders
from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.toml_files import word_table

_TRANSCRIPT: Final = "transcript.txt"
_LANGUAGES: Final = word_table(
    """
    achtgesichterambiwasse=de meisterfloh=de serapionsbruederauswahl=de Paramythi_horis_onoma=el 19demarzo=es bailen=es
    batalla_arapiles=es ensimmaisetnovellit=fi gulliverin_matkat_kaukaisilla_mailla=fi kaleri-orja=fi lesmis=fr
    salmelan_heinatalkoot=fi lupincontresholme=fr egri_csillagok=hu meian=ja 20000_mijlen=nl early_short_stories=ru
    icemarch=ru shortstories_childrenadults=ru call_to_arms=zh chao_hua_si_she=zh
    """
)
"""The language of each book."""

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
    folders = [folder for folder in folders if (root / folder / _TRANSCRIPT).exists()]
    languages = {
        _LANGUAGES[book]: folder for folder in folders for book in _LANGUAGES if (root / folder / book).is_dir()
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


def languages(root: Path, options: Mapping[str, Any]) -> list[str]:
    """Return the languages in a folder, or those of them that are selected."""
    subsets = options.get("subsets")
    return [code for code in css10_languages(root) if not subsets or code in subsets]
