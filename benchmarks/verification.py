"""Measure what checking a store costs: the table of docs/hostile-input.md.

    python benchmarks/verification.py [--utterances 1500] [--rounds 5]

Processor time, also of the process that reads HDF5, with all files in the page cache; the median of some rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import stores
from stores import make_rows, write_store

from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset

MAX_FRAMES = 20_000


def processor_time() -> float:
    """Return the processor time of this process and of those that have ended, in seconds."""
    return sum(os.times()[:4])


def seconds_of(function: Callable[[], object], rounds: int) -> float:
    """Return the median processor time of a function; the first call is not counted."""
    times = []
    for _ in range(rounds + 1):
        started = processor_time()
        function()
        times.append(processor_time() - started)
    return statistics.median(times[1:])


def epoch(dataset: UtteranceDataset) -> None:
    sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=MAX_FRAMES)
    for batch in DataLoader(dataset, batch_sampler=sampler):
        assert len(batch.mel)


def checksums(dataset: UtteranceDataset) -> None:
    for utterance in dataset:
        zlib.crc32(utterance.mel)
        zlib.crc32(utterance.phonemes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--utterances", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    # As common mels have them; the stores of tests have few.
    stores.N_MELS, stores.SILENCE = 80, tuple([-11.5] * 80)
    lengths = np.random.default_rng(0).integers(100, 1020, arguments.utterances).tolist()
    with tempfile.TemporaryDirectory() as folder:
        store = write_store(Path(folder) / "store", make_rows(lengths), n_shards=2)
        size = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
        dataset = UtteranceDataset(store)
        plain = seconds_of(lambda: [UtteranceDataset(store) for _ in range(100)], arguments.rounds) / 100
        verified = seconds_of(lambda: UtteranceDataset(store, verify=True), arguments.rounds)
        batches = seconds_of(lambda: [epoch(dataset) for _ in range(5)], arguments.rounds) / 5
        reading = seconds_of(lambda: [list(dataset) for _ in range(5)], arguments.rounds) / 5
        checked = seconds_of(lambda: [checksums(dataset) for _ in range(5)], arguments.rounds) / 5 - reading
    print(f"{arguments.utterances:,} utterances, {size / 1e6:.0f} MB")
    for name, seconds in (
        ("open the store", plain),
        ("open it with `verify=True`: SHA-256 of all files, CRC-32 of all datasets", verified),
        (f"an epoch of padded batches of {MAX_FRAMES:,} frames", batches),
        ("CRC-32 of each utterance's mel and phonemes when it is read, in addition", checked),
    ):
        print(f"| {name} | {seconds:.2g} |")
    print(f"verify: {verified / size * 1e9:.2f} s per gigabyte; per utterance: {checked / batches:.0%} of an epoch")


if __name__ == "__main__":
    main()
