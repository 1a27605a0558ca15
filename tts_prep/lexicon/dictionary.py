"""A pronunciation dictionary in a file: what one has, and one to correct, of the words of a store that are unsure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tts_prep.errors import ConfigurationError, MissingPackageError, TextError
from tts_prep.format.files.paths import read_regular
from tts_prep.format.records.manifest import read_manifest
from tts_prep.lexicon.words import UNSPACED, WORD, key_of
from tts_prep.preprocess.configuration.records import Configuration, Pronunciation
from tts_prep.preprocess.make.phonemizing import TextReader
from tts_prep.preprocess.text.frontends import frontend as frontends
from tts_prep.preprocess.text.language_codes import subtags
from tts_prep.quantities import count_text

if TYPE_CHECKING:
    from tts_prep.loader import UtteranceDataset

_MAX_BYTES: Final = 1 << 20
MAX_WORDS: Final = 5000
"""The dictionary is in the manifest and in the header of every shard."""

_MAX_LENGTH: Final = 200

_VARIANT: Final = re.compile(r"(?P<word>.+)\(\d+\)")
_PROBABILITY: Final = re.compile(r"\d+(?:\.\d*)?(?:[eE]-?\d+)?")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]+)*")

REASONS: Final = ("not read", "letters not spoken", "read by letters", "read in another language", "not in CMUdict")
"""Why a pronunciation is unsure, the least sure first."""

_WORD: Final = re.compile(rf"{WORD}(?:'(?!\w))?")
_OF_REMARKS: Final = {frontends.FOREIGN_LETTERS: 1, frontends.OTHER_LANGUAGE: 3, frontends.GUESSED_WORDS: 4}


def read_lexicon(path: Path, frontend: frontends.Frontend) -> tuple[Pronunciation, ...]:
    """Read words and their phones, which are in the notation of the frontend and in its table.

    A line is a word and its phones with a space between them, as in CMUdict, or with tabs: word, phones and, if it
    holds in one language or for one speaker only, their code (or nothing) and name. Numbers between word and phones
    are MFA's probabilities. Lines that begin with ``;;;`` and empty ones are left out. Of variants, ``read(2)`` or
    another line of the same word, the first holds.

    Raises:
        ConfigurationError: the file cannot be read, a line is invalid, or there are more than 5,000 words.
    """
    try:
        text = read_regular(path, _MAX_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"lexicon: {path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"lexicon: {path}: expected UTF-8 ({error.reason} at byte {error.start})") from error
    found: dict[tuple[str, str | None, str], str] = {}
    for where, word, phones, language, speaker in _lines(text, path.name):
        if len(word) > _MAX_LENGTH or not re.fullmatch(WORD, word):
            raise ConfigurationError(
                f"{where}: expected a word of letters, with apostrophes and hyphens inside, found {word[:60]!r}"
            )
        if language is not None and not _LANGUAGE.fullmatch(language):
            raise ConfigurationError(
                f"{where}: expected the code of a language, such as en-us, found {language[:60]!r}"
            )
        if len(speaker) > _MAX_LENGTH:
            raise ConfigurationError(f"{where}: expected the name of a speaker, found {len(speaker)} characters")
        found.setdefault((word, language, speaker), phones_of(where, phones, frontend))
        if len(found) > MAX_WORDS:
            raise ConfigurationError(
                f"{where}: more than {MAX_WORDS:,} words, which every shard has to record; leave out those that the "
                "frontend reads correctly"
            )
    if not found:
        raise ConfigurationError(f"lexicon: {path}: expected lines of a word and its phones, found none")
    entries: list[Pronunciation] = [
        (word, phones, code, speaker) if speaker else (word, phones, code)
        for (word, code, speaker), phones in found.items()
    ]
    return tuple(sorted(entries, key=str))


def _lines(text: str, name: str) -> Iterator[tuple[str, str, str, str | None, str]]:
    """Yield the place of each line, its word, phones, language and speaker, who is "" for all."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip() or line.startswith(";;;"):
            continue
        where = f"lexicon: {name}:{number}"
        first, *fields = line.split("\t") if "\t" in line else line.split(None, 1)
        while len(fields) > 1 and _PROBABILITY.fullmatch(fields[0].strip()):
            del fields[0]
        if not 1 <= len(fields) <= 3 or not fields[0].strip():
            raise ConfigurationError(
                f"{where}: expected a word and its phones, and after tabs its language and speaker, found {line[:60]!r}"
            )
        variant = _VARIANT.fullmatch(first.strip())
        word = key_of(variant["word"] if variant else first.strip())
        language, speaker = (*(field.strip() for field in fields[1:]), "", "")[:2]
        yield where, word, fields[0].partition(" #")[0].strip(), language or None, speaker


def phones_of(where: str, phones: str, frontend: frontends.Frontend) -> str:
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


