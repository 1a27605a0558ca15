"""Identify the container of a recording, and check that it is complete."""

from __future__ import annotations

import os
from io import FileIO

from tts_prep.containers.chunks import (
    inspect_aiff,
    inspect_au,
    inspect_caf,
    inspect_nist,
)
from tts_prep.containers.ffmpeg import inspect_adts, inspect_matroska, inspect_mp4
from tts_prep.containers.flac import inspect_flac
from tts_prep.containers.mpeg import id3v2_size, inspect_mpeg
from tts_prep.containers.ogg import inspect_ogg
from tts_prep.preprocess.audio.containers.riff import inspect_w64, inspect_wav
from tts_prep.preprocess.audio.containers.stream import BrokenRecordingError, Stream, read_from

_MAX_TAGS = 8
READ = "WAV, RF64, W64, AIFF, AU, CAF, SPH, FLAC, MP3, Ogg Vorbis, Opus or FLAC, MP4, WebM or AAC"
"""The containers that are read, for messages."""

_CHUNKS = {
    b"RIFF": inspect_wav,
    b"RIFX": inspect_wav,
    b"RF64": inspect_wav,
    b"BW64": inspect_wav,
    b"riff": inspect_w64,
    b"FORM": inspect_aiff,
    b".snd": inspect_au,
    b"dns.": inspect_au,
    b"caff": inspect_caf,
    b"NIST": inspect_nist,
    b"fLaC": inspect_flac,
    b"\x1aE\xdf\xa3": inspect_matroska,
}


def inspect(file: FileIO) -> Stream:
    """Inspect an open recording; its position is irrelevant.

    Raises:
        BrokenRecordingError: it is empty, in an unknown container, truncated or damaged, or has several streams.
    """
    size = os.fstat(file.fileno()).st_size
    if size == 0:
        raise BrokenRecordingError("empty file")
    start = 0
    # Bounded, because a malicious file can contain millions of empty tags.
    for _ in range(_MAX_TAGS):
        header = os.pread(file.fileno(), 10, start)
        if not (skipped := id3v2_size(header)):
            break
        start += skipped
    magic = header[:4]
    if magic in _CHUNKS:
        return _CHUNKS[magic](file, start, size)
    if magic == b"OggS":
        return inspect_ogg(read_from(file, start))
    if header[4:8] == b"ftyp":
        return inspect_mp4(file, start, size)
    if len(magic) == 4 and magic[0] == 0xFF and magic[1] & 0xF6 == 0xF0:
        return inspect_adts(file, start, size)
    # The two bits of the layer are 0 in AAC, whose frames begin like those of MPEG audio.
    if len(magic) == 4 and magic[0] == 0xFF and magic[1] & 0xE0 == 0xE0 and magic[1] & 0x06:
        return inspect_mpeg(read_from(file, 0), start)
    raise BrokenRecordingError(f"cannot be read as audio{_named(header)}; expected {READ}")


def _named(header: bytes) -> str:
    """Return the name of a known container that is not read, in brackets."""
    name = ""
    if header[:6] == b"#!AMR\n":
        name = "AMR"
    elif header[:4] == b"wvpk":
        name = "WavPack"
    elif header[:4] == b"\x30\x26\xb2\x75":
        name = "WMA"
    return f" ({name}), convert it to WAV or FLAC" if name else ""
