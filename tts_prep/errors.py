"""The faults that tts-prep reports.

Every message says where, what was found, what was expected and what to do, in one line: it is printed as it is
by the command line and stands as it is in ``failures.jsonl``.
"""

from __future__ import annotations

from typing import ClassVar

_MAX_LINE = 1000


def one_line(text: str, limit: int = _MAX_LINE) -> str:
    """Return a text as one line that is safe to print on a terminal.

    Characters that are not printable (line ends, escape sequences, C1 and bidirectional controls) are escaped. Where
    the line has more than ``limit`` characters its middle is left out.
    """
    line = _cut(text, limit)
    if line.isprintable():
        return line
    # Escaped it is longer.
    return _cut("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line), limit)


def _cut(text: str, limit: int) -> str:
    return (
        text if len(text) <= limit else f"{text[: limit * 2 // 3]}…{text[len(text) - (limit - limit * 2 // 3 - 1) :]}"
    )


class TtsPrepError(Exception):
    """The root of every error that tts-prep raises on purpose."""


class ConfigurationError(TtsPrepError, ValueError):
    """A setting has a value that cannot be used."""


class MissingPackageError(TtsPrepError):
    """A package that is asked for is not installed; the message says how to install it."""


class CorpusError(TtsPrepError):
    """A corpus cannot be read at all: a folder or a file of its layout is missing or empty."""


class CorpusChangedError(CorpusError):
    """A recording is not what it was when the run was planned."""


class UtteranceError(TtsPrepError):
    """One utterance cannot be used; the others can.

    The pipeline turns it into one line of ``failures.jsonl``, under the name of the stage.
    """

    stage: ClassVar[str] = "corpus"


class AudioError(UtteranceError):
    """The recording of an utterance is missing, unreadable or unusable."""

    stage = "audio"


class TextError(UtteranceError):
    """The text of an utterance gives no phonemes, or symbols outside of the vocabulary."""

    stage = "text"


class AlignmentError(UtteranceError):
    """The alignment of an utterance is missing, unreadable, or not one of its recording and phonemes."""

    stage = "alignment"


class FeatureError(UtteranceError):
    """A feature of an utterance cannot be computed, or an array made elsewhere does not fit it."""

    stage = "feature"


class StoreError(TtsPrepError):
    """A folder is not a store, not a whole one, or one made with other settings.

    A store may come from anywhere, so the message is one line of bounded length without control characters.
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class CorruptStoreError(StoreError):
    """A file of a store is not what the manifest, the index or the format says."""


class WriteError(StoreError):
    """A file of a store cannot be written: the disk is full, broken, gone or read-only."""


class StoreInUseError(StoreError):
    """Another process is making the store."""


class WorkerError(TtsPrepError):
    """A worker process was killed, and killed again when it tried the same shard alone."""


class TooManyFailuresError(TtsPrepError):
    """More utterances failed than the run allows."""


class SamplingError(TtsPrepError, ValueError):
    """A sampler cannot make batches from these lengths with these settings."""
