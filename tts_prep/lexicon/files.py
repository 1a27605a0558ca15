"""The file of a pronunciation dictionary."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tts_prep.errors import ConfigurationError
from tts_prep.format.files.regular_files import read_regular
from tts_prep.preprocess.configuration.records import Pronunciation
from tts_prep.preprocess.text.frontends.frontend import Frontend

_MAX_BYTES: Final = 1 << 20
_MAX_WORDS: Final = 5000
"""The dictionary is in the manifest and in the header of every shard."""

_MAX_LENGTH: Final = 200
WORD: Final = r"[^\W\d_]+(?:['’-][^\W\d_]+)*"
"""Letters, with apostrophes and hyphens inside; combining marks are composed before."""

_VARIANT: Final = re.compile(r"(?P<word>.+)\(\d+\)")
_PROBABILITY: Final = re.compile(r"\d+(?:\.\d*)?(?:[eE]-?\d+)?")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]+)*")


def key_of(word: str) -> str:
    """Return a word as it is compared: without case, composed, with a plain apostrophe."""
    return unicodedata.normalize("NFC", word).casefold().replace("’", "'")


def read_lexicon(path: Path, frontend: Frontend) -> tuple[Pronunciation, ...]:
    """Read words and their phones, which are in the notation of the frontend and in its table.

    A line is a word and its phones with a space between them, as in CMUdict, or with tabs: word, phones and, if it
    holds in one language only, its code. Numbers between word and phones are MFA's probabilities. Lines that begin with
    ``;;;`` and empty ones are left out. Of variants, ``read(2)`` or another line of the same word, the first holds.

    Raises:
        ConfigurationError: the file cannot be read, a line is invalid, or there are more than 5,000 words.
    """
    try:
        text = read_regular(path, _MAX_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"lexicon: {path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"lexicon: {path}: expected UTF-8 ({error.reason} at byte {error.start})") from error
    found: dict[tuple[str, str | None], str] = {}
    for where, word, phones, language in _lines(text, path.name):
        if len(word) > _MAX_LENGTH or not re.fullmatch(WORD, word):
            raise ConfigurationError(
                f"{where}: expected a word of letters, with apostrophes and hyphens inside, found {word[:60]!r}"
            )
        if language is not None and not _LANGUAGE.fullmatch(language):
            raise ConfigurationError(
                f"{where}: expected the code of a language, such as en-us, found {language[:60]!r}"
            )
        found.setdefault((word, language), _phones(where, phones, frontend))
        if len(found) > _MAX_WORDS:
            raise ConfigurationError(
                f"{where}: more than {_MAX_WORDS:,} words, which every shard has to record; leave out those that the "
                "frontend reads correctly"
            )
    if not found:
        raise ConfigurationError(f"lexicon: {path}: expected lines of a word and its phones, found none")
    return tuple(sorted(((word, phones, code) for (word, code), phones in found.items()), key=str))


def _lines(text: str, name: str) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield the place of each line, its word, phones and language."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip() or line.startswith(";;;"):
            continue
        where = f"lexicon: {name}:{number}"
        first, *fields = line.split("\t") if "\t" in line else line.split(None, 1)
        while len(fields) > 1 and _PROBABILITY.fullmatch(fields[0].strip()):
            del fields[0]
        if not 1 <= len(fields) <= 2 or not fields[0].strip():
            raise ConfigurationError(
                f"{where}: expected a word and its phones, and after a tab its language, found {line[:60]!r}"
            )
        variant = _VARIANT.fullmatch(first.strip())
        word = key_of(variant["word"] if variant else first.strip())
        yield where, word, fields[0].partition(" #")[0].strip(), (fields[1].strip() or None) if fields[1:] else None


def _phones(where: str, phones: str, frontend: Frontend) -> str:
    """Return phones as the frontend writes them.

    Raises:
        ConfigurationError: they are too long, or not in its table.
    """
    if len(phones) > _MAX_LENGTH:
        raise ConfigurationError(f"{where}: expected at most {_MAX_LENGTH} characters of phones, found {len(phones)}")
    symbols = phones.split()
    if getattr(frontend, "spaced", False):
        # Tables of Tacotron 2 and FastSpeech 2 prefix phones, which no dictionary does.
        phones = " ".join(f"@{symbol}" if f"@{symbol}" in frontend.vocab else symbol for symbol in symbols)
    else:
        phones = "".join(symbols)
    unknown = [*frontend.vocab.unknown(frontend.split(phones))]
    if unknown:
        raise ConfigurationError(
            f"{where}: {unknown[0]!r} in {phones[:60]!r} is not in the table of the frontend; expected its phones, as "
            "the column phoneme_text of a store has them"
        )
    return phones
