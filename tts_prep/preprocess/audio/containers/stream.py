"""The result of inspecting a recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import FileIO


class BrokenRecordingError(ValueError):
    """A container is truncated or damaged, or has several streams."""


@dataclass(frozen=True)
class PlainSamples:
    """Where the samples of an uncompressed recording lie, if its header leaves no doubt.

    Attributes:
        format, subtype: the names of libsndfile, such as ``WAV`` and ``PCM_16``.
        order: the byte order, ``<`` or ``>``.
        position: of the first sample, in bytes.
        n_samples: the number of samples per channel; the file had as many when it was inspected.
    """

    format: str
    subtype: str
    order: str
    sample_rate: int
    channels: int
    position: int
    n_samples: int


@dataclass(frozen=True)
class Stream:
    """The single stream of a complete container.

    Attributes:
        container: the name of the container in messages.
        n_samples: the number of samples per channel, from the header or by counting frames; None if libsndfile's count
            is correct.
        padding: the number of zeros to append to the file if libsndfile estimates too few samples.
        contents: bytes to decode instead of the file, if libsndfile would misread it.
        is_lossy: the contents are what a lossy codec was decoded to, so that peaks beyond full scale say nothing.
        plain: where the samples are, if they can be read without libsndfile.
    """

    container: str
    n_samples: int | None = None
    padding: int = 0
    contents: bytes | None = None
    is_lossy: bool = False
    plain: PlainSamples | None = None


@dataclass(frozen=True)
class Container:
    """A kind of recordings besides WAV.

    Attributes:
        begins: whether the first ten bytes behind ID3 tags are those of such a file.
        inspect: returns the stream of an open file; the position of these bytes, and the size of the file, follow.
    """

    begins: Callable[[bytes], bool]
    inspect: Callable[[FileIO, int, int], Stream]


def read_from(file: FileIO, position: int) -> bytes:
    """Return the bytes of a file from a position to its end."""
    file.seek(position)
    return file.read()


def several_streams(position: int) -> str:
    """Return the error message for a file with a second stream."""
    return f"another recording begins at byte {position:,}; write them to one stream or to a file each"
