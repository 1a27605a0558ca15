"""Convert one text to phonemes and ids, with the frontend of this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tts_prep.errors import TextError, TtsPrepError
from tts_prep.format.records.remarks import Remarks
from tts_prep.preprocess.configuration.records import TextConfig, make_frontend
from tts_prep.preprocess.text.frontends.frontend import UNKNOWN_SYMBOLS, Frontend, join_symbols


def phonemize(
    text: str,
    identifier: str,
    config: TextConfig,
    remarks: Remarks,
    *,
    language: str | None = None,
    normalized: bool = False,
) -> tuple[str, npt.NDArray[np.int32]]:
    """Return the phonemes of a text as text and as ids, [n_phonemes] int32.

    Args:
        identifier: the id of the utterance, for remarks.
        remarks: counts unknown symbols and other remarks, also if the text fails.
        language: the language of this text; None uses that of the frontend.
        normalized: the text is already normalized.

    Raises:
        TextError: there is nothing to speak, a symbol is not in the vocabulary (and unknown symbols are errors), or the
            frontend raised an unexpected exception.
    """
    frontend = frontend_of(config)
    with _text_errors(config, text):
        spoken, phoneme_text = phoneticize(text, config, language=language, normalized=normalized)
        for kind, symbol in frontend.remarks(spoken, phoneme_text, language):
            remarks.add(kind, symbol, identifier)
        return phoneme_text, frontend.numericalize(phoneme_text)


def phoneticize(text: str, config: TextConfig, *, language: str | None, normalized: bool) -> tuple[str, str]:
    """Return the normalized text, and its phonemes as text.

    Raises:
        TextError: there is nothing to speak, or the frontend raised an unexpected exception.
    """
    frontend = frontend_of(config)
    with _text_errors(config, text):
        spoken = text if normalized or not config.normalize else frontend.normalize(text, language)
        return spoken, frontend.phoneticize(spoken, language)


def encode_labels(
    labels: Sequence[str], identifier: str, config: TextConfig, remarks: Remarks
) -> tuple[str, npt.NDArray[np.int32]]:
    """Return an aligner's labels as phonemes, as text and as ids, [n_phonemes] int32.

    If the table prefixes phones with ``@``, as that of FastSpeech 2, labels are prefixed too.

    Raises:
        TextError: a label is not in the vocabulary, and unknown symbols are errors.
    """
    vocab = frontend_of(config).vocab
    symbols = [f"@{label}" if f"@{label}" in vocab else label for label in labels]
    for symbol in vocab.unknown(symbols):
        remarks.add(UNKNOWN_SYMBOLS, symbol, identifier)
    return join_symbols(symbols), vocab.encode(symbols, config.unknown)


@contextmanager
def _text_errors(config: TextConfig, text: str) -> Iterator[None]:
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


@lru_cache(maxsize=1)
def frontend_of(config: TextConfig) -> Frontend:
    """Return the frontend of this process. It is cached, because starting a backend is slow."""
    return make_frontend(config)
