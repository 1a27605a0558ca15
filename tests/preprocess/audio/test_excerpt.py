"""A segment of a recording has the same samples as in the complete recording."""

from __future__ import annotations

import os
from io import FileIO
from pathlib import Path

import numpy as np
import pytest
import soundfile
from corpora import speech_like

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio import reading
from tts_prep.preprocess.audio.reading import ReadingConfig, read_excerpt, read_waveform
from tts_prep.preprocess.make.recordings import read_utterance
from tts_prep.preprocess.source_utterance import SourceUtterance

RATE = 24_000  # one that Opus has
SOUGHT = [
    ("wav", "PCM_U8"),
    ("wav", "PCM_16"),
    ("wav", "PCM_24"),
    ("wav", "FLOAT"),
    ("flac", "PCM_16"),
    ("flac", "PCM_24"),
]
READ_WHOLE = [("mp3", "MPEG_LAYER_III"), ("ogg", "VORBIS"), ("ogg", "OPUS"), ("wav", "IMA_ADPCM")]
PARTS = [(0.0, 0.7), (0.1234, 1.9), (2.5, 2.51), (1.0, None), (2.9, 3.05)]


def write(folder: Path, suffix: str, subtype: str) -> Path:
    """Write a recording of 3 s with two channels."""
    path = folder / f"{subtype}.{suffix}"
    samples = np.stack([speech_like(3, 1, RATE), speech_like(3, 2, RATE)], axis=1)
    with soundfile.SoundFile(path, "w", RATE, 2, subtype) as file:
        # In pieces: libsndfile's Vorbis encoder puts all of a write on the stack.
        for start in range(0, len(samples), 8192):
            file.write(samples[start : start + 8192])
    return path


def part_of(path: Path, start: float, end: float | None) -> SourceUtterance:
    return SourceUtterance("a", "Text.", path.name, "segments:1", "0", start=start, end=end)


@pytest.mark.whole
@pytest.mark.parametrize("channel", ["first", "mean"])
@pytest.mark.parametrize(("suffix", "subtype"), SOUGHT + READ_WHOLE)
def test_a_part_has_the_samples_of_the_whole(tmp_path: Path, suffix: str, subtype: str, channel: str) -> None:
    path, config = write(tmp_path, suffix, subtype), ReadingConfig(channel)
    whole = read_waveform(path, RATE, config)
    for start, end in PARTS:
        expected = whole[round(start * RATE) : None if end is None else round(end * RATE)]
        np.testing.assert_array_equal(read_utterance(tmp_path, part_of(path, start, end), RATE, config), expected)


@pytest.mark.whole
def test_only_where_a_format_is_sought_in_exactly_is_a_part_read_alone(tmp_path: Path) -> None:
    alone = [
        kind for kind in SOUGHT + READ_WHOLE if read_excerpt(write(tmp_path, *kind), RATE, 100, 900, ReadingConfig())
    ]
    assert alone == SOUGHT


def test_a_part_that_is_resampled_is_cut_from_the_whole(tmp_path: Path) -> None:
    path = write(tmp_path, "wav", "PCM_16")
    whole = read_waveform(path, 22050)
    found = read_utterance(tmp_path, part_of(path, 0.5, 1.5), 22050, ReadingConfig())
    np.testing.assert_array_equal(found, whole[11025:33075])


@pytest.mark.whole
def test_no_more_of_a_long_recording_is_read_than_the_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "flac", "PCM_16")
    monkeypatch.setattr(reading, "read_samples", None)
    assert len(read_utterance(tmp_path, part_of(path, 1, 2), RATE, ReadingConfig())) == RATE


@pytest.mark.whole
@pytest.mark.parametrize(("suffix", "subtype"), [SOUGHT[1], SOUGHT[4], READ_WHOLE[1]])
def test_a_part_that_is_not_there_is_an_error(tmp_path: Path, suffix: str, subtype: str) -> None:
    path = write(tmp_path, suffix, subtype)
    for start, end in ((2.0, 3.2), (3.0, None), (7.0, 8.0)):
        with pytest.raises(AudioError, match=r"3\.000 s long, expected an excerpt from"):
            read_utterance(tmp_path, part_of(path, start, end), RATE, ReadingConfig())


@pytest.mark.parametrize(("bad", "message"), [(np.nan, "holds NaN"), (0.0, "digital silence from 1 s on")])
def test_only_the_parts_of_a_recording_that_are_bad_are_errors(tmp_path: Path, bad: float, message: str) -> None:
    samples = speech_like(3, 1, RATE)
    samples[RATE : 2 * RATE] = bad
    path = tmp_path / "a.wav"
    soundfile.write(path, samples, RATE, "FLOAT")
    found = read_utterance(tmp_path, part_of(path, 2, 3), RATE, ReadingConfig())
    np.testing.assert_array_equal(found, samples[2 * RATE :].astype(np.float32))
    with pytest.raises(AudioError, match=message):
        read_utterance(tmp_path, part_of(path, 1, 2), RATE, ReadingConfig())


@pytest.mark.whole
def test_a_flac_file_that_is_cut_costs_the_parts_that_are_cut_off(tmp_path: Path) -> None:
    path = write(tmp_path, "flac", "PCM_16")
    whole = read_waveform(path, RATE)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    found = read_utterance(tmp_path, part_of(path, 0, 0.5), RATE, ReadingConfig())
    np.testing.assert_array_equal(found, whole[: RATE // 2])
    with pytest.raises(AudioError, match=r"truncated|cannot be read"):
        read_utterance(tmp_path, part_of(path, 2, 3), RATE, ReadingConfig())


def test_recordings_in_temporary_files_of_one_number_size_and_time_are_inspected_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A file system gives the number of a removed file to the next one, and its clock can be as coarse as 4 ms.
    def extracted(path: Path, inside: str) -> FileIO:
        soundfile.write(path, np.full(1000, 0.5), int(inside), "PCM_16", format="WAV")
        os.utime(path, ns=(0, 0))
        return FileIO(path)

    monkeypatch.setattr(reading, "open_recording", extracted)
    found = [read_excerpt(tmp_path / "a", RATE, 0, 10, ReadingConfig(), inside=str(rate)) for rate in (RATE, 16_000)]
    assert found[0] is not None
    # It must be resampled.
    assert found[1] is None


def test_a_recording_that_was_replaced_since_the_last_part_of_it_is_read_again(tmp_path: Path) -> None:
    path, part = tmp_path / "a.wav", part_of(tmp_path / "a.wav", 0.5, 1.0)
    for level in (0.25, 0.5):
        # Resampled, so that the whole recording is read and kept for the next part.
        soundfile.write(path, np.full(3 * 16_000, level), 16_000, "FLOAT")
        os.utime(path, ns=(0, int(level * 100)))
        found = read_utterance(tmp_path, part, RATE, ReadingConfig())
        np.testing.assert_allclose(found[100:-100], level, atol=1e-3)
