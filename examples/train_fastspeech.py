"""Train a small FastSpeech-like model on a CPU: phonemes to durations, pitch and mel, all from a store with features.

    python examples/train_fastspeech.py work --epochs 20

It speaks the demo corpus, whose TextGrids are exact, makes a store with the aligner's phones, durations and pitch, and
trains. It ends by printing validation losses beside those of predicting the training set's mean.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from tts_prep.demo.corpus import make_demo_corpus
from tts_prep.loader import Collator, DataLoader, LengthBucketBatchSampler, UtteranceDataset
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.corpora import read_ljspeech
from tts_prep.preprocess.features.alignments.alignment import AlignmentConfig, AlignmentFolder
from tts_prep.preprocess.features.alignments.applying import Alignments
from tts_prep.preprocess.features.alignments.textgrid import read_textgrid
from tts_prep.preprocess.features.registry import make_feature
from tts_prep.preprocess.runs.prepare import prepare

PITCH_SCALE = 100.0


def make_store(work, limit, algorithm):
    """Speak the demo corpus and make a store whose phonemes are the phones of its TextGrids."""
    corpus, store = work / "corpus", work / "store"
    make_demo_corpus(corpus)
    grids = corpus / "TextGrid"
    labels = sorted({phone.label for path in grids.iterdir() for phone in read_textgrid(path)} - {""})
    settings = {"phonemes": "alignment"}
    config = Configuration(
        limit=limit,
        mel=PRESETS["hifigan"],
        text=TextConfig("phonemes", normalize=False, symbols=("<pad>", "sp", *labels)),
        alignments=AlignmentConfig(**settings).as_dict(),
    )
    features = [
        make_feature("durations", settings, config.mel, grids),
        make_feature("pitch", {"unvoiced": "interpolated", "algorithm": algorithm}, config.mel),
    ]
    alignments = Alignments(AlignmentFolder.open(grids), AlignmentConfig(**settings))
    prepare(read_ljspeech(corpus), corpus, store, config, features=features, alignments=alignments)
    return UtteranceDataset(store)


class FastSpeech(torch.nn.Module):
    def __init__(self, n_symbols, n_mels, width=96):
        super().__init__()
        self.embedding = torch.nn.Embedding(n_symbols, width)
        self.encoder = torch.nn.Conv1d(width, width, 5, padding=2)
        self.durations = torch.nn.Conv1d(width, 1, 3, padding=1)
        self.pitch = torch.nn.Conv1d(width, 1, 5, padding=2)
        self.decoder = torch.nn.Sequential(
            torch.nn.Conv1d(width + 2, width, 5, padding=2),
            torch.nn.ReLU(),
            torch.nn.Conv1d(width, width, 5, padding=2),
            torch.nn.ReLU(),
            torch.nn.Conv1d(width, n_mels, 1),
        )

    def forward(self, batch):
        """Return log-durations [B, L], pitch [B, T] and mel [B, T, n_mels]; durations and pitch are the true ones."""
        encoded = torch.relu(self.encoder(self.embedding(batch.phonemes).transpose(1, 2)))
        ends = torch.cumsum(batch.durations, 1)
        frames = torch.arange(batch.mel.shape[1])
        which = torch.searchsorted(ends, frames.expand(len(ends), -1).contiguous(), right=True)
        which = which.clamp(max=ends.shape[1] - 1)
        stretched = encoded.gather(2, which[:, None].expand(-1, encoded.shape[1], -1))
        inside = (ends.gather(1, which) - frames) / batch.durations.gather(1, which).clamp(min=1)
        pitch = batch.pitch / PITCH_SCALE
        mel = self.decoder(torch.cat([stretched, inside[:, None], pitch[:, None]], dim=1)).transpose(1, 2)
        return self.durations(encoded)[:, 0], self.pitch(stretched)[:, 0], mel


def targets(batch):
    """Return what is predicted, each with the mask of what counts."""
    real = torch.arange(batch.mel.shape[1])[None] < batch.mel_lengths[:, None]
    spoken = torch.arange(batch.phonemes.shape[1])[None] < batch.phoneme_lengths[:, None]
    return (torch.log1p(batch.durations.float()), spoken), (batch.pitch / PITCH_SCALE, real), (batch.mel, real)


def losses_of(predicted, batch):
    return [((found - true)[mask] ** 2).mean() for found, (true, mask) in zip(predicted, targets(batch), strict=True)]


def make_loader(dataset, shuffle):
    sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=3000, shuffle=shuffle, tolerance=0.3)
    collate = Collator(normalize="corpus", arrays=("durations", "pitch"))
    return DataLoader(dataset, batch_sampler=sampler, collate_fn=collate, output="torch")


def mean_of(rows):
    return [sum(values) / len(rows) for values in zip(*rows, strict=True)]


def train(dataset, epochs):
    """Return validation losses of the model and of the mean predictor, each for durations, pitch and mel."""
    torch.manual_seed(0)
    # Utterances of all manners of speaking in both.
    valid = dataset.select([i for i in range(len(dataset)) if i % 8 == 3])
    training = dataset.select([i for i in range(len(dataset)) if i % 8 != 3])
    model = FastSpeech(len(dataset.symbols), dataset.n_mels)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    loader, checking = make_loader(training, True), make_loader(valid, False)
    for _ in range(epochs):
        for batch in loader:
            loss = sum(losses_of(model(batch), batch))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        seen = [targets(batch) for batch in loader]
        # One number for durations and pitch, one for each mel bin.
        means = [torch.cat([batch[i][0][batch[i][1]] for batch in seen]).mean(0) for i in range(3)]
        found = mean_of([[float(loss) for loss in losses_of(model(batch), batch)] for batch in checking])
        constant = [[means[i].expand_as(true) for i, (true, _) in enumerate(targets(batch))] for batch in checking]
        plain = mean_of(
            [[float(x) for x in losses_of(mean, batch)] for mean, batch in zip(constant, checking, strict=True)]
        )
    return found, plain


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--algorithm", default="dio")
    options = parser.parse_args()
    dataset = make_store(options.work, options.limit, options.algorithm)
    found, plain = train(dataset, options.epochs)
    for name, loss, mean in zip(("durations", "pitch", "mel"), found, plain, strict=True):
        print(f"{name}: validation loss {loss:.4f}, of the mean {mean:.4f}")
    print(f"all: validation loss {sum(found):.4f}, of the mean {sum(plain):.4f}")


if __name__ == "__main__":
    main()
