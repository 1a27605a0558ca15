"""Ogg pages of Vorbis, Opus and FLAC. Sources: RFC 3533 (Ogg), RFC 7845 (Opus), RFC 9639, section 10.1 (FLAC)."""

from __future__ import annotations

import struct
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from tts_prep.containers.flac import inspect_flac
from tts_prep.preprocess.audio.containers.stream import BrokenRecordingError, Stream, several_streams

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
_BEGINS, _ENDS = 2, 4


@dataclass(frozen=True)
class _Page:
    """A page.

    Attributes:
        position, end: its place in the file.
        body: the position of its contents.
        sizes: the sizes of the segments of its contents.
        granule: the number of samples up to its end.
    """

    position: int
    body: int
    end: int
    sizes: bytes
    granule: int


def inspect_ogg(data: bytes) -> Stream:
    """Walk the pages of an Ogg file.

    libogg skips pages with a wrong checksum, and libsndfile reads only the first of several streams. It decodes Opus
    at the sample rate of the encoder's input, which is informative only, and reads no FLAC in Ogg.

    Raises:
        BrokenRecordingError: a page is damaged or missing, there are several streams, or the codec is another one.
    """
    pages = _pages(data)
    first = data[pages[0].body : pages[0].end]
    if first.startswith(b"OpusHead") and len(first) >= 19:
        return Stream("Ogg", contents=_at_48000_hertz(data, pages[0]))
    if first.startswith(b"\x7fFLAC"):
        return _flac(data, pages)
    if not first.startswith(b"\x01vorbis"):
        name = first[:8].decode("ascii", "replace").strip()
        raise BrokenRecordingError(f"Ogg with a stream that begins {name!r}, expected Vorbis, Opus or FLAC")
    return Stream("Ogg")


def _pages(data: bytes) -> list[_Page]:
    position, ended = 0, False
    serial = sequence = -1
    pages: list[_Page] = []
    while position < len(data):
        header = data[position : position + 27]
        if len(header) < 27 or header[:5] != b"OggS\0":
            if (len(header) < 27 and b"OggS".startswith(header[:4])) or header[:4] == b"OggS":
                raise BrokenRecordingError(f"truncated, the page at byte {position:,} is incomplete")
            raise BrokenRecordingError(f"damaged at byte {position:,}, expected an Ogg page")
        kind, granule, found_serial, found_sequence, checksum, n_segments = struct.unpack("<5xBqIIIB", header)
        body = position + 27 + n_segments
        end = body + sum(data[position + 27 : body])
        if end > len(data) or body > len(data):
            raise BrokenRecordingError(f"truncated, the page at byte {position:,} is incomplete")
        if pages and (ended or kind & _BEGINS or found_serial != serial):
            raise BrokenRecordingError(several_streams(position))
        if page_checksum(data[position:end]) != checksum:
            raise BrokenRecordingError(f"damaged, the checksum of the page at byte {position:,} does not match")
        if pages and found_sequence != (sequence + 1) & 0xFFFFFFFF:
            raise BrokenRecordingError(
                f"damaged, page {found_sequence} at byte {position:,}, expected page {sequence + 1}"
            )
        pages.append(_Page(position, body, end, data[position + 27 : body], granule))
        serial, sequence, ended = found_serial, found_sequence, bool(kind & _ENDS)
        position = end
    if not ended:
        raise BrokenRecordingError(f"truncated, none of its {len(pages)} pages is marked as the last")
    return pages


def _at_48000_hertz(data: bytes, page: _Page) -> bytes:
    """Return an Opus file whose header names the rate of the codec as that of the encoder's input."""
    changed = bytearray(data)
    struct.pack_into("<I", changed, page.body + 12, 48_000)
    checksum = page_checksum(bytes(changed[page.position : page.end]))
    struct.pack_into("<I", changed, page.position + 22, checksum)
    return bytes(changed)


def _packets(data: bytes, pages: list[_Page]) -> Iterator[bytes]:
    """Yield the packets of a stream: segments up to one of less than 255 bytes."""
    parts: list[bytes] = []
    for page in pages:
        position = page.body
        for size in page.sizes:
            parts.append(data[position : position + size])
            position += size
            if size < 255:
                yield b"".join(parts)
                parts = []
    if parts:
        raise BrokenRecordingError("truncated, the last packet is incomplete")


def _flac(data: bytes, pages: list[_Page]) -> Stream:
    """Return the FLAC stream in an Ogg file, as a file of its own."""
    packets = _packets(data, pages)
    # The first packet has 9 bytes of its own before the beginning of a native stream; each other one is a block.
    native = b"".join([next(packets)[9:], *packets])
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(native)
        stream = inspect_flac(file, 0, len(native))
    total = pages[-1].granule
    if stream.n_samples is not None and total > 0 and stream.n_samples != total:
        raise BrokenRecordingError(f"damaged, {stream.n_samples:,} samples, the last page says {total:,}")
    return Stream("FLAC", stream.n_samples, contents=stream.contents or native)


def page_checksum(page: bytes) -> int:
    """Return the CRC-32 of a page: zlib's polynomial, with the bits of bytes and of the result reversed."""
    page = page[:22] + bytes(4) + page[26:]
    reflected = zlib.crc32(page.translate(_REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{reflected:032b}"[::-1], 2)
