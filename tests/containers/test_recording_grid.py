"""Recordings of other programs, in every form, have the samples of a second decoder, or are refused."""

from __future__ import annotations

import collections
import itertools
import json
import math
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from corpora import speech_like

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.reading import ReadingConfig, read_waveform

RATES = tuple(map(int, os.environ.get("RATES", "8000,16000,22050,24000,44100,48000").split(",")))
LAYER_2_RATES = tuple(rate for rate in RATES if rate >= 16_000)
SECONDS = 0.41
ID3V1 = b"TAG" + b"Title".ljust(125, b"\0")
ID3V2 = b"ID3\4\0\0\0\0\1\0" + b"TIT2".ljust(128, b"\0")


@dataclass(frozen=True)
class Encoding:
    """How a program writes a recording.

    Attributes:
        program: the program: ffmpeg, sox, lame, opusenc or flac.
        form: the name of the container, as the program names it.
        options: its arguments.
        tolerance: the largest difference from the second decoder.
        rates: the sample rates.
        channels: the numbers of channels.
        decoder: the program whose samples are expected; ``"source"`` expects the samples that were written.
    """

    program: str
    form: str
    options: tuple[str, ...] = ()
    tolerance: float = 1e-6
    rates: tuple[int, ...] = RATES
    channels: tuple[int, ...] = (1, 2)
    decoder: str = "ffmpeg"

    def __str__(self) -> str:
        return " ".join((self.program, self.form, *self.options))

    def command(self, source: Path, target: Path | None) -> list[str]:
        """Return the command; it writes to a pipe if there is no target."""
        if self.program == "ffmpeg":
            quiet = ("-hide_banner", "-loglevel", "error", "-y")
            where = str(target) if target else "pipe:1"
            return ["ffmpeg", *quiet, "-i", str(source), *self.options, "-f", self.form, where]
        if self.program == "sox":
            return ["sox", "-V1", "-D", str(source), "-t", self.form, *self.options, str(target) if target else "-"]
        if self.program == "lame":
            return ["lame", "--quiet", *self.options, str(source), str(target) if target else "-"]
        if self.program == "opusenc":
            return ["opusenc", "--quiet", *self.options, str(source), str(target) if target else "-"]
        where_flac = ("-f", "-o", str(target)) if target else ("-c",)
        return ["flac", "--silent", *self.options, *where_flac, str(source)]


