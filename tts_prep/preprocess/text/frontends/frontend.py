"""The interface of text frontends, their common base class, and frontends by name or language."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tts_prep import doors
from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.text.language_codes import likely_language, subtags
from tts_prep.preprocess.text.symbols import AUTO, RecordedTable, Table, get_table
from tts_prep.preprocess.text.typography import hyphens_of_digits, loose_hyphens
from tts_prep.preprocess.text.vocab import UNKNOWN_POLICIES, OpenVocab, Vocab

UNKNOWN_SYMBOLS: Final = "unknown_symbols"
GUESSED_WORDS: Final = "words_not_in_dictionary"
UNSPOKEN_CHARACTERS: Final = "characters_not_spoken"
OTHER_LANGUAGE: Final = "parts_spoken_in_another_language"
FOREIGN_LETTERS: Final = "letters_of_another_script"
OTHER_REGION: Final = "regions_without_a_voice"
LIKELY_LANGUAGE: Final = "texts_that_seem_to_be_in_another_language"

Symbols: TypeAlias = Vocab | Table | Sequence[str]
"""A vocabulary, the table of a voice, or a list of symbols whose special symbols are recognized by name."""

SPACE: Final = "▁"
"""The representation of the symbol space in phonemes as text with symbols separated by spaces."""

PUNCTUATION_STYLES: Final = ("attached", "separate")
"""The styles of punctuation: directly after a word, or as a separate token with a space before it."""

NO_PHONEMES: Final = "none"
"""The name of the frontend for recordings without texts."""

PUNCTUATION: Final = ';:,.!?¡¿—…"«»“” '
"""The marks in StyleTTS2's and VITS's tables, and the space."""

MARKS: Final = PUNCTUATION.strip()
"""The marks that are kept; other marks of espeak-ng, such as brackets, only end a clause."""

NOT_SPOKEN: Final = frozenset(PUNCTUATION + "ˈˌ")

# A full stop inside initials ("U.S.") is not a separate token, but the last one is.
_MARK: Final = re.compile(rf" *(\.(?=[\s{re.escape(MARKS)}]|$)|[{re.escape(MARKS.replace('.', ''))}]) *")


def separate_punctuation(phonemes: str) -> str:
    """Return phonemes with spaces around every mark."""
    return " ".join(_MARK.sub(r" \1 ", phonemes).split(" ")).replace("  ", " ").strip()


class Frontend(Protocol):
    """Converts text to phonemes, and phonemes to ids.

    Results depend only on the arguments, not on earlier calls. ``language`` is the language of a text; None means that
    of the frontend.
    """

    vocab: Vocab

    def normalize(self, text: str, language: str | None = None) -> str:
        """Return the normalized text, with numbers and abbreviations expanded."""

    def phoneticize(self, text: str, language: str | None = None) -> str:
        """Return the phonemes of a normalized text, as text.

        Raises:
            TextError: there is nothing to speak, or the frontend does not support the language.
        """

    def split(self, phonemes: str) -> list[str]:
        """Split phonemes as text into symbols, including those that are not in the vocabulary."""

    def numericalize(self, phonemes: str) -> npt.NDArray[np.int32]:
        """Return the ids of phonemes, [n_phonemes] int32.

        Raises:
            TextError: a symbol is not in the vocabulary, and unknown symbols are errors.
        """

    def decode(self, ids: Iterable[int]) -> str:
        """Return ids as text: the inverse of `numericalize`."""

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterable[tuple[str, str]]:
        """Yield the remarks about a text and its phonemes that a run counts, as pairs (kind, symbol or word).

        Kinds are `UNKNOWN_SYMBOLS`, `GUESSED_WORDS`, `OTHER_LANGUAGE`, `OTHER_REGION`, `FOREIGN_LETTERS`,
        `LIKELY_LANGUAGE` and `UNSPOKEN_CHARACTERS`, characters of the text without any phoneme.
        """

    def software(self) -> dict[str, str]:
        """Return names and versions of the software that determines results, apart from this package."""


class VocabFrontend:
    """Base class of frontends with a vocabulary: converts phonemes as text to ids and back.

    In phonemes as text, symbols follow each other without separators and are split by the longest match. If ``spaced``
    is set, symbols are separated by spaces, and ``▁`` is the symbol space. If ``reads_marks`` is set, texts come with
    marks such as ``<b>``.

    Args:
        default: the default vocabulary.
        symbols: another vocabulary or table; None uses the default.
        unknown: the treatment of symbols that are not in the vocabulary: one of `UNKNOWN_POLICIES`.
        punctuation: one of `PUNCTUATION_STYLES`; None uses the first.

    Raises:
        ConfigurationError: an option is invalid, or the vocabulary does not support it.
    """

    def __init__(
        self, default: Vocab, symbols: Symbols | None = None, unknown: str = "error", punctuation: str | None = None
    ) -> None:
        vocab = Vocab.from_table(symbols) if symbols else default
        check_unknown(vocab, unknown)
        check_choice("punctuation", punctuation or PUNCTUATION_STYLES[0], PUNCTUATION_STYLES)
        self.vocab = vocab
        self.unknown = unknown
        self.spaced = False
        self.reads_marks = False
        self.separate = punctuation == "separate"

    def normalize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Return the text unchanged."""
        return text

    def numericalize(self, phonemes: str) -> npt.NDArray[np.int32]:
        """Return the ids of phonemes, [n_phonemes] int32.

        Raises:
            TextError: a symbol is not in the vocabulary, and unknown symbols are errors.
        """
        return self.vocab.encode(self.split(phonemes), self.unknown)

    def split(self, phonemes: str) -> list[str]:
        """Split phonemes as text into symbols."""
        return split_symbols(phonemes) if self.spaced else self.vocab.split(phonemes)

    def decode(self, ids: Iterable[int]) -> str:
        """Return ids as text."""
        symbols = self.vocab.decode(ids)
        return join_symbols(symbols) if self.spaced else "".join(symbols)

    def remarks(
        self,
        text: str,  # noqa: ARG002
        phonemes: str,
        language: str | None = None,  # noqa: ARG002
    ) -> Iterable[tuple[str, str]]:
        """Yield the unknown symbols of the phonemes."""
        return ((UNKNOWN_SYMBOLS, symbol) for symbol in self.vocab.unknown(self.split(phonemes)))

    def software(self) -> dict[str, str]:
        """Return {}: no other package is used."""
        return {}


