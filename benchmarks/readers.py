"""Time epochs of all that a store can give: float16 mels, waveforms, features, segments, chains, many processes.

    python benchmarks/readers.py CORPUS --runs 5 [--readers 8] [--result readers]

CORPUS is in LJ Speech's layout, such as ``benchmarks/output/corpus-5h``, which command.py leaves. Two stores are made
of it below ``benchmarks/output/``, once: one with float16 mels, and one with float32 mels, waveforms as int16 and
energy. All is read from the page cache, in batches of 32, in one thread (``prefetch=0``); batches are taken in turn.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from results import Result, describe_machine

from tts_prep.loader import (
    ChainDataset,
    Collator,
    DataLoader,
    LengthBucketBatchSampler,
    SegmentCollator,
    UtteranceDataset,
)

WORK = Path(__file__).resolve().parent / "output"


def make_store(corpus: Path, name: str, *options: str) -> Path:
    store = WORK / f"readers-{corpus.name}-{name}"
    # A whole store is left as it is.
    command = [sys.executable, "-m", "tts_prep", "ljspeech", str(corpus), str(store), *options]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return store


def make_loader(store: Path, collate: Callable[[Any], Any], n_stores: int = 1) -> DataLoader:
    """Return the loader of a store, or of a chain of so many, each of which has a part of its utterances."""
    dataset: Any = UtteranceDataset(store)
    if n_stores > 1:
        ends = [len(dataset) * number // n_stores for number in range(n_stores + 1)]
        parts = [UtteranceDataset(store)[start:stop] for start, stop in pairwise(ends)]
        dataset = ChainDataset(*parts)
    sampler = LengthBucketBatchSampler(dataset.n_frames, batch_size=32, seed=0)
    return DataLoader(dataset, batch_sampler=sampler, collate_fn=collate, prefetch=0)


def epoch(loader: DataLoader) -> None:
    loader.set_epoch(0)
    for batch in loader:
        len(batch)


def read(store: Path, barrier: Any, runs: int, times: Any) -> None:
    """Read epochs in a process, each begun together with the other processes, and put the seconds of each."""
    loader = make_loader(store, Collator(waveform=False))
    epoch(loader)
    found = []
    for _ in range(runs):
        barrier.wait()
        start = time.perf_counter()
        epoch(loader)
        # Until the last one has come to its end.
        barrier.wait()
        found.append(time.perf_counter() - start)
    times.put(found)


def at_once(store: Path, readers: int, runs: int) -> list[float]:
    """Return the seconds until all of so many processes have read the store, of each run."""
    spawn = multiprocessing.get_context("spawn")
    barrier, times = spawn.Barrier(readers), spawn.Queue()
    processes = [spawn.Process(target=read, args=(store, barrier, runs, times)) for _ in range(readers)]
    for process in processes:
        process.start()
    found: list[list[float]] = [times.get() for _ in processes]
    for process in processes:
        process.join()
    return [max(taken) for taken in zip(*found, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--result", metavar="NAME", help="write benchmarks/results/NAME.json")
    options = parser.parse_args()
    half = make_store(options.corpus, "half", "--dtype", "float16")
    full = make_store(options.corpus, "full", "--waveform", "int16", "--feature", "energy")

    loaders = {
        "mel and phonemes": make_loader(full, Collator(waveform=False)),
        "a chain of 2 stores": make_loader(full, Collator(waveform=False), 2),
        "a chain of 50 stores": make_loader(full, Collator(waveform=False), 50),
        "mels stored as float16": make_loader(half, Collator(waveform=False)),
        "and waveforms, int16 to float32": make_loader(full, Collator()),
        "and energy": make_loader(full, Collator(waveform=False, arrays=("energy",))),
        "segments of 32 frames, with waveforms": make_loader(full, SegmentCollator(32)),
        "segments, float16 mels alone": make_loader(half, SegmentCollator(32, waveform=False)),
    }
    epochs = {name: partial(epoch, loader) for name, loader in loaders.items()}
    times: dict[str, list[float]] = {name: [] for name in epochs}
    for run in range(options.runs + 1):
        for name, function in epochs.items():
            start = time.perf_counter()
            function()
            if run:
                times[name].append(time.perf_counter() - start)
    counts = dict.fromkeys(times, 1)
    for readers in (1, options.readers):
        name = f"{readers} process{'es at once' if readers > 1 else ''}, mel and phonemes"
        times[name], counts[name] = at_once(full, readers, options.runs), readers

    n = len(UtteranceDataset(full))
    first = times["mel and phonemes"]
    rows = []
    for name, taken in times.items():
        median = statistics.median(taken)
        ratio = statistics.median(a / b for a, b in zip(taken, first, strict=True))
        span = f"{median * 1e3:,.1f} ({min(taken) * 1e3:,.1f} to {max(taken) * 1e3:,.1f})"
        rows.append([name, span, f"{counts[name] * n / median:,.0f}", f"{ratio:.2f}"])
    Result(
        ["", "milliseconds an epoch: median (min to max)", "utterances a second, all together", "to the first row"],
        rows,
        {name: statistics.median(taken) for name, taken in times.items()},
        f"{n:,} utterances, {UtteranceDataset(full).seconds.sum() / 3600:.2f} hours, batches of 32, "
        f"{options.runs} epochs each.",
        describe_machine(),
    ).show(options.result)


if __name__ == "__main__":
    main()
