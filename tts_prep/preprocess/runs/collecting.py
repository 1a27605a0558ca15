"""The symbols of a corpus, collected before its store is begun: ``--symbols auto``."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from tts_prep.errors import ConfigurationError, TextError
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.corpora.utterance import Failure, Utterance
from tts_prep.preprocess.runs.phonemizing import frontend_of, phoneticize
from tts_prep.preprocess.runs.plan import first_rows
from tts_prep.preprocess.text.symbols import AUTO
from tts_prep.preprocess.text.vocab import END, PADDING, START, UNKNOWN
from tts_prep.preprocess.workers.cluster import Backend
from tts_prep.preprocess.workers.processes import worker_pool
from tts_prep.quantities import count_text

_CHUNK = 1000
"""Utterances that one job phonemizes."""


def with_collected_symbols(
    config: Configuration, items: Iterable[Utterance | Failure], *, jobs: int = 1, backend: Backend = Backend()
) -> Configuration:
    """Return a configuration whose symbols are those of the corpus, where it asks for ``"auto"``; else as it is.

    The table is ``<pad>``, ``<unk>``, ``<s>``, ``</s>``, and then the symbols in the order of their code points. It
    depends on the texts and the frontend only, so every part of a store (``--part``) gets the same one.

    Args:
        items: from a corpus reader; all of them are read.
        jobs: worker processes.
        backend: where they run.

    Raises:
        ConfigurationError: no row has a text that gives symbols.
    """
    if config.text.symbols != AUTO:
        return config
    texts = [
        (row.text, row.language, row.normalized)
        for row in first_rows(items, config.limit)
        if isinstance(row, Utterance)
    ]
    chunks = [texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK)]
    with worker_pool(min(jobs, len(chunks)) or 1, backend, None) as pool:
        collect = partial(_collect, config=config.text)
        found = set(itertools.chain(*pool.run(collect, chunks, lambda chunk: f"{len(chunk)} texts")))
    if not found:
        raise ConfigurationError(
            f"symbols: 'auto' found none in {count_text(len(texts), 'text')}; is the corpus empty or the frontend wrong"
        )
    specials = (PADDING, UNKNOWN, START, END)
    return replace(config, text=replace(config.text, symbols=(*specials, *sorted(found.difference(specials)))))


def _collect(texts: Sequence[tuple[str, str | None, bool]], config: TextConfig) -> set[str]:
    frontend = frontend_of(config)
    found: set[str] = set()
    for text, language, normalized in texts:
        # The shard of such a row says what is wrong with it.
        with contextlib.suppress(TextError):
            found.update(frontend.split(phoneticize(text, config, language=language, normalized=normalized)[1]))
    return found
