"""What a container of a recording has: what headers are read with, and samples that are read without libsndfile."""

import os
import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from io import FileIO
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class BrokenRecordingError(ValueError):
    """A container is truncated or damaged, or has several streams."""


class PlainSamples(NamedTuple):
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


class Stream(NamedTuple):
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


class Container(NamedTuple):
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


_ORDER = "<" if sys.byteorder == "little" else ">"
_BYTES = {"PCM_16": 2, "PCM_24": 3, "FLOAT": 4}
_MAX_CHANNELS = 64

_HARMLESS = frozenset(
    (
        *(b"LIST", b"JUNK", b"junk", b"PAD ", b"FLLR", b"fact", b"PEAK", b"bext", b"iXML", b"cue ", b"smpl", b"inst"),
        *(b"id3 ", b"ID3 ", b"ds64"),
        *(b"NAME", b"AUTH", b"ANNO", b"(c) ", b"COMT", b"MARK", b"FVER", b"INST", b"APPL", b"CHAN"),
    )
)
"""Chunks that say nothing about samples."""


class PcmFile:
    """The samples of an open recording, with what `tts_prep.preprocess.audio.reading` uses of a `soundfile.SoundFile`.

    Samples are read, not mapped: a map of a file that becomes shorter ends the process.
    """

    def __init__(self, file: FileIO, plain: PlainSamples) -> None:
        self.format, self.subtype = plain.format, plain.subtype
        self.samplerate, self.channels, self.frames = plain.sample_rate, plain.channels, plain.n_samples
        self._descriptor, self._order, self.first_byte = file.fileno(), plain.order, plain.position
        self._align = plain.channels * _BYTES[plain.subtype]
        self._next = 0

    def __enter__(self) -> "PcmFile":
        return self

    def __exit__(self, *_: object) -> None: ...

    def seek(self, frames: int) -> int:
        """Go to a sample."""
        self._next = frames
        return frames

    def buffer_read_into(self, buffer: npt.NDArray[Any], _dtype: str) -> int:
        """Fill an array with the next samples; return how many there were, fewer if the file has become shorter.

        Args:
            buffer: [n, channels], contiguous.
            _dtype: ``int16`` for 16 bits, otherwise ``float32``; integers of 24 bits are divided by their full scale.
        """
        if self.subtype == "PCM_24":
            raw = np.zeros((len(buffer) * self.channels, 4), np.uint8)
            packed = np.empty((len(raw), 3), np.uint8)
            count = self._read(packed)
            # To the upper bytes of an integer of 32 bits, so that the sign is right.
            raw[:, 1:] = packed if self._order == "<" else packed[:, ::-1]
            # 24 bits are exact in float32.
            np.multiply(raw.view("<i4")[:, 0], np.float32(2.0**-31), out=buffer.reshape(-1), casting="unsafe")
            return count
        count = self._read(buffer)
        if self._order != _ORDER:
            buffer.byteswap(inplace=True)
        return count

    def _read(self, target: npt.NDArray[Any]) -> int:
        """Fill an array with bytes; return the number of whole samples."""
        rest = memoryview(target).cast("B")
        position = first = self.first_byte + self._next * self._align
        while rest and (count := os.preadv(self._descriptor, [rest], position)):
            position += count
            rest = rest[count:]
        n_samples = (position - first) // self._align
        self._next += n_samples
        return n_samples


def plain_wav(
    chunk: bytes, names: Sequence[bytes], position: int, length: int, container: str = "WAV"
) -> PlainSamples | None:
    """Return where the samples of a WAV or Wave64 file with bytes in the order of Intel lie; None if in doubt.

    Args:
        chunk: the contents of ``fmt ``.
        names: the names of all chunks.
        position, length: of the samples, in bytes.
    """
    if len(chunk) not in (16, 18, 40) or not are_known(names, b"fmt ", b"data"):
        return None
    kind, channels, rate, per_second, align, bits = struct.unpack("<HHIIHH", chunk[:16])
    if len(chunk) == 18 and chunk[16:] != b"\0\0":
        return None
    if len(chunk) == 40:
        # The sizes of the extension and of samples, and the rest of the GUID of a format.
        if kind != 0xFFFE or chunk[16:20] != struct.pack("<HH", 22, bits) or chunk[26:] != _GUID_TAIL:
            return None
        (kind,) = struct.unpack("<H", chunk[24:26])
    subtype = {(1, 16): "PCM_16", (1, 24): "PCM_24", (3, 32): "FLOAT"}.get((kind, bits))
    if subtype is None or align != channels * bits // 8 or per_second != rate * align:
        return None
    return plain_samples(container if len(chunk) < 40 else "WAVEX", subtype, "<", rate, channels, position, length)


_GUID_TAIL = bytes.fromhex("000000001000800000aa00389b71")


def are_known(names: Sequence[bytes], *needed: bytes) -> bool:
    """Return whether chunks are the needed ones, in this order and once each, and others that are harmless."""
    return [name for name in names if name not in _HARMLESS] == list(needed)


def plain_samples(
    container: str, subtype: str, order: str, rate: int, channels: int, position: int, length: int
) -> PlainSamples | None:
    """Return where samples of these numbers lie; None if they cannot be."""
    if not 1 <= channels <= _MAX_CHANNELS or length <= 0:
        return None
    n_samples, odd = divmod(length, channels * _BYTES[subtype])
    return None if odd else PlainSamples(container, subtype, order, rate, channels, position, n_samples)
