"""Mel spectrograms with Hugging Face datasets: Dataset.map over a function that uses librosa, saved to disk.

python benchmarks/baseline_datasets.py CORPUS FOLDER --jobs 2 [--phonemes]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from corpus import phonemize, read_rows, require

SAMPLE_RATE = 22_050
N_FFT = 1024


def main() -> None:
    parser = argparse.ArgumentParser(description="Mel spectrograms with Hugging Face datasets.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--phonemes", action="store_true")
    arguments = parser.parse_args()
    make(arguments.corpus, arguments.folder, arguments.jobs, arguments.phonemes)


def make(corpus: Path, folder: Path, jobs: int, phonemes: bool) -> None:
    require("datasets", "librosa")
    import librosa
    import numpy as np
    from datasets import Dataset

    rows = read_rows(corpus)
    mel_basis = librosa.filters.mel(sr=SAMPLE_RATE, n_fft=N_FFT, n_mels=80, fmin=0, fmax=8000)

    def compute(row: dict[str, Any]) -> dict[str, Any]:
        waveform, _ = librosa.load(row["path"], sr=SAMPLE_RATE)
        waveform = waveform / np.abs(waveform).max() * 0.999
        magnitude = np.abs(librosa.stft(waveform, n_fft=N_FFT, hop_length=256, pad_mode="reflect"))
        made = {"mel": np.log(np.maximum(mel_basis @ magnitude, 1e-5)).T}
        return {**made, "phonemes": phonemize(row["text"])} if phonemes else made

    table = Dataset.from_dict(
        {
            "id": [row.name for row in rows],
            "path": [str(row.path) for row in rows],
            "text": [row.text for row in rows],
        },
    )
    made = table.map(compute, num_proc=jobs, cache_file_name=str(folder.with_suffix(".arrow")))
    made.save_to_disk(folder)
    (folder / "rows").write_text(str(len(made)))
    for path in folder.parent.glob(f"{folder.name}_*.arrow"):
        path.unlink()


if __name__ == "__main__":
    main()