def remarks_of_script(text: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield the remarks about a text of a language without spaces: its likely language, and hyphens, which are silent.

    Args:
        text: the normalized text.
        language: Japanese or Mandarin.
    """
    if likely := likely_language(text, language):
        yield LIKELY_LANGUAGE, likely
    yield from [(UNSPOKEN_CHARACTERS, sign) for sign in (*loose_hyphens(text), *hyphens_of_digits(text))]


@cache
def made_once(kind: Callable[[], Any]) -> Any:
    """Return the object of a class that reads a dictionary when it is made: a run creates several frontends."""
    return kind()


def split_symbols(text: str) -> list[str]:
    """Split symbols separated by spaces."""
    return [" " if symbol == SPACE else symbol for symbol in text.split(" ")] if text else []


def join_symbols(symbols: Iterable[str]) -> str:
    """Join symbols by spaces: the inverse of `split_symbols`."""
    return " ".join(SPACE if symbol == " " else symbol for symbol in symbols)


def check_unknown(vocab: Vocab, unknown: str) -> None:
    """Check that a policy for unknown symbols exists, and that the vocabulary supports it.

    Raises:
        ConfigurationError: it does not.
    """
    check_choice("unknown", unknown, UNKNOWN_POLICIES)
    if unknown == "unk" and vocab.unk_symbol is None:
        raise ConfigurationError(
            "unknown: 'unk' needs a vocabulary with a symbol for unknown symbols, which this one does not have; "
            "add '<unk>' to your own table, or choose 'error' or 'drop'"
        )


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Check that a value is one of the choices.

    Raises:
        ConfigurationError: it is not.
    """
    if value not in choices:
        near = difflib.get_close_matches(value, choices, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigurationError(f"{name}: expected one of {', '.join(choices)}, found {value!r}{hint}")


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
    name = name or default_frontend(language or "en-us")
    is_tokenizer = isinstance(symbols, RecordedTable) and symbols.is_tokenizer
    if is_tokenizer and name != "tokenizer":
        raise ConfigurationError(f"frontend: a tokenizer reads all texts, without {name!r}")
    is_mixed = "," in name or "=" in name
    make = doors.need("mixed", "frontend") if is_mixed else find_frontend(name)
    if isinstance(symbols, str):
        table = None if symbols == AUTO else get_table(symbols)
        symbols = Vocab.from_table(table) if table else OpenVocab()
    if is_mixed:
        frontend: Frontend = make(name, language or "en-us", symbols, unknown, punctuation)
    else:
        given = {} if is_tokenizer else {"unknown": unknown, "punctuation": punctuation}
        spoken = {} if is_tokenizer or language is None else {"language": language}
        frontend = make(symbols=symbols, **given, **spoken)
    if ends is not None or blanks is not None:
        frontend.vocab = frontend.vocab.arranged(ends=ends, blanks=blanks)
    return frontend


def find_frontend(name: str) -> Callable[..., Frontend]:
    """Return the class or function that makes the frontend of a name."""
    rows = doors.rows("frontends")
    if name not in rows:
        rows = {**rows, **doors.others("frontends")}
        check_choice("frontend", name, tuple(rows))
    made: Callable[..., Frontend] = doors.load("frontends", rows[name], "frontend:", expected="a class or function")
    return made
