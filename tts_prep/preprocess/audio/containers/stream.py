"""What a container of a recording has, and what the inspections of containers read its headers with."""

import os
import re
import struct
from collections.abc import Callable, Iterator
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
        after_zeros: it may also begin behind zeros.
    """

    begins: Callable[[bytes], bool]
    inspect: Callable[[FileIO, int, int], Stream]
    after_zeros: bool = False


def begins_with(*magic: bytes) -> Callable[[bytes], bool]:
    """Return whether the first four bytes of a file are one of several, as a function."""
    return lambda header: header[:4] in magic


def read_from(file: FileIO, position: int) -> bytes:
    """Return the bytes of a file from a position to its end."""
    file.seek(position)
    return file.read()


def several_streams(position: int) -> str:
    """Return the error message for a file with a second stream."""
    return f"another recording begins at byte {position:,}; write them to one stream or to a file each"


# A crafted file can hold millions of tiny chunks.
MAX_CHUNKS = 1000

# Sizes of this or more are unknown: writers that cannot seek write all ones, sox and others a number near 2^31.
UNKNOWN_32 = 0x7FFF0000
UNKNOWN_64 = 1 << 62

_PIECE = 1 << 20
_LONGEST_BEGINNING = 64
_ID3V1 = 128


def at(file: FileIO, position: int, length: int) -> bytes:
    """Return the bytes at a position; fewer at the end of the file."""
    return os.pread(file.fileno(), length, position) if 0 <= position < 1 << 62 else b""


def numbers(file: FileIO, position: int, form: str) -> tuple[int, ...]:
    """Return numbers of a header; 0 for those beyond the end of the file."""
    size = struct.calcsize(form)
    return struct.unpack(form, at(file, position, size).ljust(size, b"\0"))


def chunks(file: FileIO, position: int, size: int, order: str) -> Iterator[tuple[bytes, int, int]]:
    """Yield (name, position of the contents, length) of each chunk of a RIFF or an AIFF file."""
    for _ in range(MAX_CHUNKS):
        header = at(file, position, 8)
        if len(header) < 8 or position >= size:
            return
        (length,) = struct.unpack(order + "I", header[4:])
        yield header[:4], position + 8, length
        position += 8 + length + length % 2


def check_length(found: int, length: int) -> None:
    """Check that a header claims no more bytes of samples than there are."""
    if length > found:
        raise BrokenRecordingError(f"truncated, {max(0, found):,} bytes of samples, the header says {length:,}")


def check_multiple(found: int, align: int) -> None:
    """Check that samples of unknown size are complete."""
    if align > 1 and found % align:
        raise BrokenRecordingError(f"truncated, {found:,} bytes of samples are not a multiple of {align}")


def check_alone(file: FileIO, position: int, size: int, beginning: re.Pattern[bytes]) -> None:
    """Check that no other container of the same kind begins at a position or behind it."""
    while 0 <= position < size:
        piece = at(file, position, _PIECE + _LONGEST_BEGINNING)
        if found := beginning.search(piece):
            raise BrokenRecordingError(several_streams(position + found.start()))
        position += _PIECE


def end_of_samples(file: FileIO, position: int, size: int, beginning: re.Pattern[bytes]) -> int:
    """Return the end of samples whose size is unknown: the end of the file, or an ID3v1 tag there.

    Raises:
        BrokenRecordingError: another container follows.
    """
    check_alone(file, position, size, beginning)
    tag = at(file, size - _ID3V1, _ID3V1)
    # Text padded with zeros, and a genre: samples are never like that.
    is_tag = tag.startswith(b"TAG") and all(byte == 0 or byte >= 0x20 for byte in tag[:-1])
    return size - _ID3V1 if is_tag and size - _ID3V1 >= position else size


def id3v2_size(header: bytes) -> int:
    """Return the size of an ID3v2 tag from its first 10 bytes; 0 if it is not a tag."""
    if len(header) < 10 or header[:3] != b"ID3" or max(header[6:]) > 127:
        return 0
    a, b, c, d = header[6:]
    return 10 + (a << 21 | b << 14 | c << 7 | d) + (10 if header[5] & 0x10 else 0)
