from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.config import Compression, MelConfig
from tts_prep.preprocess.audio.presets import DESCRIPTIONS, PRESETS, Preset
from tts_prep.preprocess.audio.reading import ReadingConfig
from tts_prep.preprocess.configuration import settings
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.configuration.settings import configure


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_given_is_the_default_configuration() -> None:
    assert configure("ljspeech") == Configuration(preset="parakeet")


def test_a_setting_is_over_the_file_which_is_over_the_preset(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.toml",
        'preset = "vocos"\n[audio]\nfmax = 11000\npeak = 0.9\n[audio.compression]\nfloor = 1e-6\n'
        '[cleaning]\ntrim_db = 40\n[text]\nlanguage = "en-gb"\n[store]\nmel_dtype = "float16"\n',
    )
    config = configure("ljspeech", file=file, settings={"audio": {"peak": 0.8}, "text": {}, "store": {}})
    expected = replace(
        PRESETS["vocos"], fmax=11000.0, peak=0.8, compression=replace(PRESETS["vocos"].compression, floor=1e-6)
    )
    assert config.mel.compression.floor == 1e-6
    assert config.as_dict()["audio"]["compression"] == Configuration(mel=expected).as_dict()["audio"]["compression"]
    assert (config.mel.fmax, config.mel.peak, config.mel.n_mels) == (11000.0, 0.8, 100)
    assert (config.cleaning.trim_db, config.text.language, config.store.mel_dtype) == (40.0, "en-gb", "float16")


def test_the_preset_is_recorded_whether_an_option_or_a_file_names_it(tmp_path: Path) -> None:
    file = write(tmp_path / "a.toml", 'preset = "vocos"\n')
    for config in (configure("ljspeech", file=file), configure("ljspeech", preset="vocos")):
        assert config.as_dict()["preset"] == "vocos"


def test_a_file_of_one_preset_under_the_option_of_another_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "hifigan.toml", 'preset = "hifigan"\n[audio]\nn_fft = 1024\n')
    with pytest.raises(
        ConfigurationError, match=r"hifigan\.toml: preset: 'hifigan' in the file, 'vocos' in the option"
    ):
        configure("ljspeech", preset="vocos", file=file)
    assert configure("ljspeech", preset="hifigan", file=file).preset == "hifigan"


def test_a_preset_may_carry_settings_of_reading_and_text(monkeypatch: pytest.MonkeyPatch) -> None:
    preset = Preset("mine", MelConfig(), "mine", ReadingConfig(channel="mean"), {"punctuation": "separate"})
    monkeypatch.setattr(settings, "get_preset", {"mine": preset}.__getitem__)
    config = configure("ljspeech", preset="mine")
    assert (config.reading.channel, config.text.punctuation) == ("mean", "separate")
    config = configure("ljspeech", preset="mine", settings={"audio": {"channel": "first"}, "text": {"unknown": "drop"}})
    assert (config.reading.channel, config.text.punctuation, config.text.unknown) == ("first", "separate", "drop")


def test_a_file_may_set_window_frames_and_dynamic_range(tmp_path: Path) -> None:
    text = "[audio]\nperiodic_window = false\ndrop_last_frame = true\n[audio.compression]\ndynamic_range = 8\n"
    mel = configure("ljspeech", file=write(tmp_path / "a.toml", text)).mel
    assert (mel.periodic_window, mel.drop_last_frame, mel.compression.dynamic_range) == (False, True, 8.0)


def test_a_file_may_set_numbers_of_each_bin(tmp_path: Path) -> None:
    text = "[audio]\nn_mels = 2\n[audio.compression]\nbin_norms = [-7.5, 2]\n"
    config = configure("ljspeech", file=write(tmp_path / "a.toml", text))
    assert config.mel.compression.bin_norms == (-7.5, 2.0)
    recorded = json.loads(json.dumps(config.as_dict()))
    assert recorded["audio"]["compression"]["bin_norms"] == [-7.5, 2.0]
    assert Configuration.from_dict(tmp_path, recorded).mel == config.mel
    again = write(tmp_path / "b.toml", '[audio.compression]\nbin_norms = "none"\n')
    assert configure("ljspeech", file=again).mel.compression.bin_norms is None


