"""Open and plan a store of very many utterances, whose index is made by simulation and whose arrays nobody has.

    python benchmarks/scale.py --utterances 100000000 [--folder benchmarks/output/scale]

Prints how long opening takes, what it reads, how long an epoch's first batch, its whole plan and all its batches take
and at what peak of memory, and what a forked worker adds. The index has the columns that the format asks for; ids are
all different, texts are short, to keep it on a disk.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

WORK = Path(__file__).resolve().parent / "output"
CHUNK = 1 << 20


def simulate(folder: Path, n: int) -> None:
    """Write a store of one utterance as `tests/stores.py` does, and put a simulated index in the place of its own."""
    import shutil

    import h5py
    from stores import edit_manifest, make_rows, write_store

    from tts_prep.format.assembly import located
    from tts_prep.format.files.checksums import CHECKSUMS, seal_file
    from tts_prep.format.hdf5.writer import create_file
    from tts_prep.format.layout import INDEX

    def create_dataset(group: h5py.Group, name: str, shape: tuple[int, ...], dtype: object) -> h5py.Dataset:
        return group.create_dataset(name, shape=shape, dtype=dtype, track_times=False)

    shutil.rmtree(folder, ignore_errors=True)
    write_store(folder, make_rows([10]), n_shards=1)
    old = folder / "old.h5"
    (folder / "index.h5").rename(old)
    rng = np.random.default_rng(0)
    with h5py.File(old) as source, create_file(folder / "index.h5", sealed=False) as file:
        for group in source:
            if group not in ("columns", CHECKSUMS):
                source.copy(group, file)
        columns = file.create_group("columns")
        for name, item in source["columns"].items():
            kind = item.attrs["kind"]
            if kind == "number":
                dataset = create_dataset(columns, name, (n,), item.dtype)
                dataset.attrs["kind"] = kind
                for start in range(0, n, CHUNK):
                    count = min(CHUNK, n - start)
                    if name == "n_frames":
                        seconds = 1.1 + 9 * rng.beta(2.2, 1.42, count)
                        dataset[start : start + count] = (1 + seconds * 22_050 // 256).astype(np.int32)
                    else:
                        dataset[start : start + count] = 0
                continue
            child = columns.create_group(name)
            child.attrs["kind"] = kind
            if kind == "category":
                create_dataset(child, "codes", (n,), "<i4")[:CHUNK] = 0
                for part in ("bytes", "offsets"):
                    child.create_dataset(part, data=item[part][...], track_times=False)
                continue
            width = 9 if name == "id" else 1
            data, offsets = (
                create_dataset(child, "bytes", (n * width,), "u1"),
                create_dataset(child, "offsets", (n + 1,), "<i8"),
            )
            for start in range(0, n, CHUNK):
                stop = min(n, start + CHUNK)
                offsets[start : stop + 1] = np.arange(start, stop + 1) * width
                digits = np.arange(start, stop)[:, None] // 10 ** np.arange(width)[::-1] % 10 + 48
                data[start * width : stop * width] = digits.astype(np.uint8).ravel()
    old.unlink()

    digest = seal_file(folder / INDEX)
    places = {name: place.as_dict() for name, place in located(folder / INDEX).items()}

    def change(manifest: dict) -> None:
        manifest["index"].update(rows=n, size=digest.size, sha256=digest.sha256)
        manifest["shards"][0]["rows"] = n
        manifest["datasets"][INDEX] = places

    edit_manifest(folder, change)


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def private_bytes() -> int:
    text = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8")
    return sum(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Private_"))


class Clock:
    """Seconds by the clock and of the processor."""

    def __init__(self) -> None:
        self._times = time.perf_counter(), time.process_time()

    def lap(self) -> str:
        """Return what has passed since the last lap."""
        before, self._times = self._times, (time.perf_counter(), time.process_time())
        wall, processor = (now - then for now, then in zip(self._times, before, strict=True))
        return f"{wall:.2f} s ({processor:.2f} s of the processor)"


def measure(folder: Path) -> None:
    from tts_prep.loader import LengthBucketBatchSampler, UtteranceDataset

    before = peak()
    start = time.perf_counter()
    dataset = UtteranceDataset(folder)
    opened = time.perf_counter() - start
    print(f"| opening {len(dataset):,} utterances | {opened * 1e3:.1f} ms, {peak() - before:.3f} GB |", flush=True)
    clock = Clock()
    train = dataset[len(dataset) // 100 :]
    # Reads the lengths once: a wrong one is an error before the first epoch.
    sampler = LengthBucketBatchSampler(train.n_frames, max_frames=20_000)
    print(f"| making a sampler | {clock.lap()} |")
    first = next(iter(sampler))
    print(f"| an epoch's first batch of 20,000 frames ({len(first)}) | {clock.lap()} |", flush=True)
    batches = len(sampler)
    print(f"| planning the epoch of {batches:,} batches | {clock.lap()}, peak of memory {peak():.2f} GB |", flush=True)
    utterances = sum(map(len, sampler.draw(1)))
    print(f"| an epoch from its first to its last batch, {utterances:,} utterances | {clock.lap()} |")
    sampler.state_dict(steps=1)
    print(f"| a state in mid-epoch, with the checksum of all lengths | {clock.lap()} |")
    print(f"| peak of memory | {peak():.2f} GB |", flush=True)
    plan = sampler.plan(0)
    print(f"| padding | {plan.padding():.2%} |", flush=True)
    del plan
    reading, writing = os.pipe()
    if not os.fork():
        # A worker as torch forks it: it gets positions and makes utterances.
        number = private_bytes()
        text = train[first].id[0]
        os.write(writing, f"{private_bytes() - number} {text}".encode())
        os._exit(0)
    os.wait()
    added = int(os.read(reading, 100).split()[0])
    print(f"| memory that a forked worker adds | {added / 1e6:.1f} MB |")


def main() -> None:
    parser = argparse.ArgumentParser(description="Open and plan a store with a very long index.")
    parser.add_argument("--utterances", type=int, default=100_000_000)
    parser.add_argument("--folder", type=Path, default=WORK / "scale")
    parser.add_argument("--measure", action="store_true", help="measure a folder that is there already")
    options = parser.parse_args()
    if options.measure:
        measure(options.folder)
        return
    if not (options.folder / "manifest.json").exists():
        simulate(options.folder, options.utterances)
    # In a process of its own, whose peak is not that of the simulation.
    subprocess.run([sys.executable, __file__, "--measure", "--folder", str(options.folder)], check=True)


if __name__ == "__main__":
    main()
