"""The symbols of a corpus, as its symbol table."""

import contextlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tts_prep.errors import ConfigurationError, TextError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.make.phonemizing import reader_of, text_errors
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.preprocess.text.vocab import END, PADDING, START, UNKNOWN
from tts_prep.preprocess.workers.pool import Backend, worker_pool
from tts_prep.quantities import count_text

_CHUNK = 1000
"""The number of utterances per job."""


def with_collected_symbols(
    config: Configuration, items: Iterable[SourceUtterance | Failure], *, jobs: int = 1, backend: Backend = Backend()
) -> Configuration:
    """Return the configuration with the symbols of the corpus.

    The table is ``<pad>``, ``<unk>``, ``<s>``, ``</s>``, followed by the symbols sorted by code point. It depends only
    on the texts and the frontend, so that every part of a store (``--part``) gets the same one.

    Args:
        items: rows from a corpus reader; all of them are read.
        jobs: the number of worker processes.
        backend: where the workers run.

    Raises:
        ConfigurationError: the corpus has no symbols.
    """
    texts = [
        _Text(row.text, row.language, row.normalized, row.speaker)
        for row in itertools.islice(items, config.limit)
        if isinstance(row, SourceUtterance)
    ]
    chunks = [texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK)]
    with worker_pool(jobs, backend) as pool:
        collect = partial(_collect, config=config.text)
        symbols = set(itertools.chain(*pool.run(collect, chunks, lambda chunk: f"{len(chunk)} texts")))
    if not symbols:
        raise ConfigurationError(
            f"symbols: 'auto' found none in {count_text(len(texts), 'text')}; is the corpus empty or the frontend wrong"
        )
    specials = (PADDING, UNKNOWN, START, END)
    return replace(config, text=replace(config.text, symbols=(*specials, *sorted(symbols.difference(specials)))))


@dataclass(frozen=True)
class _Text:
    """What the symbols of an utterance depend on."""

    text: str
    language: str | None
    normalized: bool
    speaker: str


def _collect(texts: Sequence[_Text], config: TextConfig) -> set[str]:
    reader = reader_of(config)
    symbols: set[str] = set()
    for text in texts:
        # The error is reported when the shard of this row is made.
        with contextlib.suppress(TextError), text_errors(config, text.text):
            _, phonemes, _ = reader.read(text.text, text.language, text.normalized, text.speaker)
            symbols.update(reader.frontend.split(phonemes))
    return symbols
