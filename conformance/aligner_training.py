"""Train the small FastSpeech of the examples on exact durations and on those of the aligner; print a markdown table.

    python conformance/aligner_training.py WORK [--epochs 20]

Both stores have the same phones, mels and pitch, and their models the same random numbers. The losses are those of the
validation set: of log-durations against the store's own durations, and of pitch and mel, which the durations stretch.
"""

from __future__ import annotations

import argparse
import runpy
import shutil
from pathlib import Path

from tts_prep.loader import UtteranceDataset

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "train_fastspeech.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--algorithm", default="dio", help="of pitch")
    options = parser.parse_args()
    example = runpy.run_path(str(EXAMPLE))
    exact = example["make_store"](options.work, None, options.algorithm)
    store = options.work / "aligned"
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(options.work / "store", store)
    for command in (("remove", store, "--array", "durations"), ("add", store, "--feature", "durations")):
        example["tts_prep"](*command, "--quiet")
    kept = {utterance.id for utterance in exact}
    aligned = UtteranceDataset(store).filter(lambda metadata: metadata.id.isin(kept))
    print(f"| durations | utterances | log-durations | pitch | mel | sum |\n|{' --- |' * 6}")
    totals = []
    for name, dataset in (("exact", exact), ("of the aligner", aligned)):
        losses, _ = example["train"](dataset, options.epochs)
        totals.append(sum(losses))
        values = " | ".join(f"{loss:.3f}" for loss in (*losses, totals[-1]))
        print(f"| {name} | {len(dataset)} | {values} |", flush=True)
    print(f"\nThe sum with the durations of the aligner is {totals[1] / totals[0]:.3f} times that with exact ones.")


if __name__ == "__main__":
    main()
