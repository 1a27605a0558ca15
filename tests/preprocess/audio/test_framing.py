"""Frames of a waveform and its padded ends equal those of the padded waveform."""

from __future__ import annotations

import numpy as np
import pytest

from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.framing import frame_runs, n_frames, pad_waveform
from tts_prep.preprocess.audio.mel import mel_spectrogram


@pytest.mark.parametrize(
    "config",
    [
        MelConfig(),
        MelConfig(framing="hifigan", pad_mode="constant"),
        MelConfig(framing="ceil", hop_length=300),
        MelConfig(framing="hifigan", hop_length=1024),
        MelConfig(hop_length=1000, even_frames=True),
        MelConfig(edge_zeros=777, hop_length=64),
        MelConfig(n_fft=2048, win_length=1200, hop_length=300, pad_mode="constant", edge_zeros=1),
    ],
)
@pytest.mark.parametrize("lanes", [8, 16])
def test_runs_of_frames_hold_the_samples_of_the_padded_waveform(config: MelConfig, lanes: int) -> None:
    rng = np.random.default_rng(0)
    for n_hops in (3, 250, 330, 400):
        waveform = rng.uniform(-1, 1, n_hops * config.hop_length + int(rng.integers(config.hop_length))).astype("f4")
        runs = frame_runs(waveform, config, lanes)
        padded = pad_waveform(waveform, config, lanes * config.hop_length)
        assert [run.first for run in runs] == [0, *(run.stop for run in runs[:-1])]
        assert runs[-1].stop == n_frames(len(waveform), config)
        assert all((run.stop - run.first) % lanes == 0 for run in runs[:-1])
        for run in runs:
            # The kernel reads whole blocks of frames, of which the last one may be incomplete.
            n_blocks = -(-(run.stop - run.first) // lanes)
            n_samples = (n_blocks * lanes - 1) * config.hop_length + config.n_fft
            start = run.first * config.hop_length
            np.testing.assert_array_equal(run.samples[:n_samples], padded[start : start + n_samples])
        middle = [run for run in runs if np.shares_memory(run.samples, waveform)]
        assert len(middle) == (n_hops >= 330)


def test_a_waveform_that_cannot_be_written_to_gives_the_same_mel() -> None:
    waveform = np.random.default_rng(0).uniform(-1, 1, 100_000).astype(np.float32)
    expected = mel_spectrogram(waveform, MelConfig())
    waveform.flags.writeable = False
    np.testing.assert_array_equal(mel_spectrogram(waveform, MelConfig()), expected)
