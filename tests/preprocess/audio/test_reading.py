from __future__ import annotations

import struct
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import soundfile
from corpora import speech_like

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio import reading
from tts_prep.preprocess.audio.reading import ReadingConfig, read_excerpt, read_waveform


def write(path: Path, samples: np.ndarray, rate: int = 22050, **options: str) -> Path:
    soundfile.write(path, samples, rate, **options)
    return path


def test_sixteen_bits_come_exactly(tmp_path: Path) -> None:
    samples = np.array([0, 1, -1, 32767, -32768, 1234], np.int16)
    waveform = read_waveform(write(tmp_path / "a.wav", samples), 22050)
    assert waveform.dtype == np.float32
    np.testing.assert_array_equal(waveform, samples / np.float64(32768))


def test_the_first_channel_is_kept_or_the_mean_as_asked(tmp_path: Path) -> None:
    left, right = np.array([0.5, 0.25, -0.5]), np.array([0.25, 0.75, 0.5])
    path = write(tmp_path / "a.wav", np.stack([left, right], axis=1))
    np.testing.assert_array_equal(read_waveform(path, 22050), left)
    np.testing.assert_array_equal(read_waveform(path, 22050, ReadingConfig("mean")), [0.375, 0.5, 0.0])


@pytest.mark.parametrize("rate", [8000, 16000, 44100, 48000])
def test_another_sample_rate_is_resampled_and_a_tone_stays_a_tone(tmp_path: Path, rate: int) -> None:
    def tone(sample_rate: int) -> np.ndarray:
        return 0.5 * np.sin(2 * np.pi * 440 * np.arange(sample_rate) / sample_rate)

    waveform = read_waveform(write(tmp_path / "a.wav", tone(rate), rate, subtype="FLOAT"), 22050)
    assert abs(len(waveform) - 22050) <= 1
    np.testing.assert_allclose(waveform[2000:20000], tone(22050)[2000:20000], atol=2e-4)


def riff(data_bytes: int, claimed: int) -> bytes:
    fmt = struct.pack("<HHIIHH", 1, 1, 22050, 44100, 2, 16)
    samples = (np.arange(data_bytes // 2) % 100).astype("<i2").tobytes()
    return (
        b"RIFF" + struct.pack("<I", min(36 + claimed, 2**32 - 1)) + b"WAVE" + b"fmt " + struct.pack("<I", 16) + fmt
        + b"data" + struct.pack("<I", claimed) + samples
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.wav: empty file"),
        (b"this is text, not audio, whatever its name says", "a.wav: cannot be read as audio"),
        (riff(2000, 4000), "a.wav: truncated, 2,000 bytes of samples, the header says 4,000"),
        (riff(2000, 2**31 - 2**17), "a.wav: truncated, 2,000 bytes of samples, the header says 2,147,352,576"),
        (riff(0, 0), "a.wav: no samples"),
    ],
    ids=["empty", "text", "truncated", "claims 2 GB", "no samples"],
)
def test_a_broken_file_is_an_error_that_says_what_was_found(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.wav").write_bytes(content)
    with pytest.raises(AudioError) as error:
        read_waveform(tmp_path / "a.wav", 22050)
    assert message in str(error.value)


def test_half_a_flac_file_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.flac", speech_like(1.0, 0))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(AudioError, match="truncated|cannot be read"):
        read_waveform(path, 22050)


def test_a_missing_file_a_folder_and_an_impossible_name_are_errors(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match="no such file"):
        read_waveform(tmp_path / "none.wav", 22050)
    with pytest.raises(AudioError, match="cannot be opened"):
        read_waveform(tmp_path, 22050)
    with pytest.raises(AudioError, match="cannot be opened"):
        read_waveform(tmp_path / "a\0b.wav", 22050)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_samples_that_are_no_numbers_are_an_error(tmp_path: Path, value: float) -> None:
    samples = speech_like(0.1, 0)
    samples[100] = value
    with pytest.raises(AudioError, match="NaN or infinite"):
        read_waveform(write(tmp_path / "a.wav", samples, subtype="FLOAT"), 22050)


@pytest.mark.parametrize("sounding", [5, -1])
def test_digital_silence_is_an_error_and_one_quiet_sample_is_not(tmp_path: Path, sounding: int) -> None:
    samples = np.zeros(30000, np.int16)
    with pytest.raises(AudioError, match="digital silence"):
        read_waveform(write(tmp_path / "a.wav", samples), 22050)
    samples[sounding] = 1
    assert read_waveform(write(tmp_path / "b.wav", samples), 22050).max() == 1 / 32768


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "subtype", "tolerance"),
    [
        ("a.wav", "PCM_24", 1e-6),
        ("a.wav", "PCM_32", 1e-6),
        ("a.wav", "FLOAT", 1e-6),
        ("a.wav", "DOUBLE", 1e-6),
        ("a.wav", "PCM_U8", 1e-2),
        ("a.wavex", "PCM_16", 1e-4),
        ("a.flac", "PCM_16", 1e-4),
        ("a.flac", "PCM_24", 1e-6),
        ("a.aiff", "PCM_16", 1e-4),
        ("a.w64", "PCM_16", 1e-4),
        ("a.rf64", "PCM_16", 1e-4),
        ("a.ogg", "VORBIS", 0.1),
        ("a.opus", "OPUS", 0.1),
        ("a.mp3", "MPEG_LAYER_III", 0.1),
    ],
)
def test_whatever_the_library_reads_is_read(tmp_path: Path, name: str, subtype: str, tolerance: float) -> None:
    rate = 48000 if subtype == "OPUS" else 22050
    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(rate) / rate)
    kind = {"wavex": "WAVEX", "opus": "OGG"}.get(name.partition(".")[2], name.partition(".")[2].upper())
    path = tmp_path / name
    with soundfile.SoundFile(path, "w", rate, 1, subtype, format=kind) as file:
        file.write(tone)
    waveform = read_waveform(path, rate)
    assert abs(len(waveform) - rate) < 3000
    middle = waveform[5000:15000].astype(np.float64)
    assert np.sqrt(2 * np.mean(middle**2)) == pytest.approx(0.5, abs=0.03)
    if tolerance < 0.05:
        np.testing.assert_allclose(waveform, tone, atol=tolerance)


