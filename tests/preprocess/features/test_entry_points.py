"""The feature of another package in docs/features.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import light, run
from plugins import install

from tts_prep.errors import ConfigurationError
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.features.kinds import FeatureKind, built_in_features, kind_of, make_feature
from tts_prep.preprocess.run import prepare

PAGE = Path(__file__).parents[3] / "docs" / "features.md"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the package of the page to the path, with its entry point and an invalid one."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    site = tmp_path / "site"
    points = {"loudness": "my_loudness:LOUDNESS", "lost": "my_loudness:gone"}
    install(monkeypatch, site, "my-loudness", {"tts_prep.features": points})
    (site / "my_loudness.py").write_text(code)


@pytest.mark.whole
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


@pytest.mark.whole
@pytest.mark.usefixtures("installed")
def test_an_entry_point_that_leads_nowhere_is_named() -> None:
    with pytest.raises(ConfigurationError, match="feature: 'lost' of my_loudness:gone cannot be loaded"):
        make_feature("lost", {}, PRESETS["tacotron2"])
    with pytest.raises(
        ConfigurationError, match="expected one of energy, durations, pitch, spectrogram, mel, lost, loudness"
    ):
        make_feature("loudnes", {}, PRESETS["tacotron2"])


@pytest.mark.usefixtures("installed")
def test_a_setting_that_a_feature_of_another_package_does_not_have_is_named() -> None:
    with pytest.raises(ConfigurationError, match="loudness: expected the settings offset, found 'gain'"):
        make_feature("loudness", {"gain": "2"}, PRESETS["tacotron2"])
    with pytest.raises(ConfigurationError, match="loudness: offset: expected a number, found 'loud'"):
        make_feature("loudness", {"offset": "loud"}, PRESETS["tacotron2"])


@pytest.mark.whole
@pytest.mark.usefixtures("installed")
def test_features_are_listed_with_the_help_of_their_settings_also_those_of_other_packages(capsys) -> None:
    status, out, err = run(capsys, "features")
    assert (status, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "loudness loudness, the mean of every mel frame (my_loudness:LOUDNESS)" in lines
    assert "offset added to every value [0]" in lines
    assert any(line.startswith("algorithm dio (WORLD") and line.endswith("[dio]") for line in lines)
    assert not any(line.startswith("lost") for line in lines)


@pytest.mark.whole
@pytest.mark.usefixtures("installed")
def test_a_report_shows_a_feature_of_another_package_as_it_shows_built_in_ones(corpus: Path, tmp_path: Path) -> None:
    from tts_prep.checks import measure
    from tts_prep.report.columns import number_columns

    mel = PRESETS["tacotron2"]
    store = tmp_path / "store"
    made = [make_feature("loudness", {"offset": "2"}, mel), make_feature("energy", {}, mel)]
    prepare(read_ljspeech(corpus), corpus, store, Configuration(mel=mel, text=TextConfig("characters")), features=made)
    dataset = UtteranceDataset(store)
    columns = {column.key: column for column in number_columns(measure(dataset))}
    assert columns["loudness"].values == pytest.approx([u.mel.astype(float).mean() + 2 for u in dataset], rel=1e-4)
    shown = [(columns[name].name, columns[name].unit, columns[name].meaning) for name in ("loudness", "energy")]
    assert shown == [("Loudness", "mel units", "Mean of the frames."), ("Energy", "L2 norm", "Mean of the frames.")]


def test_a_function_is_a_feature_without_help_and_receives_its_settings_as_texts() -> None:
    kind = kind_of("mine", lambda recipe, settings: settings)
    assert kind.make(None, kind.configured({"a": "1"})) == {"a": "1"}
    assert kind.explained() == []


@pytest.mark.parametrize("kind", [*built_in_features()], ids=lambda kind: kind.name)
def test_every_setting_of_a_built_in_feature_has_help_and_a_row_in_the_documentation(kind: FeatureKind) -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = kind.explained()
    assert rows
    assert all(text for _, _, text in rows)
    assert [name for name, _, _ in rows if f"`{name}`" not in page and f"`{name}=" not in page] == []


@pytest.mark.parametrize("features", [("pitch",), "pitch", [3]])
def test_what_is_no_feature_is_refused_before_anything_is_made(corpus: Path, tmp_path: Path, features: Any) -> None:
    found = "3" if features == [3] else "'pitch'"
    with pytest.raises(ConfigurationError, match=rf"make_feature\('pitch', {{}}, config.mel\), found {found}$"):
        prepare(read_ljspeech(corpus), corpus, tmp_path / "store", light(3), features=features)
    assert not (tmp_path / "store").exists()
