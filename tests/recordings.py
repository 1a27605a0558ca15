"""Recordings in all containers, as written to pipes, truncated and concatenated."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable

import numpy as np
import soundfile
from corpora import speech_like

RATE = 24_000  # one that Opus has
CONTAINERS = {
    "wav": ("WAV", "PCM_16"),
    "wavex": ("WAVEX", "PCM_24"),
    "rf64": ("RF64", "PCM_16"),
    "w64": ("W64", "PCM_16"),
    "aiff": ("AIFF", "PCM_16"),
    "au": ("AU", "PCM_16"),
    "caf": ("CAF", "PCM_16"),
    "nist": ("NIST", "PCM_16"),
    "flac": ("FLAC", "PCM_16"),
    "vorbis": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
}
LOSSLESS = list(CONTAINERS)[:9]


def samples(seconds: float = 2.0) -> np.ndarray:
    """Return a speech-like sound with a louder second half, [n_samples] float64."""
    sound = speech_like(seconds, 1, RATE)
    sound[: len(sound) // 2] *= 0.01
    return sound


def recording(name: str, sound: np.ndarray | None = None, subtype: str | None = None, **options: object) -> bytes:
    """Return a complete recording in a container."""
    form, usual = CONTAINERS[name]
    sound = samples() if sound is None else sound
    memory = io.BytesIO()
    channels = 1 if sound.ndim == 1 else sound.shape[1]
    with soundfile.SoundFile(memory, "w", RATE, channels, subtype or usual, format=form, **options) as file:  # type: ignore[arg-type]
        file.write(sound)
    return memory.getvalue()


def headerless_mp3(mode: str = "CONSTANT") -> tuple[bytes, int]:
    """Return an MP3 without a Xing or Info header, as in Common Voice, and its number of frames."""
    data = recording("mp3", bitrate_mode=mode, compression_level=0.5)
    place = max(data.find(b"Xing", 0, 200), data.find(b"Info", 0, 200))
    (n_frames,) = struct.unpack(">I", data[place + 8 : place + 12])
    # The next header has the same version, layer and rate.
    return data[data.index(data[:2], 4) :], n_frames


def _replaced(data: bytes, position: int, value: bytes) -> bytes:
    return data[:position] + value + data[position + len(value) :]


def piped_wav(size: int) -> bytes:
    """Return a WAV file with the two sizes of a writer that cannot seek."""
    data = _replaced(recording("wav"), 4, struct.pack("<I", size))
    return _replaced(data, data.index(b"data") + 4, struct.pack("<I", size))


def piped_flac() -> bytes:
    """Return a FLAC file whose number of samples and checksum are 0: unknown."""
    data = recording("flac")
    return _replaced(_replaced(data, 21, bytes([data[21] & 0xF0]) + bytes(4)), 26, bytes(16))


def piped_w64() -> bytes:
    data = recording("w64")
    return _replaced(_replaced(data, 16, b"\xff" * 7 + b"\x7f"), data.index(b"data") + 16, b"\xff" * 7 + b"\x7f")


def piped_aiff() -> bytes:
    """Return an AIFF file as ffmpeg writes it to a pipe: its sizes and its number of samples are 0."""
    data = _replaced(recording("aiff"), 4, bytes(4))
    data = _replaced(data, data.index(b"COMM") + 10, bytes(4))
    return _replaced(data, data.index(b"SSND") + 4, bytes(4))


def piped_au() -> bytes:
    return _replaced(recording("au"), 8, b"\xff" * 4)


def piped_caf() -> bytes:
    """Return a CAF file whose chunk of samples has the size -1: it reaches to the end of the file."""
    data = recording("caf")
    place = data.index(b"data")
    size = struct.unpack(">q", data[place + 4 : place + 12])[0]
    return _replaced(data, place + 4, struct.pack(">q", -1))[: place + 12 + size]


def piped_aiff_of_sox() -> bytes:
    """Return an AIFF file as sox writes it to a pipe: its sizes are those of 0x7F000000 bytes of samples."""
    data = recording("aiff")
    size = 0x7F000000
    n_frames = struct.pack(">I", size // 2)
    data = _replaced(_replaced(data, 4, struct.pack(">I", size + 46)), data.index(b"COMM") + 10, n_frames)
    return _replaced(data, data.index(b"SSND") + 4, struct.pack(">I", size + 8))


PIPED: dict[str, Callable[[], bytes]] = {
    "WAV, all ones": lambda: piped_wav(0xFFFFFFFF),
    "WAV, 2^31 - 1": lambda: piped_wav(0x7FFFFFFF),
    "WAV, zeros": lambda: piped_wav(0),
    "W64": piped_w64,
    "AIFF": piped_aiff,
    "AIFF, sox": piped_aiff_of_sox,
    "CAF": piped_caf,
    "AU": piped_au,
    "FLAC": piped_flac,
}


def opus_of_rate(rate: int) -> bytes:
    """Return an Opus file whose header names another sample rate of the encoder's input."""
    from tts_prep.containers.xiph import page_checksum

    data = recording("opus")
    data = _replaced(data, data.index(b"OpusHead") + 12, struct.pack("<I", rate))
    first = data[: data.index(b"OggS", 4)]
    return _replaced(data, 22, struct.pack("<I", page_checksum(first)))


