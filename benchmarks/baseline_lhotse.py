"""Mel spectrograms with lhotse's compute_and_store_features, in the storage it uses by default.

    python benchmarks/baseline_lhotse.py CORPUS FOLDER --jobs 2

Its librosa-based filter bank at the same frame and filter settings (log10 instead of ln, no change of level).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from lhotse import CutSet, LibrosaFbank, LibrosaFbankConfig, MonoCut, Recording

SAMPLE_RATE = 22_050


def main() -> None:
    parser = argparse.ArgumentParser(description="Mel spectrograms with lhotse.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True)
    torch.set_num_threads(1)
    with (arguments.corpus / "metadata.csv").open(encoding="utf-8") as file:
        names = [line.split("|")[0] for line in file]
    recordings = [Recording.from_file(arguments.corpus / "wavs" / f"{name}.wav", recording_id=name) for name in names]
    cuts = CutSet.from_cuts(
        MonoCut(recording.id, 0, recording.duration, channel=0, recording=recording) for recording in recordings
    )
    config = LibrosaFbankConfig(
        sampling_rate=SAMPLE_RATE, fft_size=1024, hop_size=256, win_length=1024, num_mel_bins=80, fmin=0, fmax=8000
    )
    made = cuts.compute_and_store_features(
        LibrosaFbank(config), storage_path=arguments.folder / "features", num_jobs=arguments.jobs
    )
    made.to_file(arguments.folder / "cuts.jsonl")


if __name__ == "__main__":
    main()
