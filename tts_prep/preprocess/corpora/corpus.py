"""The record of a corpus: its reader, and what commands, detection and messages say about it."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tts_prep.errors import ConfigurationError
from tts_prep.format.records.failures import Failure
from tts_prep.format.records.provenance import Provenance
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
