"""Containers of uncompressed samples: WAV, RF64, Wave64, AIFF, AU, CAF and NIST SPHERE.

Their headers contain the number of bytes of samples.

Sources: Multimedia Programming Interface and Data Specifications 1.0 by IBM and Microsoft (RIFF), EBU Tech 3306 (RF64),
Sony's Wave64 specification, Apple's AIFF-C draft of 1991 and Core Audio Format 1.0, Sun's audio(4), NIST's SPHERE 2.6.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from io import FileIO

from tts_prep.preprocess.audio.containers.stream import BrokenRecordingError, Stream, several_streams

# A crafted file can hold millions of tiny chunks.
_MAX_CHUNKS = 1000

# Sizes of this or more are unknown: writers that cannot seek write all ones, sox and others a number near 2^31.
_UNKNOWN_32 = 0x7FFF0000
_UNKNOWN_64 = 1 << 62

_W64_TAIL = bytes.fromhex("f3acd3118cd100c04f8edb8a")


def inspect_wav(file: FileIO, start: int, size: int) -> Stream:
    """Inspect a RIFF, RIFX, RF64 or BW64 file.

    Args:
        start: the position of the container.
        size: the size of the file.

    Raises:
        BrokenRecordingError: it is truncated, or another container follows.
    """
    order = ">" if _at(file, start, 4) == b"RIFX" else "<"
    (riff_size,) = _numbers(file, start + 4, order + "I")
    long_size: int | None = None
    align = 1
    for name, position, length in _chunks(file, start + 12, size, order):
        if name == b"ds64":
            riff_size, long_size = _numbers(file, position, order + "QQ")
        elif name == b"fmt ":
            (align,) = _numbers(file, position + 12, order + "H")
        elif name == b"data":
            found = size - position
            if length == 0xFFFFFFFF and long_size is not None:
                length = long_size
            if length == 0 and found > 0 and riff_size + 8 < size - start:
                # A writer that could not seek left the sizes at 0.
                data = bytearray(_at(file, start, size - start))
                struct.pack_into(order + "I", data, position - start - 4, min(found, 0xFFFFFFFF))
                struct.pack_into(order + "I", data, 4, min(size - start - 8, 0xFFFFFFFF))
                return _check_multiple(found, align, Stream("WAV", contents=bytes(data)))
            if length >= _UNKNOWN_32 and length > found and (long_size is None or length >= _UNKNOWN_64):
                return _check_multiple(found, align, Stream("WAV"))
            _check_length(found, length)
            if riff_size < _UNKNOWN_32:
                _check_alone(file, start + 8 + riff_size, start)
            return Stream("WAV")
    return Stream("WAV")


def inspect_w64(file: FileIO, start: int, size: int) -> Stream:
    """Inspect a Wave64 file; arguments and errors as in `inspect_wav`."""
    position = start + 40
    for _ in range(_MAX_CHUNKS):
        header = _at(file, position, 24)
        if len(header) < 24:
            break
        (length,) = struct.unpack("<Q", header[16:])
        if header[:16] == b"data" + _W64_TAIL:
            if length < _UNKNOWN_64:
                _check_length(size - position, length)
                _check_alone(file, position + length + -length % 8, start)
            break
        position += max(24, length + -length % 8)
    return Stream("W64")


def inspect_aiff(file: FileIO, start: int, size: int) -> Stream:
    """Inspect an AIFF or AIFF-C file; arguments and errors as in `inspect_wav`."""
    (form_size,) = _numbers(file, start + 4, ">I")
    promised = 0
    for name, position, length in _chunks(file, start + 12, size, ">"):
        if name == b"COMM" and _at(file, start + 8, 4) == b"AIFF":
            channels, n_samples, bits = _numbers(file, position, ">HIH")
            promised = channels * n_samples * -(-bits // 8)
        # ffmpeg writes 0 if it cannot seek, and libsndfile then reads to the end.
        if name == b"SSND" and length:
            _check_length(size - position, length)
            # Samples follow an offset and a block size of 4 bytes each.
            _check_length(length - 8, promised)
    if 0 < form_size < _UNKNOWN_32:
        _check_alone(file, start + 8 + form_size + form_size % 2, start)
    return Stream("AIFF")


def inspect_au(file: FileIO, start: int, size: int) -> Stream:
    """Inspect an AU file in either byte order; arguments and errors as in `inspect_wav`."""
    offset, length = _numbers(file, start + 4, ">II" if _at(file, start, 4) == b".snd" else "<II")
    if length != 0xFFFFFFFF:
        _check_length(size - start - offset, length)
        _check_alone(file, start + offset + length, start)
    return Stream("AU")


def inspect_caf(file: FileIO, start: int, size: int) -> Stream:
    """Inspect a Core Audio file; arguments and errors as in `inspect_wav`."""
    position = start + 8
    for _ in range(_MAX_CHUNKS):
        header = _at(file, position, 12)
        if len(header) < 12:
            break
        (length,) = struct.unpack(">q", header[4:])
        if header[:4] == b"caff":
            raise BrokenRecordingError(several_streams(position))
        if length < 0:
            break
        if header[:4] == b"data":
            _check_length(size - position - 12, length)
        position += 12 + length
    return Stream("CAF")


def inspect_nist(file: FileIO, start: int, size: int) -> Stream:
    """Inspect a NIST SPHERE file; arguments and errors as in `inspect_wav`."""
    fields: dict[str, int] = {}
    lines = _at(file, start, 4096).decode("latin-1").split("\n")
    for line in lines:
        words = line.split()
        if words[:1] == ["end_head"]:
            break
        if len(words) == 3 and words[1] == "-i" and words[2].isascii() and words[2].isdigit() and len(words[2]) < 19:
            fields[words[0]] = int(words[2])
    names = ("sample_count", "channel_count", "sample_n_bytes")
    if len(lines) > 1 and lines[1].strip().isdigit() and all(name in fields for name in names):
        header = int(lines[1][:18])
        count, channels, width = (fields[name] for name in names)
        _check_length(size - start - header, count * channels * width)
        _check_alone(file, start + header + count * channels * width, start)
        return Stream("SPH", count)
    raise BrokenRecordingError("the header lacks sample_count, channel_count or sample_n_bytes")


def _chunks(file: FileIO, position: int, size: int, order: str) -> Iterator[tuple[bytes, int, int]]:
    """Yield (name, position of the contents, length) of each chunk of a RIFF or an AIFF file."""
    for _ in range(_MAX_CHUNKS):
        header = _at(file, position, 8)
        if len(header) < 8 or position >= size:
            return
        (length,) = struct.unpack(order + "I", header[4:])
        yield header[:4], position + 8, length
        position += 8 + length + length % 2


def _check_multiple(found: int, align: int, stream: Stream) -> Stream:
    if align > 1 and found % align:
        raise BrokenRecordingError(f"truncated, {found:,} bytes of samples are not a multiple of {align}")
    return stream


def _check_length(found: int, length: int) -> None:
    if length > found:
        raise BrokenRecordingError(f"truncated, {max(0, found):,} bytes of samples, the header says {length:,}")


def _check_alone(file: FileIO, end: int, start: int) -> None:
    """Check that no container of the same kind follows the first one."""
    if end < 1 << 62 and end > start and _at(file, end, 4) == _at(file, start, 4):
        raise BrokenRecordingError(several_streams(end))


def _numbers(file: FileIO, position: int, form: str) -> tuple[int, ...]:
    """Return numbers of a header; 0 for those beyond the end of the file."""
    size = struct.calcsize(form)
    return struct.unpack(form, _at(file, position, size).ljust(size, b"\0"))


def _at(file: FileIO, position: int, length: int) -> bytes:
    return os.pread(file.fileno(), length, position) if position < 1 << 62 else b""
