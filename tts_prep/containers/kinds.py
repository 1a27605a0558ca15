"""The kinds of recordings besides WAV: by which bytes each is recognized, and what inspects it."""

from __future__ import annotations

from collections.abc import Callable
from io import FileIO
from typing import Final

from tts_prep.containers.chunks import inspect_aiff, inspect_au, inspect_caf, inspect_nist
from tts_prep.containers.ffmpeg import inspect_adts, inspect_matroska, inspect_mp4
from tts_prep.containers.mpeg import inspect_mpeg
from tts_prep.containers.xiph import inspect_flac, inspect_ogg
from tts_prep.preprocess.audio.containers.stream import Container, Stream, read_from


def _with(*magic: bytes) -> Callable[[bytes], bool]:
    return lambda header: header[:4] in magic


def _is_adts(header: bytes) -> bool:
    return len(header) >= 4 and header[0] == 0xFF and header[1] & 0xF6 == 0xF0


def _is_mpeg(header: bytes) -> bool:
    # The two bits of the layer are 0 in AAC, whose frames begin like those of MPEG audio.
    return len(header) >= 4 and header[0] == 0xFF and header[1] & 0xE0 == 0xE0 and header[1] & 0x06 != 0


def _inspect_ogg(file: FileIO, start: int, _: int) -> Stream:
    return inspect_ogg(read_from(file, start))


def _inspect_mpeg(file: FileIO, start: int, _: int) -> Stream:
    return inspect_mpeg(read_from(file, 0), start)


AIFF: Final = Container(_with(b"FORM"), inspect_aiff)
AU: Final = Container(_with(b".snd", b"dns."), inspect_au)
CAF: Final = Container(_with(b"caff"), inspect_caf)
NIST: Final = Container(_with(b"NIST"), inspect_nist)
FLAC: Final = Container(_with(b"fLaC"), inspect_flac)
MPEG: Final = Container(_is_mpeg, _inspect_mpeg)
OGG: Final = Container(_with(b"OggS"), _inspect_ogg)
MP4: Final = Container(lambda header: header[4:8] == b"ftyp", inspect_mp4)
MATROSKA: Final = Container(_with(b"\x1aE\xdf\xa3"), inspect_matroska)
ADTS: Final = Container(_is_adts, inspect_adts)
