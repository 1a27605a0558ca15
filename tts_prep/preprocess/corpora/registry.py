"""Corpora by name, built-in ones and those of other packages, and by the layout of their folders."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tts_prep import doors
from tts_prep.errors import ConfigurationError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus, Reader, corpus_of
from tts_prep.preprocess.corpora.lines import with_splits
from tts_prep.preprocess.source_utterance import SourceUtterance


class _Corpora(Mapping[str, Corpus]):
    """The corpora of this package by name, in the order of the help. A corpus is imported when it is taken."""

    def __getitem__(self, name: str) -> Corpus:
        corpus: Corpus = doors.rows("corpora")[name].load()
        return corpus

    def __contains__(self, name: object) -> bool:
        return name in doors.rows("corpora")

    def __iter__(self) -> Iterator[str]:
        return iter(doors.rows("corpora"))

    def __len__(self) -> int:
        return len(doors.rows("corpora"))


CORPORA: Final[Mapping[str, Corpus]] = _Corpora()
"""The corpora of this package by name."""


def get_corpus(name: str) -> Corpus:
    """Return a corpus by name.

    Raises:
        ConfigurationError: the name is unknown, or the corpus's package cannot be loaded.
    """
    if name in CORPORA:
        return CORPORA[name]
    others = doors.others("corpora")
    if name not in others:
        raise ConfigurationError(
            f"corpus: expected one of {', '.join((*CORPORA, *others))}, found {name!r}; give a function of your own by "
            "--reader MODULE:FUNCTION"
        )
    found = doors.load("corpora", others[name], "corpus: the reader", _is_corpus, "a Corpus or a function")
    return replace(corpus_of(name, found), name=name)


def all_corpora() -> list[Corpus]:
    """Return the built-in corpora, and those of other packages that can be loaded."""
    others = map(_loadable, doors.others("corpora"))
    return [*CORPORA.values(), *(corpus for corpus in others if corpus)]


def _loadable(name: str) -> Corpus | None:
    try:
        return get_corpus(name)
    except ConfigurationError:
        # Its own command prints the error.
        return None


def import_reader(path: str) -> Corpus | Reader:
    """Return the function or `Corpus` that ``MODULE:NAME`` names; the working directory is searched too.

    Raises:
        ConfigurationError: there is none.
    """
    module, colon, name = path.partition(":")
    if not (module and colon and name):
        raise ConfigurationError(f"reader: expected MODULE:FUNCTION, such as my_package:read_mine, found {path!r}")
    found = doors.import_named(path, "reader")
    if not _is_corpus(found):
        raise ConfigurationError(f"reader: {path!r} is not a function")
    return found  # type: ignore[no-any-return]


def _is_corpus(found: object) -> bool:
    return isinstance(found, Corpus) or callable(found)


def read_corpus(
    name: str,
    corpus: Path,
    *,
    root: Path | None = None,
    splits: Mapping[str, Path] | None = None,
    options: Mapping[str, Any] | None = None,
    texts: bool = True,
    report: Callable[[str], None] = lambda _: None,
    own: Corpus | Reader | None = None,
) -> tuple[Iterator[SourceUtterance | Failure], Path]:
    """Read a corpus; return its rows and the folder of relative audio paths.

    Example:
        >>> from pathlib import Path
        >>> from tts_prep.preprocess import read_corpus
        >>> rows, root = read_corpus("ljspeech", Path("LJSpeech-1.1"))
        >>> [(row.id, row.text) for row in rows][0]
        ('LJ001-0001', 'Why not?')

    Args:
        name: the name of the corpus.
        corpus: the root of the corpus, or its list.
        root: another folder for audio paths, for corpora that have this option. Default: the folder of the corpus.
        splits: the ``lists`` of `with_splits`.
        options: options of the reader.
        texts: whether rows need texts, for readers that can do without.
        report: called with lines about detected columns and skipped speakers.
        own: a reader or corpus that no package registers; ``name`` is its name in the store.

    Raises:
        ConfigurationError: the corpus is unknown, or does not accept ``root``.
    """
    found = get_corpus(name) if own is None else corpus_of(name, own)
    if root is not None and not found.root:
        accepting = ", ".join(other.name for other in all_corpora() if other.root)
        raise ConfigurationError(f"root: only {accepting} accept it; recordings of {name!r} are below the corpus")
    items = found.rows(corpus, options or {}, root=root, texts=texts, report=report)
    folder = root or (corpus.parent if corpus.is_file() else corpus)
    return with_splits(items, splits) if splits else items, folder
