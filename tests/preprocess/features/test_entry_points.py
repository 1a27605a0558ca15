"""The feature of another package in docs/features.md."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from plugins import install

from tts_prep.errors import ConfigurationError
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.corpora import read_ljspeech
from tts_prep.preprocess.features.registry import make_feature
from tts_prep.preprocess.runs.prepare import prepare

PAGE = Path(__file__).parents[3] / "docs" / "features.md"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the package of the page to the path, with its entry point and an invalid one."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    site = tmp_path / "site"
    points = {"loudness": "my_loudness:make", "lost": "my_loudness:gone"}
    install(monkeypatch, site, "my-loudness", {"tts_prep.features": points})
    (site / "my_loudness.py").write_text(code)


@pytest.mark.usefixtures("installed")
def test_the_feature_of_another_package_is_made_with_its_settings(corpus: Path, tmp_path: Path) -> None:
    mel = PRESETS["tacotron2"]
    feature = make_feature("loudness", {"offset": "2"}, mel)
    store = tmp_path / "store"
    config = Configuration(mel=mel, text=TextConfig("characters"))
    prepare(read_ljspeech(corpus), corpus, store, config, features=[feature])
    dataset = UtteranceDataset(store, verify=True)
    assert dataset.arrays["loudness"].settings == {"offset": 2.0}
    for utterance in dataset:
        np.testing.assert_allclose(utterance.arrays["loudness"], utterance.mel.mean(axis=1) + 2, rtol=1e-5)


@pytest.mark.usefixtures("installed")
def test_an_entry_point_that_leads_nowhere_is_named() -> None:
    with pytest.raises(ConfigurationError, match="feature: 'lost' of my_loudness:gone cannot be loaded"):
        make_feature("lost", {}, PRESETS["tacotron2"])
    with pytest.raises(
        ConfigurationError, match="expected one of pitch, energy, durations, spectrogram, lost, loudness"
    ):
        make_feature("loudnes", {}, PRESETS["tacotron2"])
