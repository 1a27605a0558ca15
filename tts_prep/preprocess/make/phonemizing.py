"""Convert one text to phonemes and ids, with the frontend of this process."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tts_prep import doors
from tts_prep.errors import TextError, TtsPrepError
from tts_prep.preprocess.configuration.records import TextConfig, make_frontend
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.preprocess.text.frontends.frontend import GUESSED_WORDS, UNKNOWN_SYMBOLS, Frontend, join_symbols

Remark: TypeAlias = Callable[[str, str], None]
"""Takes the kind of a remark, and the symbol or word that it is about."""
Reading: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...]]
"""The normalized text, its phonemes as text, and the remarks of the frontend."""


def phonemize(
    text: str,
    config: TextConfig,
    remark: Remark = lambda _kind, _symbol: None,
    *,
    language: str | None = None,
    normalized: bool = False,
    speaker: str = "",
) -> tuple[str, npt.NDArray[np.int32]]:
    """Return the phonemes of a text as text and as ids, [n_phonemes] int32.

    Args:
        remark: called with unknown symbols and other remarks, also if the text fails.
        language: the language of this text; None uses that of the frontend.
        normalized: the text is already normalized.
        speaker: who speaks it, for pronunciations of one speaker.

    Raises:
        TextError: there is nothing to speak, a symbol is not in the vocabulary (and unknown symbols are errors), or the
            frontend raised an unexpected exception.
    """
    reader = reader_of(config)
    read = reader.read_cached if len(text) <= _MAX_CACHED_LENGTH else reader.read
    with text_errors(config, text):
        _, phoneme_text, found = read(text, language, normalized, reader.known(speaker))
        for kind, symbol in found:
            remark(kind, symbol)
        return phoneme_text, reader.frontend.numericalize(phoneme_text)


def phonemes_of(
    row: SourceUtterance, labels: Sequence[str] | None, config: TextConfig, remark: Remark
) -> tuple[str, npt.NDArray[np.int32]]:
    """Return the phonemes of a row as text and as ids: the labels of its alignment, or else those of its text."""
    if labels is not None:
        return encode_labels(labels, config, remark)
    return phonemize(row.text, config, remark, language=row.language, normalized=row.normalized, speaker=row.speaker)


def read_ahead(row: SourceUtterance, config: TextConfig) -> None:
    """Read the text of a row, so that `phonemize` finds it in the cache; errors are left to that.

    Texts that are read one after another take three quarters of the time, and recordings after them less, too: a
    frontend's data and those of a mel displace each other from the processor's caches.
    """
    if len(row.text) <= _MAX_CACHED_LENGTH:
        with contextlib.suppress(Exception):
            reader = reader_of(config)
            reader.read_cached(row.text, row.language, row.normalized, reader.known(row.speaker))


def encode_labels(labels: Sequence[str], config: TextConfig, remark: Remark) -> tuple[str, npt.NDArray[np.int32]]:
    """Return an aligner's labels as phonemes, as text and as ids, [n_phonemes] int32.

    If the table prefixes phones with ``@``, as that of FastSpeech 2, labels are prefixed too.

    Raises:
        TextError: a label is not in the vocabulary, and unknown symbols are errors.
    """
    vocab = frontend_of(config).vocab
    symbols = [f"@{label}" if f"@{label}" in vocab else label for label in labels]
    for symbol in vocab.unknown(symbols):
        remark(UNKNOWN_SYMBOLS, symbol)
    return join_symbols(symbols), vocab.encode(symbols, config.unknown)


_MAX_CACHED_TEXTS: Final = 4096
_MAX_CACHED_LENGTH: Final = 400
"""The bounds of the cache: with phonemes, at most some 8 MiB in every process."""


@contextlib.contextmanager
def text_errors(config: TextConfig, text: str) -> Iterator[None]:
    """Convert unexpected exceptions of a library to `TextError`, so that one text does not end the run."""
    try:
        yield
    except TtsPrepError:
        raise
    except Exception as error:
        what = " ".join(str(error).split())[:200]
        raise TextError(
            f"the frontend {config.frontend_name!r} fails on {text[:60]!r}: {type(error).__name__}: {what}"
        ) from error


def frontend_of(config: TextConfig) -> Frontend:
    """Return the frontend of this process. It is cached, because starting a backend is slow."""
    return reader_of(config).frontend


class TextReader:
    """The frontend of a configuration, and the last texts that it read.

    In many corpora, several speakers read the same sentences (VCTK, ESD). A result depends on the text, its language
    and the configuration alone, so that a cached one is the same.
    """

    def __init__(self, config: TextConfig) -> None:
        self.config = config
        self.frontend = make_frontend(config)
        self._speakers = {name for _, _, _, *names in config.lexicon for name in names}
        # Without words whose phones are known, texts go to the frontend directly.
        words = doors.need("words", "place") if config.lexicon or config.reads_heteronyms else None
        self.words: Any = words and words(self.frontend, config.lexicon, heteronyms=config.reads_heteronyms)
        is_left = config.marks == "text" or getattr(self.frontend, "reads_marks", False)
        self.marks: Any = None if is_left else doors.need("words", "marks")(self.frontend, config.marks)
        self.read_cached = lru_cache(maxsize=_MAX_CACHED_TEXTS)(self.read)

    def known(self, speaker: str) -> str:
        """Return a speaker with pronunciations of their own, or "", so that others share the cache."""
        return speaker if speaker in self._speakers else ""

    def read(self, text: str, language: str | None, normalized: bool, speaker: str = "") -> Reading:
        """Return what becomes of a text, whose marks are read first."""
        if self.marks is None:
            return self._read(text, language, normalized, speaker)
        found: Reading = self.marks.read(text, lambda part: self._read(part, language, normalized, speaker))
        return found

    def _read(self, text: str, language: str | None, normalized: bool, speaker: str) -> Reading:
        spoken = text if normalized or not self.config.normalize else self.frontend.normalize(text, language)
        if self.words is None:
            phonemes = self.frontend.phoneticize(spoken, language)
            return spoken, phonemes, tuple(self.frontend.remarks(spoken, phonemes, language))
        code = language or self.config.language
        phonemes, remarks = self.words.phoneticize(spoken, code, speaker)
        known = {word for *_, word, _ in self.words.found(spoken, code, speaker)} if self.config.lexicon else ()
        others = self.frontend.remarks(spoken, phonemes, language)
        return spoken, phonemes, (*remarks, *(o for o in others if o[0] != GUESSED_WORDS or o[1] not in known))


def reader_of(config: TextConfig) -> TextReader:
    """Return the reader of this process."""
    global _reader
    # Found by identity first: to compare or hash all settings for every text takes as long as a short text.
    found = _reader  # which another thread may replace
    if found is None or (found[0] is not config and found[0] != config):
        found = _reader = (config, TextReader(config))
    return found[1]


_reader: tuple[TextConfig, TextReader] | None = None
