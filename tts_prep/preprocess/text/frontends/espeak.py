"""IPA phonemes by espeak-ng.

phonemizer and espeak-ng are under the GPL: phonemizer is imported here, espeak-ng loaded here and in ``speech.py``, and
neither anywhere else.
"""

from __future__ import annotations

import importlib.metadata
import re
import string
import tempfile
import threading
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from tts_prep.errors import ConfigurationError, TextError, WriteError
from tts_prep.preprocess.text.english import is_english, normalize_english
from tts_prep.preprocess.text.frontends.espeak_files import espeak_library
from tts_prep.preprocess.text.frontends.frontend import (
    FOREIGN_LETTERS,
    LIKELY_LANGUAGE,
    OTHER_LANGUAGE,
    UNSPOKEN_CHARACTERS,
    CharacterPhonemes,
    Symbols,
)
from tts_prep.preprocess.text.frontends.ipa_marks import MARKS, NOT_SPOKEN, separate_punctuation
from tts_prep.preprocess.text.minus import MINUS, with_minus_words
from tts_prep.preprocess.text.scripts import check_script, foreign_letters, likely_language
from tts_prep.preprocess.text.symbols import get_table
from tts_prep.preprocess.text.typography import without_controls
from tts_prep.preprocess.text.vocab import Vocab

# A bare code of these languages means their most spoken voice; espeak-ng has none of that name.
_VOICES = {"en": "en-us", "fr": "fr-fr", "zh": "cmn", "zh-cn": "cmn", "zh-hk": "yue", "no": "nb", "iw": "he"}
_PLAIN = frozenset(f"{MARKS} '’-{string.ascii_letters}{string.digits}")
_CLOSING = re.compile(rf"(?<=[{re.escape(MARKS)}])['’)\]}}]+(?=\s|$)")
_SWITCH = re.compile(r"\(([a-z]{2,3}(?:-[a-z0-9-]+)?)\)")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
# espeak-ng drops the phonemes behind the 198th of a word without a word (English "ba" repeated 70 times), and parts of
# numbers from 26 digits on. Thai, Khmer, Chinese and Japanese have no spaces between words, and it finds them itself.
_MAX_LETTERS = 100
_MAX_DIGITS = 25
_TOO_LONG = re.compile(
    rf"[^\W\d_\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{{{_MAX_LETTERS + 1},}}|\d{{{_MAX_DIGITS + 1},}}"
)
# StyleTTS2's lists, which have marks as tokens of their own, have a word boundary at a hyphen.
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_JOINING_MARK = re.compile(r"(?<=[^\W\d_])([,;!?])(?=[^\W\d_])")
_PARTS_OF_WORDS = ("Mn", "Mc", "Me", "Lm", "Zs")
# The library keeps its state in global variables; a worker of a cluster may run several jobs in threads.
_ESPEAK = threading.Lock()


