"""FastSpeech 2: ming024's preparation, preprocessing, dataset, collate function, model and loss."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import librosa
import torch
import yaml
from fastspeech2 import COMMAND, with_random_boundaries
from recipes import by_name
from runs import BATCH, Run, Trainer, losses, package

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from textgrids import long_form

from tts_prep.loader import UtteranceDataset
from tts_prep.recipes import FastSpeech2Dataset

SPEAKER = "LJSpeech"


def phones_of(corpus: Path) -> dict[str, list[str]]:
    """Return the phones of each utterance: those of ``ljspeech-mfa-phones.txt``, beside the corpus."""
    lines = (corpus.parent / "ljspeech-mfa-phones.txt").read_text(encoding="utf-8").splitlines()
    return {line.split("|")[0]: line.split("|")[1].split() for line in lines}


def prepare(run: Run, config: dict[str, Any]) -> None:
    """Run the source's ``prepare_align``, which resamples, and write TextGrids of random boundaries."""
    module = package(run.sources / "FastSpeech2", "preprocessor.ljspeech")
    # librosa no longer takes the rate by position.
    module.librosa = SimpleNamespace(load=lambda path, rate: librosa.load(path, sr=rate))
    module.prepare_align(config)
    for uid, phones in phones_of(run.corpus).items():
        if uid in run.ids:
            path = run.scratch / "built" / "TextGrid" / SPEAKER / f"{uid}.TextGrid"
            path.parent.mkdir(parents=True, exist_ok=True)
            intervals = with_random_boundaries(run.scratch / "raw" / SPEAKER / f"{uid}.wav", phones, len(uid))
            path.write_text(long_form({"words": intervals, "phones": intervals}, intervals[-1][1]), encoding="utf-8")


def build(run: Run, name: str, wavs: Path, *options: str) -> UtteranceDataset:
    """Build the store of docs/features.md from a folder of recordings."""
    listed = run.scratch / f"{name}.txt"
    lines = [f"{wavs / uid}.wav|{uid}|{SPEAKER}|{uid}\n" for uid in run.ids]
    listed.write_text("".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "tts_prep", "filelist", str(listed), str(run.scratch / name), *COMMAND, *options]
    grids = run.scratch / "built" / "TextGrid" / SPEAKER
    features = ["--feature", "pitch:unvoiced=interpolated", "--alignments", str(grids)]
    subprocess.run([*command, *features], check=True)
    return UtteranceDataset(run.scratch / name)


def compare(run: Run) -> Any:
    folder = run.sources / "FastSpeech2"
    config, sizes, train = (
        yaml.safe_load((folder / "config" / "LJSpeech" / f"{name}.yaml").read_text(encoding="utf-8"))
        for name in ("preprocess", "model", "train")
    )
    config["path"] = {
        "corpus_path": str(run.corpus), "raw_path": str(run.scratch / "raw"),
        "preprocessed_path": str(run.scratch / "built"),
    }  # fmt: skip
    config["preprocessing"]["val_size"] = 0
    sizes["transformer"] |= {
        "encoder_layer": 1, "encoder_hidden": 32, "decoder_layer": 1, "decoder_hidden": 32, "conv_filter_size": 64,
    }  # fmt: skip
    sizes["variance_predictor"]["filter_size"] = 32
    prepare(run, config)
    stft = package(folder, "audio.stft")
    stft.librosa_mel_fn = by_name(stft.librosa_mel_fn)
    stft.pad_center = lambda window, size: librosa.util.pad_center(window, size=size)
    package(folder, "preprocessor.preprocessor").Preprocessor(config).build_from_path()
    # Which it has shuffled.
    listed = run.scratch / "built" / "train.txt"
    listed.write_text("".join(sorted(listed.read_text(encoding="utf-8").splitlines(True))), encoding="utf-8")
    module, models, tools = (package(folder, name) for name in ("dataset", "model", "utils.tools"))
    theirs = module.Dataset("train.txt", config, {"optimizer": {**train["optimizer"], "batch_size": BATCH}})

    def make() -> Trainer:
        model = models.FastSpeech2(config, sizes).train()
        criterion = models.FastSpeech2Loss(config, sizes)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3, betas=train["optimizer"]["betas"])

        def step(batch: Any) -> dict[str, torch.Tensor]:
            batch = tools.to_device(batch, torch.device("cpu"))
            found = criterion(batch, model(*batch[2:]))
            optimizer.zero_grad()
            found[0].backward()
            optimizer.step()
            return dict(zip(("total", "mel", "postnet", "pitch", "energy", "duration"), found, strict=True))

        return step

    def train_on(examples: Any) -> Any:
        if examples is not theirs:
            # The model's buckets of pitch and energy end at the least and the largest value of the data.
            statistics = run.scratch / "built" / "stats.json"
            statistics.write_text(json.dumps(examples.statistics), encoding="utf-8")
        rows = [[examples[i] if examples is theirs else examples.get_example(i) for i in some] for some in run.batches]
        return losses(make, [examples.collate_fn(some)[0] for some in rows])

    stores = {
        "what `prepare_align` wrote": build(run, "of-raw", run.scratch / "raw" / SPEAKER),
        "recordings": build(run, "of-recordings", run.corpus / "wavs", "--preset", "fastspeech2"),
    }
    expected = train_on(theirs)
    found = {}
    for kind, store in stores.items():
        places = {uid: i for i, uid in enumerate(store.id)}
        ordered = store.select([places[uid] for uid in theirs.basename])
        found[kind] = [expected, train_on(FastSpeech2Dataset(ordered, batch_size=BATCH, settings="any"))]
    return found
