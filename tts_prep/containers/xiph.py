"""Xiph.Org's containers: FLAC and Ogg."""

import os
import struct
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO

import numpy as np

from tts_prep.preprocess.audio.containers import stream as pcm

# A stream begins with STREAMINFO; in the second form it is the last block of metadata.
_BEGINNINGS = (b"fLaC\x00\x00\x00\x22", b"fLaC\x80\x00\x00\x22")
_MAGIC = int.from_bytes(b"fLaC", "little")
_PIECE = 1 << 17
_MAX_TAIL = 1 << 20
_TOTAL_MASK = (1 << 36) - 1


def inspect_flac(file: FileIO, start: int, size: int) -> pcm.Stream:
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
        raise pcm.BrokenRecordingError("truncated or damaged, expected 42 bytes of STREAMINFO")
    second = _find_beginning(file, start + 8, size)
    if second is not None:
        raise pcm.BrokenRecordingError(pcm.several_streams(second))
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
            raise pcm.BrokenRecordingError(f"damaged, {end:,} samples, the header says {total:,}")
        return pcm.Stream("FLAC", total)
    if end is None:
        raise pcm.BrokenRecordingError("truncated, the last frame is incomplete")
    if end > _TOTAL_MASK:
        raise pcm.BrokenRecordingError(f"damaged, the last frame ends at sample {end:,}")
    data = bytearray(pcm.read_from(file, start))
    data[18:26] = (properties | end).to_bytes(8, "big")
    return pcm.Stream("FLAC", end, contents=bytes(data))


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


def inspect_ogg(data: bytes) -> pcm.Stream:
    """Walk the pages of an Ogg file.

    libogg skips pages with a wrong checksum, and libsndfile reads only the first of several streams. It decodes Opus
    at the sample rate of the encoder's input, which is informative only, and reads no FLAC in Ogg.

    Raises:
        BrokenRecordingError: a page is damaged or missing, there are several streams, or the codec is another one.
    """
    pages = _pages(data)
    first = data[pages[0].body : pages[0].end]
    if first.startswith(b"OpusHead") and len(first) >= 19:
        return pcm.Stream("Ogg", contents=_opus(data, pages))
    if first.startswith(b"\x7fFLAC"):
        return _flac(data, pages)
    if not first.startswith(b"\x01vorbis"):
        name = first[:8].decode("ascii", "replace").strip()
        raise pcm.BrokenRecordingError(f"Ogg with a stream that begins {name!r}, expected Vorbis, Opus or FLAC")
    return pcm.Stream("Ogg")


def _pages(data: bytes) -> list[_Page]:
    position, ended = 0, False
    serial = sequence = -1
    pages: list[_Page] = []
    while position < len(data):
        header = data[position : position + 27]
        if len(header) < 27 or header[:5] != b"OggS\0":
            if (len(header) < 27 and b"OggS".startswith(header[:4])) or header[:4] == b"OggS":
                raise pcm.BrokenRecordingError(f"truncated, the page at byte {position:,} is incomplete")
            raise pcm.BrokenRecordingError(f"damaged at byte {position:,}, expected an Ogg page")
        kind, granule, found_serial, found_sequence, checksum, n_segments = struct.unpack("<5xBqIIIB", header)
        body = position + 27 + n_segments
        end = body + sum(data[position + 27 : body])
        if end > len(data) or body > len(data):
            raise pcm.BrokenRecordingError(f"truncated, the page at byte {position:,} is incomplete")
        if pages and (ended or kind & _BEGINS or found_serial != serial):
            raise pcm.BrokenRecordingError(pcm.several_streams(position))
        if page_checksum(data[position:end]) != checksum:
            raise pcm.BrokenRecordingError(f"damaged, the checksum of the page at byte {position:,} does not match")
        if pages and found_sequence != (sequence + 1) & 0xFFFFFFFF:
            raise pcm.BrokenRecordingError(
                f"damaged, page {found_sequence} at byte {position:,}, expected page {sequence + 1}"
            )
        pages.append(_Page(position, body, end, data[position + 27 : body], granule))
        serial, sequence, ended = found_serial, found_sequence, bool(kind & _ENDS)
        position = end
    if not ended:
        raise pcm.BrokenRecordingError(f"truncated, none of its {len(pages)} pages is marked as the last")
    return pages


def _opus(data: bytes, pages: list[_Page]) -> bytes:
    """Return an Opus file whose header names the rate of the codec as that of the encoder's input."""
    changed = bytearray(data)
    struct.pack_into("<I", changed, pages[0].body + 12, 48_000)
    last = pages[-1]
    if last.granule > 0 and all(page.granule <= 0 for page in pages[:-1]):
        # A cut by ffmpeg's -c copy counts from where it was cut, which libsndfile refuses if there is one page.
        n_samples = sum(map(_opus_samples, _packets(data, [last])))
        struct.pack_into("<q", changed, last.position + 6, min(last.granule, n_samples))
    for page in (pages[0], last):
        checksum = page_checksum(bytes(changed[page.position : page.end]))
        struct.pack_into("<I", changed, page.position + 22, checksum)
    return bytes(changed)


def _opus_samples(packet: bytes) -> int:
    """Return the number of samples of a packet at 48 kHz, by its first byte or two (RFC 6716, 3.1 and 3.2)."""
    config, frames = packet[0] >> 3 if packet else 0, (packet[:1] or b"\0")[0] & 3
    shortest, sizes = (
        (480, (1, 2, 4, 6)) if config < 12 else (480, (1, 2, 1, 2)) if config < 16 else (120, (1, 2, 4, 8))
    )
    return shortest * sizes[config & 3] * (packet[1] & 63 if frames == 3 and len(packet) > 1 else min(frames, 1) + 1)


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
        raise pcm.BrokenRecordingError("truncated, the last packet is incomplete")


def _flac(data: bytes, pages: list[_Page]) -> pcm.Stream:
    """Return the FLAC stream in an Ogg file, as a file of its own."""
    packets = _packets(data, pages)
    # The first packet has 9 bytes of its own before the beginning of a native stream; each other one is a block.
    native = b"".join([next(packets)[9:], *packets])
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(native)
        stream = inspect_flac(file, 0, len(native))
    total = pages[-1].granule
    if stream.n_samples is not None and total > 0 and stream.n_samples != total:
        raise pcm.BrokenRecordingError(f"damaged, {stream.n_samples:,} samples, the last page says {total:,}")
    return pcm.Stream("FLAC", stream.n_samples, contents=stream.contents or native)


def page_checksum(page: bytes) -> int:
    """Return the CRC-32 of a page: zlib's polynomial, with the bits of bytes and of the result reversed."""
    page = page[:22] + bytes(4) + page[26:]
    reflected = zlib.crc32(page.translate(_REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{reflected:032b}"[::-1], 2)


FLAC = pcm.Container(pcm.begins_with(b"fLaC"), inspect_flac)
OGG = pcm.Container(pcm.begins_with(b"OggS"), lambda file, start, _: inspect_ogg(pcm.read_from(file, start)))