class EspeakFrontend(CharacterPhonemes):
    """IPA with stress and punctuation; one espeak-ng instance a language, for as long as the frontend lives.

    Args:
        language: a voice that espeak-ng has, such as ``en-us``, ``en-gb``, ``fr-fr``, ``cmn``.
        symbols: another table than StyleTTS2's, which is that of English, or ``espeak``, that of other languages.
        unknown: what becomes of a phoneme that is not in the vocabulary.
        punctuation: ``"attached"`` as espeak-ng leaves it, or ``"separate"`` as in StyleTTS2's lists.

    Raises:
        ConfigurationError: an option has no such value.
    """

    def __init__(
        self,
        language: str = "en-us",
        symbols: Symbols | None = None,
        unknown: str = "error",
        punctuation: str | None = None,
    ) -> None:
        table = get_table("styletts2" if is_english(language) else "espeak")
        super().__init__(Vocab.from_table(table), symbols, unknown, punctuation)
        self.language = language
        self._voices: dict[str, _Voice] = {}
        self._left_out: dict[tuple[str, str], bool] = {}
        self._switches: tuple[str, str, tuple[tuple[str, str], ...]] = ("", "", ())

    def _voice(self, language: str) -> _Voice:
        """Return the voice of a language, made at its first use: each has a copy of espeak-ng of its own."""
        if language not in self._voices:
            self._voices[language] = _make_voice(language)
        return self._voices[language]

    def normalize(self, text: str, language: str | None = None) -> str:
        """Return an English text with numbers, abbreviations and signs in words.

        In other languages espeak-ng reads them; only a minus that it would drop is written out.
        """
        language = language or self.language
        if is_english(language):
            return normalize_english(text)
        return with_minus_words(without_controls(text), language)

    def phoneticize(self, text: str, language: str | None = None) -> str:
        """Return IPA phonemes, punctuation kept in its place.

        Raises:
            TextError: there is nothing to speak: no text, or punctuation only; or espeak-ng does not have ``language``.
            ConfigurationError: espeak-ng does not have the frontend's own language.
        """
        text = without_controls(text)
        if not text:
            raise TextError("the text is empty")
        if "\0" in text:
            # It would end the text for espeak-ng, and what follows would be dropped without a word.
            raise TextError(f"a NUL character in {text[:60]!r}")
        # No word is too long in nearly all texts, and the expression takes longer to say so.
        too_long = _TOO_LONG.search(text) if any(len(word) > _MAX_DIGITS for word in text.split()) else None
        if too_long:
            raise TextError(
                f"{len(too_long[0])} letters or digits in one word, {too_long[0][:30]!r}…; espeak-ng drops phonemes of "
                f"words over {_MAX_LETTERS} letters and numbers over {_MAX_DIGITS} digits"
            )
        with _ESPEAK:
            try:
                voice = self._voice(language or self.language)
            except ConfigurationError as error:
                # The corpus says so of one utterance; the others can be used.
                if language in (None, self.language):
                    raise
                raise TextError(str(error)) from None
            check_script(text, language or self.language)
            spoken = voice.phonemize(_with_word_boundaries(_HYPHEN.sub(" ", text) if self.separate else text))
        phonemes = _SWITCH.sub("", spoken)
        self._switches = (text, language or self.language, tuple(_switches(spoken)))
        if self._switches[2] and not _LATIN.search(text):
            other, said = self._switches[2][0]
            raise TextError(f"espeak-ng reads a part of {text[:60]!r} in another language, {other!r}: {said[:40]!r}")
        if NOT_SPOKEN.issuperset(phonemes):
            raise TextError(f"nothing to speak in {text[:60]!r}")
        return separate_punctuation(phonemes) if self.separate else phonemes

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield unknown symbols, and what of the text espeak-ng leaves out or speaks in another language.

        The latter are its own switches of language, letters of another script, and texts that seem to be in another
        language altogether.
        """
        yield from super().remarks(text, phonemes, language)
        language = language or self.language
        yield from ((OTHER_LANGUAGE, f"{other}: {said}") for other, said in self._switched(text, language))
        yield from ((FOREIGN_LETTERS, letter) for letter in foreign_letters(text, language))
        likely = likely_language(text, language)
        if likely:
            yield LIKELY_LANGUAGE, likely
        if not _PLAIN.issuperset(text):
            text = without_controls(text)
            for character in sorted(set(text) - _PLAIN):
                if self._is_left_out(character, language):
                    yield from [(UNSPOKEN_CHARACTERS, character)] * text.count(character)
        signs = () if is_english(language) else MINUS.findall(text)
        if signs and self._is_left_out("-", language):
            yield from [(UNSPOKEN_CHARACTERS, sign) for sign in signs]

    def _switched(self, text: str, language: str) -> tuple[tuple[str, str], ...]:
        """Return the languages that espeak-ng switched to in a text, and what it said in them."""
        text = without_controls(text)
        if self._switches[:2] != (text, language):
            self.phoneticize(text, language)
        return self._switches[2]

    def _is_left_out(self, character: str, language: str) -> bool:
        """Return whether espeak-ng says nothing for a character that stands alone; for ``-``, before a number."""
        key = (character, language)
        if key not in self._left_out:
            with _ESPEAK:
                voice = self._voice(language)
                if character == "-":
                    spoken = voice.phonemize("-5") != voice.phonemize("5")
                else:
                    # Combining marks are parts of letters, modifier letters such as ʼ change others.
                    spoken = unicodedata.category(character) in _PARTS_OF_WORDS or voice.phonemize(character) != ""
            self._left_out[key] = not spoken
        return self._left_out[key]

    def software(self) -> dict[str, str]:
        """Return the versions of phonemizer and espeak-ng."""
        version = self._voice(self.language).version
        return {
            "phonemizer": importlib.metadata.version("phonemizer"),
            "espeak-ng": version,
        }


def _switches(spoken: str) -> Iterator[tuple[str, str]]:
    """Yield every language that espeak-ng switches to, and what it says in it: ``(en)kəmpjˈuːɾɚ(de)``."""
    pieces = _SWITCH.split(spoken)
    # From the second on, every other piece is a language; the last of a pair switches back.
    for i in range(1, len(pieces) - 1, 4):
        if pieces[i + 1].strip():
            yield pieces[i], pieces[i + 1].strip()


def espeak_languages() -> dict[str, str]:
    """Return the code of every language of espeak-ng → its name."""
    from phonemizer.backend import EspeakBackend
    from phonemizer.backend.espeak.wrapper import EspeakWrapper

    library, data = espeak_library()
    EspeakWrapper.set_library(str(library))
    EspeakWrapper.set_data_path(str(data))
    return dict(sorted(EspeakBackend.supported_languages().items()))


def _with_word_boundaries(text: str) -> str:
    """Return a text in which no mark joins two words.

    phonemizer takes the space behind ``!'`` for a part of the next word, and strips it.
    """
    return _JOINING_MARK.sub(r"\1 ", _CLOSING.sub("", text))


def _no_language(language: str, known: Mapping[str, str]) -> str:
    """Return the message for a language that espeak-ng does not have: codes of that name, or codes that are like it."""
    named = [code for code, name in known.items() if language.lower() in name.lower()]
    alike = [code for code in sorted(known) if code.split("-")[0] == language.split("-")[0]]
    if named or alike:
        return f"language: espeak-ng has no {language!r}; it has {', '.join(sorted(named) or alike)}"
    return f"language: espeak-ng has no {language!r}; 'tts-prep languages' lists the {len(known)} that it has"


class _Voice:
    """One voice of espeak-ng, and phonemizer's ways around it.

    What ``phonemizer.backend.EspeakBackend`` gives with stress, punctuation and language switches kept, from the same
    parts of phonemizer. The backend loads espeak-ng six times, and counts the words of every text, which nobody reads.

    Args:
        espeak: a ``phonemizer.backend.espeak.wrapper.EspeakWrapper``.
        code: of a language that it has.
    """

    def __init__(self, espeak: Any, code: str) -> None:
        from phonemizer.punctuation import Punctuation
        from phonemizer.separator import default_separator

        espeak.set_voice(code)
        self._espeak = espeak
        self._punctuation = Punctuation(MARKS)
        self._separator = default_separator

    @property
    def version(self) -> str:
        """espeak-ng's version."""
        return ".".join(map(str, self._espeak.version))

    def phonemize(self, text: str) -> str:
        """Return the phonemes of a text, the marks of `MARKS` in their places; empty where nothing is said."""
        pieces, marks = self._punctuation.preserve(text)
        spoken = [_one_line(self._espeak.text_to_phonemes(piece)) for piece in pieces]
        return "".join(self._punctuation.restore(spoken, marks, self._separator, strip=True))


