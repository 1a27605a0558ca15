"""The words of a store by how unsure their pronunciation is, in the form of a dictionary to correct."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tts_prep.errors import ConfigurationError, MissingPackageError, TextError
from tts_prep.format.records.manifest import read_manifest
from tts_prep.lexicon.words import MAX_WORDS, UNSPACED, WORD, key_of
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.make.phonemizing import TextReader
from tts_prep.preprocess.text.frontends.frontend import (
    FOREIGN_LETTERS,
    GUESSED_WORDS,
    OTHER_LANGUAGE,
    Frontend,
    get_frontend,
)
from tts_prep.preprocess.text.language_codes import subtags
from tts_prep.quantities import count_text

REASONS: Final = ("not read", "letters not spoken", "read by letters", "read in another language", "not in CMUdict")
"""Why a pronunciation is unsure, the least sure first."""

_WORD: Final = re.compile(rf"{WORD}(?:'(?!\w))?")
_OF_REMARKS: Final = {FOREIGN_LETTERS: 1, OTHER_LANGUAGE: 3, GUESSED_WORDS: 4}


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


def line_of(frontend: Frontend, word: str, language: str) -> str:
    """Return the line of a dictionary that has a word with the phones that a frontend reads.

    Raises:
        TextError: it is no word of a dictionary, or the frontend cannot read it.
    """
    if not re.fullmatch(WORD, key_of(word)):
        raise TextError(f"expected one word of letters, found {word[:60]!r}")
    return f"{key_of(word)}\t{frontend.phoneticize(word, language)}"


def _dictionary() -> Frontend | None:
    try:
        return get_frontend("arpabet")
    except (ConfigurationError, MissingPackageError):
        return None


def _judged(frontend: Frontend, word: str, language: str, dictionary: Frontend | None) -> Iterator[tuple[str, int]]:
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


def _by_letters(frontend: Frontend, word: str, language: str) -> str | None:
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