@pytest.mark.parametrize(("channels", "rate"), [(8, 22050), (2, 192000), (1, 8000), (6, 11025)])
def test_odd_recordings_are_read_like_any_other(tmp_path: Path, channels: int, rate: int) -> None:
    first = speech_like(0.4, 1, rate)
    samples = np.stack([first * (0.9**channel) for channel in range(channels)], axis=1)
    waveform = read_waveform(write(tmp_path / "a.wav", samples, rate), 22050)
    assert abs(len(waveform) - round(0.4 * 22050)) <= 2


@pytest.mark.parametrize(("subtype", "peak", "expected"), [("FLOAT", 1.5, 1), ("DOUBLE", 7.0, 1), ("FLOAT", 1.0, 0)])
def test_floats_beyond_full_scale_are_remarked(tmp_path: Path, subtype: str, peak: float, expected: int) -> None:
    path = write(tmp_path / "a.wav", np.array([0.1, -peak, 0.3]), subtype=subtype)
    remarks: list[str] = []
    # At another rate, too, where the samples are no longer the recording's.
    for rate in (22050, 24000):
        read_waveform(path, rate, remarks=remarks)
    read_excerpt(path, 22050, 0, 2, ReadingConfig(), remarks=remarks)
    assert remarks == ["float samples beyond full scale"] * 3 * expected


@pytest.mark.whole
def test_a_decoder_that_exceeds_full_scale_is_not_remarked(tmp_path: Path) -> None:
    square = np.sign(np.sin(2 * np.pi * 440 * np.arange(22050) / 22050))
    path = write(tmp_path / "a.ogg", square)
    remarks: list[str] = []
    assert np.abs(read_waveform(path, 22050, remarks=remarks)).max() > 1
    assert not remarks


@pytest.mark.whole
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("channel", ["mean", 0, 1])
@pytest.mark.parametrize("rate", [22_050, 24_000])
@pytest.mark.parametrize("container", ["WAV", "AIFF", "FLAC", "FLOAT"])
def test_sixteen_bit_samples_stay_where_nothing_changes_them(
    tmp_path: Path,
    container: str,
    rate: int,
    channel: Literal["mean"] | int,
    channels: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "_BLOCK", 1000)
    if channel == 1 and channels == 1:
        return
    path, subtype = tmp_path / "a", "FLOAT" if container == "FLOAT" else "PCM_16"
    values = np.random.default_rng(0).integers(-32768, 32768, (4321, channels)).astype(np.int16)
    written = values / np.float32(32768) if subtype == "FLOAT" else values
    soundfile.write(path, written, rate, subtype, format=container if subtype == "PCM_16" else "WAV")
    config = ReadingConfig(channel=channel)
    samples = reading.read_samples(path, 22_050, config)
    floats = reading.read_waveform(path, 22_050, config)
    stay = subtype == "PCM_16" and rate == 22_050 and (channels == 1 or channel != "mean")
    assert samples.dtype == (np.int16 if stay else np.float32)
    assert floats.dtype == np.float32
    np.testing.assert_array_equal(samples / np.float32(32768) if stay else samples, floats)
    if stay:
        np.testing.assert_array_equal(samples, values[:, 0 if channel == "mean" else channel])
