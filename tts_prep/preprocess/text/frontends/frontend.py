"""The interface of text frontends, and their common base class."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.text.language_codes import likely_language
from tts_prep.preprocess.text.symbols import Table
from tts_prep.preprocess.text.typography import hyphens_of_digits, loose_hyphens
from tts_prep.preprocess.text.vocab import UNKNOWN_POLICIES, Vocab

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
        symbols: another vocabulary or table.
        unknown: the treatment of symbols that are not in the vocabulary: one of `UNKNOWN_POLICIES`.
        punctuation: one of `PUNCTUATION_STYLES`; None uses the first.

    Raises:
        ConfigurationError: an option is invalid, or the vocabulary does not support it.
    """

    def __init__(self, default: Vocab, symbols: Symbols | None, unknown: str, punctuation: str | None) -> None:
        vocab = Vocab.from_table(symbols) if symbols else default
        check_unknown(vocab, unknown)
        check_choice("punctuation", punctuation or PUNCTUATION_STYLES[0], PUNCTUATION_STYLES)
        self.vocab = vocab
        self.unknown = unknown
        self.spaced = False
        self.reads_marks = False
        self.separate = punctuation == "separate"

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
