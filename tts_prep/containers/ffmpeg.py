"""MP4, WebM, Matroska and AAC: checks of their sizes, and decoding by FFmpeg's libraries in another process.

Sources: ISO/IEC 14496-12 (boxes), RFC 8794 and RFC 9559 (EBML, Matroska), ISO/IEC 14496-3 (ADTS).
"""

import importlib.util
import re
import struct
from io import FileIO
from typing import Final

from tts_prep.errors import CannotReadError
from tts_prep.format.files.child_process import CrashedError, RefusedError, kept_process
from tts_prep.format.files.temporary import temporary_folder
from tts_prep.preprocess.audio.containers import stream as pcm

_EBML_BEGINNING = re.compile(rb"\x1aE\xdf\xa3[\x01-\xff].{0,9}\x42\x86", re.DOTALL)
_EBML = b"\x1aE\xdf\xa3"
_SEGMENT = b"\x18\x53\x80\x67"
_CLUSTER = b"\x1f\x43\xb6\x75"
_MAX_ELEMENTS: Final = 10_000_000
"""The largest number of elements in a segment; a day of speech has four million."""

_MAX_SAMPLES_PER_BYTE: Final = 1024
_MAX_SAMPLES: Final = 1 << 29
"""The largest number of samples of all channels: 2 GiB as float32, and 3 hours at 48 kHz."""

_MEMORY: Final = 6 << 30
_BYTES_PER_SECOND: Final = 100_000
"""The slowest decoding: speech in AAC is decoded 50 times as fast."""


def inspect_mp4(file: FileIO, start: int, size: int) -> pcm.Stream:
    """Decode an MP4 file after checking its boxes.

    Args:
        start: the position of the container.
        size: the size of the file.

    Raises:
        BrokenRecordingError: it is truncated or damaged, another container follows, or it cannot be decoded here.
    """
    position = start
    for _ in range(pcm.MAX_CHUNKS * 100):
        if position >= size:
            break
        length, name = pcm.numbers(file, position, ">I")[0], pcm.at(file, position + 4, 4)
        if length == 1:
            (length,) = pcm.numbers(file, position + 8, ">Q")
        elif length == 0:
            length = size - position
        if name == b"ftyp" and position > start:
            raise pcm.BrokenRecordingError(pcm.several_streams(position))
        if length < 8 or not name.isascii() or not name.replace(b" ", b"").isalnum():
            raise pcm.BrokenRecordingError(f"damaged at byte {position:,}, expected a box of MP4")
        if position + length > size:
            raise pcm.BrokenRecordingError(
                f"truncated, the box '{name.decode()}' ends {position + length - size:,} bytes behind the file"
            )
        position += length
    return _decoded(file, start, size, "MP4", "mov")


def inspect_matroska(file: FileIO, start: int, size: int) -> pcm.Stream:
    """Decode a WebM or Matroska file after checking its size; arguments and errors as in `inspect_mp4`."""
    head, head_end = _number(file, start + 4)
    segment = head_end + (head or 0)
    if head is None or pcm.at(file, segment, 4) != _SEGMENT:
        raise pcm.BrokenRecordingError("damaged, expected a segment of Matroska behind the header")
    length, first = _number(file, segment + 4)
    if length is None:
        # Written to a pipe.
        _check_elements(file, first, size)
    elif first + length > size:
        raise pcm.BrokenRecordingError(f"truncated, {size - first:,} bytes, the header says {length:,}")
    else:
        pcm.check_alone(file, first + length, size, _EBML_BEGINNING)
    return _decoded(file, start, size, "WebM or Matroska", "matroska")


def _check_elements(file: FileIO, position: int, size: int) -> None:
    """Check that each element of a segment of unknown size is complete.

    Raises:
        BrokenRecordingError: one is not, or another recording follows.
    """
    for _ in range(_MAX_ELEMENTS):
        if position >= size:
            return
        name = pcm.at(file, position, 4)
        if name == _EBML:
            raise pcm.BrokenRecordingError(pcm.several_streams(position))
        n_bytes = 9 - name[0].bit_length()
        length, first = _number(file, position + n_bytes)
        if n_bytes > 4 or (length is None and name != _CLUSTER):
            raise pcm.BrokenRecordingError(f"damaged at byte {position:,}, expected an element of Matroska")
        # The elements of a cluster of unknown size are checked in turn.
        position = first + (length or 0)
        if position > size:
            raise pcm.BrokenRecordingError(f"truncated, an element ends {position - size:,} bytes behind the file")


