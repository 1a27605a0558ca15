"""What the comparisons of training share: recordings, stores, and steps from the same seeds."""

from __future__ import annotations

import importlib
import random
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import librosa
import numpy as np
import scipy.io.wavfile
import soundfile
import soxr
import torch

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.features.kinds import make_feature
from tts_prep.preprocess.run import prepare

# One thread, so that sums have one order.
torch.set_num_threads(1)

STEPS: Final = 3
BATCH: Final = 2

Trainer = Callable[[Any], Mapping[str, torch.Tensor]]
"""A step of a model: it learns from a batch, and returns its losses."""


@dataclass(frozen=True)
class Run:
    """What a comparison is made from.

    Attributes:
        sources: the folder of checkouts.
        corpus: a corpus in the layout of LJ Speech, whose recordings have another rate than the presets.
        scratch: an empty folder.
        integers: recordings that a source does not resample itself are given to it in 16 bits.
    """

    sources: Path
    corpus: Path
    scratch: Path
    integers: bool = False

    @property
    def ids(self) -> list[str]:
        lines = (self.corpus / "metadata.csv").read_text(encoding="utf-8").splitlines()
        return [line.split("|")[0] for line in lines]

    @property
    def batches(self) -> list[list[int]]:
        """The rows of each step."""
        return [list(range(BATCH * step, BATCH * (step + 1))) for step in range(STEPS)]

    def wav(self, uid: str) -> Path:
        return self.corpus / "wavs" / f"{uid}.wav"

    def store(self, preset: str, name: str = "", features: Mapping[str, Any] = {}, **settings: Any) -> Path:
        """Build the store of a preset from the recordings, and return its folder.

        Args:
            name: that of its folder, instead of the preset's.
            features: settings of features by kind.
            settings: of the text (`text`), of reading (`reading`), else of the mel.
        """
        described, path = get_preset(preset), self.scratch / (name or preset)
        text = settings.pop("text", TextConfig())
        reading = replace(described.reading, **settings.pop("reading", {}))
        mel = replace(described.config, **settings)
        made = [make_feature(kind, given, mel) for kind, given in features.items()]
        configuration = Configuration(mel=mel, reading=reading, text=text, store=StoreConfig(waveform_dtype="float32"))
        prepare(read_ljspeech(self.corpus), self.corpus, path, configuration, features=made)
        return path

    def resampled(self, rate: int, scale: float = 32768.0) -> Path:
        """Bring the recordings to a rate, for a source that refuses others, and return their folder.

        They are resampled by ``librosa.load``, and written in 16 bits where `integers` is set, else in float32, scaled
        by `scale`: scipy, which most sources read with, returns what the file has.
        """
        folder = self.scratch / f"wavs-{rate}-{scale:g}"
        folder.mkdir(exist_ok=True)
        for uid in self.ids:
            samples, _ = librosa.load(self.wav(uid), sr=rate)
            if self.integers:
                soundfile.write(folder / f"{uid}.wav", samples, rate, "PCM_16")
            else:
                scipy.io.wavfile.write(folder / f"{uid}.wav", rate, samples * np.float32(scale))
        return folder

    def write_list(self, name: str, folder: Path, texts: Mapping[str, str]) -> Path:
        """Write a list of ``FOLDER/ID.wav|text``."""
        path = self.scratch / name
        lines = [f"{folder / uid}.wav|{text}\n" for uid, text in texts.items()]
        path.write_text("".join(lines), encoding="utf-8")
        return path


def write_corpus(source: Path, rate: int, path: Path) -> Path:
    """Write the shortest recordings of a corpus like LJ Speech at a rate, in 16 bits, as a corpus of their own."""
    (path / "wavs").mkdir(parents=True)
    lines = (source / "metadata.csv").read_text(encoding="utf-8").splitlines()
    by_length = sorted(lines, key=lambda line: soundfile.info(source / f"wavs/{line.split('|')[0]}.wav").frames)
    kept = [line for line in lines if line in by_length[: STEPS * BATCH]]
    (path / "metadata.csv").write_text("\n".join(kept) + "\n", encoding="utf-8")
    for line in kept:
        name = f"wavs/{line.split('|')[0]}.wav"
        samples, own = soundfile.read(source / name, dtype="float32")
        soundfile.write(path / name, soxr.resample(samples, own, rate, quality="VHQ"), rate, "PCM_16")
    phones = source.parent / "ljspeech-mfa-phones.txt"
    if phones.exists():
        shutil.copyfile(phones, path.parent / phones.name)
    return path


def seed(number: int) -> None:
    """Set every generator that a source draws from."""
    torch.manual_seed(number)
    np.random.seed(number)
    random.seed(number)


def losses(make: Callable[[], Trainer], batches: Sequence[Any]) -> list[dict[str, float]]:
    """Return the losses of each step of a model that is made and trained from the same seeds."""
    seed(0)
    step = make()
    found = []
    for number, batch in enumerate(batches):
        seed(number)
        found.append({name: float(loss) for name, loss in step(batch).items()})
    return found


def optimized(model: torch.nn.Module, loss: Callable[[Any, Any], Any], rate: float = 1e-4) -> Trainer:
    """Return a step of AdamW for a model with one loss, or with several whose sum is minimized."""
    optimizer = torch.optim.AdamW(model.train().parameters(), rate)

    def step(batch: Any) -> Mapping[str, torch.Tensor]:
        found = loss(model, batch)
        named = found if isinstance(found, dict) else {"loss": found}
        optimizer.zero_grad()
        sum(named.values()).backward()
        optimizer.step()
        return named

    return step


def package(folder: Path, name: str) -> Any:
    """Import a module of a checkout, or the installed one where there is no checkout."""
    if folder.is_dir() and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module(name)


def read_audio(path: str | Path) -> tuple[torch.Tensor, int]:
    """Do what ``torchaudio.load`` did before it needed another package."""
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return torch.from_numpy(samples.T), rate


def texts_of(store: Path) -> tuple[dict[str, str], dict[str, int]]:
    """Return the phonemes of each utterance, and the id of each symbol (ids without a symbol are left out)."""
    dataset = UtteranceDataset(store)
    texts = dict(zip(dataset.id, dataset.phoneme_text, strict=True))
    return texts, {symbol: number for number, symbol in enumerate(dataset.symbols) if symbol}
