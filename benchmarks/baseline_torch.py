"""Mel spectrograms with torch.stft, joblib and one .npy an utterance: the other script that people have.

    python benchmarks/baseline_torch.py CORPUS FOLDER --jobs 2 [--phonemes]

The same mels as baseline_librosa.py, from float32 samples read with soundfile. It needs torch, soundfile, joblib
and, for the filter bank only, librosa: see command.py for an environment of its own.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from corpus import Row, phonemize, read_rows, require

require("torch", "librosa", "soxr")

import librosa
import numpy as np
import soundfile
import soxr
import torch
from joblib import Parallel, delayed, parallel_config

SAMPLE_RATE = 22_050
N_FFT = 1024
HOP_LENGTH = 256


def compute(row: Row, folder: Path, mel_basis: torch.Tensor, window: torch.Tensor, phonemes: bool) -> None:
    torch.set_num_threads(1)
    samples, sample_rate = soundfile.read(row.path, dtype="float32")
    if sample_rate != SAMPLE_RATE:
        samples = soxr.resample(samples, sample_rate, SAMPLE_RATE)
    waveform = torch.from_numpy(samples)
    waveform = waveform / waveform.abs().max() * 0.999
    spectrum = torch.stft(
        waveform, N_FFT, HOP_LENGTH, window=window, center=True, pad_mode="reflect", return_complex=True
    )
    # Three times as fast as abs() of a complex tensor.
    magnitude = torch.sqrt(spectrum.real.square() + spectrum.imag.square())
    mel = torch.log(torch.clamp(mel_basis @ magnitude, min=1e-5))
    np.save(folder / f"{row.name}.npy", mel.T.contiguous().numpy())
    if phonemes:
        (folder / f"{row.name}.txt").write_text(phonemize(row.text), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Mel spectrograms with torch.stft and joblib.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--phonemes", action="store_true")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True)
    mel_basis = torch.from_numpy(librosa.filters.mel(sr=SAMPLE_RATE, n_fft=N_FFT, n_mels=80, fmin=0, fmax=8000))
    window = torch.hann_window(N_FFT)
    with parallel_config("loky", n_jobs=arguments.jobs, inner_max_num_threads=1):
        Parallel()(
            delayed(compute)(row, arguments.folder, mel_basis, window, arguments.phonemes)
            for row in read_rows(arguments.corpus)
        )


if __name__ == "__main__":
    main()
