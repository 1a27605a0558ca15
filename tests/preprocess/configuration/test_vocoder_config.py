"""The configurations of vocoders: small files of our own, with the names that each system uses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.compression import Compression
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.configuration.vocoder_config import read_vocoder_config

VITS = {
    "sampling_rate": 22050,
    "filter_length": 1024,
    "hop_length": 256,
    "win_length": 1024,
    "n_mel_channels": 80,
    "mel_fmin": 0.0,
    "mel_fmax": None,
}
COQUI = {"fft_size": 1024, "win_length": 1024, "hop_length": 256, "sample_rate": 22050, "num_mels": 80, "mel_fmin": 0}
AMPHION = """{
  "base_config": "config/base.json", // with a comment "in quotes"
  "preprocess": {
    /* of the mel */
    "n_mel": 100, "win_size": 1024, "hop_size": 256, "sample_rate": 24000, "n_fft": 1024,
    "fmin": 0, "fmax": 12000, "url": "https://a // b",
  },
}"""
VOCOS = """
model:
  class_path: a.VocosExp
  init_args:
    feature_extractor:
      class_path: vocos.feature_extractors.MelSpectrogramFeatures
      init_args: {sample_rate: 24000, n_fft: 1024, hop_length: 256, n_mels: 100, padding: PADDING}
"""
NEMO = """
sample_rate: 22050
n_fft: 1024
highfreq: 8000
model:
  preprocessor:
    _target_: a.FilterbankFeatures
    nfilt: 80
    lowfreq: 0
    highfreq: ${highfreq}
    n_fft: ${n_fft}
    n_window_size: 1024
    n_window_stride: 256
    sample_rate: ${sample_rate}
    window: hann
    normalize: null
    preemph: PREEMPH
    log_zero_guard_type: clamp
    log_zero_guard_value: 1e-05
    mag_power: 1.0
    exact_pad: true
"""


def config(folder: Path, text: object, name: str = "config.json") -> Any:
    path = folder / name
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return read_vocoder_config(path)


def refusal(folder: Path, text: object, name: str = "config.json") -> str:
    with pytest.raises(ConfigurationError) as error:
        config(folder, text, name)
    assert str(error.value).startswith(str(folder / name))
    return str(error.value).removeprefix(f"{folder / name}: ")


def test_vits_and_gpt_sovits_have_their_settings_in_the_table_data(tmp_path: Path) -> None:
    assert config(tmp_path, {"train": {}, "data": VITS}) == PRESETS["vits"]
    # GPT-SoVITS adds 1e-8 to the power.
    gpt = {**VITS, "sampling_rate": 32000, "filter_length": 2048, "win_length": 2048, "hop_length": 640}
    found = config(tmp_path, {"data": {**gpt, "n_mel_channels": 128}, "s2_ckpt_dir": "logs"})
    assert (found.power_offset, found.fmax, found.n_mels, found.hop_length) == (1e-8, 16000, 128, 640)


def test_amphions_file_has_comments_and_commas_before_brackets(tmp_path: Path) -> None:
    expected = replace(PRESETS["hifigan-unscaled"], sample_rate=24000, n_mels=100, fmax=12000.0)
    assert config(tmp_path, AMPHION) == expected
    message = refusal(tmp_path, {"base_config": "config/base.json", "preprocess": {"use_mel": True}})
    assert "its settings are in its base_config, 'config/base.json'" in message


def test_coquis_file_has_the_range_of_decibels(tmp_path: Path) -> None:
    assert config(tmp_path, {"model": "hifigan", "audio": {**COQUI, "mel_fmax": None}}) == PRESETS["coqui"]
    lj_speech = {**COQUI, "mel_fmax": 8000, "spec_gain": 1.0, "log_func": "np.log", "signal_norm": False}
    assert config(tmp_path, {"model": "hifigan", "audio": lj_speech}) == PRESETS["coqui-ljspeech"]
    other = {**COQUI, "symmetric_norm": False, "max_norm": 1.0, "clip_norm": False, "preemphasis": 0.98}
    found = config(tmp_path, {"audio": {**other, "do_sound_norm": True}})
    # (20 · log10 x − 20 + 100) / 100
    assert found.compression == Compression("log10", floor=1e-8, scale=0.2, offset=0.8)
    assert (found.preemphasis, found.peak) == (0.98, 0.95)
    assert config(tmp_path, {"model": "vits", "audio": {**COQUI, "mel_fmax": None}}) == PRESETS["vits"]
    assert "'audio.stats_path': 'scale.npy' is not supported" in refusal(
        tmp_path, {"audio": {"stats_path": "scale.npy"}}
    )


def test_vocos_and_nemo_are_yaml(tmp_path: Path) -> None:
    assert config(tmp_path, VOCOS.replace("PADDING", "center"), "config.yaml") == PRESETS["vocos"]
    same = config(tmp_path, VOCOS.replace("PADDING", "same"), "config.yaml")
    assert same == replace(PRESETS["vocos"], framing="hifigan")
    assert "found 'valid'" in refusal(tmp_path, VOCOS.replace("PADDING", "valid"), "config.yaml")
    encodec = VOCOS.replace("MelSpectrogramFeatures", "EncodecFeatures")
    assert "class_path': expected MelSpectrogramFeatures, found" in refusal(tmp_path, encodec, "config.yaml")
    assert config(tmp_path, NEMO.replace("PREEMPH", "null"), "config.yml") == PRESETS["nemo-hifigan"]
    assert config(tmp_path, NEMO.replace("PREEMPH", "0.97"), "config.yml").preemphasis == 0.97
    text = NEMO.replace("normalize: null", "normalize: per_feature")
    assert "'model.preprocessor.normalize': 'per_feature' is not supported" in refusal(tmp_path, text, "config.yaml")


def test_two_names_of_a_setting_must_not_contradict_each_other(tmp_path: Path) -> None:
    value = {
        "sampling_rate": 22050,
        "n_fft": 1024,
        "win_size": 1024,
        "hop_size": 256,
        "num_mels": 80,
        "fmin": 0,
        "fmax": 8000,
    }
    assert config(tmp_path, {**value, "n_mel_channels": 80}) == PRESETS["hifigan"]
    message = refusal(tmp_path, {**value, "n_mel_channels": 100})
    assert message == ("'num_mels' is 80 and 'n_mel_channels' is 100; both are the same setting: correct the wrong one")
    message = refusal(tmp_path, {"data": {**VITS, "hop_size": 300}})
    assert message.startswith("'data.hop_size' is 300 and 'data.hop_length' is 256")


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("a: [", "a.yaml", "not YAML"),
        ("!!python/object/apply:os.system ['true']", "a.yaml", "not YAML"),
        ("3", "a.yaml", "found none of its sampling_rate"),
        ("[" * 100_000, "a.json", "not JSON"),
        ("[" * 5_000, "a.yaml", "not YAML"),
        ('{"data": {"sampling_rate": 1' + "0" * 5000 + "}}", "a.json", "not JSON"),
        (" " * (1 << 17) + "{}", "a.json", "longer than the maximum of 131,072 bytes"),
        ({"data": {**VITS, "win_length": 4096}}, "a.json", "win_length: expected at most n_fft = 1024, found 4096"),
        (
            {"data": {**VITS, "n_mel_channels": True}},
            "a.json",
            "expected a number for 'data.n_mel_channels', found True",
        ),
        ({"data": {"sampling_rate": 22050, "filter_length": 1024}}, "a.json", "found none of its data.win_length"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: object, name: str, message: str) -> None:
    assert message in refusal(tmp_path, text, name)
