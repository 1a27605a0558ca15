"""IPA phonemes by espeak-ng.

phonemizer and espeak-ng are under the GPL. Only this module imports phonemizer, and only this module and ``speech.py``
load espeak-ng.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import os
import re
import string
import tempfile
import threading
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from tts_prep.errors import ConfigurationError, MissingPackageError, TextError, WriteError
from tts_prep.format.files.temporary import holding_temporary_files
from tts_prep.preprocess.text import language_codes
from tts_prep.preprocess.text.frontends import frontend as frontends
from tts_prep.preprocess.text.symbols import TIE, get_table
from tts_prep.preprocess.text.typography import hyphens_of_digits, loose_hyphens, without_controls
from tts_prep.preprocess.text.vocab import Vocab

_version_of = cache(importlib.metadata.version)

# espeak-ng's limit in bytes; with a longer path, it ends the process.
_LONGEST_DATA_PATH = 159


def espeak_library() -> tuple[Path, Path]:
    """Return the paths of the library and of its data folder.

    Raises:
        ConfigurationError: the path is too long for espeak-ng.
        MissingPackageError: the package is not installed.
    """
    try:
        import espeakng_loader
    except ImportError as error:
        raise MissingPackageError(f"espeak-ng needs the package espeakng-loader: {error}; install it") from None
    library = Path(espeakng_loader.get_library_path())
    # The package's function for the data folder raises RuntimeError if it is missing.
    data = library.with_name("espeak-ng-data")
    length = len(os.fsencode(data))
    if length > _LONGEST_DATA_PATH:
        raise ConfigurationError(
            f"{data}: the path of espeak-ng's data has {length} bytes, the maximum is {_LONGEST_DATA_PATH}; "
            "create the virtual environment in a folder with a shorter path"
        )
    return library, data


# espeak-ng has no voices of these names; they mean the most common voice of the language.
_VOICES = {"en": "en-us", "fr": "fr-fr", "zh": "cmn", "zh-cn": "cmn", "no": "nb", "nn": "nb", "iw": "he"} | {
    **dict.fromkeys(("zh-hk", "zh-mo", "zh-yue", "zh-hant-hk", "zh-hant-mo"), "yue"),
}
# The voices of regions without one of their own.
_LATIN_AMERICA = frozenset("ar bo cl co cr cu do ec gt hn mx ni pa pe pr py sv us uy ve".split())  # noqa: SIM905
_REGIONS = {f"en-{country}": "en-gb" for country in ("au", "hk", "ie", "in", "nz", "sg", "za")} | {
    f"es-{country}": "es-419" for country in _LATIN_AMERICA
}
_REGION = re.compile(r"[a-wyz][a-z]|\d{3}")
# Codes of countries that are those of other languages, or of none.
_COUNTRIES = {"se": "swedish", "us": "english", "gb": "english", "br": "portuguese", "vn": "vietnamese"}
_PLAIN = frozenset(f"{frontends.MARKS} '’-{string.ascii_letters}{string.digits}")
_CLOSING = re.compile(rf"(?<=[{re.escape(frontends.MARKS)}])['’)\]}}]+(?=\s|$)")
_SWITCH = re.compile(r"\(([a-z]{2,3}(?:-[a-z0-9-]+)?)\)")
_TIED_SWITCH = re.compile(r"\([a-z-\u0361]+\)")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
# espeak-ng silently drops the phonemes after the 198th of a word (English "ba" repeated 70 times), and parts of numbers
# of 26 digits or more. In Thai, Khmer, Chinese and Japanese, it finds the words itself.
_MAX_LETTERS = 100
_MAX_DIGITS = 25
_TOO_LONG = re.compile(
    rf"[^\W\d_\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{{{_MAX_LETTERS + 1},}}|\d{{{_MAX_DIGITS + 1},}}"
)
# StyleTTS2's lists, with marks as separate tokens, have a word boundary at a hyphen.
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
# What precedes the mark is looked at behind it: an expression that begins with a class of characters is found fast.
_JOINING_MARK = re.compile(r"[,;!?](?=[^\W\d_])(?<=[^\W\d_].)")
_CLOSES = re.compile(r"['’)\]}]")
# A run of marks with the spaces around it. Marks in numbers, as in "1,5", and lines are for phonemizer to split.
_MARK = f"[{re.escape(frontends.MARKS)}]"
_MARK_RUN = re.compile(rf"([\s{_MARK[1:]}(?:(?<={_MARK})|\s*{_MARK})(?:\s*{_MARK})*\s*)")
_DIGIT_OR_LINE = re.compile(r"[0-9\r\n]")
_WORD_CATEGORIES = ("Mn", "Mc", "Me", "Lm", "Zs")
_MAX_READ_TEXTS = 32
# The library has global state, and a worker of a cluster may run several jobs in threads.
_ESPEAK = threading.Lock()


class EspeakFrontend(frontends.VocabFrontend):
    """IPA with stress and punctuation. It keeps one espeak-ng instance per language.

    Args:
        language: a voice of espeak-ng, such as ``en-us``, ``en-gb``, ``fr-fr``, ``cmn``.
        options: see `frontend.VocabFrontend`. The default table is ``styletts2`` for English and ``espeak`` for other
            languages; punctuation is ``"attached"``, as by espeak-ng, or ``"separate"``, as in StyleTTS2's lists.

    Raises:
        ConfigurationError: an option is invalid.
    """

    def __init__(self, language: str = "en-us", **options: Any) -> None:
        table = get_table("styletts2" if language_codes.subtags(language)[0] == "en" else "espeak")
        super().__init__(Vocab.from_table(table), **options)
        self.language = language
        self._voices: dict[str, _Voice] = {}
        self._left_out: dict[tuple[str, str], bool] = {}
        self._read_texts: dict[tuple[str, str], tuple[str, tuple[tuple[str, str], ...]]] = {}

    def _voice(self, language: str) -> _Voice:
        """Return the voice of a language, made at its first use: each has a copy of espeak-ng of its own."""
        if language not in self._voices:
            self._voices[language] = _make_voice(language)
        return self._voices[language]

    def normalize(self, text: str, language: str | None = None) -> str:
        """Expand numbers, abbreviations and signs by the rules of the language.

        In languages without rules espeak-ng reads them; only a minus that it would drop is expanded.
        """
        language = language or self.language
        return language_codes.with_minus_words(language_codes.normalize(text, language), language)

    def phoneticize(self, text: str, language: str | None = None) -> str:
        """Return IPA phonemes with punctuation.

        Raises:
            TextError: the text is empty or punctuation only; or espeak-ng does not support ``language``.
            ConfigurationError: espeak-ng does not support the frontend's language.
        """
        return self._read(text, language or self.language)[0]

    def _read(self, text: str, language: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return what `_read_text` returns, or has just returned.

        Remarks on a text follow its phonemes, but between them words of it may be read alone.
        """
        found = self._read_texts.get((text, language))
        if found is None:
            if len(self._read_texts) >= _MAX_READ_TEXTS:
                self._read_texts.clear()
            found = self._read_texts[text, language] = self._read_text(text, language)
        return found

    def _read_text(self, text: str, language: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the phonemes of a text, and the languages to which espeak-ng switched in it, with what it said."""
        preparation = self.vocab.preparation
        text = preparation.prepare(without_controls(text))
        if not text:
            raise TextError("the text is empty")
        if "\0" in text:
            # espeak-ng would silently drop the text after it.
            raise TextError(f"a NUL character in {text[:60]!r}")
        # No word is too long in nearly all texts, and the expression takes longer to say so.
        too_long = _TOO_LONG.search(text) if max(map(len, text.split()), default=0) > _MAX_DIGITS else None
        if too_long:
            raise TextError(
                f"{len(too_long[0])} letters or digits in one word, {too_long[0][:30]!r}…; espeak-ng drops phonemes of "
                f"words over {_MAX_LETTERS} letters and numbers over {_MAX_DIGITS} digits"
            )
        with _ESPEAK:
            try:
                voice = self._voice(language)
            except ConfigurationError as error:
                # The language of one utterance is not supported, which must not end the run.
                if language == self.language:
                    raise
                raise TextError(str(error)) from None
            language_codes.check_script(text, language)
            spoken = voice.phonemize(
                _with_word_boundaries(_HYPHEN.sub(" ", text) if self.separate else text), tied=preparation.tied
            )
        if preparation.tied and "(" in spoken:
            # It ties the letters of a language, too.
            spoken = _TIED_SWITCH.sub(lambda match: match[0].replace(TIE, ""), spoken)
        switches = tuple(_switches(spoken)) if "(" in spoken else ()
        phonemes = _SWITCH.sub("", spoken) if "(" in spoken else spoken
        phonemes = preparation.respell(phonemes, voice.code) if preparation.phones else phonemes
        if switches and not _LATIN.search(text) and not any(language_codes.foreign_letters(text, language)):
            other, said = switches[0]
            raise TextError(f"espeak-ng reads words of {text[:60]!r} in another language, {other!r}: {said[:40]!r}")
        if frontends.NOT_SPOKEN.issuperset(phonemes):
            raise TextError(f"nothing to speak in {text[:60]!r}")
        return frontends.separate_punctuation(phonemes) if self.separate else phonemes, switches

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield unknown symbols, characters that espeak-ng drops, and signs of another language.

        The latter are espeak-ng's switches of language, letters of another script, and texts that are probably in
        another language.
        """
        yield from super().remarks(text, phonemes, language)
        language = language or self.language
        _, switches = self._read(text, language)
        voice = self._voice(language)
        if voice.is_of_other_region:
            yield frontends.OTHER_REGION, f"{language}: {voice.code}"
        yield from ((frontends.OTHER_LANGUAGE, f"{other}: {said}") for other, said in switches)
        yield from ((frontends.FOREIGN_LETTERS, letter) for letter in language_codes.foreign_letters(text, language))
        likely = language_codes.likely_language(text, language)
        if likely:
            yield frontends.LIKELY_LANGUAGE, likely
        if not _PLAIN.issuperset(text):
            text = self.vocab.preparation.prepare(without_controls(text))
            for character in sorted(set(text) - _PLAIN):
                if self._is_left_out(character, language):
                    yield from [(frontends.UNSPOKEN_CHARACTERS, character)] * text.count(character)
        if "-" in text or "\u2212" in text:
            # What espeak-ng does with a hyphen depends on what is beside it.
            beside = {
                "-5": language_codes.MINUS.findall(text),
                "3-5": hyphens_of_digits(text),
                "a - b": loose_hyphens(text),
            }
            for written, signs in beside.items():
                if signs and self._is_left_out(written, language):
                    yield from [(frontends.UNSPOKEN_CHARACTERS, sign) for sign in signs]

    def _is_left_out(self, character: str, language: str) -> bool:
        """Return whether espeak-ng drops a character on its own, or the hyphen of a longer text."""
        key = (character, language)
        if key not in self._left_out:
            with _ESPEAK:
                voice = self._voice(language)
                if len(character) > 1:
                    spoken = voice.phonemize(character) != voice.phonemize(
                        " ".join(character.replace("-", " ").split())
                    )
                else:
                    # Combining marks and modifier letters such as ʼ belong to other letters.
                    spoken = unicodedata.category(character) in _WORD_CATEGORIES or voice.phonemize(character) != ""
            self._left_out[key] = not spoken
        return self._left_out[key]

    def software(self) -> dict[str, str]:
        """Return the versions of phonemizer, espeak-ng and what the rules of the language use."""
        version = self._voice(self.language).version
        rules = getattr(language_codes.rules_of(self.language), "software", {})
        return {"phonemizer": _version_of("phonemizer"), "espeak-ng": version, **rules}


def _switches(spoken: str) -> Iterator[tuple[str, str]]:
    """Yield every language to which espeak-ng switches, and its phonemes: ``(en)kəmpjˈuːɾɚ(de)``."""
    pieces = _SWITCH.split(spoken)
    # Every second piece is a language; the second of each pair switches back.
    for i in range(1, len(pieces) - 1, 4):
        if pieces[i + 1].strip():
            yield pieces[i], pieces[i + 1].strip()


def espeak_languages() -> dict[str, str]:
    """Return the names of all languages of espeak-ng by code."""
    from phonemizer.backend import EspeakBackend

    _wrapper()
    return dict(sorted(EspeakBackend.supported_languages().items()))


def _wrapper() -> Any:
    """Return phonemizer's class of espeak-ng, which now uses the library and the data of this installation."""
    from phonemizer.backend.espeak.wrapper import EspeakWrapper

    library, data = espeak_library()
    EspeakWrapper.set_library(str(library))
    EspeakWrapper.set_data_path(str(data))
    return EspeakWrapper


def _with_word_boundaries(text: str) -> str:
    """Insert a space after marks that join two words, and remove closing quotes and brackets after marks.

    phonemizer treats the space after ``!'`` as part of the next word, and strips it.
    """
    return _JOINING_MARK.sub(r"\g<0> ", _CLOSING.sub("", text) if _CLOSES.search(text) else text)


def _code(language: str, known: Mapping[str, str]) -> str | None:
    """Return the code of espeak-ng's voice for a language; None where it has none.

    A locale such as ``pt_BR`` is taken as well. If espeak-ng has no voice of a region, the most similar one of the
    language is used.
    """
    parts = language_codes.subtags(language)
    code = "-".join(parts)
    exact = {name.lower(): name for name in known}
    base = parts[0]
    wanted = [code, _VOICES.get(code, code)]
    if not _has_regions(base, known) or _REGION.fullmatch("-".join(parts[1:])):
        wanted += [_REGIONS.get(code, ""), _VOICES.get(base, base)]
    return next((exact[name] for name in wanted if name in exact), None)


def _has_regions(base: str, known: Mapping[str, str]) -> bool:
    return any(other.startswith(f"{base}-") for other in known)


def _without_region(language: str, code: str, known: Mapping[str, str]) -> bool:
    """Return whether a language has voices by region, but the voice of ``code`` is that of another region."""
    name = "-".join(language_codes.subtags(language))
    return (
        "-" in name
        and name != code.lower()
        and name not in _VOICES
        and _has_regions(language_codes.subtags(language)[0], known)
    )


def is_spoken(language: str) -> bool:
    """Return whether espeak-ng has a voice for a language."""
    return _code(language, espeak_languages()) is not None


def _no_language(language: str, known: Mapping[str, str]) -> str:
    """Return the error message for an unsupported language, with codes of that name or similar codes."""
    plain = language.lower().replace("_", "-")
    plain = _COUNTRIES.get(plain, plain)
    codes = sorted(known)
    # "English" is a word in the name of a transcription of Chinese too.
    named = [code for code in codes if known[code].lower().split(" ")[0] == plain] or [
        # A code of two letters is in many names.
        code
        for code in codes
        if len(plain) > 3 and plain in known[code].lower()
    ]
    found = named or [code for code in codes if code.split("-")[0] == plain.split("-")[0]]
    if not found:
        near = difflib.get_close_matches(plain, [name.split(" ")[0].lower() for name in known.values()], 1, 0.8)
        found = [code for code in codes if near and known[code].lower().split(" ")[0] == near[0]]
    if found:
        return f"language: espeak-ng has no {language!r}; it has {', '.join(found)}"
    return f"language: espeak-ng has no {language!r}; 'tts-prep languages' lists its {len(known)} languages"


class _Voice:
    """One voice of espeak-ng.

    Equivalent to ``phonemizer.backend.EspeakBackend`` with stress, punctuation and language switches kept, and built
    from the same classes of phonemizer. That backend loads espeak-ng six times, and counts the words of every text.

    Args:
        espeak: a ``phonemizer.backend.espeak.wrapper.EspeakWrapper``.
        code: the code of a language that it supports.
        is_of_other_region: whether it is used for a region that has no voice.
    """

    def __init__(self, espeak: Any, code: str, *, is_of_other_region: bool = False) -> None:
        from phonemizer.punctuation import Punctuation
        from phonemizer.separator import default_separator

        espeak.set_voice(code)
        self.code = code
        self.is_of_other_region = is_of_other_region
        self._espeak = espeak
        self._punctuation = Punctuation(frontends.MARKS)
        self._separator = default_separator

    @property
    def version(self) -> str:
        """The version of espeak-ng."""
        return ".".join(map(str, self._espeak.version))

    def phonemize(self, text: str, *, tied: bool = False) -> str:
        """Return the phonemes of a text, with the punctuation of `MARKS`; empty if there is nothing to speak."""
        to_phonemes = partial(self._espeak.text_to_phonemes, tie=True) if tied else self._espeak.text_to_phonemes
        if not _DIGIT_OR_LINE.search(text):
            parts = _MARK_RUN.split(text)
            parts[::2] = spoken = [_one_line(to_phonemes(piece)) if piece else "" for piece in parts[::2]]
            # Without numbers and empty pieces, phonemizer puts the marks back where they were, which takes longer.
            if all(spoken[1:-1]) and " " not in [piece[-1:] for piece in spoken]:
                return "".join(parts)
        pieces, marks = self._punctuation.preserve(text)
        spoken = [_one_line(to_phonemes(piece)) for piece in pieces]
        return "".join(self._punctuation.restore(spoken, marks, self._separator, strip=True))


def _one_line(phonemes: str) -> str:
    """Join espeak-ng's output for a piece of text to one line, and remove the ``_`` between phonemes."""
    line = phonemes.strip().replace("\n", " ").replace("  ", " ").replace("_", "")
    # Of white space, the space alone is printable.
    return line if line.isprintable() else " ".join(map(str.strip, line.split(" ")))


def _make_voice(language: str) -> _Voice:
    """Return the voice of a language.

    Raises:
        ConfigurationError: espeak-ng does not support the language, or the copy of its library cannot be loaded.
        WriteError: the library cannot be copied; every process uses its own copy.
    """
    make = _wrapper()
    try:
        with holding_temporary_files():
            espeak = make()
        known = {voice.language: voice.name for voice in espeak.available_voices()}
        code = _code(language, known)
        if code is None:
            raise ConfigurationError(_no_language(language, known))
        return _Voice(espeak, code, is_of_other_region=_without_region(language, code, known))
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
