"""Train a small FastSpeech-like model on a CPU: phonemes to durations, pitch and mel, all from a store with features.

    python examples/train_fastspeech.py work --epochs 20

The script synthesizes the demo corpus, whose TextGrids are exact, makes a store with their phones, durations and pitch,
leaves out the suspects of a check, and trains. At the end, it prints the validation losses, and for comparison those of
predicting the mean of the training set.

The corpus has five voices of different pitch, so the speaker is an input of the model. Pitch is normalized by the
corpus; the loss has the pitch of voiced frames only, because that of the others is interpolated.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import torch
from praatio import textgrid

from tts_prep.loader import ArrayNormalizer, Collator, DataLoader, LengthBucketBatchSampler, UtteranceDataset

# The demo corpus cycles through five voices; its layout, LJ Speech's, does not say so.
VOICES = ("en-us", "en-us+f3", "en-us+m3", "en-us+f2", "en-us+m7")


def make_store(work, limit, algorithm):
    """Speak the demo corpus and make a store whose phonemes are the phones of its TextGrids."""
    tts_prep("demo", work / "demo", "--quiet")
    corpus, store, names, symbols = work / "demo/corpus", work / "store", work / "list.txt", work / "symbols.txt"
    rows = [line.split("|") for line in (corpus / "metadata.csv").read_text("utf-8").splitlines()]
    lines = [f"{name}.wav|{text}|{VOICES[i % len(VOICES)]}\n" for i, (name, _, text) in enumerate(rows)]
    names.write_text("".join(lines), "utf-8")
    grids = [textgrid.openTextgrid(str(path), False) for path in (corpus / "TextGrid").iterdir()]
    labels = {phone.label for grid in grids for phone in grid.getTier("phones").entries}
    symbols.write_text("".join(f"{label}\n" for label in ("<pad>", "sp", *sorted(labels))), "utf-8")
    command = ["filelist", names, store, "--root", corpus / "wavs", "--columns", "path|text|speaker"]
    command += ["--preset", "hifigan", "--frontend", "phonemes", "--no-normalize", "--symbols", symbols]
    command += ["--waveform", "int16", "--alignments", corpus / "TextGrid", "--feature", "durations:phonemes=alignment"]
    # Above 400 Hz, these voices have octave errors only.
    command += ["--feature", f"pitch:unvoiced=interpolated,algorithm={algorithm},ceiling=400"]
    tts_prep(*command, "--quiet", *(["--limit", limit] if limit else []))
    # Some recordings have planted faults.
    tts_prep("check", store, "--ids", work / "suspects.txt", "--quiet")
    suspects = (work / "suspects.txt").read_text("utf-8").split("\n")
    return UtteranceDataset(store).filter(lambda m: ~m.id.isin(suspects))


def tts_prep(*arguments):
    subprocess.run([sys.executable, "-m", "tts_prep", *map(str, arguments)], check=True)


class FastSpeech(torch.nn.Module):
    def __init__(self, dataset, width=96):
        super().__init__()
        self.pitch_normalizer = ArrayNormalizer.of(dataset, "pitch")
        self.embedding = torch.nn.Embedding(len(dataset.symbols), width)
        self.speakers = torch.nn.Embedding(len(dataset.speakers), width)
        self.encoder = torch.nn.Conv1d(width, width, 5, padding=2)
        self.durations = torch.nn.Conv1d(width, 1, 3, padding=1)
        self.pitch = torch.nn.Conv1d(width, 1, 5, padding=2)
        self.decoder = torch.nn.Sequential(
            torch.nn.Conv1d(width + 2, width, 5, padding=2),
            torch.nn.ReLU(),
            torch.nn.Conv1d(width, width, 5, padding=2),
            torch.nn.ReLU(),
            torch.nn.Conv1d(width, dataset.n_mels, 1),
        )

    def forward(self, batch):
        """Return log-durations [B, L], pitch [B, T] and mel [B, T, n_mels]; durations and pitch are the true ones."""
        encoded = torch.relu(self.encoder(self.embedding(batch.phonemes).transpose(1, 2)))
        encoded = encoded + self.speakers(batch.speakers)[:, :, None]
        ends = torch.cumsum(batch.durations, 1)
        frames = torch.arange(batch.mel.shape[1])
        which = torch.searchsorted(ends, frames.expand(len(ends), -1).contiguous(), right=True)
        which = which.clamp(max=ends.shape[1] - 1)
        stretched = encoded.gather(2, which[:, None].expand(-1, encoded.shape[1], -1))
        inside = (ends.gather(1, which) - frames) / batch.durations.gather(1, which).clamp(min=1)
        pitch = self.normalized_pitch(batch)
        mel = self.decoder(torch.cat([stretched, inside[:, None], pitch[:, None]], dim=1)).transpose(1, 2)
        return self.durations(encoded)[:, 0], self.pitch(stretched)[:, 0], mel

    def normalized_pitch(self, batch):
        return torch.from_numpy(self.pitch_normalizer.transform(batch.pitch))

    def losses(self, batch):
        return losses_of(self(batch), self.targets(batch))

    def targets(self, batch):
        """Return the targets, each with the mask of the values that the loss includes."""
        real = torch.arange(batch.mel.shape[1])[None] < batch.mel_lengths[:, None]
        spoken = torch.arange(batch.phonemes.shape[1])[None] < batch.phoneme_lengths[:, None]
        voiced = batch.arrays["voiced"] > 0
        durations = torch.log1p(batch.durations.float())
        return (durations, spoken), (self.normalized_pitch(batch), voiced), (batch.mel, real)


def losses_of(predicted, targets):
    return [((found - true)[mask] ** 2).mean() for found, (true, mask) in zip(predicted, targets, strict=True)]


def make_loader(dataset, shuffle):
    sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=3000, shuffle=shuffle, tolerance=0.3)
    collate = Collator(normalize="corpus", arrays=("durations", "pitch", "voiced"))
    return DataLoader(dataset, batch_sampler=sampler, collate_fn=collate, output="torch")


def mean_of(rows):
    return [sum(values) / len(rows) for values in zip(*rows, strict=True)]


def train(dataset, epochs):
    """Return validation losses of the model and of the mean predictor, each for durations, pitch and mel."""
    torch.manual_seed(0)
    # Utterances of all manners of speaking in both.
    valid = dataset.select([i for i in range(len(dataset)) if i % 8 == 3])
    training = dataset.select([i for i in range(len(dataset)) if i % 8 != 3])
    model = FastSpeech(dataset)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    loader, checking = make_loader(training, True), make_loader(valid, False)
    for _ in range(epochs):
        for batch in loader:
            loss = sum(model.losses(batch))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        seen = [model.targets(batch) for batch in loader]
        # One number for durations and pitch, one for each mel bin.
        means = [torch.cat([batch[i][0][batch[i][1]] for batch in seen]).mean(0) for i in range(3)]
        found = mean_of([[float(loss) for loss in model.losses(batch)] for batch in checking])
        true = [model.targets(batch) for batch in checking]
        constant = [[means[i].expand_as(values) for i, (values, _) in enumerate(batch)] for batch in true]
        losses = [losses_of(mean, batch) for mean, batch in zip(constant, true, strict=True)]
        plain = mean_of([[float(loss) for loss in batch] for batch in losses])
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
