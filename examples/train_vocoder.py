"""Train a small vocoder on a CPU with random segments of 32 frames, and resynthesize a recording with it.

    tts-prep demo demo
    tts-prep ljspeech demo/corpus store --preset hifigan --waveform int16
    tts-prep check store --ids suspects.txt
    python examples/train_vocoder.py store --exclude suspects.txt --epochs 60

The model predicts magnitude and phase of a short-time Fourier transform, as Vocos (Siuzdak 2023) does, but has no
discriminators. The loss is the mean distance of log magnitudes at three resolutions.
"""

from __future__ import annotations

import argparse
import wave
from pathlib import Path

import numpy as np
import torch

from tts_prep.loader import DataLoader, RandomSampler, SegmentCollator, UtteranceDataset


class Vocoder(torch.nn.Module):
    def __init__(self, n_mels, n_fft, hop_length, width=192):
        super().__init__()
        self.n_fft, self.hop_length = n_fft, hop_length
        self.first = torch.nn.Conv1d(n_mels, width, 7, padding=3)
        self.blocks = torch.nn.ModuleList(
            torch.nn.Sequential(
                torch.nn.Conv1d(width, width, 7, padding=3, groups=width),
                torch.nn.Conv1d(width, 2 * width, 1),
                torch.nn.GELU(),
                torch.nn.Conv1d(2 * width, width, 1),
            )
            for _ in range(3)
        )
        self.last = torch.nn.Conv1d(width, n_fft + 2, 1)
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, mel):
        """Return waveforms [B, T · hop_length] of mels [B, T, n_mels] in HiFi-GAN's framing."""
        hidden = self.first(mel.mT)
        for block in self.blocks:
            hidden = hidden + block(hidden)
        log_magnitude, phase = self.last(hidden).chunk(2, dim=1)
        spectrum = torch.polar(torch.exp(log_magnitude.clamp(max=6)), phase)
        # The centre of frame t is at sample (t + 1/2) · hop_length, where torch.istft has t · hop_length.
        length = (mel.shape[1] - 1) * self.hop_length
        waveform = torch.istft(spectrum, self.n_fft, self.hop_length, window=self.window, length=length)
        return torch.nn.functional.pad(waveform, (self.hop_length // 2, self.hop_length - self.hop_length // 2))


def loss_of(found, true):
    """Return the mean distance of log magnitudes, with windows of 512, 1,024 and 2,048 samples."""
    distances = []
    for n_fft in (512, 1024, 2048):
        window = torch.hann_window(n_fft)
        a, b = (
            torch.stft(x, n_fft, n_fft // 4, window=window, return_complex=True).abs().clamp(min=1e-3).log()
            for x in (found, true)
        )
        distances.append((a - b).abs().mean())
    return torch.stack(distances).mean()


def make_loader(dataset, training):
    # Validation always sees the same segments.
    collate = SegmentCollator(frames=32, segments=4, redraw=training, normalize="corpus")
    sampler = RandomSampler(dataset, seed=0) if training else None
    return DataLoader(dataset, batch_size=8, sampler=sampler, collate_fn=collate, output="torch")


def validate(model, loader):
    with torch.no_grad():
        losses = [loss_of(model(batch.mel), batch.waveform) for batch in loader]
    return float(torch.stack(losses).mean())


def train(store, epochs, valid_size=8, exclude=()):
    """Return the model, the utterances for validation, and the validation loss before and after each epoch."""
    torch.manual_seed(0)
    dataset = UtteranceDataset(store).filter(lambda m: ~m.id.isin(exclude))
    valid, rest = dataset.split(valid_size, seed=0)
    model = Vocoder(dataset.n_mels, dataset.metadata.audio_settings["n_fft"], dataset.hop_length)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    train_loader, valid_loader = make_loader(rest, True), make_loader(valid, False)
    history = [validate(model, valid_loader)]
    for epoch in range(epochs):
        for batch in train_loader:
            loss = loss_of(model(batch.mel), batch.waveform)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        history.append(validate(model, valid_loader))
        print(f"epoch {epoch}: validation loss {history[-1]:.3f}, {history[0]:.3f} at the beginning")
    return model, valid, history


def write_speech(model, utterance, dataset, path):
    """Write the vocoder's version of an utterance as a WAV file."""
    mel = (utterance.mel - dataset.mel_mean) / dataset.mel_std
    with torch.no_grad():
        waveform = model(torch.from_numpy(np.asarray(mel, np.float32))[None])[0].numpy()
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, dataset.sample_rate, 0, "NONE", ""))
        file.writeframes((waveform.clip(-1, 1) * 32767).astype("<i2").tobytes())


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--output", type=Path, default=Path("vocoder.wav"))
    parser.add_argument("--exclude", type=Path, help="a file with an id per line")
    options = parser.parse_args(arguments)
    exclude = options.exclude.read_text("utf-8").split("\n") if options.exclude else ()
    model, valid, _ = train(options.store, options.epochs, exclude=exclude)
    write_speech(model, valid[0], valid, options.output)
    print(f"{options.output}: {valid[0].id}, which the vocoder has not been trained on")


if __name__ == "__main__":
    main()