def _one_line(phonemes: str) -> str:
    """Return what espeak-ng gives for a piece of text as one line, without the ``_`` between phonemes."""
    line = phonemes.strip().replace("\n", " ").replace("  ", " ")
    # It may put one behind the last phoneme of a word.
    return " ".join(word.strip() for word in re.sub(r"_+ ", " ", line).replace("_", "").split(" "))


def _make_voice(language: str) -> _Voice:
    """Return the voice of a language.

    Raises:
        ConfigurationError: espeak-ng has no such language, or its library cannot be loaded from where it is copied to.
        WriteError: the library cannot be copied: every process has a copy of it for itself.
    """
    from phonemizer.backend.espeak.wrapper import EspeakWrapper

    library, data = espeak_library()
    EspeakWrapper.set_library(str(library))
    EspeakWrapper.set_data_path(str(data))
    code = _VOICES.get(language.lower().replace("_", "-"), language)
    try:
        espeak = EspeakWrapper()
        known = {voice.language: voice.name for voice in espeak.available_voices()}
        if code not in known:
            raise ConfigurationError(_no_language(language, known))
        return _Voice(espeak, code)
    except OSError as error:
        raise WriteError(
            f"{tempfile.gettempdir()}: espeak-ng's library cannot be copied there ({error.strerror or error}); set "
            "TMPDIR to a folder with room"
        ) from error
    except RuntimeError as error:
        raise ConfigurationError(
            f"{tempfile.gettempdir()}: espeak-ng's library cannot be loaded from there ({error}); set TMPDIR to a "
            "folder with room, on a file system without 'noexec'"
        ) from error
