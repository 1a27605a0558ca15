"""Corpus readers by name: built-in ones and those that other packages register."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Final, TypeAlias

from tts_prep.errors import ConfigurationError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess import plugins
from tts_prep.preprocess.corpora.aishell3 import read_aishell3
from tts_prep.preprocess.corpora.baker import read_baker
from tts_prep.preprocess.corpora.css10 import css10_languages, read_css10
from tts_prep.preprocess.corpora.filelist import read_filelist
from tts_prep.preprocess.corpora.jsut import read_jsut
from tts_prep.preprocess.corpora.kaldi import read_kaldi
from tts_prep.preprocess.corpora.kss import read_kss
from tts_prep.preprocess.corpora.libritts import read_libritts
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.corpora.recordings import read_recordings
from tts_prep.preprocess.corpora.source_utterance import SourceUtterance
from tts_prep.preprocess.corpora.splits import with_splits
from tts_prep.preprocess.corpora.vctk import read_vctk

Reader: TypeAlias = Callable[..., Iterator[SourceUtterance | Failure]]
"""A function from the root of a corpus (a `pathlib.Path`) and options to its utterances, in a deterministic order."""


def _read_manifest(corpus: Path, **options: Any) -> Iterator[SourceUtterance | Failure]:
    # Imported late, because worker processes import this module but do not read manifests.
    from tts_prep.preprocess.corpora.manifests import read_manifest

    return read_manifest(corpus, **options)


READERS: Final[Mapping[str, Reader]] = {
    "ljspeech": read_ljspeech,
    "vctk": read_vctk,
    "libritts": read_libritts,
    "baker": read_baker,
    "aishell3": read_aishell3,
    "jsut": read_jsut,
    "kss": read_kss,
    "css10": read_css10,
    "recordings": read_recordings,
    "filelist": read_filelist,
    "kaldi": read_kaldi,
    "manifest": _read_manifest,
}


_LANGUAGES: Final[Mapping[str, str]] = {"baker": "zh", "aishell3": "zh", "jsut": "ja", "kss": "ko"}
_WITH_ROOT: Final = ("filelist", "kaldi", "manifest")
_WITHOUT_TEXTS: Final = ("filelist", "manifest")
_WITH_REPORT: Final = ("filelist", "manifest", "vctk")


def third_party_readers() -> Mapping[str, EntryPoint]:
    """Return the entry points of readers of other packages by name; built-in names cannot be overridden."""
    return plugins.registered(plugins.CORPORA, READERS)


def get_reader(name: str) -> Reader:
    """Return a reader by name.

    Raises:
        ConfigurationError: the name is unknown, or the reader's package cannot be loaded.
    """
    if name in READERS:
        return READERS[name]
    others = third_party_readers()
    if name not in others:
        raise ConfigurationError(
            f"corpus: expected one of {', '.join((*READERS, *others))}, found {name!r}; give a function of your own by "
            "--reader MODULE:FUNCTION"
        )
    reader: Reader = plugins.load(others[name], "corpus: the reader")
    return reader


def import_reader(path: str) -> Reader:
    """Return the function that ``MODULE:FUNCTION`` names; the working directory is searched too.

    Raises:
        ConfigurationError: there is no such function.
    """
    module, colon, function = path.partition(":")
    if not (module and colon and function):
        raise ConfigurationError(f"reader: expected MODULE:FUNCTION, such as my_package:read_mine, found {path!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"reader: {path!r} cannot be loaded ({error})") from error
    if not callable(found):
        raise ConfigurationError(f"reader: {path!r} is not a function")
    return found  # type: ignore[no-any-return]


def read_corpus(
    name: str,
    corpus: Path,
    *,
    root: Path | None = None,
    splits: Mapping[str, Path] | None = None,
    options: Mapping[str, Any] | None = None,
    texts: bool = True,
    report: Callable[[str], None] = lambda _: None,
    own: Reader | None = None,
) -> tuple[Iterator[SourceUtterance | Failure], Path]:
    """Read a corpus; return its rows and the folder of relative audio paths.

    Args:
        name: the name of the reader.
        corpus: the root of the corpus; for ``filelist``, the list.
        root: another folder for audio paths, for ``filelist`` (default: the list's folder), ``kaldi`` and ``manifest``
            (default: ``corpus``).
        splits: the ``lists`` of `with_splits`.
        options: options of the reader.
        texts: whether ``filelist`` and ``manifest`` require a column of texts.
        report: called with lines about detected columns and skipped speakers.
        own: a reader that no package registers; ``name`` is its name in the store.

    Raises:
        ConfigurationError: the reader is unknown, or does not accept ``root``.
    """
    reader = own or get_reader(name)
    if root is not None and name not in _WITH_ROOT:
        raise ConfigurationError(
            f"root: only {', '.join(_WITH_ROOT)} accept it; recordings of {name!r} are below the corpus"
        )
    options = options or {}
    if name == "filelist":
        # The reader's ids are paths relative to the root.
        root = root or corpus.parent
        options = {**options, "root": root}
    if name == "manifest":
        options = {**options, "root": root}
    if name in _WITHOUT_TEXTS:
        options = {**options, "texts": texts}
    if name in _WITH_REPORT:
        options = {**options, "report": report}
    items = reader(corpus, **options)
    return with_splits(items, splits) if splits else items, root or corpus


def corpus_languages(name: str, corpus: Path, options: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Return the languages of a corpus if its reader knows them without reading rows, otherwise ().

    Args:
        name: the name of the reader.
        corpus: the root of the corpus.
        options: options of the reader.

    Raises:
        CorpusError: the reader does not recognize the corpus.
    """
    if name == "css10":
        subsets = (options or {}).get("subsets")
        return tuple(code for code in css10_languages(corpus) if not subsets or code in subsets)
    return (_LANGUAGES[name],) if name in _LANGUAGES else ()
