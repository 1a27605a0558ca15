"""Containers of uncompressed samples: Wave64, AIFF, AU, CAF and NIST SPHERE.

Their headers contain the number of bytes of samples.

Sources: Sony's Wave64 specification, Apple's AIFF-C draft of 1991 and Core Audio Format 1.0, Sun's audio(4), NIST's
SPHERE 2.6.
"""

import re
import struct
from collections.abc import Sequence
from io import FileIO
from typing import Final

from tts_prep.preprocess.audio.containers import stream as pcm
from tts_prep.preprocess.audio.containers.inspection import FLOAT, PCM, WavFormat, wav_samples

_AIFF_BEGINNING = re.compile(rb"FORM....AIF[FC]", re.DOTALL)
_AU_BEGINNING = re.compile(rb"\.snd\0\0......\0\0\0[\x01-\x1b]\0|dns\...\0\0....[\x01-\x1b]\0\0\0", re.DOTALL)
_CAF_BEGINNING = re.compile(rb"caff\0\x01\0\0")
_NIST_BEGINNING = re.compile(rb"NIST_1A\n")
_W64_TAIL = bytes.fromhex("f3acd3118cd100c04f8edb8a")
_W64_GUIDS = b"riff" + bytes.fromhex("2e91cf11a5d628db04c10000") + b"wave" + _W64_TAIL
_W64_BEGINNING = re.compile(re.escape(b"riff" + bytes.fromhex("2e91cf11a5d628db04c10000")))

# sox writes 0x7F000000 bytes of samples to a pipe, rounded to samples.
_UNKNOWN_AIFF = 0x7E000000

_AIFC_WIDTHS = {b"ulaw": 1, b"ULAW": 1, b"alaw": 1, b"ALAW": 1, b"fl32": 4, b"FL32": 4, b"fl64": 8, b"FL64": 8}
_AIFC_LINEAR = (b"NONE", b"twos", b"sowt", b"raw ", b"in24", b"in32", b"42ni", b"23ni")
_AU_WIDTHS = {1: 1, 2: 1, 3: 2, 4: 3, 5: 4, 6: 4, 7: 8, 27: 1}
_AU_LINEAR = {3: 4, 4: 5}


