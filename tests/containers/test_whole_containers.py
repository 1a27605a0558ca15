"""Recordings in forms that libsndfile does not take, or that look damaged, are read if they are whole."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
from recordings import RATE, recording, samples

from tts_prep.containers.xiph import page_checksum
from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.reading import read_waveform


def read(folder: Path, data: bytes, rate: int = RATE) -> np.ndarray:
    (folder / "a").write_bytes(data)
    return read_waveform(folder / "a", rate)


def encoded(form: str, subtype: str | None = None, seconds: float = 2.0, rate: int = RATE) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples()[: int(seconds * RATE)], rate, subtype, format=form)
    return file.getvalue()


def bw64(subtype: str, *, long: bool) -> bytes:
    """Return a BW64 file (ITU-R BS.2088), with its chunk of tracks; its sizes are in ds64 if it is long."""
    wav = encoded("WAV", subtype)
    place = wav.index(b"data")
    data = wav[place + 8 :]
    chunks = wav[12:place] + b"chna" + struct.pack("<IHH", 4, 0, 0)
    if not long:
        body = b"WAVE" + chunks + b"data" + struct.pack("<I", len(data)) + data
        return b"BW64" + struct.pack("<I", len(body)) + body
    sizes = struct.pack("<IQQQI", 28, 4 + 36 + len(chunks) + 8 + len(data), len(data), 0, 0)
    return b"BW64" + b"\xff" * 4 + b"WAVEds64" + sizes + chunks + b"data" + b"\xff" * 4 + data


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "FLOAT", "ULAW"])
def test_bw64_has_the_samples_of_the_same_wav(tmp_path: Path, subtype: str, long: bool) -> None:
    data = bw64(subtype, long=long)
    np.testing.assert_array_equal(read(tmp_path, data), read(tmp_path, encoded("WAV", subtype)))
    with pytest.raises(AudioError, match="truncated"):
        read(tmp_path, data[:-100])


@pytest.mark.parametrize("tag", [b"", b"TAG" + bytes(125)])
def test_lyrics_behind_an_mp3_are_no_frames(tmp_path: Path, tag: bytes) -> None:
    data = recording("mp3")
    expected = read(tmp_path, data)
    lyrics = b"LYRICSBEGIN" + b"[00:01]La la la" * 100
    second = lyrics + b"%06d" % len(lyrics) + b"LYRICS200"
    for end in (lyrics + b"LYRICSEND", second):
        np.testing.assert_array_equal(read(tmp_path, data + end + tag), expected)
    with pytest.raises(AudioError, match="damaged"):
        read(tmp_path, data + lyrics + tag)


@pytest.mark.parametrize("zeros", [1, 3, 1000, 200_000])
@pytest.mark.parametrize("before", [b"", b"ID3\4\0\0\0\0\0\4\0\0\0\0"])
def test_zeros_before_an_mp3_are_no_frames(tmp_path: Path, before: bytes, zeros: int) -> None:
    data = recording("mp3")
    np.testing.assert_array_equal(read(tmp_path, before + bytes(zeros) + data), read(tmp_path, data))


def test_zeros_before_nothing_are_no_recording(tmp_path: Path) -> None:
    for data in (bytes(100), bytes(2_000_000), bytes(100) + recording("flac")):
        with pytest.raises(AudioError, match="cannot be read as audio; expected WAV"):
            read(tmp_path, data)


def test_a_second_of_opus_that_was_cut_out_of_a_longer_one_is_whole(tmp_path: Path) -> None:
    data = bytearray(encoded("OGG", "OPUS", 0.5, 24_000))
    expected = read(tmp_path, bytes(data), 48_000)
    places = [place for place in range(len(data)) if data[place : place + 5] == b"OggS\0"]
    assert len(places) == 3
    # As ffmpeg's -c copy leaves it: the end is counted from the beginning of the longer recording.
    place = places[-1]
    struct.pack_into("<q", data, place + 6, 96_000)
    struct.pack_into("<I", data, place + 22, page_checksum(bytes(data[place:])))
    with pytest.raises(soundfile.LibsndfileError):
        soundfile.read(io.BytesIO(bytes(data)))
    found = read(tmp_path, bytes(data), 48_000)
    # The cut does not say how much of its last packet of 960 samples is padding.
    assert len(expected) <= len(found) < len(expected) + 960 + 312
    np.testing.assert_array_equal(found[: len(expected)], expected)


def test_caf_with_24_bits_in_blocks_of_32_which_no_library_reads_is_refused(tmp_path: Path) -> None:
    samples = np.arange(-(2**20), 2**20, 997, dtype=">i4").tobytes()
    description = struct.pack(">d4sIIIII", 24_000, b"lpcm", 0, 4, 1, 1, 24)
    data = b"caff\0\1\0\0desc" + struct.pack(">q", 32) + description
    with pytest.raises(AudioError, match="unsupported encoding"):
        read(tmp_path, data + b"data" + struct.pack(">q", 4 + len(samples)) + bytes(4) + samples)
