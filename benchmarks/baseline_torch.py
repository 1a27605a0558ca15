"""Mel spectrograms with torch.stft, joblib and one .npy an utterance: the other script that people have.

    python benchmarks/baseline_torch.py CORPUS FOLDER --jobs 2

The same mels as baseline_librosa.py, from float32 samples read with soundfile. It needs torch, soundfile, joblib
and, for the filter bank only, librosa: see command.py for an environment of its own.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import librosa
import numpy as np
import soundfile
import torch
from joblib import Parallel, delayed, parallel_config

SAMPLE_RATE = 22_050
N_FFT = 1024
HOP_LENGTH = 256


def compute(wav: Path, output: Path, mel_basis: torch.Tensor, window: torch.Tensor) -> None:
    torch.set_num_threads(1)
    samples, sample_rate = soundfile.read(wav, dtype="float32")
    if sample_rate != SAMPLE_RATE:
        raise ValueError(f"{wav.name}: {sample_rate} Hz, expected {SAMPLE_RATE} Hz")
    waveform = torch.from_numpy(samples)
    waveform = waveform / waveform.abs().max() * 0.999
    spectrum = torch.stft(
        waveform, N_FFT, HOP_LENGTH, window=window, center=True, pad_mode="reflect", return_complex=True
    )
    # Three times as fast as abs() of a complex tensor.
    magnitude = torch.sqrt(spectrum.real.square() + spectrum.imag.square())
    mel = torch.log(torch.clamp(mel_basis @ magnitude, min=1e-5))
    np.save(output, mel.T.contiguous().numpy())


def main() -> None:
    parser = argparse.ArgumentParser(description="Mel spectrograms with torch.stft and joblib.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True)
    with (arguments.corpus / "metadata.csv").open(encoding="utf-8") as file:
        names = [line.split("|")[0] for line in file]
    mel_basis = torch.from_numpy(librosa.filters.mel(sr=SAMPLE_RATE, n_fft=N_FFT, n_mels=80, fmin=0, fmax=8000))
    window = torch.hann_window(N_FFT)
    with parallel_config("loky", n_jobs=arguments.jobs, inner_max_num_threads=1):
        Parallel()(
            delayed(compute)(
                arguments.corpus / "wavs" / f"{name}.wav", arguments.folder / f"{name}.npy", mel_basis, window
            )
            for name in names
        )


if __name__ == "__main__":
    main()
