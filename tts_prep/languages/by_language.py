"""Several frontends for the texts of one corpus."""

from collections.abc import Iterator, Mapping
from typing import Any

from tts_prep.errors import ConfigurationError, TextError
from tts_prep.preprocess.text.frontends import frontend as frontends
from tts_prep.preprocess.text.language_codes import subtags
from tts_prep.preprocess.text.symbols import get_table
from tts_prep.preprocess.text.vocab import OpenVocab, Vocab


class ByLanguageFrontend(frontends.VocabFrontend):
    """Selects the frontend by the language of each text. Phonemes as text are symbols separated by spaces.

    Args:
        by_code: frontends by language; ``""`` for all other languages. A code without a region, such as ``zh``,
            includes all of its regions.
        language: the language of texts without a language in the corpus.
        vocab: the common vocabulary. None uses the table of the first frontend, followed by the missing symbols of the
            others.
        unknown: the treatment of symbols that are not in the vocabulary.
    """

    def __init__(
        self,
        by_code: Mapping[str, frontends.Frontend],
        language: str,
        vocab: Vocab | None = None,
        unknown: str = "error",
    ) -> None:
        self._frontends = dict(by_code)
        self.language = language
        super().__init__(vocab or _shared([frontend.vocab for frontend in by_code.values()]), None, unknown, None)
        self.spaced = True

    def _of(self, language: str | None) -> tuple[frontends.Frontend, str]:
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
        return frontends.join_symbols(frontend.split(frontend.phoneticize(text, code)))

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield unknown symbols, and further remarks of the frontend of the language."""
        yield from super().remarks(text, phonemes, language)
        frontend, code = self._of(language)
        yield from (
            remark for remark in frontend.remarks(text, phonemes, code) if remark[0] != frontends.UNKNOWN_SYMBOLS
        )

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


def by_language(
    names: str, language: str, symbols: frontends.Symbols | None, unknown: str, punctuation: str | None
) -> ByLanguageFrontend:
    """Return a frontend of several; for the arguments, see `get_frontend`.

    Raises:
        ConfigurationError: the names say nothing clear, or one does not exist.
    """
    vocab = Vocab.from_table(symbols) if symbols else None
    by_code: dict[str, frontends.Frontend] = {}
    for piece in names.split(","):
        code, equals, name = (text.strip() for text in piece.rpartition("="))
        if code in by_code or not name or (equals and not code):
            raise ConfigurationError(
                f"frontend: expected names separated by commas, all but one with a language, as in "
                f"'espeak,zh=mandarin', found {names!r}"
            )
        options: dict[str, Any] = {"language": code or language, "unknown": "drop", "punctuation": punctuation}
        # Frontends with spaces between symbols use the common table; others are split by their own table.
        frontend = frontends.find_frontend(name)(**options, symbols=vocab)
        if vocab is None or not (isinstance(vocab, OpenVocab) or getattr(frontend, "spaced", False)):
            own = get_table("espeak") if name == frontends.ANY_LANGUAGE else None
            frontend = frontends.find_frontend(name)(**options, symbols=own and Vocab.from_table(own))
            frontend.vocab.preparation = vocab.preparation if own and vocab else frontend.vocab.preparation
        by_code[code] = frontend
    return ByLanguageFrontend(by_code, language, vocab, unknown)
