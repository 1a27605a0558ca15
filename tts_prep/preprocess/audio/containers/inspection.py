"""Identify the container of a recording, and check that it is complete."""

from __future__ import annotations

import os
from io import FileIO

from tts_prep import doors
from tts_prep.preprocess.audio.containers.headers import id3v2_size
from tts_prep.preprocess.audio.containers.riff import inspect_w64, inspect_wav
from tts_prep.preprocess.audio.containers.stream import BrokenRecordingError, Container, Stream

_MAX_TAGS = 8
_WAV = {
    b"RIFF": inspect_wav,
    b"RIFX": inspect_wav,
    b"RF64": inspect_wav,
    b"BW64": inspect_wav,
    b"riff": inspect_w64,
}


def containers_read() -> str:
    """Return the names of the containers that are read, for messages."""
    names = ["WAV, RF64, W64", *(row.about for row in doors.rows("containers").values())]
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


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
    if header[:4] in _WAV:
        return _WAV[header[:4]](file, start, size)
    for row in doors.rows("containers").values():
        container: Container = row.load()
        if container.begins(header):
            return container.inspect(file, start, size)
    raise BrokenRecordingError(f"cannot be read as audio{_named(header)}; expected {containers_read()}")


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