W64_TAIL = bytes.fromhex("f3acd3118cd100c04f8edb8a")
GUID_TAIL = bytes.fromhex("000000001000800000aa00389b71")


def w64(*chunks: tuple[bytes, bytes]) -> bytes:
    """Return a Wave64 file of these chunks; their sizes include the 24 bytes of their headers."""
    body = b""
    for name, contents in chunks:
        body += name + W64_TAIL + struct.pack("<Q", 24 + len(contents)) + contents + bytes(-len(contents) % 8)
    riff = b"riff" + bytes.fromhex("2e91cf11a5d628db04c10000") + struct.pack("<Q", 40 + len(body))
    return riff + b"wave" + W64_TAIL + body


def wav(*chunks: tuple[bytes, bytes]) -> bytes:
    """Return a WAV file of these chunks."""
    body = b"WAVE"
    for name, contents in chunks:
        body += name + struct.pack("<I", len(contents)) + contents + bytes(len(contents) % 2)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def wav_format(kind: int, bits: int, width: int, channels: int = 1, guid: bool = False) -> bytes:
    """Return the contents of a ``fmt `` chunk: ``bits`` of ``width`` bytes a sample."""
    align = width * channels
    fields = struct.pack("<HHIIHH", 0xFFFE if guid else kind, channels, RATE, RATE * align, align, bits)
    return fields + (struct.pack("<HHIH", 22, bits, 0, kind) + GUID_TAIL if guid else b"")


def sph(bits: int, little: bool) -> tuple[bytes, np.ndarray]:
    """Return a SPH file of integers of 24 or 32 bits, and the integers."""
    top = 2 ** (bits - 1)
    values = np.round(samples(0.5) * top).astype(np.int64)
    width = bits // 8
    body = b"".join(int(value).to_bytes(width, "little" if little else "big", signed=True) for value in values)
    lines = ["NIST_1A", "   1024", f"sample_count -i {len(values)}", f"sample_n_bytes -i {width}", "channel_count -i 1"]
    lines += [f"sample_byte_format -s{width} {'0123'[:width] if little else '3210'[-width:]}"]
    lines += [f"sample_rate -i {RATE}", "sample_coding -s3 pcm", "end_head", ""]
    return "\n".join(lines).encode().ljust(1024, b" ") + body, values / top


def ogg_flac() -> bytes:
    """Return FLAC in Ogg: a page for each packet."""
    from tts_prep.containers.xiph import page_checksum

    data = recording("flac")
    packets, position, last = [], 4, False
    while not last:
        last = bool(data[position] & 0x80)
        size = 4 + int.from_bytes(data[position + 1 : position + 4], "big")
        packets.append(data[position : position + size])
        position += size
    packets[0] = b"\x7fFLAC\1\0" + struct.pack(">H", len(packets) - 1) + b"fLaC" + packets[0]
    n_blocks = len(packets)
    # All frames in one packet would not be as the mapping has it, so they are cut where libsndfile's encoder puts them.
    starts = [match.start() for match in re.finditer(rb"\xff\xf8[\x10-\xef]", data[position:])]
    starts = [
        start for start in starts if data[position + start : position + start + 4] == data[position : position + 4]
    ]
    frames = data[position:]
    packets += [frames[start:stop] for start, stop in zip(starts, [*starts[1:], len(frames)], strict=True)]
    pages = b""
    for number, packet in enumerate(packets):
        sizes = bytes([255] * (len(packet) // 255) + [len(packet) % 255])
        pieces = [sizes[first : first + 255] for first in range(0, len(sizes), 255)]
        assert len(pieces) == 1
        final = number == len(packets) - 1
        granule = 0 if number < n_blocks else 2 * RATE if final else -1
        kind = 2 if number == 0 else 4 if final else 0
        head = b"OggS\0" + struct.pack("<BqIIIB", kind, granule, 7, number, 0, len(sizes)) + sizes
        page = head + packet
        pages += _replaced(page, 22, struct.pack("<I", page_checksum(page)))
    return pages
