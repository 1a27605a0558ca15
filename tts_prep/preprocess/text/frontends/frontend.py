"""What a text frontend is, and the half that those of single characters share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.text.vocab import UNKNOWN_POLICIES, Vocab

UNKNOWN_SYMBOLS: Final = "unknown_symbols"
GUESSED_WORDS: Final = "words_not_in_dictionary"
UNSPOKEN_CHARACTERS: Final = "characters_not_spoken"
OTHER_LANGUAGE: Final = "parts_spoken_in_another_language"
FOREIGN_LETTERS: Final = "letters_of_another_script"
LIKELY_LANGUAGE: Final = "texts_that_seem_to_be_in_another_language"

Symbols: TypeAlias = Vocab | Sequence[str]
"""A vocabulary, or a table whose specials are found by their names."""

SPACE: Final = "▁"
"""How the symbol space stands in a text form in which spaces separate symbols."""

PUNCTUATION_STYLES: Final = ("attached", "separate")
"""How punctuation stands in phonemes: right behind a word, or as a token of its own with a space before it."""


class Frontend(Protocol):
    """Turns text into phonemes and phonemes into ids.

    A frontend's results depend on nothing but its arguments: not on what it was given before. ``language`` is that of
    one text, where it is another than the frontend's own.
    """

    vocab: Vocab

    def normalize(self, text: str, language: str | None = None) -> str:
        """Return a written text as it is to be spoken."""

    def phoneticize(self, text: str, language: str | None = None) -> str:
        """Return the phonemes of a normalized text, in their text form.

        Raises:
            TextError: the text holds nothing to speak, or is in a language that the frontend does not have.
        """

    def split(self, phonemes: str) -> list[str]:
        """Return the symbols of phonemes in their text form, also those that are not in the vocabulary."""

    def numericalize(self, phonemes: str) -> npt.NDArray[np.int32]:
        """Return the ids of phonemes, [n_phonemes] int32.

        Raises:
            TextError: a symbol is not in the vocabulary, and that is an error.
        """

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text form of ids: the inverse of `numericalize`."""

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterable[tuple[str, str]]:
        """Yield what a run should count of one text and its phonemes: a kind of remark, and the symbol or word.

        Kinds are `UNKNOWN_SYMBOLS`, `GUESSED_WORDS`, `OTHER_LANGUAGE`, `FOREIGN_LETTERS`, `LIKELY_LANGUAGE` and
        `UNSPOKEN_CHARACTERS`: what the text has and the phonemes have not, in no form.
        """

    def software(self) -> dict[str, str]:
        """Return the names and versions of what the results depend on, beside this package."""


class CharacterPhonemes:
    """The half of a frontend behind the phonemes: from their text form to ids and back.

    In the text form, symbols stand one behind the other, and those of several characters are found by the longest that
    fits. A frontend that sets ``spaced`` has spaces between symbols, and ``▁`` for the symbol that is a space.

    Args:
        default: the vocabulary of the frontend.
        symbols: another one instead, or a table of the user's own.
        unknown: what becomes of a symbol that is not in the vocabulary: one of `UNKNOWN_POLICIES`.
        punctuation: one of `PUNCTUATION_STYLES`, None for the first.

    Raises:
        ConfigurationError: there is no such choice, or the vocabulary cannot follow it.
    """

    def __init__(self, default: Vocab, symbols: Symbols | None, unknown: str, punctuation: str | None) -> None:
        vocab = Vocab.from_table(symbols) if symbols else default
        check_unknown(vocab, unknown)
        check_choice("punctuation", punctuation or PUNCTUATION_STYLES[0], PUNCTUATION_STYLES)
        self.vocab = vocab
        self.unknown = unknown
        self.spaced = False
        self.separate = punctuation == "separate"

    def numericalize(self, phonemes: str) -> npt.NDArray[np.int32]:
        """Return one id a symbol, [n_phonemes] int32.

        Raises:
            TextError: a symbol is not in the vocabulary, and that is an error.
        """
        return self.vocab.encode(self.split(phonemes), self.unknown)

    def split(self, phonemes: str) -> list[str]:
        """Return the symbols of phonemes in their text form."""
        return split_symbols(phonemes) if self.spaced else self.vocab.split(phonemes)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text form of ids."""
        symbols = self.vocab.decode(ids)
        return join_symbols(symbols) if self.spaced else "".join(symbols)

    def remarks(
        self,
        text: str,  # noqa: ARG002
        phonemes: str,
        language: str | None = None,  # noqa: ARG002
    ) -> Iterable[tuple[str, str]]:
        """Yield every unknown symbol of the phonemes."""
        return ((UNKNOWN_SYMBOLS, symbol) for symbol in self.vocab.unknown(self.split(phonemes)))


def split_symbols(text: str) -> list[str]:
    """Return the symbols of a text form in which spaces separate them."""
    return [" " if symbol == SPACE else symbol for symbol in text.split(" ")] if text else []


def join_symbols(symbols: Iterable[str]) -> str:
    """Return symbols separated by spaces: the inverse of `split_symbols`."""
    return " ".join(SPACE if symbol == " " else symbol for symbol in symbols)


def check_unknown(vocab: Vocab, unknown: str) -> None:
    """Refuse a policy for unknown symbols that does not exist or that the vocabulary cannot follow.

    Raises:
        ConfigurationError: the message says which.
    """
    check_choice("unknown", unknown, UNKNOWN_POLICIES)
    if unknown == "unk" and vocab.unk_symbol is None:
        raise ConfigurationError(
            "unknown: 'unk' needs a vocabulary with a symbol for unknown ones, and this one has none; "
            "add '<unk>' to a table of your own, or choose 'error' or 'drop'"
        )


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is not one of the choices.

    Raises:
        ConfigurationError: it is not.
    """
    if value not in choices:
        near = difflib.get_close_matches(value, choices, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigurationError(f"{name}: expected one of {', '.join(choices)}, found {value!r}{hint}")
