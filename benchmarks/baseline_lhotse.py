"""Mel spectrograms with lhotse's compute_and_store_features, in the storage it uses by default.

    python benchmarks/baseline_lhotse.py CORPUS FOLDER --jobs 2 [--phonemes]

Its librosa-based filter bank at the same frame and filter settings (log10 instead of ln, no change of level), and its
own resampling, which is scipy's resample_poly without torchaudio; the others use soxr in high quality.
Phonemes are made before, by as many processes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from corpus import phonemize, read_rows, require

SAMPLE_RATE = 22_050


def main() -> None:
    parser = argparse.ArgumentParser(description="Mel spectrograms with lhotse.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--phonemes", action="store_true")
    arguments = parser.parse_args()
    make(arguments.corpus, arguments.folder, arguments.jobs, arguments.phonemes)


def make(corpus: Path, folder: Path, jobs: int, phonemes: bool) -> None:
    require("lhotse", "torch", "librosa")
    import torch
    from joblib import Parallel, delayed
    from lhotse import CutSet, LibrosaFbank, LibrosaFbankConfig, MonoCut, Recording, SupervisionSegment

    folder.mkdir(parents=True)
    torch.set_num_threads(1)
    rows = read_rows(corpus)
    texts = [row.text for row in rows]
    if phonemes:
        texts = Parallel(jobs, batch_size=32)(delayed(phonemize)(text) for text in texts)
    cuts = []
    for row, text in zip(rows, texts, strict=True):
        recording = Recording.from_file(row.path, recording_id=row.name)
        if recording.sampling_rate != SAMPLE_RATE:
            recording = recording.resample(SAMPLE_RATE)
        said = SupervisionSegment(row.name, row.name, 0, recording.duration, text=text)
        cuts.append(MonoCut(row.name, 0, recording.duration, channel=0, recording=recording, supervisions=[said]))
    cuts = CutSet.from_cuts(cuts)
    config = LibrosaFbankConfig(
        sampling_rate=SAMPLE_RATE, fft_size=1024, hop_size=256, win_length=1024, num_mel_bins=80, fmin=0, fmax=8000
    )
    made = cuts.compute_and_store_features(LibrosaFbank(config), storage_path=folder / "features", num_jobs=jobs)
    made.to_file(folder / "cuts.jsonl")


if __name__ == "__main__":
    main()
