"""Train a small text-to-mel model on a CPU: length buckets, validation, and a checkpoint to go on from in mid-epoch.

    tts-prep demo demo
    python examples/train_text_to_mel.py demo/store --epochs 30
    python examples/train_text_to_mel.py demo/store --epochs 40     # goes on from the checkpoint

The model sees where each frame lies in its utterance, and the phoneme that stands there if all were equally long. That
is a poor aligner and no way to make speech; the loss falls all the same, and the loader does what a real run needs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from tts_prep.loader import Collator, DataLoader, LengthBucketBatchSampler, UtteranceDataset


class TextToMel(torch.nn.Module):
    def __init__(self, n_symbols, n_mels, width=128):
        super().__init__()
        self.embedding = torch.nn.Embedding(n_symbols, width)
        self.encoder = torch.nn.Conv1d(width, width, 5, padding=2)
        self.decoder = torch.nn.Sequential(
            torch.nn.Conv1d(width + 1, width, 5, padding=2),
            torch.nn.ReLU(),
            torch.nn.Conv1d(width, width, 5, padding=2),
            torch.nn.ReLU(),
            torch.nn.Conv1d(width, n_mels, 1),
        )

    def forward(self, phonemes, phoneme_lengths, mel_lengths, n_frames):
        encoded = torch.relu(self.encoder(self.embedding(phonemes).transpose(1, 2)))
        place = torch.arange(n_frames)[None] / mel_lengths[:, None]
        which = (place * phoneme_lengths[:, None]).long().clamp(max=phonemes.shape[1] - 1)
        stretched = encoded.gather(2, which[:, None].expand(-1, encoded.shape[1], -1))
        return self.decoder(torch.cat([stretched, place[:, None]], dim=1)).transpose(1, 2)


def loss_of(model, batch):
    predicted = model(batch.phonemes, batch.phoneme_lengths, batch.mel_lengths, batch.mel.shape[1])
    real = torch.arange(batch.mel.shape[1])[None] < batch.mel_lengths[:, None]
    return (predicted - batch.mel).abs()[real].mean()


def make_loader(dataset, max_frames, shuffle):
    sampler = LengthBucketBatchSampler(
        dataset.n_frames, max_frames=max_frames, shuffle=shuffle, tolerance=0.3, longest_first=shuffle
    )
    return DataLoader(dataset, batch_sampler=sampler, collate_fn=Collator(normalize="corpus"), output="torch")


def validate(model, loader):
    with torch.no_grad():
        losses = [float(loss_of(model, batch)) * int(batch.mel_lengths.sum()) for batch in loader]
    return sum(losses) / sum(int(batch.mel_lengths.sum()) for batch in loader)


def train(store, checkpoint, epochs, max_frames=4000, valid_size=8, stop_after=None):
    """Return the validation loss after each epoch that was finished; stop early after so many steps."""
    torch.manual_seed(0)
    valid, rest = UtteranceDataset(store).split(valid_size)
    train_loader, valid_loader = make_loader(rest, max_frames, True), make_loader(valid, max_frames, False)
    model = TextToMel(len(rest.symbols), rest.n_mels)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    if checkpoint.is_file():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        train_loader.load_state_dict(state["loader"])
        print(f"{checkpoint}: goes on in epoch {train_loader.epoch}, {len(train_loader)} batches are left of it")

    def save():
        torch.save(
            {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": train_loader.state_dict()},
            checkpoint,
        )

    steps = 0
    history = []
    for epoch in range(train_loader.epoch, epochs):
        train_loader.set_epoch(epoch)
        for batch in train_loader:
            loss = loss_of(model, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
            if steps == stop_after:
                save()
                return history
        history.append(validate(model, valid_loader))
        print(f"epoch {epoch}: training loss {float(loss.detach()):.3f}, validation loss {history[-1]:.3f}")
        save()
    return history


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("--checkpoint", type=Path, default=Path("text_to_mel.pt"))
    parser.add_argument("--epochs", type=int, default=30)
    options = parser.parse_args(arguments)
    train(options.store, options.checkpoint, options.epochs)


if __name__ == "__main__":
    main()
