"""Piper: its dataset, collate function, model and losses, from the exported list."""

from __future__ import annotations

from typing import Any

import torch
from runs import Run, Trainer, losses, package

from tts_prep.export import export
from tts_prep.preprocess.configuration.records import TextConfig
from tts_prep.recipes import PiperCollate, PiperDataset


def compare(run: Run) -> Any:
    # Of its package is what it compiles for espeak-ng, of the checkout what is compiled to train.
    training = package(run.sources, "piper.train.vits")
    training.__path__.insert(0, str(run.sources / "piper1-gpl" / "src" / "piper" / "train" / "vits"))
    data, lightning = (package(run.sources, f"piper.train.vits.{name}") for name in ("dataset", "lightning"))
    store = run.store("piper", text=TextConfig(symbols="piper", blanks="between"))
    export(store, "piper", run.scratch / "piper-list")
    module = data.VitsDataModule(
        csv_path=run.scratch / "piper-list" / "metadata.csv", audio_dir=run.corpus / "wavs",
        cache_dir=run.scratch / "piper-cache", config_path=run.scratch / "piper.json", espeak_voice="en-us",
        voice_name="voice", dataset_type="phoneme_ids", trim_silence=False, num_workers=0,
        validation_split=0, num_test_examples=0,
    )  # fmt: skip
    module.prepare_data()
    module.setup("fit")

    def make() -> Trainer:
        model = lightning.VitsModel(
            mos_metric=None, hidden_channels=32, inter_channels=32, filter_channels=64, n_layers=1,
            upsample_initial_channel=64,
        )  # fmt: skip
        (generator, discriminator), _ = model.train().configure_optimizers()

        def step(batch: Any) -> dict[str, torch.Tensor]:
            # What `training_step` does, but for its log.
            loss_g, loss_d, _ = model._compute_loss(batch)
            for optimizer, loss in ((generator, loss_g), (discriminator, loss_d)):
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return {"generator": loss_g, "discriminator": loss_d}

        return step

    sides = [
        losses(make, [collate(False, 8192)([side[i] for i in rows]) for rows in run.batches])
        for side, collate in (
            (module.train_dataset.dataset, data.UtteranceCollate),
            (PiperDataset(store), PiperCollate),
        )
    ]
    return {"utterances": sides}
