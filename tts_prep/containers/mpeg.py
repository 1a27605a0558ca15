"""MPEG audio frames of MP3, MP2 and MP1.

Sources: ISO/IEC 11172-3 and 13818-3 for frame headers, the LAME project's description of the Xing/Info header, and the
specifications of ID3v1, ID3v2, APEv2 and Lyrics3.
"""

import struct
from dataclasses import dataclass

from tts_prep.preprocess.audio.containers import stream as pcm

# kbit/s by the four bits in the header; 0 is free format, whose header has no length.
_V1 = {
    1: (0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    2: (0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    3: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
}
_V2_LAYER_1 = (0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256)
_V2 = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_RATES = {1: (44100, 48000, 32000), 2: (22050, 24000, 16000), 2.5: (11025, 12000, 8000)}
_VERSIONS = {0: 2.5, 2: 2, 3: 1}

# Without a tag, libsndfile takes the file for one of a Macintosh if there is one named "._" in the working folder.
_EMPTY_TAG = b"ID3\4\0\0\0\0\1\0" + bytes(128)


@dataclass(frozen=True)
class _Frame:
    """The header of a frame.

    Attributes:
        size: the size in bytes, including the header.
        n_samples: the number of samples per channel.
        side_info: the size of the side information of layer III, in bytes.
    """

    version: float
    layer: int
    sample_rate: int
    mono: bool
    size: int
    n_samples: int
    side_info: int


def inspect_frames(frames: bytes, where: str) -> pcm.Stream:
    """Inspect the samples of a WAV file that are MPEG audio.

    Args:
        where: the container and its position, for messages.

    Raises:
        BrokenRecordingError: they begin with no frame; see `inspect_mpeg`.
    """
    if frame_header(frames[:4]) is None:
        raise pcm.BrokenRecordingError(f"{where}, expected a frame of MPEG audio")
    return inspect_mpeg(frames, 0)


def inspect_mpeg(data: bytes, start: int) -> pcm.Stream:
    """Walk the frames of an MPEG audio file.

    For a file without a Xing or Info header, libsndfile estimates the length from the size, and stops there.

    Args:
        data: the bytes of the file.
        start: the position of the first frame.

    Raises:
        BrokenRecordingError: the last frame is incomplete, the number of frames contradicts a Xing or Info header,
            there is other data between frames, or there are several streams.
    """
    first = frame_header(data[start : start + 4])
    if first is None:
        raise pcm.BrokenRecordingError(f"damaged at byte {start:,}, expected the header of an MPEG audio frame")
    promised, tag = _promised(data, start, first)
    n_frames = _count_frames(data, start, first)
    if tag in (b"Xing", b"Info"):
        n_frames -= 1
    contents = _EMPTY_TAG + data[start:]
    if promised is None:
        n_samples = n_frames * first.n_samples
        # libmpg123 estimates the length by the size of the first frame.
        return pcm.Stream("MP3", n_samples, padding=n_frames * (first.size + 1) + 4096, contents=contents)
    if n_frames != promised:
        kind = "truncated" if n_frames < promised else "damaged"
        raise pcm.BrokenRecordingError(f"{kind}, {n_frames:,} frames, the header says {promised:,}")
    return pcm.Stream("MP3", contents=contents)


def frame_header(header: bytes) -> _Frame | None:
    """Parse a frame header; return None if it is not a frame header."""
    if len(header) < 4 or header[0] != 0xFF or header[1] & 0xE0 != 0xE0:
        return None
    version, layer = _VERSIONS.get(header[1] >> 3 & 3), 4 - (header[1] >> 1 & 3)
    bit_rate, rate, padding = header[2] >> 4, header[2] >> 2 & 3, header[2] >> 1 & 1
    if version is None or layer == 4 or bit_rate in (0, 15) or rate == 3:
        return None
    table = _V1[layer] if version == 1 else _V2_LAYER_1 if layer == 1 else _V2
    sample_rate, bits = _RATES[version][rate], 1000 * table[bit_rate]
    mono = header[3] >> 6 == 3
    if layer == 1:
        n_samples, size = 384, (12 * bits // sample_rate + padding) * 4
    else:
        n_samples = 576 if layer == 3 and version != 1 else 1152
        size = n_samples // 8 * bits // sample_rate + padding
    side_info = (17 if mono else 32) if version == 1 else (9 if mono else 17)
    return _Frame(version, layer, sample_rate, mono, size, n_samples, side_info)


def _tag(data: bytes, position: int, frame: _Frame) -> bytes:
    """Return ``b"Xing"`` or ``b"Info"`` if the frame is such a header, else ``b""``."""
    if frame.layer != 3:
        return b""
    place = position + 4 + frame.side_info
    name = data[place : place + 4]
    return name if name in (b"Xing", b"Info") and not any(data[position + 4 : place]) else b""


def _count_frames(data: bytes, start: int, first: _Frame) -> int:
    """Return the number of frames from a position on, all of the kind of the first.

    Raises:
        BrokenRecordingError: a frame is incomplete, there is other data between frames, or there are several streams.
    """
    stop = _end_of_frames(data)
    same = (first.version, first.layer, first.sample_rate, first.mono)
    sizes: dict[bytes, int] = {}
    # One search in the full file, because few files have another one.
    tagged = any(data.find(name, start + first.size) >= 0 for name in (b"Xing", b"Info"))
    n_frames, position = 0, start
    while position < stop:
        header = data[position : position + 4]
        # Cached by header, because most headers of a file are equal.
        size = sizes.get(header)
        if size is None:
            frame = frame_header(header)
            if frame is None:
                skipped = _size_of_tag(data, position, stop, within=n_frames > 0)
                if not skipped:
                    break
                position += skipped
                continue
            if (frame.version, frame.layer, frame.sample_rate, frame.mono) != same:
                raise pcm.BrokenRecordingError(pcm.several_streams(position))
            size = sizes[header] = frame.size
        if position + size > stop:
            raise pcm.BrokenRecordingError(f"truncated, the frame at byte {position:,} is incomplete")
        if tagged and position > start and _tag(data, position, first):
            raise pcm.BrokenRecordingError(pcm.several_streams(position))
        position += size
        n_frames += 1
    return n_frames


def _size_of_tag(data: bytes, position: int, stop: int, *, within: bool) -> int:
    """Return the size of an ID3 tag where there is no frame; 0 if only zeros follow.

    Args:
        within: frames precede it.

    Raises:
        BrokenRecordingError: there is something else, or frames follow a tag that frames precede.
    """
    size = pcm.id3v2_size(data[position : position + 10])
    if not size and not data[position:stop].strip(b"\0"):
        return 0
    if size and within and data[position + size : stop].strip(b"\0"):
        raise pcm.BrokenRecordingError(pcm.several_streams(position))
    if not size and len(data) - position < 4:
        raise pcm.BrokenRecordingError(f"truncated, the frame at byte {position:,} is incomplete")
    if not size:
        raise pcm.BrokenRecordingError(f"damaged at byte {position:,}, expected an MPEG audio frame")
    return size


def _promised(data: bytes, start: int, first: _Frame) -> tuple[int | None, bytes]:
    """Return the number of frames in the Xing or Info header, or None, and the name of the header."""
    tag = _tag(data, start, first)
    if tag:
        place = start + 4 + first.side_info
        flags, count = struct.unpack(">II", data[place + 4 : place + 12].ljust(8, b"\0"))
        return (count if flags & 1 else None), tag
    return None, b""


def _end_of_frames(data: bytes) -> int:
    """Return the position of the tags after the last frame."""
    stop = len(data)
    while True:
        before = stop
        if data[max(0, stop - 128) : stop].startswith(b"TAG"):
            stop -= 128
        footer = data[max(0, stop - 32) : stop]
        if footer.startswith(b"APETAGEX"):
            size, _, flags = struct.unpack("<III", footer[12:24])
            stop -= size + (32 if flags & 1 << 31 else 0)
        if data[max(0, stop - 9) : stop] == b"LYRICS200" and data[max(0, stop - 15) : stop - 9].isdigit():
            stop -= 15 + int(data[stop - 15 : stop - 9])
        if data[max(0, stop - 9) : stop] == b"LYRICSEND":
            # Lyrics3 without a size: at most 5,100 bytes between these words.
            begin = data.rfind(b"LYRICSBEGIN", max(0, stop - 5_120), stop)
            stop = begin if begin >= 0 else stop
        if stop == before or stop < 0:
            return max(0, stop)


def _is_mpeg(header: bytes) -> bool:
    # The two bits of the layer are 0 in AAC, whose frames begin like those of MPEG audio.
    return len(header) >= 4 and header[0] == 0xFF and header[1] & 0xE0 == 0xE0 and header[1] & 0x06 != 0


MPEG = pcm.Container(_is_mpeg, lambda file, start, _: inspect_mpeg(pcm.read_from(file, 0), start), after_zeros=True)
