"""The text frontends by name, including those of other packages. Each is imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tts_prep import doors
from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.text.frontends.by_language import ByLanguageFrontend
from tts_prep.preprocess.text.frontends.frontend import Frontend, Symbols, check_choice
from tts_prep.preprocess.text.language_codes import subtags
from tts_prep.preprocess.text.symbols import AUTO, get_table
from tts_prep.preprocess.text.vocab import OpenVocab, Vocab

ANY_LANGUAGE: Final = "espeak"
"""The default frontend of languages without another default."""


def default_frontend(language: str) -> str:
    """Return the name of the default frontend of a language."""
    code, *more = subtags(language)
    if {"hk", "latn"}.intersection(more):
        return ANY_LANGUAGE
    return next((row.name for row in doors.rows("frontends").values() if code in row.keys), ANY_LANGUAGE)


def get_frontend(
    name: str | None = None,
    *,
    language: str | None = None,
    symbols: str | Symbols | None = None,
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
        symbols: the name of a table, a `Vocab`, or a list of symbols in the order of ids; None uses the frontend's
            default. With ``"auto"``, all symbols are accepted, and `Frontend.split` returns those to collect.
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
    if "," in name or "=" in name:
        frontend: Frontend = _by_language(name, language or "en-us", symbols, unknown, punctuation)
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
        frontends[code] = frontend
    return ByLanguageFrontend(frontends, language, vocab, unknown)


def _find(name: str) -> Callable[..., Frontend]:
    rows = doors.rows("frontends")
    if name not in rows:
        rows = {**rows, **doors.others("frontends")}
        check_choice("frontend", name, tuple(rows))
    made: Callable[..., Frontend] = doors.load("frontends", rows[name], "frontend:", expected="a class or function")
    return made
