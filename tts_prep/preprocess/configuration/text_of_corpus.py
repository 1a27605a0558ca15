"""Settings of texts that follow from the corpus."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.registry import get_corpus, read_corpus
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.preprocess.text.frontends.plain import NO_PHONEMES
from tts_prep.preprocess.text.frontends.registry import ANY_LANGUAGE, default_frontend
from tts_prep.preprocess.text.language_codes import subtags

_FIRST: Final = 100
"""The number of rows of which one has the column of languages, if there is any."""


def text_of_corpus(
    name: str,
    corpus: Path,
    options: Mapping[str, Any] | None = None,
    *,
    root: Path | None = None,
    limit: int | None = None,
) -> dict[str, str]:
    """Return settings of `TextConfig`: the language of a corpus, or a frontend for each of its languages.

    They are those that the corpus always has, or the languages of all its rows. A corpus without texts has the frontend
    ``none``.

    Args:
        name: the name of the corpus.
        corpus: the root of the corpus.
        options: the options of the reader.
        root: the folder of relative audio paths.
        limit: the maximum number of rows to read; None reads all.

    Raises:
        CorpusError: the reader does not recognize the corpus.
    """
    found = get_corpus(name)
    if not found.texts:
        return {"frontend": NO_PHONEMES}
    languages = found.languages_of(corpus, options or {})
    if not languages:
        # Settings are checked first; rows that cannot be read are an error when they are read for the store.
        with contextlib.suppress(CorpusError):
            items, _ = read_corpus(name, corpus, root=root, options=options, texts=False)
            languages = tuple(_languages(itertools.islice(items, limit)))
    return _text_of(languages)


def _languages(items: Iterable[SourceUtterance | Failure]) -> list[str]:
    """Return the languages of rows, most frequent first; none if the first rows have no column of languages."""
    rows = (row for row in items if isinstance(row, SourceUtterance))
    first = list(itertools.islice(rows, _FIRST))
    if not any("language" in row.meta for row in first):
        return []
    counts = Counter(row.language for row in itertools.chain(first, rows) if row.language)
    return sorted(counts, key=lambda code: (-counts[code], code))


def _text_of(languages: Sequence[str]) -> dict[str, str]:
    """Return the settings for texts in some languages; a text without a language is in the first of them."""
    if not languages:
        return {}
    others = [code for code in languages if default_frontend(code) == ANY_LANGUAGE]
    frontends = {code: default_frontend(code) for code in languages if code not in others}
    if len(set(frontends.values())) == 1 and not others:
        return {"language": languages[0]}
    language = _main_language(others) if others else languages[0]
    if not frontends:
        return {"language": language}
    named = [f"{code}={frontend}" for code, frontend in frontends.items()]
    return {"frontend": ",".join([ANY_LANGUAGE, *named]), "language": language}


def _main_language(languages: Sequence[str]) -> str:
    """Return the first language that has a voice, but another than English if there is one.

    It selects the table of symbols: that of English texts lacks symbols of other languages.
    """
    if len(languages) == 1:
        return languages[0]
    # Imported late, because it loads espeak-ng.
    from tts_prep.preprocess.text.frontends.espeak import is_spoken

    spoken = [code for code in languages if is_spoken(code)] or languages
    return next((code for code in spoken if subtags(code)[0] != "en"), spoken[0])
