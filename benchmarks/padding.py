"""Print how much of an epoch is padding, for several ways to make batches of LJ-Speech-like lengths.

python benchmarks/padding.py [--max-frames 20000] [--windows]

``--windows`` prints what windows of shards cost instead, for docs/remote.md: padding, and how many pairs of utterances
of a batch are from one shard.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import numpy as np

from tts_prep.loader import BatchSampler, LengthBucketBatchSampler, RandomSampler
from tts_prep.recipes import PartiallyRandomizedSimilarTimeLengthSampler

EPOCHS = 5
SHARD_ROWS = 128
BATCH_SIZE = 32


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


def pairs_of_a_shard(batches: Iterable[list[int]], shards: np.ndarray) -> float:
    """Return the share of pairs of utterances of a batch, of all such pairs, that are from one shard."""
    same = every = 0
    for batch in batches:
        counts = np.bincount(shards[batch])
        same += int((counts * (counts - 1)).sum())
        every += len(batch) * (len(batch) - 1)
    return same / every


def print_windows(lengths: np.ndarray, budget: int) -> None:
    shards = np.arange(len(lengths)) // SHARD_ROWS
    print(f"| window | padding, {budget:,} frames | {BATCH_SIZE} per batch | pairs from one shard | batches |")
    print("| --- | --- | --- | --- | --- |")
    for window in (None, 64, 32, 16, 8, 4):
        windows = {} if window is None else {"shards": shards, "shard_window": window}
        by_frames = LengthBucketBatchSampler(lengths, max_frames=budget, **windows)
        by_number = LengthBucketBatchSampler(lengths, batch_size=BATCH_SIZE, **windows)
        epochs = [list(by_frames.draw(epoch)) for epoch in range(EPOCHS)]
        found = [padding(lengths, batches) for batches in epochs]
        numbered = [padding(lengths, by_number.draw(epoch))[0] for epoch in range(EPOCHS)]
        pairs = [pairs_of_a_shard(batches, shards) for batches in epochs]
        print(
            f"| {window or 'all shards'} | {np.mean([share for share, _ in found]):.1%} | {np.mean(numbered):.1%} | "
            f"{np.mean(pairs):.3f} | {np.mean([count for _, count in found]):.0f} |"
        )


def print_nodes(lengths: np.ndarray, budget: int) -> None:
    shards = np.arange(len(lengths)) // SHARD_ROWS
    print("\n| nodes of 4 ranks | window | padding | pairs from one shard | steps | with windows of all nodes |")
    print("| --- | --- | --- | --- | --- | --- |")
    for nodes, window in ((2, 32), (2, 16), (4, 16), (4, 8), (8, 8)):
        options = {"shards": shards, "rank": "all", "world_size": 4 * nodes, "max_frames": budget}
        shares = LengthBucketBatchSampler(lengths, shard_window=window, nodes=nodes, **options)
        together = LengthBucketBatchSampler(lengths, shard_window=window, **options)
        epochs = [list(shares.draw(epoch)) for epoch in range(EPOCHS)]
        found = [padding(lengths, batches)[0] for batches in epochs]
        pairs = [pairs_of_a_shard(batches, shards) for batches in epochs]
        steps = [len(batches) / nodes / 4 for batches in epochs]
        others = [together.count(epoch) / nodes / 4 for epoch in range(EPOCHS)]
        print(
            f"| {nodes} | {window} | {np.mean(found):.1%} | {np.mean(pairs):.3f} | {np.mean(steps):.1f} | "
            f"{np.mean(others):.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-frames", type=int, default=20_000)
    parser.add_argument("--windows", action="store_true", help="print what windows of shards cost")
    options = parser.parse_args()
    budget = options.max_frames
    lengths = ljspeech_like()
    if options.windows:
        print_windows(lengths, budget)
        print_nodes(lengths, budget)
        return
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