def _encodings() -> Iterator[Encoding]:
    pcm = {
        "wav": "u8 s16le s24le s32le f32le f64le alaw mulaw",
        "w64": "u8 s16le s24le s32le f32le f64le alaw mulaw",
        "aiff": "s8 s16be s24be s32be f32be f64be alaw mulaw s16le",
        "au": "s8 s16be s24be s32be f32be f64be alaw mulaw",
        "caf": "s8 s16be s16le s24be s24le s32be s32le f32be f32le f64be f64le alaw mulaw",
    }
    for form, codecs in pcm.items():
        for codec in codecs.split():
            yield Encoding("ffmpeg", form, ("-c:a", f"pcm_{codec}"))
    for codec in ("s16le", "s24le", "f32le"):
        yield Encoding("ffmpeg", "wav", ("-c:a", f"pcm_{codec}", "-rf64", "always"))
        yield Encoding("ffmpeg", "wav", ("-c:a", f"pcm_{codec}", "-write_bext", "1", "-metadata", "description=a"))
    for codec in ("adpcm_ms", "adpcm_ima_wav"):
        # Decoders of IMA ADPCM round differently, and every sample is a difference from the one before.
        yield Encoding("ffmpeg", "wav", ("-c:a", codec), 2e-4 if codec == "adpcm_ms" else 2e-3)
        yield Encoding("ffmpeg", "w64", ("-c:a", codec), 2e-4 if codec == "adpcm_ms" else 2e-3)
    yield Encoding("ffmpeg", "wav", ("-c:a", "libgsm_ms"), 2e-4, rates=(8_000,), channels=(1,))
    yield Encoding("ffmpeg", "wav", ("-c:a", "libmp3lame"), 2e-3)
    yield Encoding("ffmpeg", "aiff", ("-c:a", "adpcm_ima_qt"), 1e-2)
    yield Encoding("ffmpeg", "caf", ("-c:a", "alac"))
    yield Encoding("ffmpeg", "caf", ("-c:a", "adpcm_ima_qt"), 1e-2)
    yield Encoding("ffmpeg", "flac")
    yield Encoding("ffmpeg", "ogg", ("-c:a", "flac"))
    yield Encoding("ffmpeg", "ogg", ("-c:a", "libvorbis"), 1e-4, decoder="sox")
    yield Encoding("ffmpeg", "ogg", ("-c:a", "libopus"), 2e-3)
    yield Encoding("ffmpeg", "ogg", ("-c:a", "libspeex"), rates=(8_000, 16_000))
    yield Encoding("ffmpeg", "mp3", (), 2e-3)
    yield Encoding("ffmpeg", "mp3", ("-write_xing", "0"), 2e-3)
    yield Encoding("ffmpeg", "mp3", ("-q:a", "4", "-id3v2_version", "0"), 2e-3)
    yield Encoding("ffmpeg", "mp2", ("-c:a", "mp2"), 2e-3, rates=LAYER_2_RATES)
    yield Encoding("ffmpeg", "mp2", ("-c:a", "libtwolame"), 2e-3, rates=LAYER_2_RATES)
    yield Encoding("ffmpeg", "adts", ("-c:a", "aac"), 2e-3)
    yield Encoding("ffmpeg", "ipod", ("-c:a", "aac"), 2e-3)
    yield Encoding("ffmpeg", "ipod", ("-c:a", "alac"))
    yield Encoding("ffmpeg", "webm", ("-c:a", "libopus"), 2e-3)
    yield Encoding("ffmpeg", "matroska", ("-c:a", "libvorbis"), 1e-4)
    sox = {
        "wav": ("-b8", "-b16", "-b24", "-b32", "-efloat -b32", "-efloat -b64", "-emu-law", "-ea-law"),
        "w64": ("-b16", "-b24", "-b32", "-efloat -b32"),
        "aiff": ("-b8", "-b16", "-b24", "-b32"),
        "aifc": ("-b16", "-b24", "-b32"),
        "au": ("-b8", "-b16", "-b24", "-b32", "-efloat -b32", "-efloat -b64", "-emu-law", "-ea-law"),
        "caf": ("-b16", "-b24", "-b32"),
        "sph": ("-b8", "-b16", "-b24", "-b32", "-emu-law", "-ea-law"),
        "wav ": ("-ems-adpcm", "-eima-adpcm"),
        "flac": ("-b16", "-b24"),
    }
    for form, kinds in sox.items():
        for kind in kinds:
            adpcm = "adpcm" in kind
            # ffmpeg reads SPH with 16 bits and in one byte order only, and decodes the padding of ADPCM.
            decoder = "sox" if form == "sph" or adpcm else "ffmpeg"
            yield Encoding("sox", form.strip(), tuple(kind.split()), 2e-3 if adpcm else 1e-6, decoder=decoder)
    yield Encoding("sox", "wav", ("-egsm-full-rate",), 2e-4, rates=(8_000,), channels=(1,))
    yield Encoding("sox", "sph", ("-b16", "-L"), decoder="sox")
    yield Encoding("sox", "8svx", ("-b8",), decoder="sox")
    yield Encoding("sox", "ogg", (), 1e-4, decoder="sox")
    yield Encoding("sox", "mp3", (), 2e-3)
    for options in (("-b", "64"), ("-V4",), ("--abr", "96"), ("-t", "-b", "64"), ("--id3v2-only", "--tt", "a")):
        yield Encoding("lame", "mp3", options, 2e-3)
    for options in ((), ("--framesize", "60"), ("--bitrate", "16"), ("--discard-comments", "--hard-cbr")):
        yield Encoding("opusenc", "ogg", options, 2e-3)
    for options in (("-8",), ("-0",), ("--lax", "-b", "576"), ("--ogg",)):
        yield Encoding("flac", "flac", options)


def source(folder: Path, rate: int, channels: int, seed: int) -> Path:
    """Write a 24-bit WAV file to encode."""
    sound = np.stack([speech_like(SECONDS, seed + channel, rate) for channel in range(channels)], axis=1)
    path = folder / f"source-{rate}-{channels}-{seed}.wav"
    if not path.exists():
        soundfile.write(path, sound, rate, "PCM_24")
    return path


