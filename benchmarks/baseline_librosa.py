"""Mel spectrograms with librosa, joblib and one .npy an utterance: the script that many people have.

    python benchmarks/baseline_librosa.py CORPUS FOLDER --jobs 2 [--phonemes]

Every utterance is read, scaled to a peak of 0.999 and saved as the natural log of its mel spectrogram
[n_frames, 80] float32: 22,050 Hz, 1024/256, 0 to 8,000 Hz. There are no checks or checksums; with
``--phonemes``, phonemizer's go into one text file each.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from corpus import Row, phonemize, read_rows, require

require("librosa")

import librosa
import numpy as np
from joblib import Parallel, delayed, parallel_config

SAMPLE_RATE = 22_050
N_FFT = 1024
HOP_LENGTH = 256


def compute(row: Row, folder: Path, mel_basis: np.ndarray, phonemes: bool) -> None:
    waveform, _ = librosa.load(row.path, sr=SAMPLE_RATE)
    waveform = waveform / np.abs(waveform).max() * 0.999
    spectrum = np.abs(librosa.stft(waveform, n_fft=N_FFT, hop_length=HOP_LENGTH, center=True, pad_mode="reflect"))
    mel = np.log(np.maximum(mel_basis @ spectrum, 1e-5))
    np.save(folder / f"{row.name}.npy", np.ascontiguousarray(mel.T, dtype=np.float32))
    if phonemes:
        (folder / f"{row.name}.txt").write_text(phonemize(row.text), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Mel spectrograms with librosa and joblib.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--phonemes", action="store_true")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True)
    mel_basis = librosa.filters.mel(sr=SAMPLE_RATE, n_fft=N_FFT, n_mels=80, fmin=0, fmax=8000)
    with parallel_config("loky", n_jobs=arguments.jobs, inner_max_num_threads=1):
        Parallel()(
            delayed(compute)(row, arguments.folder, mel_basis, arguments.phonemes)
            for row in read_rows(arguments.corpus)
        )


if __name__ == "__main__":
    main()
