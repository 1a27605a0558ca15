"""The configurations of vocoders: small files of our own, with the names that each system uses."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.config import Compression, ReadingConfig
from tts_prep.preprocess.audio.presets import DESCRIPTIONS, PRESETS
from tts_prep.preprocess.configuration.settings import configure
from tts_prep.vocoders.systems import VocoderSettings, read_vocoder_config

# The keys that matter of the config.json beside public checkpoints, and some that do not.
HIFIGAN_V1 = {
    "resblock": "1", "num_gpus": 0, "batch_size": 16, "segment_size": 8192, "num_mels": 80, "num_freq": 1025,
    "n_fft": 1024, "hop_size": 256, "win_size": 1024, "sampling_rate": 22050, "fmin": 0, "fmax": 8000,
    "fmax_for_loss": None, "upsample_rates": [8, 8, 2, 2], "resblock_kernel_sizes": [3, 7, 11],
}  # fmt: skip
BIGVGAN_44K = {
    "num_mels": 128, "n_fft": 2048, "hop_size": 512, "win_size": 2048, "sampling_rate": 44100, "fmin": 0, "fmax": None,
    "fmax_for_loss": None, "normalize_volume": True, "upsample_rates": [8, 4, 2, 2, 2, 2],
    "resblock_kernel_sizes": [3, 7, 11], "activation": "snakebeta",
}  # fmt: skip
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


HIFIGAN = {
    "resblock": "1",
    "upsample_rates": [8, 8, 2, 2],
    "resblock_kernel_sizes": [3, 7, 11],
    "num_mels": 80,
    "n_fft": 1024,
    "hop_size": 256,
    "win_size": 1024,
    "sampling_rate": 22050,
    "fmin": 0,
    "fmax": 8000,
}
F5 = """
model:
  name: F5TTS_v1_Base
  mel_spec: {target_sample_rate: 24000, n_mel_channels: 100, hop_length: 256, win_length: 1024, n_fft: 1024,
    mel_spec_type: KIND}
"""
COSYVOICE = """
__set_seed1: !apply:random.seed [1986]
sample_rate: 24000
llm: !new:cosyvoice.llm.llm.Qwen2LM
  mix_ratio: [5, 15]
feat_extractor: !name:matcha.utils.audio.mel_spectrogram
  n_fft: 1920
  num_mels: 80
  sampling_rate: !ref <sample_rate>
  hop_size: 480
  win_size: 1920
  fmin: 0
  fmax: 8000
  center: False
compute_fbank: !name:cosyvoice.dataset.processor.compute_fbank
  num_frames: 960
"""
MATCHA = """
_target_: matcha.data.text_mel_datamodule.TextMelDataModule
n_fft: 1024
n_feats: 80
sample_rate: 22050
hop_length: 256
win_length: 1024
f_min: 0
f_max: 8000
data_statistics: {mel_mean: -5.536622, mel_std: 2.116101}
"""
STYLETTS2 = """
PLBERT_dir: Utils/PLBERT/
preprocess_params:
  sr: 24000
  spect_params: {n_fft: 2048, win_length: 1200, hop_length: 300}
