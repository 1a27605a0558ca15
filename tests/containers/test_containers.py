"""A recording is read to its end or refused, whatever its header."""

from __future__ import annotations

import io
import itertools
import os
import re
import socket
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
from recordings import (
    CONTAINERS,
    LOSSLESS,
    PIPED,
    RATE,
    headerless_mp3,
    piped_flac,
    recording,
    samples,
)

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.reading import ReadingConfig, read_excerpt, read_waveform


def read(folder: Path, data: bytes) -> np.ndarray:
    path = folder / "a"
    path.write_bytes(data)
    return read_waveform(path, RATE)


def refusal(folder: Path, data: bytes) -> str:
    with pytest.raises(AudioError) as error:
        read(folder, data)
    return str(error.value)


@pytest.mark.parametrize("name", [name for name in CONTAINERS if name != "opus"])
def test_a_whole_recording_has_the_samples_that_libsndfile_gives(tmp_path: Path, name: str) -> None:
    data = recording(name)
    waveform = read(tmp_path, data)
    with soundfile.SoundFile(io.BytesIO(data)) as file:
        np.testing.assert_array_equal(waveform, file.read(dtype="float32"))
    assert len(waveform) == 2 * RATE


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_recording_cut_at_any_place_is_refused_as_truncated(tmp_path: Path, name: str) -> None:
    data = recording(name)
    for share in (0.3, 0.6, 0.9, 0.999):
        assert "truncated" in refusal(tmp_path, data[: int(share * len(data))]) or name == "flac"


@pytest.mark.parametrize("name", CONTAINERS)
def test_of_several_recordings_in_one_file_none_is_left_out_silently(tmp_path: Path, name: str) -> None:
    data = recording(name)
    assert f"another recording begins at byte {len(data):,}" in refusal(tmp_path, data + recording(name, samples(0.5)))


@pytest.mark.parametrize("name", PIPED)
def test_a_recording_written_to_a_pipe_is_read_to_its_end(tmp_path: Path, name: str) -> None:
    data = PIPED[name]()
    np.testing.assert_array_equal(read(tmp_path, data), read(tmp_path, recording(name.partition(",")[0].lower())))
    part = read_excerpt(tmp_path / "a", RATE, 1000, 3000, ReadingConfig())
    assert part is not None
    np.testing.assert_array_equal(part[0], read(tmp_path, data)[1000:3000])
    assert part[1] == 2 * RATE


def test_a_piped_recording_is_whole_samples_and_frames(tmp_path: Path) -> None:
    assert "95,999 bytes of samples are not a multiple of 2" in refusal(tmp_path, PIPED["WAV, all ones"]()[:-1])
    assert "truncated, the last frame is incomplete" in refusal(tmp_path, piped_flac()[:-100])


def test_a_wav_file_with_no_samples_and_more_chunks_is_empty(tmp_path: Path) -> None:
    data = recording("wav", np.zeros(0)) + b"LIST" + struct.pack("<I", 4) + b"INFO"
    assert "no samples" in refusal(tmp_path, data[:4] + struct.pack("<I", len(data) - 8) + data[8:])


@pytest.mark.parametrize("mode", ["CONSTANT", "AVERAGE", "VARIABLE"])
def test_mp3_without_a_header_is_read_to_its_last_frame(tmp_path: Path, mode: str) -> None:
    data, n_frames = headerless_mp3(mode)
    tagged = b"ID3\4\0\0\0\0\1\0" + bytes(128) + data + b"TAG" + bytes(125)
    waveform = read(tmp_path, data)
    # 24 kHz is MPEG-2: 576 samples a frame.
    assert len(waveform) == 576 * n_frames > 2 * RATE
    np.testing.assert_array_equal(read(tmp_path, tagged), waveform)
    # The same sound, behind the delays of LAME's encoder (576) and of a decoder (529), which a header says to cut off.
    with_header = read(tmp_path, recording("mp3", bitrate_mode=mode, compression_level=0.5))
    np.testing.assert_allclose(waveform[576 + 529 :][: len(with_header)], with_header, atol=1e-6)


def test_mp3_without_a_header_may_be_concatenated(tmp_path: Path) -> None:
    data, n_frames = headerless_mp3()
    assert len(read(tmp_path, data + data)) == 2 * 576 * n_frames


