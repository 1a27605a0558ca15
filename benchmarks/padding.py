"""Print how much of an epoch is padding, for several ways to make batches of LJ-Speech-like lengths.

python benchmarks/padding.py [--max-frames 20000]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import numpy as np

from tts_prep.loader import (
    BatchSampler,
    LengthBucketBatchSampler,
    PartiallyRandomizedSimilarTimeLengthSampler,
    RandomSampler,
)

EPOCHS = 5


def ljspeech_like(n: int = 13_100) -> np.ndarray:
    """Lengths in frames with the range, mean and skew of LJ Speech: 1.1 to 10.1 s, 6.57 s on average."""
    seconds = 1.1 + 9 * np.random.default_rng(0).beta(2.2, 1.42, n)
    return (1 + seconds * 22_050 // 256).astype(np.int64)


def padding(lengths: np.ndarray, batches: Iterable[list[int]]) -> tuple[float, int]:
    sizes = [(len(batch) * lengths[batch].max(), lengths[batch].sum()) for batch in batches]
    padded, real = np.array(sizes).sum(axis=0)
    return 1 - real / padded, len(sizes)


def cut(order: Iterable[int], lengths: np.ndarray, budget: int) -> Iterable[list[int]]:
    batch: list[int] = []
    for i in order:
        if batch and (len(batch) + 1) * max(int(lengths[batch].max()), int(lengths[i])) > budget:
            yield batch
            batch = []
        batch.append(i)
    yield batch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-frames", type=int, default=20_000)
    budget = parser.parse_args().max_frames
    lengths = ljspeech_like()
    size = int(budget // lengths.mean())
    similar = PartiallyRandomizedSimilarTimeLengthSampler(lengths, size)
    rows = {
        f"random order, {size} per batch": [padding(lengths, BatchSampler(RandomSampler(lengths), size))],
        f"random order, {budget:,} frames": [padding(lengths, cut(RandomSampler(lengths), lengths, budget))],
        f"Parakeet's similar lengths, {size} per batch": [padding(lengths, BatchSampler(similar, size).draw(0))],
        "sorted, the same batches in every epoch": [
            padding(lengths, LengthBucketBatchSampler(lengths, max_frames=budget, shuffle=False))
        ],
    }
    for tolerance in (0.01, 0.02, 0.05):
        sampler = LengthBucketBatchSampler(lengths, max_frames=budget, tolerance=tolerance)
        rows[f"random buckets, tolerance {tolerance}"] = [
            padding(lengths, sampler.draw(epoch)) for epoch in range(EPOCHS)
        ]
    for n_shapes in (4, 8, 16):
        sampler = LengthBucketBatchSampler(lengths, max_frames=budget, n_shapes=n_shapes)
        rows[f"at most {n_shapes} fixed shapes"] = [
            (sampler.plan(epoch).padding(), len(sampler.plan(epoch))) for epoch in range(EPOCHS)
        ]
    print("| | padding | batches |\n| --- | --- | --- |")
    for name, found in rows.items():
        shares, counts = zip(*found, strict=True)
        print(f"| {name} | {np.mean(shares):.2%} | {np.mean(counts):.0f} |")


if __name__ == "__main__":
    main()
