"""Mel spectrograms with librosa, joblib and one .npy an utterance: the script that many people have.

    python benchmarks/baseline_librosa.py CORPUS FOLDER --jobs 2

Every utterance is read, scaled to a peak of 0.999 and saved as the natural log of its mel spectrogram
[n_frames, 80] float32: 22,050 Hz, 1024/256, 0 to 8,000 Hz. There are no phonemes, checks or checksums.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import librosa
import numpy as np
from joblib import Parallel, delayed, parallel_config

SAMPLE_RATE = 22_050
N_FFT = 1024
HOP_LENGTH = 256


def compute(wav: Path, output: Path, mel_basis: np.ndarray) -> None:
    waveform, _ = librosa.load(wav, sr=SAMPLE_RATE)
    waveform = waveform / np.abs(waveform).max() * 0.999
    spectrum = np.abs(librosa.stft(waveform, n_fft=N_FFT, hop_length=HOP_LENGTH, center=True, pad_mode="reflect"))
    mel = np.log(np.maximum(mel_basis @ spectrum, 1e-5))
    np.save(output, np.ascontiguousarray(mel.T, dtype=np.float32))


def main() -> None:
    parser = argparse.ArgumentParser(description="Mel spectrograms with librosa and joblib.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True)
    with (arguments.corpus / "metadata.csv").open(encoding="utf-8") as file:
        names = [line.split("|")[0] for line in file]
    mel_basis = librosa.filters.mel(sr=SAMPLE_RATE, n_fft=N_FFT, n_mels=80, fmin=0, fmax=8000)
    with parallel_config("loky", n_jobs=arguments.jobs, inner_max_num_threads=1):
        Parallel()(
            delayed(compute)(arguments.corpus / "wavs" / f"{name}.wav", arguments.folder / f"{name}.npy", mel_basis)
            for name in names
        )


if __name__ == "__main__":
    main()
