from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from tts_prep.errors import ConfigurationError, CorpusError, StoreError
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.mel import mel_spectrogram
from tts_prep.preprocess.audio.presets import DEFAULT_PRESET, PRESETS
from tts_prep.review.sounds import Sounds


def test_the_recording_of_the_corpus_is_played_where_the_store_has_none(store: Path, corpus: Path) -> None:
    dataset = UtteranceDataset(store)
    assert not dataset.has_waveform
    sounds = Sounds(dataset, corpus)
    try:
        sound = sounds.get(1)
    finally:
        sounds.close()
    recording, rate = soundfile.read(corpus / "wavs" / f"{dataset.id[1]}.wav", dtype="float32")
    assert (sound.source, sound.sample_rate) == ("corpus", rate)
    assert np.array_equal(sound.samples, recording)


def test_without_a_corpus_the_sound_has_about_the_mel_of_the_store_and_says_so(store: Path) -> None:
    dataset = UtteranceDataset(store)
    sounds = Sounds(dataset)
    try:
        sound = sounds.get(0)
    finally:
        sounds.close()
    assert sound.source == "estimated"
    assert "not the recording" in sound.note
    mel, found = dataset[0].mel, mel_spectrogram(sound.samples, PRESETS[DEFAULT_PRESET])
    n = min(len(mel), len(found))
    # A mel of the same utterance, and not of another: the mean difference is far below the spread of the values.
    assert abs(len(mel) - len(found)) <= 2
    assert np.abs(mel[:n] - found[:n]).mean() < 0.4 * mel.std()


def test_what_has_no_sound_says_why(store: Path, own_corpus: Path, tmp_path: Path) -> None:
    dataset = UtteranceDataset(store)
    (own_corpus / "wavs" / f"{dataset.id[0]}.wav").unlink()
    (own_corpus / "wavs" / f"{dataset.id[1]}.wav").write_bytes(b"RIFF, not a recording")
    sounds = Sounds(dataset, own_corpus)
    try:
        with pytest.raises(StoreError, match="no such file|does not exist|missing"):
            sounds.get(0)
        with pytest.raises(StoreError, match="wav"):
            sounds.get(1)
        # The other process goes on after both.
        assert len(sounds.get(2).samples)
    finally:
        sounds.close()
    with pytest.raises((CorpusError, ConfigurationError)):
        Sounds(dataset, tmp_path / "nowhere")