def test_presets_read_channels_as_their_sources_do() -> None:
    channels = {name: preset.reading.channel for name, preset in DESCRIPTIONS.items()}
    averaging = {
        "bigvgan",
        "vocos",
        "parakeet",
        "coqui",
        "f5",
        "cosyvoice",
        "cosyvoice2",
        "cosyvoice3",
        "whisper",
        "speecht5",
        "melgan",
        "fish",
        "chatterbox",
        "index",
        "zipvoice",
        "campplus",
        "melotts",
        "piper",
        "vevo",
        "zonos",
        "fastspeech2",
    }
    assert {name for name, channel in channels.items() if channel == "mean"} == {
        name for name in channels if name.split("-")[0] in averaging
    }
    # ffmpeg halves the sum of two channels of 16 bits, and divides by √2 that of 32, which GPT-SoVITS asks for.
    assert {name for name, channel in channels.items() if channel == "power"} == {"gpt-sovits-v3", "gpt-sovits-v4"}
    assert configure("ljspeech", preset="vocos").reading.channel == "mean"
    assert configure("ljspeech", preset="vocos", settings={"audio": {"channel": "first"}}).reading.channel == "first"


def test_a_setting_can_be_unset(tmp_path: Path) -> None:
    assert configure("ljspeech", file=write(tmp_path / "a.toml", '[audio]\npeak = "none"\n')).mel.peak is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[audio\n", "not TOML"),
        ("[audio]\nfmx = 8000\n", "audio.fmx: unknown setting; did you mean 'fmax'?"),
        ("[adio]\n", "adio: unknown table; did you mean 'audio'?"),
        ("audio = 3\n", "audio: expected a table of settings, found 3"),
        ("[audio]\nn_fft = 1024.5\n", "audio.n_fft: expected int, found 1024.5"),
        ("[audio]\nn_fft = true\n", "audio.n_fft: expected int, found True"),
        ('[audio]\nframing = "left"\n', "framing: expected one of 'center', 'hifigan', 'ceil', 'snip', found 'left'"),
        ("[audio.compression]\nfloor = 0.0\n", "floor: expected a number > 0"),
        ("[audio.compression]\nbin_norms = 3\n", "audio.compression.bin_norms: expected a list of numbers, found"),
        ('[audio.compression]\nbin_norms = ["1"]\n', "audio.compression.bin_norms: expected a list of numbers, found"),
        (
            "[audio.compression]\nbin_norms = [1.0, 2]\n",
            "compression.bin_norms: expected a number for each of 80 mel bins, found 2",
        ),
        ('preset = "nope"\n', "preset: unknown preset 'nope'"),
        ("[store]\nshard_utterances = 0\n", "shard_utterances, shard_bytes: expected integers >= 1"),
    ],
)
def test_a_wrong_file_is_refused_by_name_and_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        configure("ljspeech", file=write(tmp_path / "a.toml", text))
    assert message in str(error.value)


def test_a_missing_file_and_two_recipes_at_once_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"a\.toml: cannot be read"):
        configure("ljspeech", file=tmp_path / "a.toml")
    with pytest.raises(ConfigurationError, match="give either a preset"):
        configure("ljspeech", preset="hifigan", vocoder=tmp_path / "config.json")


def test_a_configuration_prints_what_gives_it_again_and_no_defaults() -> None:
    names = {kind.__name__: kind for kind in (Compression, Configuration, MelConfig, ReadingConfig, TextConfig)}
    for preset in PRESETS:
        config = configure("ljspeech", preset=preset, settings={"text": {"language": "de"}})
        text = repr(config)
        # A number for each mel bin is cut short.
        assert "bin_norms=(" in text if preset == "tortoise" else eval(text, names) == config
        assert "language='de'" in text
        assert "n_mels=" in text
        assert "cleaning" not in text
        assert len(text) < 500
