"""Ogg pages of Vorbis and Opus. Source: RFC 3533."""

from __future__ import annotations

import struct
import zlib

from tts_prep.preprocess.audio.containers.stream import BrokenRecordingError, Stream, several_streams

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
_BEGINS, _ENDS = 2, 4


def inspect_ogg(data: bytes) -> Stream:
    """Walk the pages of an Ogg file.

    libogg skips pages with a wrong checksum, and libsndfile reads only the first of several streams.

    Raises:
        BrokenRecordingError: a page is damaged or missing, or there are several streams.
    """
    position, n_pages, ended = 0, 0, False
    serial = sequence = -1
    while position < len(data):
        header = data[position : position + 27]
        if len(header) < 27 or header[:5] != b"OggS\0":
            if (len(header) < 27 and b"OggS".startswith(header[:4])) or header[:4] == b"OggS":
                raise BrokenRecordingError(f"truncated, the page at byte {position:,} is incomplete")
            raise BrokenRecordingError(f"damaged at byte {position:,}, expected an Ogg page")
        kind, found_serial, found_sequence, checksum, n_segments = struct.unpack("<5xB8xIIIB", header)
        body = position + 27 + n_segments
        end = body + sum(data[position + 27 : body])
        if end > len(data) or body > len(data):
            raise BrokenRecordingError(f"truncated, the page at byte {position:,} is incomplete")
        if n_pages and (ended or kind & _BEGINS or found_serial != serial):
            raise BrokenRecordingError(several_streams(position))
        if page_checksum(data[position:end]) != checksum:
            raise BrokenRecordingError(f"damaged, the checksum of the page at byte {position:,} does not match")
        if n_pages and found_sequence != (sequence + 1) & 0xFFFFFFFF:
            raise BrokenRecordingError(
                f"damaged, page {found_sequence} at byte {position:,}, expected page {sequence + 1}"
            )
        serial, sequence, ended = found_serial, found_sequence, bool(kind & _ENDS)
        position, n_pages = end, n_pages + 1
    if not ended:
        raise BrokenRecordingError(f"truncated, none of its {n_pages} pages is marked as the last")
    return Stream("Ogg")


def page_checksum(page: bytes) -> int:
    """Return the CRC-32 of a page: zlib's polynomial, with the bits of bytes and of the result reversed."""
    page = page[:22] + bytes(4) + page[26:]
    reflected = zlib.crc32(page.translate(_REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{reflected:032b}"[::-1], 2)
