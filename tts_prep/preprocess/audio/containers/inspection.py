"""Inspection of recordings: WAV and RF64 here, and other containers, which are brought.

Sources: Multimedia Programming Interface and Data Specifications 1.0 by IBM and Microsoft (RIFF), Microsoft's Multiple
Channel Audio Data and WAVE Files (formats by GUID), EBU Tech 3306 (RF64).
"""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from io import FileIO

import numpy as np

from tts_prep import doors
from tts_prep.preprocess.audio.containers import stream as pcm

_BEGINNING = re.compile(rb"(?:RIFF|RIFX|RF64|BW64)....WAVE", re.DOTALL)
PCM, _MS_ADPCM, FLOAT, _ALAW, _MULAW, _IMA_ADPCM, _GSM, _MPEG, _MP3 = 1, 2, 3, 6, 7, 0x11, 0x31, 0x50, 0x55
_EXTENSIBLE = 0xFFFE
# The end of a GUID whose first two bytes are the number of a format.
_GUID_TAIL = bytes.fromhex("000000001000800000aa00389b71")
_GSM_SAMPLES = 320


@dataclass(frozen=True)
class WavFormat:
    """The ``fmt `` chunk.

    Attributes:
        kind: the number of the format, also if a GUID has it.
        align: the size of a block, in bytes: of one sample of all channels if there is no compression.
        block_samples: the number of samples in a block of ADPCM.
        chunk: the contents of the chunk.
        order: the byte order, ``<`` or ``>``.
    """

    kind: int
    channels: int
    align: int
    bits: int
    block_samples: int
    extensible: bool
    chunk: bytes
    order: str

    @classmethod
    def of(cls, chunk: bytes, order: str) -> WavFormat:
        """Return what the contents of a chunk say."""
        fields = struct.unpack(order + "HHIIHHHH", chunk[:20].ljust(20, b"\0"))
        kind, channels, _, _, align, bits, _, block_samples = fields
        extensible = kind == _EXTENSIBLE and chunk[26:40] == _GUID_TAIL
        if extensible:
            (kind,) = struct.unpack(order + "H", chunk[24:26])
        return cls(kind, channels, align, bits, block_samples, extensible, chunk, order)

    @property
    def width(self) -> int:
        """The number of bytes of a sample of one channel; 0 if the header contradicts itself."""
        return self.align // self.channels if self.channels and self.align % self.channels == 0 else 0

    @property
    def is_linear(self) -> bool:
        """Whether ``align`` is the size of one sample of all channels."""
        return self.kind in (PCM, FLOAT, _ALAW, _MULAW) and 0 < self.width <= 8


def inspect_wav(file: FileIO, start: int, size: int) -> pcm.Stream:
    """Inspect a RIFF, RIFX, RF64 or BW64 file.

    Args:
        start: the position of the container.
        size: the size of the file.

    Raises:
        BrokenRecordingError: it is truncated, or another container follows.
    """
    beginning = pcm.at(file, start, 12)
    order = ">" if beginning[:4] == b"RIFX" else "<"
    (riff_size,) = struct.unpack(order + "I", beginning[4:8].ljust(4, b"\0"))
    long_size: int | None = None
    form, fact = WavFormat.of(b"", order), 0
    names: list[bytes] = []
    for name, position, length in pcm.chunks(file, start + 12, size, order):
        names.append(name)
        if name == b"ds64":
            riff_size, long_size, _, n_sizes = pcm.numbers(file, position, order + "QQQI")
            names += [b"sizes of other chunks"] if n_sizes or length != 28 else []
        elif name == b"fmt ":
            form = WavFormat.of(pcm.at(file, position, min(length, 4096)), order)
        elif name == b"fact":
            (fact,) = pcm.numbers(file, position, order + "I")
        elif name == b"data":
            is_long = length == 0xFFFFFFFF and long_size is not None
            if long_size is not None and is_long:
                length = long_size
            found = size - position
            unset = length == 0 and found > 0 and riff_size + 8 < size - start
            unknown = length >= pcm.UNKNOWN_32 and length > found and (long_size is None or length >= pcm.UNKNOWN_64)
            if not (unset or unknown):
                pcm.check_length(found, length)
                behind = start + 8 + riff_size if riff_size < pcm.UNKNOWN_32 else 0
                pcm.check_alone(file, max(behind, position + length), size, _BEGINNING)
                # libsndfile does not know BW64, which is RF64 under another name.
                stream = wav_samples(file, form, fact, position, length, rewrite=beginning[:4] == b"BW64")
                usual = beginning[:4] + beginning[8:] == (b"RF64WAVE" if is_long else b"RIFFWAVE")
                return _with_plain(file, stream, form, names, position, length) if usual and not start else stream
            length = _end_behind_chunks(file, position, size, order) - position
            pcm.check_multiple(length, form.align)
            # A writer that could not seek left the sizes at 0, which libsndfile believes.
            fact = length // (form.align or 1) * form.block_samples
            return wav_samples(file, form, fact, position, length, rewrite=unset)
    return pcm.Stream("WAV")


