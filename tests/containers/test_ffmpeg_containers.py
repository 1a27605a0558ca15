"""Recordings in MP4, WebM, Matroska and AAC, written by PyAV and read by its decoder in another process."""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import speech_like

from tts_prep.containers import ffmpeg
from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.reading import ReadingConfig, read_excerpt, read_waveform

av: Any = pytest.importorskip("av")


def recording(form: str, codec: str, rate: int = 48000, channels: int = 1, **options: str) -> tuple[bytes, np.ndarray]:
    """Return a recording, and the samples that were encoded, [n_samples, n_channels]."""
    sound = np.stack([speech_like(0.41, 1 + channel, rate) for channel in range(channels)], axis=1)
    integers = np.round(sound * 32767).astype(np.int16)
    # With a name, because FFmpeg writes some files twice.
    folder = tempfile.TemporaryDirectory()
    file = Path(folder.name) / "recording"
    # The same bytes every time: Matroska has random identifiers otherwise.
    options = {"fflags": "+bitexact", **options}
    with folder, av.open(str(file), "w", format=form, options=options) as container:
        stream = container.add_stream(codec, rate=rate, layout="mono" if channels == 1 else "stereo")
        frame = av.AudioFrame.from_ndarray(integers.reshape(1, -1), "s16", "mono" if channels == 1 else "stereo")
        frame.sample_rate, frame.time_base, frame.pts = rate, Fraction(1, rate), 0
        for part in (frame, None):
            container.mux(stream.encode(part))
        container.close()
        return file.read_bytes(), integers / 32768


def read(folder: Path, data: bytes, rate: int = 48000, **settings: Any) -> np.ndarray:
    path = folder / "a.m4a"
    path.write_bytes(data)
    return read_waveform(path, rate, ReadingConfig(**settings))


def refusal(folder: Path, data: bytes) -> str:
    with pytest.raises(AudioError) as error:
        read(folder, data)
    return str(error.value)


@pytest.mark.parametrize(("form", "codec"), [("ipod", "alac"), ("matroska", "flac"), ("mov", "pcm_s16le")])
@pytest.mark.parametrize("rate", [16000, 44100])
def test_lossless_samples_are_those_that_were_written(tmp_path: Path, form: str, codec: str, rate: int) -> None:
    data, expected = recording(form, codec, rate, channels=2)
    np.testing.assert_array_equal(read(tmp_path, data, rate, channel=1), expected[:, 1].astype(np.float32))
    mean = read(tmp_path, data, rate, channel="mean")
    np.testing.assert_allclose(mean, expected.mean(axis=1), atol=1e-7)


@pytest.mark.parametrize(("form", "codec"), [("ipod", "aac"), ("webm", "libopus")])
@pytest.mark.parametrize("channels", [1, 2])
def test_the_delay_of_the_encoder_and_its_padding_are_cut_off(
    tmp_path: Path, form: str, codec: str, channels: int
) -> None:
    data, expected = recording(form, codec, channels=channels)
    found = read(tmp_path, data)
    assert len(found) == len(expected)
    correlation = [np.corrcoef(found[960 + lag : 9600 + lag], expected[960:9600, 0])[0, 1] for lag in range(-9, 10)]
    assert np.argmax(correlation) == 9
    assert max(correlation) > 0.95


def element(data: bytes, *path: str) -> slice:
    """Return where the contents of an element of EBML are, by the ids of the elements it lies in and its own."""
    first, end = 0, len(data)
    for wanted in path:
        while first < end:
            # The number of leading zeros is that of the bytes that follow, in an id and in a size.
            after = first + 9 - data[first].bit_length()
            contents = after + 9 - data[after].bit_length()
            size = int.from_bytes(data[after:contents], "big") & (1 << 7 * (contents - after)) - 1
            if data[first:after].hex() == wanted:
                first, end = contents, contents + size
                break
            first = contents + size
        else:
            raise AssertionError(f"no element {wanted}")
    return slice(first, end)


def test_the_delay_of_opus_is_cut_off_whatever_rate_the_header_says(tmp_path: Path) -> None:
    data, expected = recording("webm", "libopus")
    # Segment, Tracks, TrackEntry, Audio, SamplingFrequency.
    place = element(data, "18538067", "1654ae6b", "ae", "e1", "b5")
    assert struct.unpack(">d", data[place]) == (48000,)
    other = data[: place.start] + struct.pack(">d", 16000) + data[place.stop :]
    head = other.index(b"OpusHead")
    other = other[: head + 12] + struct.pack("<I", 16000) + other[head + 16 :]
    found = read(tmp_path, other)
    assert len(found) == len(expected)
    np.testing.assert_allclose(found[960:], read(tmp_path, data)[960:], atol=1e-3)


