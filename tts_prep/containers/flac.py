"""FLAC streams. Source: RFC 9639."""

from __future__ import annotations

import os
from io import FileIO

import numpy as np

from tts_prep.preprocess.audio.containers.stream import BrokenRecordingError, Stream, read_from, several_streams

# A stream begins with STREAMINFO; in the second form it is the last block of metadata.
_BEGINNINGS = (b"fLaC\x00\x00\x00\x22", b"fLaC\x80\x00\x00\x22")
_MAGIC = int.from_bytes(b"fLaC", "little")
_PIECE = 1 << 17
_MAX_TAIL = 1 << 20
_TOTAL_MASK = (1 << 36) - 1


def inspect_flac(file: FileIO, start: int, size: int) -> Stream:
    """Inspect a FLAC file. libsndfile reads only the first of several streams, and no stream of unknown length.

    Args:
        start: the position of ``fLaC``.
        size: the size of the file.

    Raises:
        BrokenRecordingError: the length is unknown and the last frame is truncated, the number of samples contradicts
            the header, or there are several streams.
    """
    head = os.pread(file.fileno(), 42, start)
    if len(head) < 42 or head[:8] not in _BEGINNINGS:
        raise BrokenRecordingError("truncated or damaged, expected 42 bytes of STREAMINFO")
    second = _find_beginning(file, start + 8, size)
    if second is not None:
        raise BrokenRecordingError(several_streams(second))
    max_block = int.from_bytes(head[10:12], "big")
    properties = int.from_bytes(head[18:26], "big")
    total = properties & _TOTAL_MASK
    # The last frame is at most as long as the largest frame, if its size is known.
    longest = int.from_bytes(head[15:18], "big") or _MAX_TAIL
    tail_start = max(start + 42, size - min(longest + 256, _MAX_TAIL))
    tail = os.pread(file.fileno(), size - tail_start, tail_start)
    if tail[-128:].startswith(b"TAG"):
        tail = tail[:-128]
    end = _end_of_last_frame(tail, max_block, total)
    if total:
        if end is not None and end != total:
            raise BrokenRecordingError(f"damaged, {end:,} samples, the header says {total:,}")
        return Stream("FLAC", total)
    if end is None:
        raise BrokenRecordingError("truncated, the last frame is incomplete")
    if end > _TOTAL_MASK:
        raise BrokenRecordingError(f"damaged, the last frame ends at sample {end:,}")
    data = bytearray(read_from(file, start))
    data[18:26] = (properties | end).to_bytes(8, "big")
    return Stream("FLAC", end, contents=bytes(data))


def _find_beginning(file: FileIO, position: int, size: int) -> int | None:
    """Return the position of another stream, or None."""
    # One buffer for all pieces: allocating memory for each would take longer than the search.
    piece = bytearray(min(_PIECE, size) + 7)
    while position < size:
        stop = os.preadv(file.fileno(), [piece], position)
        # Comparing words of four bytes at each of four offsets is several times faster than bytearray.find.
        for offset in range(min(4, stop // 4)):
            words = np.frombuffer(piece, "<u4", (stop - offset) // 4, offset)
            for word in np.flatnonzero(words == _MAGIC).tolist():
                place = 4 * word + offset
                if piece[place : place + 8] in _BEGINNINGS:
                    return position + place
        position += _PIECE
    return None


def _end_of_last_frame(tail: bytes, max_block: int, total: int) -> int | None:
    """Return the number of samples up to the end of the last frame; None if no frame ends with the file.

    Args:
        tail: the end of the file.
        max_block: the maximum number of samples in a frame; the exact number if block sizes are fixed.
        total: the expected number of samples; the checksum of a frame that ends there is not checked.
    """
    place = len(tail)
    while (place := tail.rfind(b"\xff", 0, place)) >= 0:
        if tail[place + 1 : place + 2] not in (b"\xf8", b"\xf9"):
            continue
        end = _end_of_frame(tail[place : place + 17], max_block)
        if end is not None and (end == total or _crc16(tail[place:]) == 0):
            return end
    return None


def _end_of_frame(header: bytes, max_block: int) -> int | None:
    """Return the number of samples up to the end of a frame, from its header; None if it is not a frame header."""
    if len(header) < 6:
        return None
    block, rate = header[2] >> 4, header[2] & 15
    if block == 0 or rate == 15 or header[3] >> 4 > 10 or header[3] & 1:
        return None
    first = header[4]
    extra = 0 if first < 0x80 else 8 - (first ^ 0xFF).bit_length() - 1
    if first >= 0x80 and not 1 <= extra <= 6:
        return None
    number = first if extra == 0 else first & (0x3F >> extra)
    for byte in header[5 : 5 + extra]:
        number = number << 6 | byte & 0x3F
    position = 5 + extra
    if block in (6, 7):
        n_bytes = block - 5
        n_samples = int.from_bytes(header[position : position + n_bytes], "big") + 1
        position += n_bytes
    else:
        n_samples = 192 if block == 1 else 576 << block - 2 if block < 6 else 256 << block - 8
    position += {12: 1, 13: 2, 14: 2}.get(rate, 0)
    if len(header) <= position or _crc8(header[:position]) != header[position]:
        return None
    # The number counts samples if block sizes vary, else frames.
    return (number if header[1] & 1 else number * max_block) + n_samples


def _crc8(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc = _CRC8[crc ^ byte]
    return crc


def _crc16(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc = (crc << 8 & 0xFFFF) ^ _CRC16[crc >> 8 ^ byte]
    return crc


def _table(polynomial: int, bits: int) -> tuple[int, ...]:
    """Return the CRC of every byte."""
    values = []
    for byte in range(256):
        value = byte << bits - 8
        for _ in range(8):
            value = value << 1 ^ (polynomial if value >> bits - 1 else 0)
            value &= (1 << bits) - 1
        values.append(value)
    return tuple(values)


_CRC8, _CRC16 = _table(0x07, 8), _table(0x8005, 16)
