"""One text through the frontend: the phonemes, their ids, and what is to be noted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tts_prep.errors import TextError, TtsPrepError
from tts_prep.format.remarks import Remarks
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
    """Return the phonemes of a text in their text form, and their ids, [n_phonemes] int32.

    Args:
        identifier: of the utterance, for the remarks.
        remarks: where unknown symbols and the like are counted, also those of a text that fails for them.
        language: of this text, None for the frontend's own.
        normalized: the text is as it is spoken.

    Raises:
        TextError: there is nothing to speak, a symbol is not in the vocabulary and that is an error, or the frontend
            raised anything that is not an error of tts-prep's own.
    """
    frontend = frontend_of(config)
    with _text_errors(config, text):
        spoken, phoneme_text = phoneticize(text, config, language=language, normalized=normalized)
        for kind, symbol in frontend.remarks(spoken, phoneme_text, language):
            remarks.add(kind, symbol, identifier)
        return phoneme_text, frontend.numericalize(phoneme_text)


def phoneticize(text: str, config: TextConfig, *, language: str | None, normalized: bool) -> tuple[str, str]:
    """Return a text as it is spoken, and its phonemes in their text form.

    Raises:
        TextError: there is nothing to speak, or the frontend raised anything that is not an error of tts-prep's own.
    """
    frontend = frontend_of(config)
    with _text_errors(config, text):
        spoken = text if normalized or not config.normalize else frontend.normalize(text, language)
        return spoken, frontend.phoneticize(spoken, language)


def encode_labels(
    labels: Sequence[str], identifier: str, config: TextConfig, remarks: Remarks
) -> tuple[str, npt.NDArray[np.int32]]:
    """Return an aligner's labels as phonemes in their text form, and their ids, [n_phonemes] int32.

    Where the table writes phones with ``@`` in front, as that of FastSpeech 2 does, the labels get it.

    Raises:
        TextError: a label is not in the vocabulary, and that is an error.
    """
    vocab = frontend_of(config).vocab
    symbols = [f"@{label}" if f"@{label}" in vocab else label for label in labels]
    for symbol in vocab.unknown(symbols):
        remarks.add(UNKNOWN_SYMBOLS, symbol, identifier)
    return join_symbols(symbols), vocab.encode(symbols, config.unknown)


@contextmanager
def _text_errors(config: TextConfig, text: str) -> Iterator[None]:
    """Raise a `TextError` in the place of what a library raises: one text must not cost the others."""
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
    """Return the one frontend of this process: a backend costs more to start than an utterance to phonemize."""
    return make_frontend(config)
