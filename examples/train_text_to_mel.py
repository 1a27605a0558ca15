"""Train a small text-to-mel model on a CPU: alignment, length buckets, validation, and resuming in mid-epoch.

    tts-prep demo demo
    tts-prep ljspeech demo/corpus store --preset hifigan --waveform int16
    tts-prep check store --ids suspects.txt
    python examples/train_text_to_mel.py store --exclude suspects.txt --epochs 20
    python examples/train_text_to_mel.py store --exclude suspects.txt --epochs 30     # resumes from the checkpoint

No durations are needed: monotonic alignment search assigns frames to phonemes, as in Glow-TTS (Kim et al. 2020) and
Matcha-TTS. The validation loss is that of the mel with the alignment of the recording; predicting the mean of the
corpus has a loss of 1.0.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from tts_prep.loader import Collator, DataLoader, LengthBucketBatchSampler, UtteranceDataset


def align(costs, n_phonemes, n_frames):
    """Return the phoneme of each frame, [B, T] int64, so that the sum of costs is the least.

    The first frame belongs to the first phoneme and the last to the last; none is skipped, and none comes twice.

    Args:
        costs: [B, L, T].
        n_phonemes, n_frames: [B] int64, at least as many frames as phonemes.
    """
    size, length, longest = costs.shape
    least = np.full((size, length), np.inf)
    least[:, 0] = costs[:, 0, 0]
    moved = np.zeros((longest, size, length), bool)
    before = np.full_like(least, np.inf)
    for frame in range(1, longest):
        before[:, 1:] = least[:, :-1]
        moved[frame] = before < least
        least = np.where(moved[frame], before, least) + costs[:, :, frame]
    phonemes = np.empty((size, longest), np.int64)
    phoneme = n_phonemes - 1
    for frame in range(longest - 1, -1, -1):
        phonemes[:, frame] = phoneme
        phoneme = phoneme - ((frame < n_frames) & moved[frame, np.arange(size), phoneme])
    return phonemes


class TextToMel(torch.nn.Module):
    def __init__(self, n_symbols, n_mels, width=96):
        super().__init__()
        self.embedding = torch.nn.Embedding(n_symbols, width)
        self.encoder = torch.nn.Conv1d(width, width, 5, padding=2)
        self.mean = torch.nn.Conv1d(width, n_mels, 1)
        self.decoder = torch.nn.Sequential(
            torch.nn.Conv1d(width, width, 5, padding=2),
            torch.nn.ReLU(),
            torch.nn.Conv1d(width, width, 5, padding=2),
            torch.nn.ReLU(),
            torch.nn.Conv1d(width, n_mels, 1),
        )

    def forward(self, batch):
        """Return two mels [B, T, n_mels]: the mean of each frame's phoneme, and the decoder's."""
        encoded = torch.relu(self.encoder(self.embedding(batch.phonemes).transpose(1, 2)))
        means = self.mean(encoded).transpose(1, 2)
        with torch.no_grad():
            # Squared distances but for the frame's own square, which is the same for every phoneme.
            costs = (means**2).sum(2)[:, :, None] - 2 * means @ batch.mel.transpose(1, 2)
        which = align(costs.numpy(), batch.phoneme_lengths.numpy(), batch.mel_lengths.numpy())
        which = torch.from_numpy(which)[:, :, None]
        stretched = encoded.transpose(1, 2).gather(1, which.expand(-1, -1, encoded.shape[1]))
        return means.gather(1, which.expand(-1, -1, means.shape[2])), self.decoder(stretched.mT).mT


def losses_of(model, batch):
    """Return the mean squared error of both mels."""
    real = torch.arange(batch.mel.shape[1])[None] < batch.mel_lengths[:, None]
    return [((mel - batch.mel)[real] ** 2).mean() for mel in model(batch)]


def make_loader(dataset, max_frames, shuffle):
    sampler = LengthBucketBatchSampler(
        dataset.n_frames, max_frames=max_frames, shuffle=shuffle, tolerance=0.3, longest_first=shuffle
    )
    return DataLoader(dataset, batch_sampler=sampler, collate_fn=Collator(normalize="corpus"), output="torch")


def validate(model, loader):
    with torch.no_grad():
        losses = [float(losses_of(model, batch)[1]) * int(batch.mel_lengths.sum()) for batch in loader]
    return sum(losses) / sum(int(batch.mel_lengths.sum()) for batch in loader)


def train(store, checkpoint, epochs, max_frames=4000, valid_size=8, stop_after=None, exclude=()):
    """Return the validation loss after each finished epoch; stop early after `stop_after` steps."""
    torch.manual_seed(0)
    dataset = UtteranceDataset(store).filter(lambda m: ~m.id.isin(exclude))
    valid, rest = dataset.split(valid_size, seed=0)
    train_loader, valid_loader = make_loader(rest, max_frames, True), make_loader(valid, max_frames, False)
    model = TextToMel(len(rest.symbols), rest.n_mels)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    if checkpoint.is_file():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        train_loader.load_state_dict(state["loader"])
        left = train_loader.sampler.remaining
        print(f"{checkpoint}: goes on in epoch {train_loader.epoch}, {left} batches are left of it")

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
            loss = sum(losses_of(model, batch))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
            if steps == stop_after:
                save()
                return history
        history.append(validate(model, valid_loader))
        print(f"epoch {epoch}: validation loss {history[-1]:.3f}")
        save()
    return history


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("--checkpoint", type=Path, default=Path("text_to_mel.pt"))
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--exclude", type=Path, help="a file with an id per line")
    options = parser.parse_args(arguments)
    exclude = options.exclude.read_text("utf-8").split("\n") if options.exclude else ()
    train(options.store, options.checkpoint, options.epochs, exclude=exclude)


if __name__ == "__main__":
    main()