def _with_plain(
    file: FileIO, stream: pcm.Stream, form: WavFormat, names: list[bytes], position: int, length: int
) -> pcm.Stream:
    """Return a stream with the place of its samples, if libsndfile would find the same.

    Args:
        names: the names of the chunks before and at the samples.
        position, length: the samples, in bytes.
    """
    if stream.contents is not None:
        return stream
    size = os.fstat(file.fileno()).st_size
    behind = [name for name, _, _ in pcm.chunks(file, position + length + length % 2, size, form.order)]
    return stream._replace(plain=pcm.plain_wav(form.chunk, names + behind, position, length))


_USUAL = 44
"""The length of a WAV header without other chunks."""


def _usual_wav(header: bytes, size: int) -> pcm.Stream | None:
    """Return what `inspect_wav` does if a file is a usual header and samples alone, as most are; otherwise None."""
    length = int.from_bytes(header[40:], "little")
    if header[:4] + header[8:20] + header[36:40] != b"RIFFWAVEfmt \x10\0\0\0data" or size != _USUAL + length:
        return None
    plain = pcm.plain_wav(header[20:36], (b"fmt ", b"data"), _USUAL, length)
    return pcm.Stream("WAV", plain.n_samples, plain=plain) if plain else None


def wav_samples(
    file: FileIO,
    form: WavFormat,
    fact: int,
    position: int,
    length: int,
    *,
    rewrite: bool = False,
    container: str = "WAV",
) -> pcm.Stream:
    """Return the stream of samples with a known length.

    Args:
        fact: the number of samples in the chunk ``fact``; 0 if unknown.
        position, length: the samples, in bytes.
        rewrite: write the samples behind a new header, because libsndfile would misread the present one.
    """
    if form.kind in (_MPEG, _MP3):
        row = doors.row("encodings", "mpeg")
        if row is None:
            raise pcm.BrokenRecordingError(f"{container} of MPEG audio, whose reader is no part of this installation")
        stream: pcm.Stream = doors.load("encodings", row)(
            pcm.at(file, position, length), f"{container} at byte {position:,}"
        )
        return stream
    n_samples = None
    if form.is_linear:
        n_samples = length // form.align
        if form.kind == PCM and form.width != -(-form.bits // 8):
            return _padded_samples(file, form, position, length, container)
    elif form.kind == _GSM and form.align:
        n_samples = length // form.align * _GSM_SAMPLES
    elif form.kind in (_MS_ADPCM, _IMA_ADPCM) and form.align:
        n_samples = -(-length // form.align) * form.block_samples
    if n_samples is not None and not form.is_linear:
        # The last block is padded; the number of samples in it is in the header, or is not known.
        block = _GSM_SAMPLES if form.kind == _GSM else form.block_samples
        n_samples = fact if n_samples - block < fact <= n_samples else None if form.kind != _GSM else n_samples
    contents = _wav(form, n_samples or fact, pcm.at(file, position, length)) if rewrite else None
    return pcm.Stream(container, n_samples, contents=contents)


def _padded_samples(file: FileIO, form: WavFormat, position: int, length: int, container: str) -> pcm.Stream:
    """Return integers in the upper bytes of larger ones, such as 24 bits in blocks of 32, with a header that says so.

    The specification puts zeros into the lower bytes.
    """
    n_bytes, width = -(-form.bits // 8), form.width
    if form.order == ">" or not 0 < n_bytes < width <= 4:
        raise pcm.BrokenRecordingError(
            f"{form.bits} bits in {width} bytes, expected 8, 16, 24 or 32 bits in whole bytes"
        )
    data = pcm.at(file, position, length // form.align * form.align)
    low = np.frombuffer(data, np.uint8).reshape(-1, width)[:, : width - n_bytes]
    if low.any():
        raise pcm.BrokenRecordingError(
            f"{form.bits} bits in {width} bytes whose lower bytes are not 0, as they should be"
        )
    chunk = form.chunk[:14].ljust(14, b"\0") + struct.pack("<H", 8 * width)
    if form.extensible:
        chunk += form.chunk[16:]
    plain = WavFormat.of(chunk, "<")
    return pcm.Stream(container, length // form.align, contents=_wav(plain, 0, data))


def _wav(form: WavFormat, fact: int, data: bytes) -> bytes:
    """Return a WAV file; RF64 if it is long."""
    order = form.order
    chunk = form.chunk + bytes(len(form.chunk) % 2)
    head = b"WAVE" + b"fmt " + struct.pack(order + "I", len(form.chunk)) + chunk
    if not form.is_linear:
        head += b"fact" + struct.pack(order + "II", 4, min(fact, 0xFFFFFFFF))
    padded = len(data) + len(data) % 2
    total = len(head) + 8 + padded
    if total < pcm.UNKNOWN_32:
        magic = b"RIFX" if order == ">" else b"RIFF"
        head = magic + struct.pack(order + "I", total) + head
        return head + b"data" + struct.pack(order + "I", len(data)) + data + bytes(len(data) % 2)
    long = b"ds64" + struct.pack("<IQQQI", 28, total + 36, len(data), fact, 0)
    return b"RF64\xff\xff\xff\xff" + head[:4] + long + head[4:] + b"data\xff\xff\xff\xff" + data


_BEHIND = (b"LIST", b"id3 ", b"ID3 ", b"bext", b"iXML", b"cue ", b"smpl", b"JUNK", b"PEAK")
_TAIL = 1 << 16


def _end_behind_chunks(file: FileIO, position: int, size: int, order: str) -> int:
    """Return the end of samples of unknown size, before chunks of text that end with the file."""
    end = pcm.end_of_samples(file, position, size, _BEGINNING)
    while True:
        low = max(position, end - _TAIL)
        tail = pcm.at(file, low, end - low)
        places = [place for name in _BEHIND if (place := tail.rfind(name)) >= 0 and len(tail) >= place + 8]
        lengths = {place: struct.unpack(order + "I", tail[place + 4 : place + 8])[0] for place in places}
        last = [place for place, length in lengths.items() if place + 8 + length + length % 2 == len(tail)]
        if not last:
            return end
        end = low + min(last)


_MAX_TAGS = 8
_MAX_ZEROS = 1 << 20
_WAV = (b"RIFF", b"RIFX", b"RF64", b"BW64")


def containers_read() -> str:
    """Return the names of the containers that are read, for messages."""
    names = ["WAV, RF64", *(row.about for row in doors.rows("containers").values())]
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def inspect(file: FileIO) -> pcm.Stream:
    """Inspect an open recording; its position is irrelevant.

    Raises:
        BrokenRecordingError: it is empty, in an unknown container, truncated or damaged, or has several streams.
    """
    size = os.fstat(file.fileno()).st_size
    if size == 0:
        raise pcm.BrokenRecordingError("empty file")
    header, start = os.pread(file.fileno(), _USUAL, 0), 0
    if usual := _usual_wav(header, size):
        return usual
    # Bounded, because a malicious file can contain millions of empty tags.
    for _ in range(_MAX_TAGS):
        header = os.pread(file.fileno(), 10, start)
        if not (skipped := pcm.id3v2_size(header)):
            break
        start += skipped
    if header[:4] in _WAV:
        return inspect_wav(file, start, size)
    containers: list[pcm.Container] = [row.load() for row in doors.rows("containers").values()]
    zeros = os.pread(file.fileno(), _MAX_ZEROS, start) if header[:1] == b"\0" else b""
    behind = start + len(zeros) - len(zeros.lstrip(b"\0"))
    for position, found in ((start, containers), (behind, [each for each in containers if each.after_zeros])):
        for container in found:
            if container.begins(os.pread(file.fileno(), 10, position)):
                return container.inspect(file, position, size)
    raise pcm.BrokenRecordingError(f"cannot be read as audio{_named(header)}; expected {containers_read()}")


def _named(header: bytes) -> str:
    """Return the name of a known container that is not read, in brackets."""
    known = {b"#!AMR\n": "AMR", b"wvpk": "WavPack", b"\x30\x26\xb2\x75": "WMA"}
    name = next((name for magic, name in known.items() if header.startswith(magic)), "")
    return f" ({name}), convert it to WAV or FLAC" if name else ""