def inspect_adts(file: FileIO, start: int, size: int) -> pcm.Stream:
    """Decode AAC frames after checking that they are complete; arguments and errors as in `inspect_mp4`."""
    data = pcm.read_from(file, start)
    if data[-128:].startswith(b"TAG"):
        data = data[:-128]
    position = 0
    while position < len(data):
        header = data[position : position + 7]
        if header[:1] != b"\xff" or (len(header) > 1 and header[1] & 0xF6 != 0xF0):
            raise pcm.BrokenRecordingError(f"damaged at byte {start + position:,}, expected a frame of AAC")
        length = (header[3] & 3) << 11 | header[4] << 3 | header[5] >> 5 if len(header) == 7 else len(data)
        if length < 7 or position + length > len(data):
            raise pcm.BrokenRecordingError(f"truncated, the frame at byte {start + position:,} is incomplete")
        position += length
    return _decoded(file, start, size, "AAC", "aac")


def _number(file: FileIO, position: int) -> tuple[int | None, int]:
    """Return the EBML size at a position, None if it is unknown, and the position behind it."""
    data = pcm.at(file, position, 8)
    length = 9 - data[0].bit_length() if data and data[0] else 0
    if not length or len(data) < length:
        raise pcm.BrokenRecordingError(f"truncated or damaged at byte {position:,}, expected a size of Matroska")
    value = int.from_bytes(data[:length], "big") & (1 << 7 * length) - 1
    return None if value == (1 << 7 * length) - 1 else value, position + length


def is_installed() -> bool:
    """Whether FFmpeg's libraries can be loaded here."""
    return importlib.util.find_spec("av") is not None


def _decoded(file: FileIO, start: int, size: int, container: str, form: str) -> pcm.Stream:
    """Return the samples as a WAV file of floats."""
    if not is_installed():
        raise pcm.BrokenRecordingError(
            f"{container} is read by FFmpeg's libraries, which are not installed: pip install 'tts-prep[ffmpeg]', "
            "or convert it to WAV or FLAC"
        )
    with temporary_folder() as folder:
        # A copy, because the open file may have no name, and its name may lead to another file by now.
        path = folder / "recording"
        path.write_bytes(pcm.read_from(file, start))
        limits = {"cpu_seconds": 10 + size // _BYTES_PER_SECOND, "memory": _MEMORY}
        limit = min(_MAX_SAMPLES, _MAX_SAMPLES_PER_BYTE * size)
        try:
            found, samples = kept_process("tts_prep.containers.ffmpeg_process:decode").ask(path, form, limit, **limits)
        except RefusedError as error:
            raise pcm.BrokenRecordingError(str(error).replace(f"{path}: ", "")) from None
        except CrashedError:
            raise pcm.BrokenRecordingError("crashes FFmpeg's libraries, or takes too long to decode") from None
        except CannotReadError as error:
            raise pcm.BrokenRecordingError(str(error).replace(str(path), container)) from None
    rate, channels = found["rate"], found["channels"]
    form_chunk = struct.pack("<4sIHHIIHH", b"fmt ", 16, 3, channels, rate, 4 * channels * rate, 4 * channels, 32)
    body = b"WAVE" + form_chunk + struct.pack("<4sI", b"data", len(samples))
    head = b"RIFF" + struct.pack("<I", len(body) + len(samples)) + body
    return pcm.Stream(container, len(samples) // (4 * channels), contents=head + samples, is_lossy=True)


def _is_adts(header: bytes) -> bool:
    return len(header) >= 4 and header[0] == 0xFF and header[1] & 0xF6 == 0xF0


MP4: Final = pcm.Container(lambda header: header[4:8] == b"ftyp", inspect_mp4)
MATROSKA: Final = pcm.Container(pcm.begins_with(b"\x1aE\xdf\xa3"), inspect_matroska)
ADTS: Final = pcm.Container(_is_adts, inspect_adts)
