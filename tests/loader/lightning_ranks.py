"""Train with Lightning in two processes, and write the utterances of each."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import lightning
import torch

from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(5, 1)
        self.seen = []

    def training_step(self, batch, batch_idx):
        self.seen.append([self.current_epoch, batch.indices.tolist()])
        return self.layer(batch.mel).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.001)

    def train_dataloader(self):
        dataset = UtteranceDataset(sys.argv[1])
        sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=20, rank="auto")
        return DataLoader(dataset, batch_sampler=sampler, output="torch")

    def on_train_end(self):
        Path(sys.argv[2], f"{self.global_rank}.json").write_text(json.dumps(self.seen))


if __name__ == "__main__":
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=2,
        reload_dataloaders_every_n_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(Module())
