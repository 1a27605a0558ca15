"""Recordings in all containers, as written to pipes, truncated and concatenated."""

from __future__ import annotations

import io
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


PIPED: dict[str, Callable[[], bytes]] = {
    "WAV, all ones": lambda: piped_wav(0xFFFFFFFF),
    "WAV, 2^31 - 1": lambda: piped_wav(0x7FFFFFFF),
    "WAV, zeros": lambda: piped_wav(0),
    "W64": piped_w64,
    "AIFF": piped_aiff,
    "AU": piped_au,
    "FLAC": piped_flac,
}
