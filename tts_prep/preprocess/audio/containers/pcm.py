"""Recordings of 16-bit, 24-bit and float samples, read without libsndfile.

Opening a recording by libsndfile takes several times as long as reading a short one. Only headers that the most common
writers make are taken, so that libsndfile, which knows what others mean, would read the same samples.
"""

import os
import struct
from collections.abc import Sequence
from io import FileIO
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.preprocess.audio.containers.stream import PlainSamples

_BYTES = {"PCM_16": 2, "PCM_24": 3, "FLOAT": 4}
_MAX_CHANNELS = 64

_HARMLESS = frozenset(
    (
        *(b"LIST", b"JUNK", b"junk", b"PAD ", b"FLLR", b"fact", b"PEAK", b"bext", b"iXML", b"cue ", b"smpl", b"inst"),
        *(b"id3 ", b"ID3 ", b"ds64"),
        *(b"NAME", b"AUTH", b"ANNO", b"(c) ", b"COMT", b"MARK", b"FVER", b"INST", b"APPL", b"CHAN"),
    )
)
"""Chunks that say nothing about samples."""


class PcmFile:
    """The samples of an open recording, with what `tts_prep.preprocess.audio.reading` uses of a `soundfile.SoundFile`.

    Samples are read, not mapped: a map of a file that becomes shorter ends the process.
    """

    def __init__(self, file: FileIO, plain: PlainSamples) -> None:
        self.format, self.subtype = plain.format, plain.subtype
        self.samplerate, self.channels, self.frames = plain.sample_rate, plain.channels, plain.n_samples
        self._descriptor, self._order, self._start = file.fileno(), plain.order, plain.position
        self._align = plain.channels * _BYTES[plain.subtype]
        self._next = 0

    def seek(self, frames: int) -> int:
        """Go to a sample."""
        self._next = frames
        return frames

    def buffer_read_into(self, buffer: npt.NDArray[Any], dtype: str) -> int:
        """Fill an array with the next samples; return how many there were, fewer if the file has become shorter.

        Args:
            buffer: [n, channels], contiguous.
            dtype: ``int16`` for 16 bits, otherwise ``float32``; integers of 24 bits are divided by their full scale.
        """
        if self.subtype == "PCM_24":
            raw = np.zeros((len(buffer) * self.channels, 4), np.uint8)
            packed = np.empty((len(raw), 3), np.uint8)
            count = self._read(packed)
            # To the upper bytes of an integer of 32 bits, so that the sign is right.
            raw[:, 1:] = packed if self._order == "<" else packed[:, ::-1]
            # 24 bits are exact in float32.
            np.multiply(raw.view("<i4")[:, 0], np.float32(2.0**-31), out=buffer.reshape(-1), casting="unsafe")
            return count
        count = self._read(buffer)
        if np.dtype(f"{self._order}{dtype[0]}{buffer.itemsize}") != buffer.dtype:
            buffer.byteswap(inplace=True)
        return count

    def _read(self, target: npt.NDArray[Any]) -> int:
        """Fill an array with bytes; return the number of whole samples."""
        rest = memoryview(target).cast("B")
        position = first = self._start + self._next * self._align
        while rest and (count := os.preadv(self._descriptor, [rest], position)):
            position += count
            rest = rest[count:]
        n_samples = (position - first) // self._align
        self._next += n_samples
        return n_samples


def plain_wav(
    chunk: bytes, names: Sequence[bytes], position: int, length: int, container: str = "WAV"
) -> PlainSamples | None:
    """Return where the samples of a WAV or Wave64 file with bytes in the order of Intel lie; None if in doubt.

    Args:
        chunk: the contents of ``fmt ``.
        names: the names of all chunks.
        position, length: of the samples, in bytes.
    """
    if len(chunk) not in (16, 18, 40) or not are_known(names, b"fmt ", b"data"):
        return None
    kind, channels, rate, per_second, align, bits = struct.unpack("<HHIIHH", chunk[:16])
    if len(chunk) == 18 and chunk[16:] != b"\0\0":
        return None
    if len(chunk) == 40:
        # The sizes of the extension and of samples, and the rest of the GUID of a format.
        if kind != 0xFFFE or chunk[16:20] != struct.pack("<HH", 22, bits) or chunk[26:] != _GUID_TAIL:
            return None
        (kind,) = struct.unpack("<H", chunk[24:26])
    subtype = {(1, 16): "PCM_16", (1, 24): "PCM_24", (3, 32): "FLOAT"}.get((kind, bits))
    if subtype is None or align != channels * bits // 8 or per_second != rate * align:
        return None
    return plain_samples(container if len(chunk) < 40 else "WAVEX", subtype, "<", rate, channels, position, length)


_GUID_TAIL = bytes.fromhex("000000001000800000aa00389b71")


def are_known(names: Sequence[bytes], *needed: bytes) -> bool:
    """Return whether chunks are the needed ones, in this order and once each, and others that are harmless."""
    return [name for name in names if name not in _HARMLESS] == list(needed)


def plain_samples(
    container: str, subtype: str, order: str, rate: int, channels: int, position: int, length: int
) -> PlainSamples | None:
    """Return where samples of these numbers lie; None if they cannot be."""
    if not 1 <= channels <= _MAX_CHANNELS or length <= 0:
        return None
    n_samples, odd = divmod(length, channels * _BYTES[subtype])
    return None if odd else PlainSamples(container, subtype, order, rate, channels, position, n_samples)
