"""Which stores recipes accept: those whose mels, or waveforms, are the ones that their systems make."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from stores import SAMPLE_RATE, make_rows, write_store

from tts_prep.errors import ConfigurationError
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.presets import DESCRIPTIONS
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare
from tts_prep.preprocess.text.symbols import TABLES
from tts_prep.recipes import LJSpeechCollector, TTSCollate, accepted, f5tts, hifigan, matcha, styletts2, vits

ROOT = Path(__file__).parents[2]


@cache
def table() -> Any:
    """Return the script that compares the mels of a clip under every preset."""
    spec = importlib.util.spec_from_file_location("make_recipes", ROOT / "docs" / "make_recipes.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_recipe_is_in_the_table() -> None:
    assert {case.recipe.system for case in table().cases()} | {"F5-TTS with BigVGAN's mels"} == {
        recipe.system for recipe in accepted.RECIPES
    }


@pytest.mark.parametrize("preset", DESCRIPTIONS)
def test_a_recipe_accepts_a_preset_only_if_its_mels_are_equal(preset: str) -> None:
    wrong = [
        f"{case.name}: accepted {table().is_accepted(case, preset)}, distance {table().distance(case, preset)}"
        for case in table().cases()
        if table().is_accepted(case, preset) != table().is_equal(case, preset)
    ]
    assert wrong == []


def store_of(path: Path, preset: str, **changes: Any) -> Path:
    described = DESCRIPTIONS[preset]
    settings = {**described.config.as_dict(), **described.reading.as_dict(), **changes}
    return write_store(path, make_rows([40]), n_shards=1, waveform=True, configuration={"audio": settings})


def test_a_refusal_names_what_differs_and_the_preset_to_build_with(tmp_path: Path) -> None:
    path = store_of(tmp_path / "s", "tacotron2")
    sizes = (8192, 1024, 80, 256, 1024, 22_050, 0, 8000)
    with pytest.raises(ConfigurationError) as refused:
        hifigan.HiFiGANDataset([str(path / "LJ000-é.wav")], *sizes)
    assert str(refused.value) == (
        f"{path}: not made for HiFi-GAN: framing is center instead of hifigan, peak is none instead of 0.95, "
        "power_offset is 0 instead of 1e-09, its mels end at 8000 Hz, and it has none to 11025 Hz for the loss; repeat "
        "the command that made it with --update --preset hifigan --waveform int16 "
        "--feature mel:preset=hifigan,fmax=11025"
    )
    with pytest.raises(ConfigurationError, match="with --update --preset bigvgan-44k-128 --waveform int16, or"):
        table().accepted.check_store(
            accepted.BIGVGAN, UtteranceDataset(path).metadata, table()._sizes("bigvgan-44k-128")
        )
    with pytest.raises(ConfigurationError, match="with --update --preset hifigan --n-mels 64 --waveform int16"):
        hifigan.HiFiGANDataset([str(path / "LJ000-é.wav")], 8192, 1024, 64, 256, 1024, 22_050, 0, 8000)
    with pytest.raises(ConfigurationError, match="settings: expected 'preset' or 'any', found 'some'"):
        f5tts.F5TTSDataset(path, settings="some")  # type: ignore[arg-type]
    # Every setting is another one; four are named.
    with pytest.raises(ConfigurationError, match=r"sample_rate is none instead of 24000, .* and \d\d more; repeat"):
        f5tts.F5TTSDataset(write_store(tmp_path / "t", make_rows([40]), n_shards=1))


@pytest.mark.parametrize(
    "change", [{"resampler": "torchaudio"}, {"channel": "first"}, {"window": "hamming"}, {"new": 1}]
)
def test_one_setting_is_enough_for_a_refusal(tmp_path: Path, change: dict[str, Any]) -> None:
    utterances = UtteranceDataset(store_of(tmp_path / "s", "parakeet", **change))
    (name, value), *_ = change.items()
    with pytest.raises(ConfigurationError, match=f"not made for Parakeet: {name} is {value} instead of "):
        LJSpeechCollector()(utterances)
    assert len(LJSpeechCollector(settings="any")(utterances)) == 3


def test_collate_functions_check_the_store_of_every_utterance(tmp_path: Path) -> None:
    right, wrong = (UtteranceDataset(store_of(tmp_path / name, name)) for name in ("parakeet", "tacotron2"))
    collate = LJSpeechCollector()
    collate(right)
    with pytest.raises(ConfigurationError, match="tacotron2: not made for Parakeet: peak is"):
        collate([right[0], wrong[0]])
    with pytest.raises(ConfigurationError, match="not made for FastPitch: .*--preset fastpitch"):
        TTSCollate()(right)


@pytest.mark.parametrize("blanks", ["none", "between", "around"])
def test_blanks_of_a_store_are_not_put_in_twice(corpus: Path, tmp_path: Path, blanks: str) -> None:
    pytest.importorskip("torch")
    preset = DESCRIPTIONS["matcha"]
    made = {}
    for kind in ("none", blanks):
        configuration = Configuration(
            limit=3,
            mel=preset.config,
            reading=preset.reading,
            text=TextConfig(symbols="vits", blanks=kind),
            store=StoreConfig(waveform_dtype="int16"),
        )
        path = tmp_path / kind
        if not path.exists():
            prepare(read_ljspeech(corpus), corpus, path, configuration)
        lines = tmp_path / f"{kind}.txt"
        lines.write_text("".join(f"{path}/{uid}.wav|abc\n" for uid in UtteranceDataset(path).id), encoding="utf-8")
        for add in (True, False):
            data = SimpleNamespace(
                sampling_rate=22_050, filter_length=1024, hop_length=256, win_length=1024, add_blank=add
            )
            made[kind, "vits", add] = vits.TextAudioLoader(lines, data)[0][0].tolist()
            made[kind, "matcha", add] = matcha.TextMelDataset(lines, 1, None, add, seed=0)[0]["x"].tolist()
    for system in ("vits", "matcha"):
        plain = made["none", system, False]
        assert made[blanks, system, False] == plain
        assert made[blanks, system, True] == [0, *(i for symbol in plain for i in (symbol, 0))]


@pytest.mark.whole
def test_symbols_that_a_system_has_in_its_code_are_compared(corpus: Path, tmp_path: Path) -> None:
    preset = DESCRIPTIONS["styletts2"]
    for symbols, blanks in (("espeak", "none"), ("kokoro", "none"), ("styletts2", "around")):
        text = TextConfig(symbols=symbols, punctuation="separate", blanks=blanks)
        configuration = Configuration(limit=2, mel=preset.config, reading=preset.reading, text=text)
        prepare(read_ljspeech(corpus), corpus, tmp_path / symbols, configuration)

    def dataset(name: str) -> Any:
        return styletts2.FilePathDataset(None, tmp_path / name, ["abc" * 20], waveform=False)

    assert len(dataset("espeak")) == 2
    number = next(i for i in range(1, 178) if TABLES["kokoro"].symbols[i] != TABLES["styletts2"].symbols[i])
    with pytest.raises(ConfigurationError, match=rf"kokoro: not made for StyleTTS2: the symbol {number} is "):
        dataset("kokoro")
    with pytest.raises(ConfigurationError, match="not made for StyleTTS2: blanks is around instead of none"):
        dataset("styletts2")


def test_fine_tuning_needs_the_level_of_the_files(tmp_path: Path) -> None:
    scaled, own = (store_of(tmp_path / name, name) for name in ("hifigan", "hifigan-unscaled"))
    np.save(tmp_path / "LJ000-é.npy", np.zeros((80, 40), np.float32))
    sizes = (8192, 1024, 80, 256, 1024, SAMPLE_RATE, 0, 8000)
    given: dict[str, Any] = {"fine_tuning": True, "base_mels_path": str(tmp_path), "fmax_loss": 8000}
    with pytest.raises(ConfigurationError, match="peak is 0.95 instead of none; .* hifigan-un"):
        hifigan.HiFiGANDataset([str(scaled / "LJ000-é.wav")], *sizes, **given)
    assert len(hifigan.HiFiGANDataset([str(own / "LJ000-é.wav")], *sizes, **given)) == 1


def test_the_store_of_the_loss_is_checked_too(tmp_path: Path) -> None:
    path = store_of(tmp_path / "s", "hifigan")
    sizes = (8192, 1024, 80, 256, 1024, SAMPLE_RATE, 0, 8000)
    loss = DESCRIPTIONS["hifigan"]
    nyquist = replace(loss.config, fmax=11_025.0)
    store_of(tmp_path / "s-loss", "hifigan", fmax=nyquist.fmax, power_offset=0.0)
    with pytest.raises(ConfigurationError, match="s-loss: not made for HiFi-GAN: power_offset is 0 instead of 1e-09"):
        hifigan.HiFiGANDataset([str(path / "LJ000-é.wav")], *sizes)