@pytest.mark.parametrize(
    ("form", "codec", "options"),
    [
        ("ipod", "aac", {}),
        ("mp4", "aac", {"movflags": "faststart"}),
        ("ipod", "alac", {}),
        ("webm", "libopus", {}),
        ("webm", "libopus", {"live": "1"}),
        ("matroska", "flac", {}),
        ("adts", "aac", {}),
    ],
)
def test_truncated_files_are_refused(tmp_path: Path, form: str, codec: str, options: dict[str, str]) -> None:
    data, _ = recording(form, codec, **options)
    assert len(read(tmp_path, data)) > 19000
    for n_bytes in (1, 3, len(data) // 3, len(data) - 40):
        assert "truncated" in refusal(tmp_path, data[:-n_bytes]) or n_bytes == len(data) - 40


@pytest.mark.parametrize(("form", "codec"), [("ipod", "alac"), ("webm", "libopus")])
def test_two_recordings_in_a_file_are_refused(tmp_path: Path, form: str, codec: str) -> None:
    data, _ = recording(form, codec)
    assert f"another recording begins at byte {len(data):,}" in refusal(tmp_path, data + data)


def test_other_bytes_are_refused_or_no_samples(tmp_path: Path) -> None:
    data, _ = recording("ipod", "alac")
    assert "expected a box of MP4" in refusal(tmp_path, data + bytes(100))
    data, _ = recording("adts", "aac")
    assert "expected a frame of AAC" in refusal(tmp_path, data + b"stray bytes")
    whole = read(tmp_path, data)
    np.testing.assert_array_equal(read(tmp_path, data + b"TAG".ljust(128, b"\0")), whole)


def test_damaged_bytes_never_end_the_run(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for form, codec in (("ipod", "aac"), ("webm", "libopus"), ("adts", "aac")):
        data, _ = recording(form, codec)
        for _ in range(15):
            damaged = bytearray(data)
            for place in rng.integers(8, len(data), 12):
                damaged[place] = rng.integers(256)
            try:
                assert np.isfinite(read(tmp_path, bytes(damaged))).all()
            except AudioError as error:
                assert str(error).startswith("a.m4a: ")
                assert str(tmp_path) not in str(error)


def test_a_file_that_expands_without_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = recording("ipod", "alac")
    monkeypatch.setattr(ffmpeg, "_MAX_SAMPLES_PER_BYTE", 0.1)
    assert "more than " in refusal(tmp_path, data)


def test_a_file_without_sound_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width = stream.height = 16
        for part in (
            av.VideoFrame.from_ndarray(np.zeros((16, 16, 3), np.uint8), format="rgb24").reformat(format="yuv420p"),
            None,
        ):
            container.mux(stream.encode(part))
    assert "0 audio streams, expected one" in refusal(tmp_path, file.getvalue())


def test_an_excerpt_is_cut_from_what_was_decoded(tmp_path: Path) -> None:
    data, expected = recording("ipod", "alac")
    path = tmp_path / "a.m4a"
    path.write_bytes(data)
    found = read_excerpt(path, 48000, 1000, 3000, ReadingConfig())
    assert found is not None
    np.testing.assert_array_equal(found[0], expected[1000:3000, 0].astype(np.float32))


def test_without_the_extra_the_refusal_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ffmpeg, "is_installed", lambda: False)
    for data, name in (
        (b"\xff\xf1\x50\x80\x00\xff\xfc", "AAC"),
        (struct.pack(">I4s4s", 12, b"ftyp", b"M4A "), "MP4"),
        (recording("webm", "libopus")[0], "WebM or Matroska"),
    ):
        message = (
            f"a.m4a: {name} is read by FFmpeg's libraries, which are not installed: pip install 'tts-prep[ffmpeg]'"
        )
        assert message in refusal(tmp_path, data)


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="ffmpeg is not installed")
@pytest.mark.parametrize(("form", "codec"), [("ipod", "aac"), ("webm", "libopus"), ("adts", "aac"), ("ipod", "alac")])
def test_samples_are_those_of_the_program_ffmpeg(tmp_path: Path, form: str, codec: str) -> None:
    data, _ = recording(form, codec)
    found = read(tmp_path, data)
    command = ["ffmpeg", "-loglevel", "error", "-i", str(tmp_path / "a.m4a"), "-f", "f32le", "-"]
    expected = np.frombuffer(subprocess.run(command, capture_output=True, check=True).stdout, "<f4")
    # The program keeps the padding at the end.
    assert 0 <= len(expected) - len(found) < 1024
    np.testing.assert_allclose(found, expected[: len(found)], atol=2e-3)
