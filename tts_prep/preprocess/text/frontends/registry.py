"""The text frontends by name, or by language; each, also of another package, is imported on first use."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tts_prep import doors
from tts_prep.errors import ConfigurationError, TextError
from tts_prep.preprocess.text.frontends.frontend import (
    UNKNOWN_SYMBOLS,
    Frontend,
    Symbols,
    VocabFrontend,
    check_choice,
    join_symbols,
)
from tts_prep.preprocess.text.language_codes import subtags
from tts_prep.preprocess.text.symbols import AUTO, RecordedTable, get_table
from tts_prep.preprocess.text.vocab import OpenVocab, Vocab


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


ANY_LANGUAGE: Final = "espeak"
"""The default frontend of languages without another default."""


def default_frontend(language: str) -> str:
    """Return the name of the default frontend of a language."""
    code, *more = subtags(language)
    if {"hk", "mo", "yue", "latn"}.intersection(more):
        return ANY_LANGUAGE
    return next((row.name for row in doors.rows("frontends").values() if code in row.keys), ANY_LANGUAGE)


def get_frontend(
    name: str | None = None,
    *,
    language: str | None = None,
    symbols: str | Symbols | RecordedTable | None = None,
    unknown: str = "error",
    punctuation: str | None = None,
    ends: bool | None = None,
    blanks: str | None = None,
) -> Frontend:
    """Create a frontend.

    Example:
        >>> from tts_prep.preprocess import get_frontend
        >>> frontend = get_frontend("characters")
        >>> phonemes = frontend.phoneticize(frontend.normalize("Why not?"))
        >>> ids = frontend.numericalize(phonemes)
        >>> frontend.decode(ids)
        'why not?'

    Args:
        name: one of those of 'tts-prep frontends'; None uses the default of the language. For a corpus of
            several languages, a list such as ``"espeak,zh=mandarin-ipa,ja=japanese"``: each frontend is used for the
            language before it, the one without a language for all others; they share one table.
        language: the language of texts without a language; None uses the frontend's default.
        symbols: the name of a table, a `Vocab`, a list of symbols in the order of ids, or the file of a tokenizer; None
            uses the frontend's default. With ``"auto"``, all symbols are accepted, and `Frontend.split` returns those
            to collect.
        unknown: the treatment of symbols that are not in the vocabulary: one of `UNKNOWN_POLICIES`.
        punctuation: one of `PUNCTUATION_STYLES`; None uses the frontend's default.
        ends: add the table's start and end symbols to every text; None does so if the table's system does.
        blanks: the placement of blanks between ids: ``"none"``, ``"between"`` or ``"around"``.

    Raises:
        ConfigurationError: there is no frontend of that name, or an option is invalid.
        MissingPackageError: the frontend's package is not installed.
    """
    if isinstance(symbols, str):
        symbols = OpenVocab() if symbols == AUTO else Vocab.from_table(get_table(symbols))
    name = name or default_frontend(language or "en-us")
    table: Any = symbols
    is_tokenizer = isinstance(symbols, RecordedTable) and symbols.is_tokenizer
    if is_tokenizer and name != "tokenizer":
        raise ConfigurationError(f"frontend: a tokenizer reads all texts, without {name!r}")
    if is_tokenizer:
        frontend: Frontend = _find(name)(symbols=table)
    elif "," in name or "=" in name:
        frontend = _by_language(name, language or "en-us", table, unknown, punctuation)
    else:
        spoken = {} if language is None else {"language": language}
        frontend = _find(name)(**spoken, symbols=symbols, unknown=unknown, punctuation=punctuation)
    if ends is not None or blanks is not None:
        frontend.vocab = frontend.vocab.arranged(ends=ends, blanks=blanks)
    return frontend


def _by_language(
    names: str, language: str, symbols: Symbols | None, unknown: str, punctuation: str | None
) -> ByLanguageFrontend:
    vocab = Vocab.from_table(symbols) if symbols else None
    frontends: dict[str, Frontend] = {}
    for piece in names.split(","):
        code, equals, name = (text.strip() for text in piece.rpartition("="))
        if code in frontends or not name or (equals and not code):
            raise ConfigurationError(
                f"frontend: expected names separated by commas, all but one with a language, as in "
                f"'espeak,zh=mandarin', found {names!r}"
            )
        options: dict[str, Any] = {"language": code or language, "unknown": "drop", "punctuation": punctuation}
        # Frontends with spaces between symbols use the common table; others are split by their own table.
        frontend = _find(name)(**options, symbols=vocab)
        if vocab is None or not (isinstance(vocab, OpenVocab) or getattr(frontend, "spaced", False)):
            own = get_table("espeak") if name == ANY_LANGUAGE else None
            frontend = _find(name)(**options, symbols=own and Vocab.from_table(own))
            frontend.vocab.preparation = vocab.preparation if own and vocab else frontend.vocab.preparation
        frontends[code] = frontend
    return ByLanguageFrontend(frontends, language, vocab, unknown)


def _find(name: str) -> Callable[..., Frontend]:
    rows = doors.rows("frontends")
    if name not in rows:
        rows = {**rows, **doors.others("frontends")}
        check_choice("frontend", name, tuple(rows))
    made: Callable[..., Frontend] = doors.load("frontends", rows[name], "frontend:", expected="a class or function")
    return made
