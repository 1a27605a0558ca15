"""Several frontends in one corpus, selected by language, with a common table of symbols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tts_prep.errors import TextError
from tts_prep.preprocess.text.frontends.frontend import (
    UNKNOWN_SYMBOLS,
    Frontend,
    VocabFrontend,
    join_symbols,
)
from tts_prep.preprocess.text.language_codes import subtags
from tts_prep.preprocess.text.vocab import Vocab


class ByLanguageFrontend(VocabFrontend):
    """Selects the frontend by the language of each text. Phonemes as text are symbols separated by spaces.

    Args:
        frontends: frontends by language; ``""`` for all other languages. A code without a region, such as ``zh``,
            includes all of its regions.
        language: the language of texts without a language in the corpus.
        vocab: the common vocabulary. None uses the table of the first frontend, followed by the missing symbols of the
            others.
        unknown: the treatment of symbols that are not in the vocabulary.
    """

    def __init__(
        self, frontends: Mapping[str, Frontend], language: str, vocab: Vocab | None = None, unknown: str = "error"
    ) -> None:
        self._frontends = dict(frontends)
        self.language = language
        super().__init__(vocab or _shared([frontend.vocab for frontend in frontends.values()]), None, unknown, None)
        self.spaced = True

    def _of(self, language: str | None) -> tuple[Frontend, str]:
        code = language or self.language
        for key in (code, subtags(code)[0], ""):
            if key in self._frontends:
                return self._frontends[key], code
        raise TextError(f"no frontend for the language {code!r}; given are {', '.join(self._frontends)}")

    def normalize(self, text: str, language: str | None = None) -> str:
        """Normalize a text with the frontend of its language.

        Raises:
            TextError: there is no frontend for the language.
        """
        frontend, code = self._of(language)
        return frontend.normalize(text, code)

    def phoneticize(self, text: str, language: str | None = None) -> str:
        """Return the symbols of a text, separated by spaces.

        Raises:
            TextError: there is no frontend for the language, or the frontend raised the error.
        """
        frontend, code = self._of(language)
        return join_symbols(frontend.split(frontend.phoneticize(text, code)))

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield unknown symbols, and further remarks of the frontend of the language."""
        yield from super().remarks(text, phonemes, language)
        frontend, code = self._of(language)
        yield from (remark for remark in frontend.remarks(text, phonemes, code) if remark[0] != UNKNOWN_SYMBOLS)

    def software(self) -> dict[str, str]:
        """Return names and versions of the software of all frontends."""
        return {name: version for frontend in self._frontends.values() for name, version in frontend.software().items()}


def _shared(vocabs: list[Vocab]) -> Vocab:
    """Return the table of the first vocabulary, followed by the missing symbols of the others."""
    first, *others = vocabs
    symbols = list(first.symbols)
    known = set(symbols)
    for vocab in others:
        for symbol in vocab.symbols:
            if symbol not in known and symbol not in vocab.specials:
                known.add(symbol)
                symbols.append(symbol)
    return Vocab(
        symbols,
        first.pad_symbol,
        unk=first.unk_symbol,
        start=first.start_symbol,
        end=first.end_symbol,
        blank=first.blank_symbol,
    )
