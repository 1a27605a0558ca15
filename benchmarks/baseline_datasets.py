"""Mel spectrograms with Hugging Face datasets: Dataset.map over a function that uses librosa, saved to disk.

python benchmarks/baseline_datasets.py CORPUS FOLDER --jobs 2
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import librosa
import numpy as np
from datasets import Dataset

SAMPLE_RATE = 22_050
N_FFT = 1024


def main() -> None:
    parser = argparse.ArgumentParser(description="Mel spectrograms with Hugging Face datasets.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    with (arguments.corpus / "metadata.csv").open(encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("|") for line in file]
    mel_basis = librosa.filters.mel(sr=SAMPLE_RATE, n_fft=N_FFT, n_mels=80, fmin=0, fmax=8000)

    def compute(row: dict[str, Any]) -> dict[str, Any]:
        waveform, _ = librosa.load(row["path"], sr=SAMPLE_RATE)
        waveform = waveform / np.abs(waveform).max() * 0.999
        magnitude = np.abs(librosa.stft(waveform, n_fft=N_FFT, hop_length=256, pad_mode="reflect"))
        return {"mel": np.log(np.maximum(mel_basis @ magnitude, 1e-5)).T}

    table = Dataset.from_dict(
        {
            "id": [row[0] for row in rows],
            "path": [str(arguments.corpus / "wavs" / f"{row[0]}.wav") for row in rows],
            "text": [row[-1] for row in rows],
        },
    )
    made = table.map(compute, num_proc=arguments.jobs, cache_file_name=str(arguments.folder.with_suffix(".arrow")))
    made.save_to_disk(arguments.folder)
    (arguments.folder / "rows").write_text(str(len(made)))
    for path in arguments.folder.parent.glob(f"{arguments.folder.name}_*.arrow"):
        path.unlink()


if __name__ == "__main__":
    main()
