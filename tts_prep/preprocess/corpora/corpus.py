"""The record of a corpus, and corpora by name: own ones, other packages' ones, and by the layout of their folders."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from tts_prep import doors
from tts_prep.errors import ConfigurationError
from tts_prep.format.records.failures import Failure
from tts_prep.format.records.provenance import Provenance
from tts_prep.preprocess.corpora.lines import with_splits
from tts_prep.preprocess.option import Option
from tts_prep.preprocess.source_utterance import SourceUtterance

Reader: TypeAlias = Callable[..., Iterator[SourceUtterance | Failure]]
"""A function from the path of a corpus and options to its utterances, in a deterministic order.

A reader that has the keywords ``root`` (a folder, or None), ``texts`` (whether rows need texts) or ``report`` (a
function of a line to print) receives them.
"""

Languages: TypeAlias = Callable[[Path, Mapping[str, Any]], Sequence[str]]
"""A function from the path of a corpus and its options to its languages."""


@dataclass(frozen=True)
class Corpus:
    r"""A corpus that ``tts-prep NAME`` reads.

    Attributes:
        name: the name of the command and of the reader in the store.
        read: the reader.
        help: the help of the command: a sentence, then paragraphs; ``\b`` above a paragraph keeps its line breaks.
        options: the options of the reader, whose values become part of the store's configuration.
        languages: the codes of its languages if they are known without reading rows, or a function that returns them.
        root: the help of ``--root``, the folder of relative audio paths; empty if recordings are below the corpus.
        texts: whether its recordings have texts.
        layout: alternatives of patterns by which its folder is recognized; all patterns of an alternative must match.
        source: the path of the corpus in the help: ``CORPUS`` for a folder, otherwise such as ``FILE``.
        licences: a file or folder of it, such as ``.`` → the licence under which that version is published.
        origin: where its recordings and texts come from.
        sources: for a corpus that is given by several paths, a function that returns their folder, and the options of
            the reader that name them.
    """

    name: str
    read: Reader
    help: str
    options: tuple[Option, ...] = ()
    languages: tuple[str, ...] | Languages = ()
    root: str = ""
    texts: bool = True
    layout: tuple[tuple[str, ...], ...] = ()
    source: str = "CORPUS"
    licences: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    sources: Callable[[Sequence[Path]], tuple[Path, dict[str, Any]]] | None = None

    def __post_init__(self) -> None:
        for option in self.options:
            if option.kind is Path:
                raise ConfigurationError(
                    f"corpus {self.name!r}: option {option.name!r}: a store contains no paths; use str, such as a path "
                    "relative to the corpus"
                )

    @property
    def is_folder(self) -> bool:
        """Whether its path is that of a folder."""
        return self.source == "CORPUS"

    def provenance(self, corpus: Path) -> Provenance:
        """Return licence and origin as the corpus is published."""
        return Provenance(next((of for name, of in self.licences.items() if (corpus / name).exists()), ""), self.origin)

    def rows(
        self,
        corpus: Path,
        options: Mapping[str, Any],
        *,
        root: Path | None = None,
        texts: bool = True,
        report: Callable[[str], None] = lambda _: None,
    ) -> Iterator[SourceUtterance | Failure]:
        """Call the reader with options, and with those of the other arguments that it accepts."""
        offered = {"root": root, "texts": texts, "report": report}
        accepted = _keywords(self.read)
        return self.read(corpus, **options, **{name: value for name, value in offered.items() if name in accepted})

    def languages_of(self, corpus: Path, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the languages of a corpus if they are known without reading rows, otherwise ().

        Raises:
            CorpusError: the corpus is not recognized.
        """
        return tuple(self.languages(corpus, options)) if callable(self.languages) else self.languages


def corpus_of(name: str, found: Corpus | Reader) -> Corpus:
    """Return the record of a corpus, also for a plain function of its path."""
    if isinstance(found, Corpus):
        return found
    return Corpus(name, found, f"Make STORE of CORPUS, with the reader '{name}' of another package.")


def _keywords(read: Reader) -> frozenset[str]:
    """Return the names of a reader's parameters but the first, which is the path."""
    try:
        parameters = list(inspect.signature(read).parameters.values())[1:]
    except (TypeError, ValueError):
        return frozenset()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return frozenset(parameter.name for parameter in parameters if parameter.kind in kinds)


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
