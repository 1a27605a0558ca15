"""The filter bank, compared with librosa's."""

from __future__ import annotations

from dataclasses import replace

import librosa
import numpy as np
import pytest

from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.filter_bank import dense_filter_bank, filter_bank
from tts_prep.preprocess.audio.presets import PRESETS

CONFIGS = {
    **PRESETS,
    "one filter": MelConfig(n_mels=1),
    "filters that fall between two bins": MelConfig(n_fft=256, win_length=256, n_mels=128),
    "no bin at all": MelConfig(n_fft=4, win_length=4, hop_length=4, n_mels=3, fmin=100, fmax=200),
    "below the logarithmic part": MelConfig(fmin=50, fmax=900, n_mels=10),
    "above the linear part": MelConfig(fmin=1000, fmax=11025, n_mels=10),
    "HTK with Slaney's norm": MelConfig(mel_scale="htk"),
}


# test_kaldi.py has those of Kaldi's scale, which librosa has not.
@pytest.mark.parametrize("name", [name for name, config in CONFIGS.items() if config.mel_scale != "kaldi"])
@pytest.mark.filterwarnings("ignore:Empty filters detected")
def test_the_weights_are_librosas(name: str) -> None:
    config = CONFIGS[name]
    expected = librosa.filters.mel(
        sr=config.mel_rate,
        n_fft=config.n_fft,
        n_mels=config.n_mels,
        fmin=config.fmin,
        fmax=config.fmax,
        htk=config.mel_scale == "htk",
        norm=config.mel_norm,
        dtype=np.float64,
    )
    np.testing.assert_allclose(dense_filter_bank(config), expected, rtol=1e-9, atol=1e-15)


def test_the_sparse_form_holds_every_weight() -> None:
    config = replace(PRESETS["vocos"], fmin=20.0)
    bank, dense = filter_bank(config), dense_filter_bank(config)
    again = np.zeros(dense.shape, np.float32)
    for m, start in enumerate(bank.starts):
        weights = bank.weights[bank.offsets[m] : bank.offsets[m + 1]]
        again[m, start : start + len(weights)] = weights
    np.testing.assert_array_equal(again, dense.astype(np.float32))
    assert bank.n_bins == 1 + np.flatnonzero(dense.any(axis=0))[-1]