@dataclass(frozen=True)
class UnsureWord:
    """A word whose pronunciation is unsure.

    Attributes:
        word: as a dictionary has it, without case.
        language: the code of its texts.
        phones: how it is read alone, or "".
        reason: one of `REASONS`.
        count: how often the texts have it.
    """

    word: str
    language: str
    phones: str
    reason: str
    count: int


def unsure_words(dataset: UtteranceDataset) -> list[UnsureWord]:
    """Return the words of a store that its frontend guesses, the least sure first, then the most frequent.

    A word is unsure if it is read by the names of its letters, with sounds of another language, or not at all, and in
    English if the CMU dictionary, where it is installed, does not have it. Words of the store's own dictionary are
    sure. Scripts without spaces between words, and Korean, are left out.

    Raises:
        ConfigurationError: the store was made without phonemes, or has no texts to read.
        MissingPackageError: the frontend's package is not installed.
    """
    config = Configuration.from_dict(dataset.path, read_manifest(dataset.path).configuration).text
    if not config.has_phonemes:
        raise ConfigurationError(f"{dataset.path}: it was made without phonemes, so that no word is pronounced")
    reader = TextReader(config)
    counts: Counter[tuple[str, str]] = Counter()
    spelled: dict[tuple[str, str], str] = {}
    languages = dataset.language if "language" in dataset.columns else [""] * len(dataset)
    for text, code in zip(dataset.text, languages, strict=True):
        language = str(code) or config.language
        try:
            spoken = reader.frontend.normalize(text, language) if config.normalize else text
        except TextError:
            continue
        for match in _WORD.finditer(spoken):
            key = key_of(match[0]), language
            counts[key] += 1
            spelled.setdefault(key, match[0])
    own = {(word, code) for word, _, code, *_ in config.lexicon}
    dictionary = _dictionary()
    found = [
        UnsureWord(word, language, phones, REASONS[reason], n)
        for (word, language), n in counts.items()
        if len(word) > 1 and not UNSPACED.search(word) and own.isdisjoint((word, c) for c in (language, None))
        for phones, reason in _judged(reader.frontend, spelled[word, language], language, dictionary)
    ]
    return sorted(found, key=lambda one: (REASONS.index(one.reason), -one.count, one.word, one.language))


def line_of(frontend: frontends.Frontend, word: str, language: str) -> str:
    """Return the line of a dictionary that has a word with the phones that a frontend reads.

    Raises:
        TextError: it is no word of a dictionary, or the frontend cannot read it.
    """
    if not re.fullmatch(WORD, key_of(word)):
        raise TextError(f"expected one word of letters, found {word[:60]!r}")
    return f"{key_of(word)}\t{frontend.phoneticize(word, language)}"


def _dictionary() -> frontends.Frontend | None:
    try:
        return frontends.get_frontend("arpabet")
    except (ConfigurationError, MissingPackageError):
        return None


def _judged(
    frontend: frontends.Frontend, word: str, language: str, dictionary: frontends.Frontend | None
) -> Iterator[tuple[str, int]]:
    """Yield the phones of a word and the index of the reason to doubt them, if there is one."""
    try:
        phones = frontend.phoneticize(word, language)
        reasons = [_OF_REMARKS.get(kind) for kind, _ in frontend.remarks(word, phones, language)]
    except TextError:
        yield "", 0
        return
    if len(word) < 6 and _sounds(phones) == _by_letters(frontend, word, language):
        reasons.append(2)
    if dictionary and subtags(language)[0] == "en":
        reasons += [_OF_REMARKS.get(kind) for kind, _ in dictionary.remarks(word, "")]
    if any(reasons):
        yield phones, min(filter(None, reasons))


def _by_letters(frontend: frontends.Frontend, word: str, language: str) -> str | None:
    try:
        return _sounds(" ".join(frontend.phoneticize(letter.upper(), language) for letter in word))
    except TextError:
        return None


def _sounds(phones: str) -> str:
    return re.sub(r"[\sˈˌ▁012]", "", phones)


def unsure_lines(dataset: UtteranceDataset) -> tuple[str, list[str]]:
    """Return what to say of the words of unsure pronunciation, and lines of a file of ``--lexicon`` with their phones.

    Of more than a dictionary can have, the last are left out.

    Raises:
        ConfigurationError, MissingPackageError: see `unsure_words`.
    """
    words = unsure_words(dataset)
    n = Counter(one.reason for one in words)
    said = f"{count_text(len(words), 'word')} of unsure pronunciation"
    if words:
        said += f" ({', '.join(f'{n[reason]:,} {reason}' for reason in REASONS if reason in n)}), such as "
        said += ", ".join(f"{one.word} ({one.count:,})" for one in words[:5])
    lines = [f";;; {said}", ";;; Correct the phones that are wrong, and delete the other lines."]
    several = len({one.language for one in words}) > 1
    for one in words[:MAX_WORDS]:
        line = f"{one.word}\t{one.phones} # {one.count:,} × {one.reason}" + (f"\t{one.language}" if several else "")
        lines.append(line if one.phones else f";;; {line}")
    return said, lines
