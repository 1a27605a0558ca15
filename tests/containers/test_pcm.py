"""Uncompressed recordings are read without libsndfile, which is the judge of what they hold."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import soundfile
from recordings import CONTAINERS, LOSSLESS, RATE, recording

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio import reading
from tts_prep.preprocess.audio.containers.inspection import inspect
from tts_prep.preprocess.audio.containers.stream import BrokenRecordingError, PcmFile, PlainSamples

ENCODINGS = [
    (container, subtype, order)
    for container in ("WAV", "WAVEX", "RF64", "W64", "AIFF", "AU")
    for subtype in ("PCM_16", "PCM_24", "FLOAT")
    for order in ("FILE", "LITTLE", "BIG")
    if soundfile.check_format(container, subtype, order)
]


def plain_of(path: Path) -> PlainSamples | None:
    with path.open("rb", buffering=0) as file:
        return inspect(file).plain


def samples_of(path: Path, plain: PlainSamples) -> np.ndarray:
    with path.open("rb", buffering=0) as file:
        pcm = PcmFile(file, plain)
        found = np.empty((pcm.frames, pcm.channels), "int16" if plain.subtype == "PCM_16" else "float32")
        assert pcm.buffer_read_into(found, str(found.dtype)) == len(found)
        return found


def by_libsndfile(path: Path, plain: PlainSamples) -> np.ndarray:
    values, rate = soundfile.read(path, dtype="int16" if plain.subtype == "PCM_16" else "float32", always_2d=True)
    assert rate == plain.sample_rate
    return values


@pytest.mark.parametrize("channels", [1, 2, 5])
@pytest.mark.parametrize(("container", "subtype", "order"), ENCODINGS)
def test_samples_are_those_that_libsndfile_reads(
    tmp_path: Path, container: str, subtype: str, order: str, channels: int
) -> None:
    path = tmp_path / "a"
    extremes = [[-1.0] * channels, [32767 / 32768] * channels, [0.0] * channels]
    noise = np.random.default_rng(0).uniform(-1, 1, (1001, channels))
    soundfile.write(path, np.concatenate([extremes, noise]), RATE, subtype, order, container)
    plain = plain_of(path)
    # Of these, the first bytes say RIFX, or the samples end in a byte that fills up an odd number.
    unusual = (container == "WAV" and order == "BIG") or (container == "AIFF" and subtype == "PCM_24")
    assert plain or unusual
    if plain:
        np.testing.assert_array_equal(samples_of(path, plain), by_libsndfile(path, plain), strict=True)


@pytest.mark.parametrize("name", CONTAINERS)
def test_of_the_containers_of_the_other_tests_only_plain_ones_are_read_so(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(recording(name))
    plain = plain_of(path)
    assert not plain or name in LOSSLESS
    if plain:
        np.testing.assert_array_equal(samples_of(path, plain), by_libsndfile(path, plain), strict=True)


@pytest.mark.parametrize("container", ["WAV", "AIFF", "AU", "W64", "RF64"])
def test_a_changed_header_gives_the_samples_of_libsndfile_or_is_left_to_it(tmp_path: Path, container: str) -> None:
    path = tmp_path / "a"
    soundfile.write(path, np.random.default_rng(0).uniform(-1, 1, (40, 2)), RATE, "PCM_16", format=container)
    data = path.read_bytes()
    n_read = 0
    # Every byte of the header; of the whole file, and of all but its last byte.
    changes = product(range(len(data) - 160), (0, 1, 2, 64, 127, 128, 255), (len(data), len(data) - 1))
    for position, value, length in changes:
        path.write_bytes(data[:position] + bytes([value]) + data[position + 1 : length])
        try:
            plain = plain_of(path)
        except BrokenRecordingError:
            continue
        if plain and reading.MIN_RATE <= plain.sample_rate <= reading.MAX_RATE:
            n_read += 1
            np.testing.assert_array_equal(samples_of(path, plain), by_libsndfile(path, plain), strict=True)
    assert n_read


def with_two_formats(data: bytes) -> bytes:
    return data[:12] + data[12:36] + data[12:]


def with_two_data_chunks(data: bytes) -> bytes:
    return data + b"data" + struct.pack("<I", 4) + b"\1\2\3\4"


def with_an_unknown_chunk(data: bytes) -> bytes:
    return data[:36] + b"abcd" + struct.pack("<I", 4) + b"\1\2\3\4" + data[36:]


def with_a_wrong_speed(data: bytes) -> bytes:
    return data[:28] + struct.pack("<I", 4) + data[32:]


@pytest.mark.parametrize("change", [with_two_formats, with_two_data_chunks, with_an_unknown_chunk, with_a_wrong_speed])
def test_an_unusual_header_is_left_to_libsndfile(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, np.linspace(-0.5, 0.5, 100), RATE, "PCM_16")
    assert plain_of(path)
    path.write_bytes(change(path.read_bytes()))
    assert plain_of(path) is None


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "FLOAT"])
def test_a_file_that_becomes_shorter_while_it_is_read_is_refused(
    tmp_path: Path, subtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, np.linspace(-0.5, 0.5, 10_000), RATE, subtype)

    def inspect_and_cut(file: object) -> object:
        stream = inspect(file)  # type: ignore[arg-type]
        os.truncate(path, 4000)
        return stream

    monkeypatch.setattr(reading, "inspect", inspect_and_cut)
    with pytest.raises(AudioError, match=r"a\.wav: truncated, [\d,]+ samples, the header says 10,000"):
        reading.read_waveform(path, RATE)


def test_a_long_recording_is_read_in_blocks(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    sound = np.random.default_rng(0).integers(-(2**15), 2**15, (600_000, 2)).astype(np.int16)
    soundfile.write(path, sound, RATE)
    assert plain_of(path)
    expected = sound[:, 0] / np.float32(2**15)
    np.testing.assert_array_equal(reading.read_waveform(path, RATE), expected, strict=True)
    excerpt = reading.read_excerpt(path, RATE, 300_001, 599_000, reading.ReadingConfig())
    assert excerpt
    np.testing.assert_array_equal(excerpt[0], expected[300_001:599_000], strict=True)
