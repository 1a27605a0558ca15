"""What a corpus of millions costs the process that coordinates: its memory, and the time spent outside of workers.

    python benchmarks/coordinator.py 10000 100000 1000000

All utterances refer to one short recording of noise. Each size runs in a process of its own, so that peaks of memory
are not those of the size before.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile

from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.corpora import SourceUtterance
from tts_prep.preprocess.runs.prepare import prepare
from tts_prep.preprocess.runs.shard_run import Progress

TEXTS = ("Yes.", "Why not?", "He left.", "It was cold.", "Come in, please.")
AUDIO = "noise.flac"


def utterances(count: int) -> Iterator[SourceUtterance]:
    for number in range(count):
        name = f"{number // 100_000:03d}_{number:08d}"
        where = f"{name[:3]}.trans.txt:{number + 1}"
        yield SourceUtterance(name, TEXTS[number % len(TEXTS)], AUDIO, where, f"speaker-{number // 400:04d}")


def open_and_read(store: Path) -> tuple[float, float]:
    """Return the seconds of opening a store, and of reading an utterance out of a random shard (mean of 2,000)."""
    from tts_prep.loader import UtteranceDataset

    start = time.perf_counter()
    dataset = UtteranceDataset(store)
    opened = time.perf_counter()
    chosen = np.random.default_rng(0).integers(len(dataset), size=2000)
    for position in chosen:
        _ = dataset[int(position)].mel.sum()
    return opened - start, (time.perf_counter() - opened) / len(chosen)


def measure(count: int, jobs: int) -> dict[str, float]:
    reports: list[float] = []

    def report(_: Progress) -> None:
        reports.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        soundfile.write(folder / AUDIO, np.random.default_rng(0).uniform(-0.5, 0.5, 1500), 22_050)
        start = time.perf_counter()
        result = prepare(utterances(count), folder, folder / "store", Configuration(), jobs=jobs, progress=report)
        end = time.perf_counter()
        size = sum(entry.size for entry in result.manifest.files)
        opening, reading = open_and_read(folder / "store")
    return {
        "utterances": count,
        "shards": len(result.manifest.shards),
        "plan": reports[0] - start,
        "shards_seconds": reports[-1] - reports[0],
        "assemble": end - reports[-1],
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "worker_peak": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
        "gigabytes": size / 1e9,
        "opening": opening,
        "reading": reading,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory and time of the coordinating process.")
    parser.add_argument("counts", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--one", action="store_true", help="measure the first count in this process")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.counts[0], arguments.jobs)))
        return
    print(
        "| utterances | shards | planning (s) | index and manifest (s) | workers (s) | peak memory here | of a worker "
        "| open the store (ms) | read a random utterance (ms) |"
    )
    print("| --- " * 9 + "|")
    for count in arguments.counts:
        command = [sys.executable, __file__, str(count), "--one", "--jobs", str(arguments.jobs)]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        print(
            f"| {row['utterances']:,} | {row['shards']:,} | {row['plan']:.1f} | {row['assemble']:.1f} "
            f"| {row['shards_seconds']:.1f} | {row['peak']:,.0f} MiB | {row['worker_peak']:,.0f} MiB "
            f"| {row['opening'] * 1000:.0f} | {row['reading'] * 1000:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
