"""The exceptions of tts-prep.

Every message says in one line where the fault is, what was found, what was expected, and what to do. The command line
prints messages unchanged, and ``failures.jsonl`` contains them unchanged.
"""

import re
from typing import ClassVar

_MAX_LINE = 1000
NO_WAVEFORMS = "the store has no waveforms; repeat the command that made it with --update --waveform int16"
"""What is said wherever waveforms are needed."""

A_MODEL = (
    "feature: a model needs a complete store; make the store without it, and add it by 'tts-prep add STORE "
    "--feature NAME'"
)
"""The error of a model that is to be called for each utterance."""

_VERIFY = "; run 'tts-prep verify'"
_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069]")


def one_line(text: str, limit: int = _MAX_LINE) -> str:
    """Return a text as one line that is safe to print on a terminal.

    Non-printable characters (line ends, escape sequences, C1 and bidirectional controls) are escaped. The middle of a
    line of more than ``limit`` characters is omitted.
    """
    line = _cut(text, limit)
    if line.isprintable():
        return line
    # Escaping makes it longer.
    return _cut("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line), limit)


def _cut(text: str, limit: int) -> str:
    return (
        text if len(text) <= limit else f"{text[: limit * 2 // 3]}…{text[len(text) - (limit - limit * 2 // 3 - 1) :]}"
    )


def described(error: BaseException) -> str:
    """Return the class and the message of an exception of any library, whose message may itself raise."""
    try:
        text = str(error)
    except Exception:
        text = "without a message that can be shown"
    return f"{type(error).__name__}: {text}"


class TtsPrepError(Exception):
    """The base class of all exceptions that tts-prep raises."""


class ConfigurationError(TtsPrepError, ValueError):
    """A setting has an invalid value.

    The message quotes the value, so it is one line of bounded length without control characters.
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message, 4 * _MAX_LINE))


class ExactlyOnceWarning(UserWarning):
    """An epoch repeats or omits utterances; the message says how many."""


class OfflineWarning(UserWarning):
    """A store behind a URL was opened from its copy in the cache, because the server could not be reached."""


class MissingPackageError(TtsPrepError):
    """A required package is not installed; the message says how to install it."""


class CorpusError(TtsPrepError):
    """A corpus cannot be read at all: a folder or a file of its layout is missing or empty.

    Corpora are untrusted, so the message is one line of bounded length without control characters.
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message, 4 * _MAX_LINE))


class CorpusChangedError(CorpusError):
    """A recording has changed since the run was planned."""


class UtteranceError(TtsPrepError):
    """One utterance cannot be used.

    The run records it in ``failures.jsonl`` with the name of the stage, and continues with the other utterances. The
    message is one line of bounded length, although it can quote what the utterance's files hold.
    """

    stage: ClassVar[str] = "corpus"

    def __init__(self, message: str) -> None:
        # Without line ends and controls, it is as it is: spaces of other scripts are not escaped.
        bounded = one_line if _CONTROL.search(message) else _cut
        super().__init__(bounded(message, 4 * _MAX_LINE))


class AudioError(UtteranceError):
    """The recording of an utterance is missing, unreadable or unusable."""

    stage = "audio"


class TextError(UtteranceError):
    """The text of an utterance has no phonemes, or symbols that are not in the vocabulary."""

    stage = "text"


class AlignmentError(UtteranceError):
    """The alignment of an utterance is missing, unreadable, or does not match its recording or phonemes."""

    stage = "alignment"


class FeatureError(UtteranceError):
    """A feature of an utterance cannot be computed, or an imported array does not match it."""

    stage = "feature"


class StoreError(TtsPrepError):
    """A folder is not a store, is an incomplete store, or was made with other settings.

    Stores are untrusted, so the message is one line of bounded length without control characters.
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class CorruptStoreError(StoreError):
    """A file of a store contradicts the manifest or the index, or violates the format."""


def broken(message: str) -> CorruptStoreError:
    """Return the error of a complete store that is broken: verifying names all of its broken files, and the repair."""
    return CorruptStoreError(f"{message}{_VERIFY}")


def fault_of(error: TtsPrepError) -> str:
    """Return the message of an error for who verifies the store already."""
    return str(error).removesuffix(_VERIFY)


class CannotReadError(StoreError):
    """A file cannot be read on this system at present, which says nothing about the file.

    A process was killed, a library is missing, there are too many open files, or reading is not permitted. The command
    line ends with the exit status 3.
    """


class WriteError(StoreError):
    """A file of a store cannot be written: the disk is full, broken, gone or read-only."""


class StoreInUseError(StoreError):
    """Another process is writing to the store."""


class WorkerError(TtsPrepError):
    """A worker process was killed, and killed again when it retried the same shard alone."""


class TooManyFailuresError(TtsPrepError):
    """More utterances failed than the run allows."""


class SamplingError(TtsPrepError, ValueError):
    """A sampler cannot make batches of the given lengths with its settings."""
