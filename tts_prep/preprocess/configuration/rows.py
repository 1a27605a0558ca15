"""The rows of a corpus, read with the settings of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.corpora import Corpus, Failure, Reader, SourceUtterance, read_corpus


def corpus_rows(
    config: Configuration,
    corpus: Path,
    *,
    root: Path | None = None,
    splits: Mapping[str, Path] | None = None,
    report: Callable[[str], None] = lambda _: None,
    own: Corpus | Reader | None = None,
) -> tuple[Iterator[SourceUtterance | Failure], Path]:
    """Return the rows of a corpus and the folder of relative audio paths.

    Args:
        config: the configuration, which has the reader, its options, and whether rows need texts.
        corpus, root, splits, report, own: see `tts_prep.preprocess.corpora.read_corpus`.

    Raises:
        ConfigurationError: the reader is unknown, or does not accept ``root``.
    """
    return read_corpus(
        config.corpus,
        corpus,
        root=root,
        splits=splits,
        options=config.options,
        texts=config.text.has_phonemes,
        report=report,
        own=own,
    )