def test_mp3_whose_quiet_frames_come_last_is_not_cut(tmp_path: Path) -> None:
    """libsndfile estimates the number of frames by the size of the first one."""
    data, n_frames = headerless_mp3("VARIABLE")
    # Headers of one stream differ in the third byte alone: bit rate and padding.
    starts = [
        match.start() for match in re.finditer(re.escape(data[:2]) + b"." + re.escape(data[3:4]), data, re.DOTALL)
    ]
    assert len(starts) == n_frames
    frames = [data[start:stop] for start, stop in itertools.pairwise([*starts, len(data)])]
    loud_first = b"".join(sorted(frames, key=len, reverse=True))
    assert soundfile.SoundFile(io.BytesIO(loud_first)).frames < 576 * n_frames
    assert len(read(tmp_path, loud_first)) == 576 * n_frames


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("flac", lambda d: d[:21] + bytes([d[21] | 0x0F]) + b"\xff" * 4 + d[26:], "cannot hold|the header says"),
        ("flac", lambda d: d[:42] + bytes(8), "damaged|truncated|cannot be read"),
        ("flac", lambda d: d[:24] + b"\1" + d[25:], "the header says"),
        ("mp3", lambda d: d[: d.index(d[:2], 400)] + b"\xff\0" + d[d.index(d[:2], 400) + 2 :], "damaged at byte"),
        ("mp3", lambda d: d[: d.index(d[:2], 400)] + b"\xff\xfb" + d[d.index(d[:2], 400) + 2 :], "damaged|another"),
        (
            "aiff",
            lambda d: d[: d.index(b"COMM") + 11] + b"\xff" + d[d.index(b"COMM") + 12 :],
            "truncated, 96,000 bytes",
        ),
        ("vorbis", lambda d: d[:6000] + b"\0\1\2" + d[6003:], "the checksum of the page at byte .* does not match"),
        ("vorbis", lambda d: d + b"and more", "damaged at byte"),
        ("wav", lambda d: d[:24] + struct.pack("<I", 1) + d[28:], "a sample rate of 1 Hz, expected 1,000 to 1,000,000"),
        ("wav", lambda d: d[:24] + struct.pack("<I", 2**31 - 1) + d[28:], "a sample rate of 2,147,483,647 Hz"),
    ],
)
def test_a_rotten_header_is_refused(tmp_path: Path, name: str, change: object, message: str) -> None:
    data = recording(name)
    assert re.search(message, refusal(tmp_path, change(data)))  # type: ignore[operator]


def test_fifty_bytes_of_flac_hold_no_sixty_billion_samples(tmp_path: Path) -> None:
    claims = recording("flac")[:42]
    claims = claims[:21] + bytes([claims[21] | 0x0F]) + b"\xff" * 4 + claims[26:]
    assert "its 50 bytes cannot hold the 68,719,476,735 samples it claims" in refusal(tmp_path, claims + bytes(8))


@pytest.mark.parametrize("name", ["flac", "vorbis", "opus"])
def test_a_damaged_frame_is_an_error_and_not_a_gap(tmp_path: Path, name: str) -> None:
    data = bytearray(recording(name))
    data[len(data) // 2] ^= 1
    assert "damaged" in refusal(tmp_path, bytes(data)) or "cannot be read" in refusal(tmp_path, bytes(data))


def test_a_missing_ogg_page_is_an_error_and_not_a_gap(tmp_path: Path) -> None:
    data = recording("vorbis")
    third = data.index(b"OggS", data.index(b"OggS", 4) + 4)
    fourth = data.index(b"OggS", third + 4)
    assert "expected page 2" in refusal(tmp_path, data[:third] + data[fourth:])


@pytest.mark.parametrize("peak", [1e37, 32768.0, 8.5])
def test_floats_at_integer_scale_are_refused(tmp_path: Path, peak: float) -> None:
    sound = samples(0.2)
    sound[100] = peak
    soundfile.write(tmp_path / "a.wav", sound, RATE, "FLOAT")
    with pytest.raises(AudioError, match=r"a.wav: samples of up to .*, expected full scale to be 1"):
        read_waveform(tmp_path / "a.wav", RATE)
    sound[100] = 7.5
    soundfile.write(tmp_path / "a.wav", sound, RATE, "FLOAT")
    assert read_waveform(tmp_path / "a.wav", RATE).max() == 7.5


def test_the_mean_of_channels_that_overflow_is_an_error(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.full((100, 2), 3e38), RATE, "FLOAT")
    with pytest.raises(AudioError, match="NaN or infinite"):
        read_waveform(tmp_path / "a.wav", RATE, ReadingConfig("mean"))


def test_a_format_whose_length_is_not_checked_is_refused(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.voc", samples(0.2), RATE, format="VOC")
    with pytest.raises(AudioError, match=r"cannot be read as audio; expected WAV"):
        read_waveform(tmp_path / "a.voc", RATE)


@pytest.mark.parametrize("suffix", ["raw", "sd2", "mp3", "txt"])
def test_the_suffix_of_a_name_means_nothing(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(recording("wav"))
    assert len(read_waveform(path, RATE)) == 2 * RATE


def test_only_regular_files_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AudioError, match="pipe: cannot be opened .expected a regular file, found a named pipe"):
        read_waveform(tmp_path / "pipe", RATE)
    with pytest.raises(AudioError, match="found a device"):
        read_waveform(Path("/dev/zero"), RATE)
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    with pytest.raises(AudioError, match="found a named pipe"):
        read_waveform(tmp_path / "link", RATE)
    with socket.socket(socket.AF_UNIX) as listener:
        # Relative: the path of a socket has 107 bytes at most.
        monkeypatch.chdir(tmp_path)
        listener.bind("s")
        with pytest.raises(AudioError, match="found a socket"):
            read_waveform(Path("s"), RATE)


def test_every_container_that_is_lossless_holds_the_same_samples(tmp_path: Path) -> None:
    waves = [read(tmp_path, recording(name)) for name in LOSSLESS]
    for wave in waves:
        np.testing.assert_allclose(wave, waves[0], atol=2**-15)
