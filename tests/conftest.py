"""Small corpora, synthesised: no test needs a download."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import settings

# Speed is measured by benchmarks; a busy machine fails no test.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

SAMPLE_RATE = 22050
TEXTS = (
    "Printing, in the only sense with which we are at present concerned.",
    'He said "no", and left.',
    "It was 1843; the 2nd of May!",
    "Why not?",
    "The café — so he thought — was closed.",
    "A longer sentence, so that the lengths differ: one, two, three, four, five, six.",
    "Yes.",
)


def speech_like(seconds: float, seed: int, sample_rate: int = SAMPLE_RATE) -> np.ndarray:
    """Return a decaying harmonic sound with noise, [n_samples] float64 within ±0.6."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * sample_rate)) / sample_rate
    pitch = rng.uniform(90, 240)
    voice = sum(np.sin(2 * np.pi * pitch * k * t + rng.uniform(0, 6)) / k for k in range(1, 12))
    return 0.15 * voice * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * t)) + 0.005 * rng.standard_normal(len(t))


def write_ljspeech(root: Path, texts: tuple[str, ...] = TEXTS) -> Path:
    """Write a folder in the shape of LJ Speech: one recording a text, of different lengths."""
    (root / "wavs").mkdir(parents=True)
    rows = []
    for number, text in enumerate(texts):
        name = f"S-{number:04d}"
        soundfile.write(root / "wavs" / f"{name}.wav", speech_like(0.2 + 0.11 * (number % 9), number), SAMPLE_RATE)
        rows.append(f"{name}|raw {text}|{text}\n")
    (root / "metadata.csv").write_text("".join(rows), encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of a corpus that no test may change."""
    return write_ljspeech(tmp_path_factory.mktemp("corpus") / "lj")


@pytest.fixture
def own_corpus(tmp_path: Path) -> Path:
    """Return the root of a corpus that the test may break."""
    return write_ljspeech(tmp_path / "lj")


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    """Return a whole store of the shared corpus, in shards of three, that no test may change."""
    from tts_prep.preprocess.configuration import Configuration, StoreConfig
    from tts_prep.preprocess.corpora import read_ljspeech
    from tts_prep.preprocess.pipeline import prepare

    path = tmp_path_factory.mktemp("stores") / "store"
    prepare(read_ljspeech(corpus), corpus, path, Configuration(store=StoreConfig(shard_utterances=3)))
    return path


@pytest.fixture(autouse=True)
def no_progress_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the lines that a slow run prints now and then out of what tests compare: a busy machine is no fault."""
    monkeypatch.setattr("tts_prep.cli.progress._PLAIN_INTERVAL", float("inf"))
