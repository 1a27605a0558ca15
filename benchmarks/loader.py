"""Time epochs of padded batches: from a store, from .npy files by torch's loader, and as a plain copy of memory.

    python benchmarks/loader.py [STORE] [NPY_FOLDER] --runs 5

The store and the .npy files are those that command.py leaves below benchmarks/work/, of one corpus. Where torch is
not installed its rows are left out; an interpreter that has torch, numpy and h5py will do, with this repository on
its path. Both loaders get the same lists of utterances, all in the page cache. Ours makes padded phonemes besides;
the others make mels only. Workers are started, and have made an epoch, before the clock runs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable, Sized
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset

WORK = Path(__file__).resolve().parent / "work"
N_MELS = 80
LARGEST_SOURCE = 2**30  # bytes; more than any cache

Epoch = Callable[[], object]


def exhaust(batches: Iterable[Sized]) -> None:
    for batch in batches:
        len(batch)


def make_store_epoch(dataset: UtteranceDataset, sampler: LengthBucketBatchSampler, prefetch: int) -> Epoch:
    def epoch() -> None:
        sampler.set_epoch(0)
        exhaust(DataLoader(dataset, batch_sampler=sampler, prefetch=prefetch))

    return epoch


def make_torch_loader(paths: list[Path], batches: list[list[int]], workers: int) -> Any:
    """Return torch's loader over .npy files; its batches are (mels [B, T, 80], lengths [B])."""
    import torch

    class Files:
        def __len__(self) -> int:
            return len(paths)

        def __getitem__(self, position: int) -> npt.NDArray[np.float32]:
            mel: npt.NDArray[np.float32] = np.load(paths[position])
            return mel

    def pad(mels: list[npt.NDArray[np.float32]]) -> tuple[torch.Tensor, torch.Tensor]:
        lengths = torch.tensor([len(mel) for mel in mels])
        batch = torch.zeros(len(mels), int(lengths.max()), N_MELS)
        for row, mel in zip(batch, mels, strict=True):
            row[: len(mel)] = torch.from_numpy(mel)
        return batch, lengths

    return torch.utils.data.DataLoader(
        Files(), batch_sampler=batches, num_workers=workers, collate_fn=pad, persistent_workers=workers > 0
    )


def make_copy_epoch(sizes: list[int]) -> Epoch:
    """Return an epoch that copies as many bytes as the padded mels have, batch by batch, into one buffer."""
    source = np.ones(min(sum(sizes), LARGEST_SOURCE), np.uint8)
    buffer = np.ones(max(sizes), np.uint8)

    def epoch() -> None:
        position = 0
        for size in sizes:
            if position + size > len(source):
                position = 0
            buffer[:size] = source[position : position + size]
            position += size

    return epoch


def check_same_mels(dataset: UtteranceDataset, paths: list[Path], batches: list[list[int]]) -> None:
    for batch in DataLoader(dataset, batch_sampler=batches[:3], prefetch=0):
        for mel, length, row in zip(batch.mel, batch.mel_lengths, batch.indices, strict=True):
            np.testing.assert_allclose(mel[:length], np.load(paths[row]), atol=2e-3, err_msg=paths[row].name)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time epochs of padded batches from a store and from .npy files.")
    parser.add_argument("store", type=Path, nargs="?", default=WORK / "store")
    parser.add_argument("npy_folder", type=Path, nargs="?", default=WORK / "librosa")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()

    dataset = UtteranceDataset(arguments.store)
    paths = [arguments.npy_folder / f"{utterance_id}.npy" for utterance_id in dataset.id]
    sampler = LengthBucketBatchSampler(dataset.n_frames, batch_size=arguments.batch_size, seed=0)
    plan = sampler.plan(0)
    batches = [plan.batch(number) for number in range(len(plan))]
    sizes = [int(size) * N_MELS * 4 for size in plan.longest() * plan.sizes]
    check_same_mels(dataset, paths, batches)

    epochs: dict[str, Epoch] = {
        "tts-prep DataLoader (prefetch=2, its default)": make_store_epoch(dataset, sampler, prefetch=2),
        "tts-prep DataLoader, prefetch=0": make_store_epoch(dataset, sampler, prefetch=0),
    }
    if find_spec("torch"):
        for workers in (0, 1, 2):
            loader = make_torch_loader(paths, batches, workers)
            epochs[f"torch DataLoader over .npy, {workers} workers"] = partial(exhaust, loader)
    epochs["plain copy of memory"] = make_copy_epoch(sizes)

    times: dict[str, list[float]] = {name: [] for name in epochs}
    for epoch in epochs.values():
        epoch()
    for _ in range(arguments.runs):
        for name, epoch in epochs.items():
            start = time.perf_counter()
            epoch()
            times[name].append(time.perf_counter() - start)

    seconds = float(np.sum(np.asarray(dataset.seconds)))
    print(
        f"{len(dataset):,} utterances, {seconds / 3600:.2f} hours of audio, {len(batches):,} batches of "
        f"{arguments.batch_size}, {sum(sizes) / 1e9:.2f} GB of padded mels ({plan.padding():.1%} padding), "
        f"{arguments.runs} epochs each, in turn.\n"
    )
    print("| | milliseconds an epoch: median (min to max) | utterances a second | GB/s | its time to tts-prep's |")
    print("| --- | --- | --- | --- | --- |")
    ours = next(iter(times.values()))
    for name, taken in times.items():
        median = statistics.median(taken)
        ratios = [their / our for their, our in zip(taken, ours, strict=True)]
        print(
            f"| {name} | {median * 1e3:,.1f} ({min(taken) * 1e3:,.1f} to {max(taken) * 1e3:,.1f}) "
            f"| {len(dataset) / median:,.0f} | {sum(sizes) / median / 1e9:.1f} "
            f"| {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |"
        )
    packages = ["numpy", "h5py", *(["torch"] if find_spec("torch") else [])]
    print("\n" + ", ".join(f"{package} {version(package)}" for package in packages))


if __name__ == "__main__":
    main()
