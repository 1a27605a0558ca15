"""The readers by name: ours, and those that other packages register."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from tts_prep.errors import ConfigurationError
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
from tts_prep.preprocess.corpora.splits import with_splits
from tts_prep.preprocess.corpora.utterance import Failure, Utterance
from tts_prep.preprocess.corpora.vctk import read_vctk

Reader: TypeAlias = Callable[..., Iterator[Utterance | Failure]]
"""From the root of a corpus, a `pathlib.Path`, and options to its utterances, in an order that is always the same."""


def _read_manifest(corpus: Path, **options: Any) -> Iterator[Utterance | Failure]:
    # Readers of archives and tables, which every worker process would load too.
    from tts_prep.preprocess.corpora.manifests import read_manifest

    return read_manifest(corpus, **options)


ENTRY_POINTS: Final = "tts_prep.corpora"
"""The group of entry points under which other packages register readers."""

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


def third_party_readers() -> Mapping[str, importlib.metadata.EntryPoint]:
    """Return the readers that other packages register, by name, not loaded yet; ours keep their names."""
    found = importlib.metadata.entry_points(group=ENTRY_POINTS)
    return {point.name: point for point in sorted(found, key=lambda point: point.name) if point.name not in READERS}


def get_reader(name: str) -> Reader:
    """Return a reader.

    Raises:
        ConfigurationError: there is none of that name, or its package cannot be loaded.
    """
    if name in READERS:
        return READERS[name]
    others = third_party_readers()
    if name not in others:
        raise ConfigurationError(f"corpus: expected one of {', '.join((*READERS, *others))}, found {name!r}")
    try:
        reader: Any = others[name].load()
    except Exception as error:
        raise ConfigurationError(
            f"corpus: the reader {name!r} of {others[name].value} cannot be loaded ({error})"
        ) from error
    if not callable(reader):
        raise ConfigurationError(f"corpus: the reader {name!r} of {others[name].value} is not a function")
    return reader  # type: ignore[no-any-return]


def read_corpus(
    name: str,
    corpus: Path,
    *,
    root: Path | None = None,
    splits: Mapping[str, Path] | None = None,
    options: Mapping[str, Any] | None = None,
    texts: bool = True,
    report: Callable[[str], None] = lambda _: None,
) -> tuple[Iterator[Utterance | Failure], Path]:
    """Return the rows of a corpus, and the folder that its relative audio paths are relative to.

    Args:
        name: of the reader.
        corpus: the root of the corpus; for ``filelist``, the list.
        root: another folder for audio paths, for ``filelist`` (default: the list's), ``kaldi`` and ``manifest``
            (default: CORPUS).
        splits: as `with_splits` has it.
        options: of the reader.
        texts: whether recordings need texts; the lists of ``filelist`` and ``manifest`` may then not be without.
        report: called with lines on what the reader took for what, and on what it leaves out.

    Raises:
        ConfigurationError: there is no such reader, or it takes no other folder for audio paths.
    """
    reader = get_reader(name)
    if root is not None and name not in _WITH_ROOT:
        raise ConfigurationError(
            f"root: only {', '.join(_WITH_ROOT)} take one; recordings of {name!r} lie below the corpus"
        )
    options = options or {}
    if name == "filelist":
        # Its ids are paths relative to the root.
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
    """Return the languages of a corpus, where its reader knows them without reading its rows; else none.

    Args:
        name: of the reader.
        corpus: the root of the corpus.
        options: of the reader.

    Raises:
        CorpusError: the corpus is none of the reader's.
    """
    if name == "css10":
        wanted = (options or {}).get("subsets")
        return tuple(code for code in css10_languages(corpus) if not wanted or code in wanted)
    return (_LANGUAGES[name],) if name in _LANGUAGES else ()
