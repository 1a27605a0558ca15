"""Recordings are read as a system's own scripts leave them for its training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from corpora import speech_like

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess import SourceUtterance
from tts_prep.preprocess.audio.config import ReadingConfig
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.preprocess.audio.reading import prepared, read_samples, read_waveform, resample
from tts_prep.preprocess.make.recordings import read_utterance


def written(folder: Path, samples: np.ndarray, rate: int, subtype: str) -> Path:
    soundfile.write(folder / "a.wav", samples, rate, subtype)
    return folder / "a.wav"


@pytest.mark.whole
def test_gpt_sovits_v3_reads_what_its_script_wrote_at_32_khz(tmp_path: Path) -> None:
    two = np.stack([speech_like(0.5, 1, 44_100), speech_like(0.5, 2, 44_100)], axis=1) * 0.8
    path = written(tmp_path, two, 44_100, "FLOAT")
    x = resample((soundfile.read(path)[0].sum(axis=1) / np.sqrt(2)).astype(np.float32), 44_100, 32_000, "ffmpeg")
    # The lines of 2-get-hubert-wav32k.py.
    maxx, alpha, tmp_max = 0.95, 0.5, np.abs(x).max()
    expected = ((x / tmp_max * (maxx * alpha * 32768)) + ((1 - alpha) * 32768) * x).astype("int16")
    v4 = read_samples(path, 32_000, get_preset("gpt-sovits-v4").reading)
    assert v4.dtype == np.int16
    # The script computes in float32, so that a fraction next to an integer falls on either side.
    assert np.abs(v4.astype(int) - expected).max() <= 1
    assert (v4 != expected).mean() < 2e-3
    v3 = read_waveform(path, 24_000, get_preset("gpt-sovits-v3").reading)
    np.testing.assert_array_equal(v3, resample(v4 / np.float32(32768), 32_000, 24_000, "ffmpeg").astype(np.float32))


def test_the_level_of_a_script_is_that_of_the_excerpt_which_it_would_read_as_a_file(tmp_path: Path) -> None:
    samples = np.concatenate([speech_like(1, 1, 44_100) * 0.1, speech_like(1, 2, 44_100)])
    path = written(tmp_path, samples, 44_100, "PCM_16")
    config = ReadingConfig(written="half")
    row = SourceUtterance("a", "Text.", path.name, "list:1", "s", end=1.0)
    found = read_utterance(tmp_path, row, 44_100, config)
    written(tmp_path, soundfile.read(path, dtype="int16")[0][:44_100], 44_100, "PCM_16")
    np.testing.assert_array_equal(found, read_waveform(path, 44_100, config))
    assert np.abs(found).max() == pytest.approx(0.475 + np.abs(samples[:44_100]).max() / 2, abs=1e-3)


def test_whisper_reads_16_bits_that_ffmpeg_rounded(tmp_path: Path) -> None:
    two = np.array([[1, 2], [-1, -2], [3, 0], [32767, 32767], [-32768, -32768]] * 200, np.int16)
    path = written(tmp_path, two, 16_000, "PCM_16")
    reading = get_preset("whisper-80").reading
    # Means of integers are rounded half up.
    assert read_samples(path, 16_000, reading).tolist()[:5] == [2, -1, 2, 32767, -32768]
    floats = np.array([0.5, 1.5, -0.5, 1.49, -40000, 40000]) / 32768
    path = written(tmp_path, floats, 16_000, "FLOAT")
    # Numbers are rounded half to even, and clipped.
    assert read_samples(path, 16_000, reading).tolist() == [0, 2, 0, 1, -32768, 32767]
    # One channel of 24 bits loses the lower ones; the mean of two is a number.
    path = written(tmp_path, np.array([1.75, -1.25, 3.0]) / 32768, 16_000, "PCM_24")
    assert read_samples(path, 16_000, reading).tolist() == [1, -2, 3]
    path = written(tmp_path, np.array([[1.75, 1.75], [-1.25, -1.25]]) / 32768, 16_000, "PCM_24")
    assert read_samples(path, 16_000, reading).tolist() == [2, -1]


@pytest.mark.whole
def test_whisper_rounds_what_lies_halfway_after_resampling_as_ffmpeg(tmp_path: Path) -> None:
    n = np.arange(600)
    two = (np.stack([n * n * 7919 % 20_001, n * n * 104_729 % 20_001], 1) - 10_000).astype(np.int16)
    found = read_samples(written(tmp_path, two, 8_000, "PCM_16"), 16_000, get_preset("whisper-80").reading)
    # From ffmpeg 9.0.2: -f s16le -ac 1 -acodec pcm_s16le -ar 16000. Every other sample is a mean of two of 16 bits.
    expected = [-10_000, -3_678, 5_286, -3_109, 1_140, 8_030, -2_437, -262, -5_444, -7_984, 2_119, 4_864]
    assert (len(found), found.sum(dtype=int), found[:24:2].tolist()) == (1200, -231_833, expected)


def test_what_gpt_sovits_adds_up_to_more_than_16_bits_wraps_round(tmp_path: Path) -> None:
    path = written(tmp_path, np.array([0.5, 1.5, -1.5]), 32_000, "FLOAT")
    expected = np.array([0.5, 1.5, -1.5]) * (0.95 * 16384 / 1.5 + 16384)
    found = read_samples(path, 32_000, get_preset("gpt-sovits-v4").reading)
    assert found.tolist() == [int(expected[0]), int(expected[1]) - 65536, int(expected[2]) + 65536]


def test_fastspeech_2_reads_full_scale_whose_positive_peak_wraps_round(tmp_path: Path) -> None:
    reading = get_preset("fastspeech2").reading
    for samples in (np.array([0.1, -0.5, 0.25, 0.3]), np.array([0.1, -0.3, 0.25, 0.5])):
        path = written(tmp_path, samples, 22_050, "FLOAT")
        wav = soundfile.read(path, dtype="float32")[0]
        # The lines of prepare_align; a cast that does not fit is undefined in C, and wraps round in numpy.
        full = wav / max(abs(wav)) * np.float32(32768.0)
        expected = [int(value) if value < 32768 else -32768 for value in full]
        assert read_samples(path, 22_050, reading).tolist() == expected
        # So a recording that prepare_align wrote is read as it is.
        path = written(tmp_path, np.array(expected, np.int16), 22_050, "PCM_16")
        assert read_samples(path, 22_050, reading).tolist() == expected


def test_a_waveform_is_prepared_as_a_recording_is() -> None:
    x = speech_like(0.2, 1, 22_050).astype(np.float32) * 3
    reading = ReadingConfig(clips=True, through=22_050)
    clipped = resample(np.clip(x, -1, 1), 22_050, 24_000, reading.resampler)
    np.testing.assert_array_equal(prepared(x, 22_050, 24_000, reading), clipped)
    assert get_preset("tortoise-diffusion").reading == replace(reading, resampler="torchaudio")


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match="written: expected one of '', 'int16', 'floor', 'full', 'half', found 'int8'"
    ):
        ReadingConfig(written="int8")
    with pytest.raises(ConfigurationError, match="through: expected a sample rate in Hz, or 0, found -1"):
        replace(ReadingConfig(), through=-1)


def test_speechain_reads_16_bits_that_libsndfile_wrote(tmp_path: Path) -> None:
    reading = get_preset("speechain-tts").reading
    x = np.concatenate([speech_like(0.1, 1, 22_050), [1.5, -1.5, 0.99999]]).astype(np.float32)
    path = written(tmp_path, x, 22_050, "FLOAT")
    # As wave_downsampler.py does: soundfile writes its default subtype, and clips.
    soundfile.write(tmp_path / "b.wav", x, 22_050)
    np.testing.assert_array_equal(
        read_samples(path, 22_050, reading), soundfile.read(tmp_path / "b.wav", dtype="int16")[0]
    )