"""
WAVEGAN = {
    "sampling_rate": 22050,
    "fft_size": 1024,
    "hop_size": 256,
    "win_length": None,
    "window": "hann",
    "num_mels": 80,
    "fmin": 80,
    "fmax": 7600,
    "generator_params": {},
    "discriminator_params": {},
}
WAVENET = {
    "name": "wavenet_vocoder",
    "preprocess": "preemphasis",
    "sample_rate": 22050,
    "num_mels": 80,
    "fmin": 125,
    "fmax": 7600,
    "fft_size": 1024,
    "hop_size": 256,
    "win_length": 1024,
    "window": "hann",
}
UNIVNET = {
    "audio": {**VITS, "sampling_rate": 24000, "n_mel_channels": 100, "mel_fmax": 12000.0, "pad_short": 2000},
    "gen": {"noise_dim": 64},
    "mrd": {"resolutions": "[]"},
}
MELO = {**VITS, "sampling_rate": 44100, "filter_length": 2048, "win_length": 2048, "hop_length": 512}
OPENVPI = {
    "audio_sample_rate": 44100,
    "audio_num_mel_bins": 128,
    "hop_size": 512,
    "fft_size": 2048,
    "win_size": 2048,
    "fmin": 40,
    "fmax": 16000,
    "generater_optimizer_args": {"lr": 0.0001},
}


def settings(folder: Path, text: object, name: str = "config.json") -> VocoderSettings:
    path = folder / name
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return read_vocoder_config(path)


def config(folder: Path, text: object, name: str = "config.json") -> Any:
    return settings(folder, text, name).mel


@pytest.mark.parametrize(
    ("preset", "text"),
    [
        ("hifigan", HIFIGAN),
        ("istftnet", {**HIFIGAN, "gen_istft_n_fft": 16}),
        ("bigvgan-22k-80", {**HIFIGAN, "activation": "snakebeta", "fmax": None}),
        ("vits", {"train": {}, "data": VITS}),
        ("melotts", {"data": {**MELO, "n_mel_channels": 128, "spk2id": {}}}),
        ("univnet", UNIVNET),
        ("coqui", {"model": "hifigan", "audio": {**COQUI, "mel_fmax": None}}),
        ("wavenet-vocoder", WAVENET),
        ("parakeet-fastspeech2", WAVEGAN),
        ("vocos", VOCOS.replace("PADDING", "center")),
        ("nemo-hifigan", NEMO.replace("PREEMPH", "null")),
        ("f5-tts", F5.replace("KIND", "vocos")),
        ("cosyvoice2", COSYVOICE),
        ("matcha", MATCHA),
        ("styletts2", STYLETTS2),
        (
            "vevo",
            {
                "preprocess": {
                    **json.loads(json.dumps({"hop_size": 480, "sample_rate": 24000, "n_fft": 1920})),
                    "num_mels": 128,
                    "win_size": 1920,
                    "fmin": 0,
                    "fmax": 12000,
                    "mel_var": 8.14,
                    "mel_mean": -4.92,
                }
            },
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)
def test_the_file_of_a_system_is_its_whole_preset(tmp_path: Path, preset: str, text: object) -> None:
    name = "config.yaml" if isinstance(text, str) else "config.json"
    found = settings(tmp_path, text, name)
    described = DESCRIPTIONS[preset]
    assert (found.preset, found.mel, found.reading) == (preset, described.config, described.reading)
    # All that is recorded of a store is the same, so that its bytes and the recipes that accept it are.
    by_file, by_preset = configure("ljspeech", vocoder=tmp_path / name), configure("ljspeech", preset=preset)
    assert by_file.as_dict() == by_preset.as_dict()


def test_settings_of_no_preset_have_the_reading_of_their_system(tmp_path: Path) -> None:
    found = settings(tmp_path, {**HIFIGAN, "activation": "snake", "sampling_rate": 16000, "fmax": None})
    assert (found.system, found.preset, found.reading) == ("BigVGAN", None, ReadingConfig(channel="mean"))
    assert configure("ljspeech", vocoder=tmp_path / "config.json").preset is None
    bigvgan = settings(tmp_path, F5.replace("KIND", "bigvgan"), "config.yaml")
    assert (bigvgan.mel.framing, bigvgan.mel.mel_scale, bigvgan.mel.peak) == ("hifigan", "slaney", None)
    assert bigvgan.reading == DESCRIPTIONS["f5-tts"].reading


def test_files_that_look_like_hifigans_are_those_of_their_own_systems(tmp_path: Path) -> None:
    nsf = settings(tmp_path, {**HIFIGAN, "discriminator_periods": [3, 5, 7, 11, 17, 23, 37], "fmin": 40})
    # nvSTFT.py: the magnitude itself, at the level of the recording.
    assert (nsf.system, nsf.mel.power_offset, nsf.mel.peak, nsf.mel.fmin) == ("openvpi's NSF-HiFiGAN", 0, None, 40)
    training = settings(tmp_path, OPENVPI, "config.yaml")
    assert (training.system, training.mel.compression.floor) == ("openvpi's SingingVocoders", 1e-9)
    wavegan = config(tmp_path, {**WAVEGAN, "log_base": 10.0})
    assert (wavegan.compression.log, wavegan.compression.floor, wavegan.win_length) == ("log10", 1e-10, 1024)
    # preprocess.py of 0.6 and later computes log10 whatever this is, that of 0.5 did not.
    assert "'log_base': expected 10.0, found null" in refusal(tmp_path, {**WAVEGAN, "log_base": None})


def test_a_file_is_joined_with_those_that_it_is_based_on(tmp_path: Path) -> None:
    checkout = tmp_path / "amphion" / "egs" / "vocoder"
    (tmp_path / "amphion" / "config").mkdir(parents=True)
    checkout.mkdir(parents=True)
    (tmp_path / "amphion" / "config" / "base.json").write_text('{"preprocess": {"n_fft": 512, "fmin": 0}}')
    (checkout / "base.json").write_text(AMPHION)
    own = {"base_config": "egs/vocoder/base.json", "preprocess": {"n_mel": 80}}
    assert config(checkout, own) == replace(PRESETS["hifigan-unscaled"], sample_rate=24000, fmax=12000.0)
    (tmp_path / "ljspeech.yaml").write_text(MATCHA)
    text = "defaults: [ljspeech, _self_]\ndata_statistics: {mel_mean: -6.630575, mel_std: 2.482914}\n"
    assert settings(tmp_path, text, "vctk.yaml").preset == "matcha-vctk"


def test_a_file_that_is_based_on_itself_or_on_files_elsewhere_is_refused(tmp_path: Path) -> None:
    assert "based on more than 8 files" in refusal(tmp_path, {"base_config": "config.json", "preprocess": {"a": 1}})
    (tmp_path / "secret.json").write_text(AMPHION)
    inner = tmp_path / "a"
    inner.mkdir()
    for name in ("../secret.json", str(tmp_path / "secret.json")):
        assert "which is not there" in refusal(inner, {"base_config": name, "preprocess": {"a": 1}})


def test_values_refer_to_others_by_dots(tmp_path: Path) -> None:
    text = (
        NEMO.replace("PREEMPH", "null")
        .replace("${highfreq}", "${model.band}")
        .replace("model:", "model:\n  band: 8000")
    )
    assert config(tmp_path, text, "config.yaml") == PRESETS["nemo-hifigan"]
    assert "refers to more than 8 others" in refusal(tmp_path, text.replace("8000", "${model.band}"), "config.yaml")


def test_a_file_of_no_known_system_is_refused_with_what_to_do(tmp_path: Path) -> None:
    audio = {name: HIFIGAN[name] for name in ("num_mels", "n_fft", "hop_size", "win_size", "sampling_rate", "fmin")}
    message = refusal(tmp_path, {**audio, "fmax": 8000})
    assert message == (
        "not recognized as the configuration file of a vocoder or model; choose a preset by --preset, of those that "
        "'tts-prep presets' lists, or give the settings by --config"
    )


def refusal(folder: Path, text: object, name: str = "config.json") -> str:
    with pytest.raises(ConfigurationError) as error:
        config(folder, text, name)
    assert str(error.value).startswith(str(folder / name))
    return str(error.value).removeprefix(f"{folder / name}: ")


def test_vits_and_gpt_sovits_have_their_settings_in_the_table_data(tmp_path: Path) -> None:
    assert config(tmp_path, {"train": {}, "data": VITS}) == PRESETS["vits"]
    # GPT-SoVITS adds 1e-8 to the power, and reads files that its preparation wrote.
    gpt = {**VITS, "sampling_rate": 32000, "filter_length": 2048, "win_length": 2048, "hop_length": 640}
    found = config(tmp_path, {"data": {**gpt, "n_mel_channels": 128}, "s2_ckpt_dir": "logs"})
    assert (found.power_offset, found.fmax, found.n_mels, found.hop_length) == (1e-8, 16000, 128, 640)
    assert (found.peak, found.compression) == (None, PRESETS["vits"].compression)
    assert read_vocoder_config(tmp_path / "config.json").reading == DESCRIPTIONS["gpt-sovits-v4"].reading


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
        tmp_path, {"model": "vits2", "audio": {"stats_path": "scale.npy"}}
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
    # As fastpitch_22050.yaml and vits.yaml of its examples: no norm of the filters, and 1e-5 under the root.
    for line, changes in (("mel_norm: null", {"mel_norm": None}), ("use_grads: true", {"power_offset": 1e-5})):
        text = NEMO.replace("preemph: PREEMPH", f"preemph: null\n    {line}")
        assert config(tmp_path, text, "config.yml") == replace(PRESETS["nemo-hifigan"], **changes)
    text = NEMO.replace("normalize: null", "normalize: per_feature")
    assert "'model.preprocessor.normalize': 'per_feature' is not supported" in refusal(tmp_path, text, "config.yaml")


def test_two_names_of_a_setting_must_not_contradict_each_other(tmp_path: Path) -> None:
    assert config(tmp_path, {**HIFIGAN, "n_mel_channels": 80}) == PRESETS["hifigan"]
    message = refusal(tmp_path, {**HIFIGAN, "n_mel_channels": 100})
    assert message == (
        "a file of HiFi-GAN: 'num_mels' is 80 and 'n_mel_channels' is 100; both are the same setting: correct the "
        "wrong one (its presets: hifigan)"
    )
    message = refusal(tmp_path, {"data": {**VITS, "hop_size": 300}})
    assert message.startswith("a file of VITS: 'data.hop_size' is 300 and 'data.hop_length' is 256")


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("a: [", "a.yaml", "not YAML"),
        ("!!python/object/apply:os.system ['true']", "a.yaml", "not YAML"),
        ("3", "a.yaml", "not recognized as the configuration file"),
        ("[" * 100_000, "a.json", "not JSON"),
        ("[" * 1_000, "a.yaml", "not YAML"),
        ("a: &a {b: *a}", "a.yaml", "more than 100,000 values"),
        ('{"data": {"sampling_rate": 1' + "0" * 5000 + "}}", "a.json", "not JSON"),
        (" " * (1 << 17) + "{}", "a.json", "longer than the maximum of 131,072 bytes"),
        ({"data": {**VITS, "win_length": 4096}}, "a.json", "win_length: expected at most n_fft = 1024, found 4096"),
        (
            {"data": {**VITS, "n_mel_channels": True}},
            "a.json",
            "expected a number for 'data.n_mel_channels', found True",
        ),
        ({"data": {"sampling_rate": 22050, "filter_length": 1024}}, "a.json", "it has no mel, none of data.win_length"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: object, name: str, message: str) -> None:
    assert message in refusal(tmp_path, text, name)


@pytest.mark.parametrize(
    ("values", "preset"), [(HIFIGAN_V1, "hifigan"), (BIGVGAN_44K, "bigvgan-44k-128")], ids=["HiFi-GAN", "BigVGAN"]
)
def test_a_vocoders_configuration_gives_its_preset(tmp_path: Path, values: dict[str, object], preset: str) -> None:
    assert settings(tmp_path, values).mel == PRESETS[preset]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not recognized as the configuration file"),
        (json.dumps({k: v for k, v in HIFIGAN_V1.items() if k != "hop_size"}), "it has no mel, none of hop_size"),
        (json.dumps({**HIFIGAN_V1, "n_fft": "1024"}), "expected a number for 'n_fft', found '1024'"),
    ],
)
def test_what_is_no_vocoders_configuration_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        settings(tmp_path, text)
    assert message in str(error.value)


def test_a_configuration_must_be_a_regular_file_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"config\.json: cannot be read"):
        configure("ljspeech", vocoder=tmp_path / "config.json")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigurationError, match="found a named pipe"):
        read_vocoder_config(tmp_path / "pipe")


def test_a_configuration_is_over_the_preset_of_a_file_of_settings(tmp_path: Path) -> None:
    file, vocoder = tmp_path / "a.toml", tmp_path / "config.json"
    file.write_text('preset = "vocos"\n')
    vocoder.write_text(json.dumps(HIFIGAN_V1))
    assert configure("ljspeech", vocoder=vocoder, file=file).as_dict()["preset"] == "hifigan"
