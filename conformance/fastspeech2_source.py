"""Run ming024/FastSpeech2's own preprocessing, dataset and collate function, and write one batch of all utterances.

    python conformance/fastspeech2_source.py FASTSPEECH2 CONFIG FOLDER

conformance/fastspeech2.py calls this file with another Python, since the source passes arguments to librosa by
position. FOLDER has ``raw/SPEAKER/ID.wav`` and ``.lab`` and ``CONFIG/TextGrid/SPEAKER/ID.TextGrid``; CONFIG is the name
of a folder of the source's ``config``. Into ``FOLDER/CONFIG`` go what ``build_from_path`` writes, and ``batch.npz``.
Nothing of tts-prep is imported.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"

import numpy as np
import yaml

FIELDS = ("ids", "raw_texts", "speakers", "texts", "text_lens", "max_text_len", "mels", "mel_lens", "max_mel_len")
FIELDS += ("pitches", "energies", "durations")


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the preprocessing of ming024/FastSpeech2.")
    parser.add_argument("source", type=Path, metavar="FASTSPEECH2", help="a checkout")
    parser.add_argument("config", help="a folder of its config")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    root, name, folder = options.source, options.config, options.folder
    sys.path.insert(0, str(root))
    from dataset import Dataset
    from preprocessor.preprocessor import Preprocessor

    config, train = (
        yaml.safe_load((root / "config" / name / f"{kind}.yaml").read_text()) for kind in ("preprocess", "train")
    )
    config["path"] |= {"raw_path": str(folder / "raw"), "preprocessed_path": str(folder / name)}
    # The utterances are fewer than those for validation would be.
    config["preprocessing"]["val_size"] = 0
    Preprocessor(config).build_from_path()
    train["optimizer"]["batch_size"] = 1000
    dataset = Dataset("train.txt", config, train)
    (batch,) = dataset.collate_fn([dataset[i] for i in range(len(dataset))])
    np.savez(folder / name / "batch.npz", **dict(zip(FIELDS, batch, strict=True)))


if __name__ == "__main__":
    main()