def inspect_aiff(file: FileIO, start: int, size: int) -> pcm.Stream:
    """Inspect an AIFF or AIFF-C file.

    Args:
        start: the position of the container.
        size: the size of the file.

    Raises:
        BrokenRecordingError: it is truncated, another container follows, or it is another form of IFF.
    """
    (form_size,) = pcm.numbers(file, start + 4, ">I")
    form = pcm.at(file, start + 8, 4)
    if form not in (b"AIFF", b"AIFC"):
        raise pcm.BrokenRecordingError(f"IFF of the form {form.decode('latin-1')!r}, expected AIFF or AIFC")
    common = n_samples = align = promised = 0
    names = []
    for name, position, length in pcm.chunks(file, start + 12, size, ">"):
        names.append(name)
        if name == b"COMM":
            common = position
            channels, n_samples, bits = pcm.numbers(file, position, ">HIH")
            kind = pcm.at(file, position + 18, 4) if form == b"AIFC" else b"NONE"
            width = -(-bits // 8) if kind in _AIFC_LINEAR else _AIFC_WIDTHS.get(kind, 0)
            align = channels * width
            promised = align * n_samples if form == b"AIFF" else 0
        elif name == b"SSND":
            # Samples follow an offset and a block size of 4 bytes each.
            if length == 0 or (length >= _UNKNOWN_AIFF and length > size - position):
                return _unknown_aiff(file, start, size, common, position, align)
            pcm.check_length(size - position, length)
            pcm.check_length(length - 8, promised)
            # Without the byte that pads an odd size: sox does not write it.
            behind = start + 8 + form_size if form_size < pcm.UNKNOWN_32 else 0
            pcm.check_alone(file, max(behind, position + length), size, _AIFF_BEGINNING)
            if start or not common or pcm.at(file, position, 8) != bytes(8):
                break
            names += [name for name, _, _ in pcm.chunks(file, position + length + length % 2, size, ">")]
            contents = pcm.at(file, common, 22 if form == b"AIFC" else 18)
            return pcm.Stream("AIFF", plain=_plain_aiff(contents, names, position + 8, length - 8))
    return pcm.Stream("AIFF")


def _unknown_aiff(file: FileIO, start: int, size: int, common: int, sound: int, align: int) -> pcm.Stream:
    """Return an AIFF file of a writer that could not seek, with its sizes filled in.

    Args:
        common, sound: the positions of the contents of ``COMM``, or 0, and of ``SSND``.
        align: the number of bytes of a sample of all channels; 0 if it is unknown.
    """
    if not common or not align:
        raise pcm.BrokenRecordingError("AIFF of unknown size, expected COMM with uncompressed samples before SSND")
    first = sound + 8 + pcm.numbers(file, sound, ">I")[0]
    end = pcm.end_of_samples(file, first, size, _AIFF_BEGINNING)
    pcm.check_multiple(max(0, end - first), align)
    if not first <= end < start + pcm.UNKNOWN_32:
        raise pcm.BrokenRecordingError(
            f"AIFF of unknown size with {end - first:,} bytes of samples, expected 0 to 2^31"
        )
    data = bytearray(pcm.at(file, start, end - start))
    n_samples = (end - first) // align
    for position, number in ((4, len(data) - 8), (common - start + 2, n_samples), (sound - start - 4, end - sound)):
        struct.pack_into(">I", data, position, number)
    return pcm.Stream("AIFF", n_samples, contents=bytes(data))


def inspect_au(file: FileIO, start: int, size: int) -> pcm.Stream:
    """Inspect an AU file in either byte order; arguments and errors as in `inspect_aiff`."""
    order = ">" if pcm.at(file, start, 4) == b".snd" else "<"
    offset, length, kind, rate, channels = pcm.numbers(file, start + 4, order + "IIIII")
    align = _AU_WIDTHS.get(kind, 0) * channels
    if length == 0xFFFFFFFF:
        length = pcm.end_of_samples(file, start + offset, size, _AU_BEGINNING) - start - offset
        pcm.check_multiple(length, align)
    else:
        pcm.check_length(size - start - offset, length)
        pcm.check_alone(file, start + offset + length, size, _AU_BEGINNING)
    plain = None if start else _plain_au(order, kind, rate, channels, offset, length)
    return pcm.Stream("AU", max(0, length) // align if align else None, plain=plain)


def inspect_caf(file: FileIO, start: int, size: int) -> pcm.Stream:
    """Inspect a Core Audio file; arguments and errors as in `inspect_aiff`."""
    position, align = start + 8, 0
    for _ in range(pcm.MAX_CHUNKS):
        header = pcm.at(file, position, 12)
        if len(header) < 12:
            break
        (length,) = struct.unpack(">q", header[4:])
        if header[:4] == b"caff":
            raise pcm.BrokenRecordingError(pcm.several_streams(position))
        if header[:4] == b"desc":
            # Behind the sample rate, the format and its flags; 0 if packets differ in size.
            (align,) = pcm.numbers(file, position + 12 + 16, ">I")
        if header[:4] == b"data" and length == -1:
            # The samples follow a number of edits of 4 bytes, and reach to the end of the file.
            end = pcm.end_of_samples(file, position + 16, size, _CAF_BEGINNING)
            pcm.check_multiple(end - position - 16, align)
            data = bytearray(pcm.at(file, start, end - start))
            struct.pack_into(">q", data, position - start + 4, end - position - 12)
            return pcm.Stream("CAF", contents=bytes(data))
        if length < 0:
            break
        if header[:4] == b"data":
            pcm.check_length(size - position - 12, length)
            pcm.check_alone(file, position + 12 + length, size, _CAF_BEGINNING)
        position += 12 + length
    return pcm.Stream("CAF")


def inspect_nist(file: FileIO, start: int, size: int) -> pcm.Stream:
    """Inspect a NIST SPHERE file; arguments and errors as in `inspect_aiff`."""
    fields: dict[str, int] = {}
    words: dict[str, str] = {}
    lines = pcm.at(file, start, 4096).decode("latin-1").split("\n")
    for line in lines:
        name, kind, value = [*line.split(None, 2), "", "", ""][:3]
        if name == "end_head":
            break
        words[name] = value.strip()
        if kind == "-i" and value.isascii() and value.strip().isdigit() and len(value) < 19:
            fields[name] = int(value)
    names = ("sample_count", "channel_count", "sample_n_bytes")
    if not (len(lines) > 1 and lines[1].strip().isdigit() and all(name in fields for name in names)):
        raise pcm.BrokenRecordingError("the header lacks sample_count, channel_count or sample_n_bytes")
    header = int(lines[1][:18])
    count, channels, width = (fields[name] for name in names)
    length = count * channels * width
    pcm.check_length(size - start - header, length)
    pcm.check_alone(file, start + header + length, size, _NIST_BEGINNING)
    contents = None
    if width in _AU_LINEAR and words.get("sample_coding", "pcm") == "pcm":
        # libsndfile reads 8 and 16 bits only.
        little = words.get("sample_byte_format", "").startswith("0")
        rate = min(fields.get("sample_rate", 0), 0xFFFFFFFF)
        numbers_of = (24, length, _AU_LINEAR[width], rate, channels)
        if max(numbers_of) > 0xFFFFFFFF:
            raise pcm.BrokenRecordingError(f"SPH of {8 * width} bits with {length:,} bytes of samples, expected less")
        head = struct.pack("<4sIIIII" if little else ">4sIIIII", b"dns." if little else b".snd", *numbers_of)
        contents = head + pcm.at(file, start + header, length)
    return pcm.Stream("SPH", count, contents=contents)


def inspect_w64(file: FileIO, start: int, size: int) -> pcm.Stream:
    """Inspect a Wave64 file; arguments and errors as in `inspect_aiff`.

    libsndfile ignores the GUID of a format, and reads other chunks as samples.
    """
    form, fact, other = WavFormat.of(b"", "<"), 0, False
    position = start + 40
    for _ in range(pcm.MAX_CHUNKS):
        header = pcm.at(file, position, 24)
        if len(header) < 24:
            break
        (length,) = struct.unpack("<Q", header[16:])
        name = header[:4] if header[4:16] == _W64_TAIL else b""
        if name == b"fmt ":
            form = WavFormat.of(pcm.at(file, position + 24, min(max(0, length - 24), 4096)), "<")
        elif name == b"fact":
            (fact,) = pcm.numbers(file, position + 24, "<Q")
        elif name == b"data":
            first = position + 24
            if length < pcm.UNKNOWN_64:
                pcm.check_length(size - position, length)
                pcm.check_alone(file, position + length, size, _W64_BEGINNING)
                length = max(0, length - 24)
            else:
                length = pcm.end_of_samples(file, first, size, _W64_BEGINNING) - first
                pcm.check_multiple(length, form.align)
            simple = form.kind in (PCM, FLOAT) and not form.extensible and not other
            stream = wav_samples(file, form, fact, first, length, rewrite=not simple, container="W64")
            usual = pcm.at(file, 0, 16) + pcm.at(file, 24, 16) == _W64_GUIDS
            alone = simple and not start and usual and first + length + -length % 8 >= size
            names = (b"fmt ", b"data") if alone else ()
            return stream._replace(plain=pcm.plain_wav(form.chunk, names, first, length, "W64"))
        else:
            other = True
        position += max(24, length + -length % 8)
    return pcm.Stream("W64")


W64: Final = pcm.Container(pcm.begins_with(b"riff"), inspect_w64)
AIFF: Final = pcm.Container(pcm.begins_with(b"FORM"), inspect_aiff)
AU: Final = pcm.Container(pcm.begins_with(b".snd", b"dns."), inspect_au)
CAF: Final = pcm.Container(pcm.begins_with(b"caff"), inspect_caf)
NIST: Final = pcm.Container(pcm.begins_with(b"NIST"), inspect_nist)


def _plain_aiff(common: bytes, names: Sequence[bytes], position: int, length: int) -> pcm.PlainSamples | None:
    """Return where the samples of an AIFF or AIFF-C file lie; None if in doubt.

    Args:
        common: the contents of ``COMM``.
        names: the names of all chunks.
        position, length: of the samples, in bytes.
    """
    if len(common) < 18 or not pcm.are_known(names, b"COMM", b"SSND"):
        return None
    channels, n_samples, bits, exponent, mantissa = struct.unpack(">HIHHQ", common[:18])
    kind = common[18:22] or b"NONE"
    order, number = {b"NONE": (">", "PCM"), b"twos": (">", "PCM"), b"sowt": ("<", "PCM")}.get(kind, (">", ""))
    if kind in (b"fl32", b"FL32"):
        number = "FLOAT"
    subtype = {("PCM", 16): "PCM_16", ("PCM", 24): "PCM_24", ("FLOAT", 32): "FLOAT"}.get((number, bits))
    # A number of 80 bits: 1.63 bits of mantissa, and an exponent with a bias of 2^14 - 1.
    shift = 63 - (exponent - 16383)
    if subtype is None or (kind == b"sowt" and bits != 16) or not 0 <= shift < 64 or mantissa % (1 << shift):
        return None
    plain = pcm.plain_samples("AIFF", subtype, order, mantissa >> shift, channels, position, length)
    return plain if plain and plain.n_samples == n_samples else None


def _plain_au(order: str, kind: int, rate: int, channels: int, position: int, length: int) -> pcm.PlainSamples | None:
    """Return where the samples of an AU file lie; None if in doubt."""
    subtype = {3: "PCM_16", 4: "PCM_24", 6: "FLOAT"}.get(kind)
    return (
        pcm.plain_samples("AU", subtype, order, rate, channels, position, length)
        if subtype and position >= 24
        else None
    )
