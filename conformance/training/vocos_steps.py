"""Vocos: its dataset, and its ``VocosExp`` with a small backbone."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import soundfile
import torch
import torchaudio
from recipes import Given
from runs import Run, Trainer, losses, package, read_audio

from tts_prep.preprocess import add_columns
from tts_prep.recipes import VocosDataset

SAMPLES = 16_384


def norm(y: torch.Tensor, rate: int, effects: list[list[str]]) -> tuple[torch.Tensor, int]:
    """Let the program do what torchaudio's library did where it had it."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "a.wav", Path(folder) / "b.wav"
        soundfile.write(before, y[0].numpy(), rate, subtype="FLOAT")
        command = ["sox", str(before), "-e", "floating-point", "-b", "32", str(after), *effects[0]]
        subprocess.run(command, check=True)
        return torch.from_numpy(soundfile.read(after, dtype="float32")[0])[None], rate


def compare(run: Run) -> Any:
    folder = run.sources / "vocos"
    module = package(folder, "vocos.dataset")
    experiment, extractors, models, heads = (
        package(folder, f"vocos.{name}") for name in ("experiment", "feature_extractors", "models", "heads")
    )
    store = run.store("vocos")
    module.torchaudio = SimpleNamespace(
        load=read_audio, functional=torchaudio.functional, sox_effects=SimpleNamespace(apply_effects_tensor=norm)
    )
    texts = dict.fromkeys(run.ids, "")
    lists = [run.write_list(name, folder, texts) for name, folder in (("theirs", run.corpus / "wavs"), ("ours", store))]
    for path in lists:
        path.write_text(path.read_text(encoding="utf-8").replace("|", ""), encoding="utf-8")
    # What its users do who want the level of each recording, not that of what is resampled.
    peaks = [float(read_audio(run.wav(uid))[0].abs().max()) for uid in run.ids]
    add_columns(store, {"id": run.ids, "recording_peak": peaks})
    settings = [SimpleNamespace(filelist_path=path, sampling_rate=24_000, num_samples=SAMPLES) for path in lists]
    theirs = module.VocosDataset(settings[0], True)
    ours, levelled = (VocosDataset(settings[1], True, peak=peak) for peak in (None, "recording_peak"))
    columns: list[list[torch.Tensor]] = [[], [], []]
    for i in range(len(run.ids)):
        audio = ours.utterances[i].audio
        gain, start = ours.draw(i, len(audio))
        module.np = SimpleNamespace(random=Given(gain, start))
        columns[0].append(theirs[i])
        columns[1].append(ours[i])
        columns[2].append(levelled[i])

    class Experiment(experiment.VocosExp):
        """As it is without a trainer and its logs."""

        global_rank, global_step = 1, 0

        def log(self, *_: Any, **__: Any) -> None:
            pass

    def make() -> Trainer:
        model = Experiment(
            extractors.MelSpectrogramFeatures(), models.VocosBackbone(100, 32, 64, 2),
            heads.ISTFTHead(32, 1024, 256, "center"), 24_000, 5e-4, mrd_loss_coeff=0.1,
        )  # fmt: skip
        model.train_discriminator = True
        made = [model.feature_extractor, model.backbone, model.head]
        judges = [model.multiperioddisc, model.multiresddisc]
        optimizers = [
            torch.optim.AdamW([p for part in parts for p in part.parameters()], 5e-4, betas=(0.8, 0.9))
            for parts in (judges, made)
        ]

        def step(batch: Any) -> dict[str, torch.Tensor]:
            found = {}
            for index, optimizer in enumerate(optimizers):
                found[("discriminator", "generator")[index]] = loss = model.training_step(batch, 0, index)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return found

        return step

    expected, plain, with_peaks = (
        losses(make, [torch.stack([column[i] for i in rows]) for rows in run.batches]) for column in columns
    )
    return {"segments": [expected, plain], "segments, `peak` of the recordings": [expected, with_peaks]}