def encoded(encoding: Encoding, path: Path, folder: Path, piped: bool = False) -> bytes | None:
    """Return a recording; None if the program does not write that form."""
    target = folder / "encoded"
    target.unlink(missing_ok=True)
    done = subprocess.run(encoding.command(path, None if piped else target), capture_output=True)
    if piped:
        return done.stdout or None if done.returncode == 0 else None
    return target.read_bytes() if done.returncode == 0 and target.exists() else None


def decoded(encoding: Encoding, data: bytes, folder: Path) -> tuple[np.ndarray, int]:
    """Return the samples of the first channel by a second decoder, and their rate."""
    path = folder / f"second.{encoding.form}"
    path.write_bytes(data)
    quiet = ("-hide_banner", "-loglevel", "error")
    if encoding.decoder == "sox":
        command = ["sox", "-V1", str(path), "-t", "wav", "-b32", "-efloat", "-"]
    else:
        opus = ("-c:a", "libopus") if "opus" in str(encoding) else ()
        command = ["ffmpeg", *quiet, *opus, "-i", str(path), "-c:a", "pcm_f32le", "-f", "wav", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    header = done.stdout[: done.stdout.index(b"data")]
    place = header.index(b"fmt ") + 8
    channels, rate = struct.unpack("<HI", header[place + 2 : place + 8])
    body = done.stdout[len(header) + 8 :]
    samples = np.frombuffer(body[: len(body) // 4 * 4], "<f4").reshape(-1, channels)[:, 0]
    return samples, rate


def riff_chunk(name: bytes, contents: bytes) -> bytes:
    return name + struct.pack("<I", len(contents)) + contents + b"\0" * (len(contents) % 2)


def with_trailing_chunk(data: bytes) -> bytes | None:
    """Return a recording with another chunk behind its samples; None if its container has no chunks."""
    if data[:4] == b"RIFF":
        (size,) = struct.unpack("<I", data[4:8])
        if size + 8 > len(data):
            return None
        chunk = riff_chunk(b"LIST", b"INFOINAM" + struct.pack("<I", 6) + b"name\0\0")
        return data[:4] + struct.pack("<I", size + len(chunk)) + data[8:] + chunk
    if data[:4] == b"FORM" and b"SSND" in data:
        (size,) = struct.unpack(">I", data[4:8])
        chunk = b"NAME" + struct.pack(">I", 4) + b"name"
        return data[:4] + struct.pack(">I", size + len(chunk)) + data[8:] + chunk
    if data[:4] == b"riff":
        tail = bytes.fromhex("f3acd3118cd100c04f8edb8a")
        padded = data + bytes(-len(data) % 8)
        chunk = b"bext" + tail + struct.pack("<Q", 24 + 600) + b"x" * 600
        return padded[:16] + struct.pack("<Q", len(padded) + len(chunk)) + padded[24:] + chunk
    if data[:4] == b"caff":
        return data + b"info" + struct.pack(">qI", 4, 0)
    return None


def with_leading_chunk(data: bytes) -> bytes | None:
    """Return a recording with another chunk in front of its samples."""
    if data[:4] == b"RIFF" and b"data" in data:
        (size,) = struct.unpack("<I", data[4:8])
        chunk, place = riff_chunk(b"bext", b"x" * 602), data.index(b"data", 12)
        return data[:4] + struct.pack("<I", min(size + len(chunk), 2**32 - 1)) + data[8:place] + chunk + data[place:]
    if data[:4] == b"riff":
        tail = bytes.fromhex("f3acd3118cd100c04f8edb8a")
        chunk = b"bext" + tail + struct.pack("<Q", 24 + 608) + b"x" * 608
        place = data.index(b"data" + tail)
        (size,) = struct.unpack("<Q", data[16:24])
        return data[:16] + struct.pack("<Q", min(size + len(chunk), 2**63)) + data[24:place] + chunk + data[place:]
    if data[:4] == b"FORM" and b"SSND" in data:
        (size,) = struct.unpack(">I", data[4:8])
        chunk, place = b"NAME" + struct.pack(">I", 4) + b"name", data.index(b"SSND")
        return data[:4] + struct.pack(">I", (size + len(chunk)) % 2**32) + data[8:place] + chunk + data[place:]
    return None


WHOLE, PARTS = "whole", "parts"

FORMS: dict[str, tuple[str, Callable[[bytes, bytes], bytes | None]]] = {
    "whole": (WHOLE, lambda a, _: a),
    "truncated": (WHOLE, lambda a, _: a[: len(a) * 2 // 3]),
    "a byte short": (WHOLE, lambda a, _: a[:-1]),
    "concatenated": (PARTS, lambda a, b: a + b),
    "concatenated with a tag between": (PARTS, lambda a, b: a + ID3V2 + b),
    "ID3v1 behind": (WHOLE, lambda a, _: a + ID3V1),
    "ID3v2 in front": (WHOLE, lambda a, _: ID3V2 + a),
    "stray bytes behind": (WHOLE, lambda a, _: a + b"stray bytes, 24 of them."),
    "zeros behind": (WHOLE, lambda a, _: a + bytes(1000)),
    "trailing chunk": (WHOLE, lambda a, _: with_trailing_chunk(a)),
    "leading chunk": (WHOLE, lambda a, _: with_leading_chunk(a)),
}


@dataclass
class Totals:
    """Counts of verdicts, and the differences that nothing explains."""

    verdicts: collections.Counter[str] = field(default_factory=collections.Counter)
    silent: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Accepted:
    """A difference that cannot be found, or is the second decoder's; the page about corpora has the same reasons.

    Attributes:
        containers, forms: where it occurs; with ``piped``, in piped files only.
        bytes: the number of bytes that one of the decoders may take for samples.
        bytes_of_form: as many bytes may be missing, or more, as the form has less or more.
        shorter: any number of samples at the end may be missing.
        behind_join: the number of samples behind the join that may have other values.
        padding: the number of samples at the end that the second decoder may have in addition.
        difference: the largest difference of samples; None is that of the encoding.
    """

    containers: list[str]
    forms: list[str]
    reason: str
    piped: bool | None = None
    bytes: int = 0
    bytes_of_form: bool = False
    shorter: bool = False
    behind_join: int = 0
    padding: int = 0
    difference: float | None = None


ACCEPTED = [
    Accepted(**row)
    for row in json.loads((Path(__file__).parent / "accepted_differences.json").read_text(encoding="utf-8"))
]


@dataclass(frozen=True)
class Case:
    """A recording of the grid, and what is expected of it."""

    encoding: Encoding
    channels: int
    piped: bool
    form: str
    more_bytes: int
    expected: np.ndarray
    join: int

    @property
    def width(self) -> float:
        """The number of bytes of a sample of all channels, if there is no compression."""
        bits = re.search(r"(?:pcm_[suf]|-b)(\d+)", str(self.encoding))
        return self.channels * (int(bits[1]) if bits else 8) / 8

    def reason(self, found: np.ndarray) -> str | None:
        """Return why samples may differ from the expected ones; None if nothing explains it."""
        return next((row.reason for row in ACCEPTED if self._explains(row, found)), None)

    def _explains(self, row: Accepted, found: np.ndarray) -> bool:
        if (
            self.encoding.form not in row.containers
            or self.form not in row.forms
            or row.piped not in (None, self.piped)
        ):
            return False
        n_bytes = row.bytes + row.bytes_of_form * abs(self.more_bytes)
        more = len(found) - len(self.expected)
        is_shorter = more < 0 and (row.shorter or -more <= row.padding)
        if abs(more) > math.ceil(n_bytes / self.width) and not is_shorter:
            return False
        stop = min(len(found), len(self.expected) - math.ceil(row.bytes / self.width))
        same = np.abs(found[:stop] - self.expected[:stop]) <= (row.difference or self.encoding.tolerance)
        same[self.join : self.join + row.behind_join] = True
        return bool(same.all())


def verdict(case: Case, path: Path, rate: int) -> tuple[str, str]:
    """Return a verdict, and the difference if nothing explains it."""
    try:
        found = read_waveform(path, rate, ReadingConfig("first"))
    except AudioError:
        return "refused", ""
    same_length = len(found) == len(case.expected)
    difference = float(np.abs(found - case.expected).max()) if same_length else 0.0
    if same_length and difference <= case.encoding.tolerance:
        return "equal", ""
    if reason := case.reason(found):
        return f"accepted: {reason}", ""
    return "SILENT", f"{difference:.3g}" if same_length else f"{len(found)} samples for {len(case.expected)}"


def shapes(number: int, encoding: Encoding) -> Iterator[tuple[int, int]]:
    """Yield sample rates and channels: two for each encoding, so that all occur, or all with RATES."""
    if "RATES" in os.environ:
        yield from itertools.product(encoding.rates, encoding.channels)
        return
    n = len(encoding.rates)
    yield from dict.fromkeys(
        [(encoding.rates[number % n], 1), (encoding.rates[(number + n // 2) % n], encoding.channels[-1])]
    )


def examine(number: int, encoding: Encoding, folder: Path, totals: Totals) -> None:
    """Compare an encoding in every form."""
    for (rate, channels), piped in itertools.product(shapes(number, encoding), (False, True)):
        parts = [encoded(encoding, source(folder, rate, channels, seed), folder, piped) for seed in (1, 5)]
        # The sizes in MP3 change what is cut off, so that a piped one is a recording of its own.
        own = not piped or encoding.form in ("mp3", "mp2")
        whole = parts if own else [encoded(encoding, source(folder, rate, channels, seed), folder) for seed in (1, 5)]
        first, second = parts
        if first is None or second is None or None in whole:
            totals.verdicts["not written by the program"] += 1
            continue
        try:
            decodings = [decoded(encoding, data or b"", folder) for data in whole]
        except (subprocess.CalledProcessError, ValueError):
            totals.verdicts["not read by the second decoder"] += 1
            continue
        for form, (kind, make) in FORMS.items():
            data = make(first, second)
            if data is None:
                continue
            path = folder / "a"
            path.write_bytes(data)
            # Second decoders decode the padding of the last block, too.
            stop = round(SECONDS * rate) if encoding.program == "sox" and "-e" in str(encoding) else None
            samples = [samples[:stop] for samples, _ in decodings]
            expected = np.concatenate(samples) if kind == PARTS else samples[0]
            more_bytes = 0 if kind == PARTS else len(data) - len(first)
            case = Case(encoding, channels, piped, form, more_bytes, expected, len(samples[0]))
            found, difference = verdict(case, path, decodings[0][1])
            totals.verdicts[found] += 1
            if difference:
                where = f"{encoding}, {rate} Hz, {channels} channels, {'piped, ' if piped else ''}{form}"
                totals.silent.append(f"{where}: {difference}")


ENCODINGS = list(_encodings())


def test_accepted_differences_are_in_the_documentation_with_their_reasons() -> None:
    page = Path(__file__).parents[2] / "docs" / "corpora.md"
    words = " ".join(page.read_text(encoding="utf-8").split())
    for row in ACCEPTED:
        assert row.reason in words
        assert set(row.forms) <= set(FORMS)
        assert set(row.containers) <= {encoding.form for encoding in ENCODINGS}


def test_an_accepted_difference_has_a_bound() -> None:
    encoding = Encoding("ffmpeg", "wav", ("-c:a", "pcm_s16le"))
    expected = np.linspace(-0.5, 0.5, 1000).astype(np.float32)
    longer = np.append(expected, [0.1] * 12).astype(np.float32)
    case = Case(encoding, 1, True, "stray bytes behind", 24, expected, 1000)
    assert case.reason(longer) == ACCEPTED[0].reason
    assert case.reason(np.append(longer, np.float32(0))) is None
    assert case.reason(np.where(np.arange(1012) == 500, longer + np.float32(0.1), longer)) is None
    assert replace(case, piped=False).reason(longer) is None
    assert replace(case, form="whole").reason(longer) is None


@pytest.mark.soak
@pytest.mark.parametrize(("number", "encoding"), [*enumerate(ENCODINGS)], ids=map(str, ENCODINGS))
def test_no_recording_has_other_samples_without_a_word(tmp_path: Path, number: int, encoding: Encoding) -> None:
    for program in {encoding.program, encoding.decoder}:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    totals = Totals()
    examine(number, encoding, tmp_path, totals)
    print(encoding, dict(totals.verdicts))
    assert not totals.silent
    assert sum(totals.verdicts.values()) > 0
