"""Settings of texts that follow from the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tts_prep.preprocess.corpora import get_corpus
from tts_prep.preprocess.text.frontends.none import NO_PHONEMES
from tts_prep.preprocess.text.frontends.registry import ANY_LANGUAGE, default_frontend


def text_of_corpus(name: str, corpus: Path, options: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return settings of `TextConfig`: the language of a corpus, or a frontend for each of its languages.

    A corpus without texts has the frontend ``none``.

    Args:
        name: the name of the corpus.
        corpus: the root of the corpus.
        options: the options of the reader.

    Raises:
        CorpusError: the reader does not recognize the corpus.
    """
    found = get_corpus(name)
    if not found.texts:
        return {"frontend": NO_PHONEMES}
    languages = found.languages_of(corpus, options or {})
    if len(languages) < 2:
        return {"language": languages[0]} if languages else {}
    others = [code for code in languages if default_frontend(code) == ANY_LANGUAGE]
    named = [f"{code}={default_frontend(code)}" for code in languages if code not in others]
    return {"frontend": ",".join([ANY_LANGUAGE, *named]), "language": (others or languages)[0]}
