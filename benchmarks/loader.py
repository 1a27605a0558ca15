"""Time epochs of padded batches: from a store, by other libraries, and as a plain copy of memory.

    python benchmarks/loader.py [STORE] [NPY_FOLDER] --runs 5 [--peer-python PYTHON] [--cold] [--result loader]

The store and the .npy files are those that command.py leaves in benchmarks/output/, of one corpus; missing .npy files
are written from the store. The peers of ``peers.py`` run in processes of the given interpreters, on the same mels,
right after ours. All get the same lists of utterances, from the page cache; webdataset reads in order, as it must. Ours
makes padded phonemes besides; the others make mels only. Loaders and their workers have made an epoch before the clock
runs.
``--cold`` drops the store's pages first and times one epoch from the disk beside a plain read of the same files.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Sized
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from results import Result, describe_machine

from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset

WORK = Path(__file__).resolve().parent / "output"
N_MELS = 80
BUFFERS = 2
"""The batch that a loop has and the one that it gets next."""
LARGEST_SOURCE = 2**30  # bytes; more than any cache

Epoch = Callable[[], object]


def exhaust(batches: Iterable[Sized]) -> None:
    for batch in batches:
        len(batch)


def make_store_epoch(dataset: UtteranceDataset, sampler: LengthBucketBatchSampler, prefetch: int) -> Epoch:
    loader = DataLoader(dataset, batch_sampler=sampler, prefetch=prefetch)

    def epoch() -> None:
        loader.set_epoch(0)
        exhaust(loader)

    return epoch


def make_copy_epoch(sizes: list[int], buffers: int, mapped: Path | None = None) -> Epoch:
    """Return an epoch that copies as many bytes as the padded mels have, batch by batch, into buffers in turn.

    Args:
        mapped: a file to write these bytes to, and to copy from its memory map: its pages are small, as those of a
            store, while those of memory are large where the system has such.
    """
    source = np.ones(min(sum(sizes), LARGEST_SOURCE), np.uint8)
    if mapped:
        source.tofile(mapped)
        source = np.memmap(mapped, mode="r")
    ring = [np.ones(max(sizes), np.uint8) for _ in range(buffers)]

    def epoch() -> None:
        position = 0
        for number, size in enumerate(sizes):
            if position + size > len(source):
                position = 0
            ring[number % buffers][:size] = source[position : position + size]
            position += size

    return epoch


def check_same_mels(dataset: UtteranceDataset, paths: list[Path], batches: list[list[int]]) -> None:
    for batch in DataLoader(dataset, batch_sampler=batches[:3], prefetch=0):
        for mel, length, row in zip(batch.mel, batch.mel_lengths, batch.indices, strict=True):
            np.testing.assert_allclose(mel[:length], np.load(paths[row]), atol=2e-3, err_msg=paths[row].name)


def write_missing(dataset: UtteranceDataset, paths: list[Path]) -> None:
    paths[0].parent.mkdir(parents=True, exist_ok=True)
    for path, utterance in zip(paths, dataset, strict=True):
        if not path.exists():
            np.save(path, utterance.mel)


def run_peers(
    pythons: list[str], folder: Path, ids: list[str], batches: list[list[int]], runs: int
) -> dict[str, dict[str, Any]]:
    """Return what peers.py prints: package → its value, from the first interpreter that has it."""
    work = WORK / f"peers-{len(ids)}"
    work.mkdir(parents=True, exist_ok=True)
    plan = work / "batches.json"
    plan.write_text(json.dumps({"ids": ids, "batches": batches}), encoding="utf-8")
    script = Path(__file__).with_name("peers.py")
    found: dict[str, dict[str, Any]] = {}
    for python in pythons:
        command = [python, str(script), str(folder), str(plan), "--runs", str(runs), "--without", *found]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found |= json.loads(done.stdout.splitlines()[-1])
    return found


def drop_pages(store: Path) -> None:
    for path in store.rglob("*.h5"):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def time_cold(dataset: UtteranceDataset, sampler: LengthBucketBatchSampler, store: Path) -> None:
    """Print the rate of an epoch from the disk and of a plain read of the shards, each after dropping their pages."""
    rates: dict[str, list[float]] = {"plain read": [], "tts-prep DataLoader": []}
    size = sum(path.stat().st_size for path in store.glob("shards/*.h5"))
    buffer = bytearray(1 << 22)
    for _ in range(3):
        del dataset
        drop_pages(store)
        start = time.perf_counter()
        for path in sorted(store.glob("shards/*.h5")):
            with path.open("rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass
        rates["plain read"].append(size / (time.perf_counter() - start))
        drop_pages(store)
        dataset = UtteranceDataset(store)
        start = time.perf_counter()
        make_store_epoch(dataset, sampler, prefetch=2)()
        rates["tts-prep DataLoader"].append(size / (time.perf_counter() - start))
    text = ", ".join(f"{name} {statistics.median(found) / 1e9:.2f} GB/s" for name, found in rates.items())
    print(f"\nfrom the disk, {size / 1e9:.2f} GB: {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time epochs of padded batches from a store and from .npy files.")
    parser.add_argument("store", type=Path, nargs="?", default=WORK / "store")
    parser.add_argument("npy_folder", type=Path, nargs="?", default=WORK / "librosa")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--peer-python", nargs="+", metavar="PYTHON", help="interpreters that each have some of what peers.py uses"
    )
    parser.add_argument("--result", metavar="NAME", help="write benchmarks/results/NAME.json")
    parser.add_argument("--cold", action="store_true", help="time an epoch from the disk too")
    arguments = parser.parse_args()

    dataset = UtteranceDataset(arguments.store)
    paths = [arguments.npy_folder / f"{utterance_id}.npy" for utterance_id in dataset.id]
    sampler = LengthBucketBatchSampler(dataset.n_frames, batch_size=arguments.batch_size, seed=0)
    plan = sampler.plan(0)
    batches = list(plan.batches(range(len(plan))))
    sizes = [int(size) * N_MELS * 4 for size in plan.longest() * plan.sizes]
    write_missing(dataset, paths)
    check_same_mels(dataset, paths, batches)

    epochs: dict[str, Epoch] = {
        "tts-prep DataLoader (prefetch=2, its default)": make_store_epoch(dataset, sampler, prefetch=2),
        "tts-prep DataLoader, prefetch=0": make_store_epoch(dataset, sampler, prefetch=0),
    }
    epochs["plain copy of memory, to as many buffers in turn as prefetch=0 has"] = make_copy_epoch(sizes, BUFFERS)
    epochs["plain copy of memory"] = make_copy_epoch(sizes, 1)
    epochs["plain copy of a file's memory map, to as many buffers"] = make_copy_epoch(sizes, BUFFERS, WORK / "copied")

    times: dict[str, list[float]] = {name: [] for name in epochs}
    processor: dict[str, list[float]] = {name: [] for name in epochs}
    for epoch in epochs.values():
        epoch()
    for _ in range(arguments.runs):
        for name, epoch in epochs.items():
            start, before = time.perf_counter(), time.process_time()
            epoch()
            times[name].append(time.perf_counter() - start)
            processor[name].append(time.process_time() - before)

    packages = ["numpy", "h5py"]
    versions = [f"{package} {version(package)}" for package in packages]
    failed = []
    if arguments.peer_python:
        found = run_peers(arguments.peer_python, arguments.npy_folder, list(dataset.id), batches, arguments.runs)
        for package, peer in found.items():
            times |= peer["seconds"]
            versions.append(peer["version"])
            failed += [f"{package}: {error}" for error in peer["errors"]]
    seconds = float(np.sum(np.asarray(dataset.seconds)))
    rows = []
    ours = next(iter(times.values()))
    for name, taken in times.items():
        median = statistics.median(taken)
        ratios = [their / our for their, our in zip(taken, ours, strict=True)]
        rows.append(
            [
                name,
                f"{median * 1e3:,.1f} ({min(taken) * 1e3:,.1f} to {max(taken) * 1e3:,.1f})",
                f"{len(dataset) / median:,.0f}",
                f"{sum(sizes) / median / 1e9:.1f}",
                f"{statistics.median(processor[name]) * 1e3:,.1f}" if name in processor else "",
                f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            ]
        )
    Result(
        [
            "",
            "milliseconds an epoch: median (min to max)",
            "utterances a second",
            "GB/s",
            "processor time",
            "its time to tts-prep's",
        ],
        rows,
        {name: statistics.median(taken) for name, taken in times.items()},
        f"{len(dataset):,} utterances, {seconds / 3600:.2f} hours of audio, {len(batches):,} batches of "
        f"{arguments.batch_size}, {sum(sizes) / 1e9:.2f} GB of padded mels ({plan.padding():.1%} padding), "
        f"{arguments.runs} epochs each, in turn.",
        describe_machine(),
        versions,
    ).show(arguments.result)
    for line in failed:
        print(f"failed: {line}")
    if arguments.cold:
        time_cold(dataset, sampler, arguments.store)


if __name__ == "__main__":
    main()
