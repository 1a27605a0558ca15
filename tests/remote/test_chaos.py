"""Ranks of two machines that share bounded caches, on a server that fails: `benchmarks/chaos.py`, short and long."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
from stores import write_store
from web_server import serving

from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import chaos


@pytest.mark.parametrize(
    ("plan", "hours", "shards", "most"),
    [
        pytest.param(
            chaos.Plan([(4, 4), (2, 4), (4, None)], 2, 2, 0.02, 0.5, 0.5, 3, 1200, 0.5, 0), 0.25, 24, 1.5, id="short"
        ),
        # Less than two files, where each batch needs three: nobody waits for what another holds.
        pytest.param(chaos.Plan([(4, None)], 1, 0, 0.0, 0.0, 0.21, 3, 1200, work=0), 0.037, 9, 100, id="a tiny cache"),
        pytest.param(chaos.Plan(), 24, 103, 1.1, id="long", marks=pytest.mark.soak),
        pytest.param(chaos.Plan(work=0), 24, 103, 1.1, id="long, without rest", marks=pytest.mark.soak),
    ],
)
def test_every_utterance_comes_once_and_right_while_the_server_fails_and_ranks_are_killed(
    plan: chaos.Plan, hours: float, shards: int, most: float, tmp_path: Path
) -> None:
    rows = chaos.rows_of(hours)
    store = write_store(tmp_path / "served" / "voice", rows, n_shards=shards)
    found = chaos.run(rows, store, tmp_path, plan, 100 if shards < 100 else 1500)
    assert found.died == []
    assert found.wrong == []
    assert found.used == Counter((epoch, row.id) for epoch in range(plan.epochs) for row in rows)
    assert found.kills == plan.kills
    assert found.longest < 60
    for sent, least in zip(found.sent, found.least, strict=True):
        assert sent <= most * least


def test_a_later_epoch_uses_what_the_cache_has_and_every_epoch_the_order_of_the_next(tmp_path: Path) -> None:
    rows = chaos.rows_of(0.1)
    store = write_store(tmp_path / "served" / "voice", rows, n_shards=24)
    sizes = {path.name: path.stat().st_size for path in (store / "shards").iterdir()}
    base = sum((store / name).stat().st_size for name in ("manifest.json", "index.h5"))
    size = base + sum(sizes.values()) // 2
    with serving(store.parent) as web:
        dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache", cache_size=size)
        sampler = LengthBucketBatchSampler(dataset.n_frames, 4, seed=1, shards=dataset.shard, shard_window=3)
        loader = DataLoader(dataset, batch_sampler=sampler)
        used = [{f"{shard:05d}.h5" for shard in dataset.shard[batch.indices]} for _ in range(3) for batch in loader]
        # Least recently used first, three epochs send 2.7 times the store, and so 2.1.
        assert web.sent <= 1.1 * (base + chaos.least_bytes(used, sizes, size - base))


def test_the_least_is_that_of_a_reader_that_removes_what_is_needed_last() -> None:
    # A cache of two files of ten bytes: b, needed last, makes room for c; then a stays for its second use.
    steps = [["a"], ["b"], ["a"], ["c"], ["a"], ["b"]]
    assert chaos.least_bytes(steps, dict.fromkeys("abc", 10), 20) == 40
    assert chaos.least_bytes(steps, dict.fromkeys("abc", 10), 30) == 30
    assert chaos.least_bytes(steps, dict.fromkeys("abc", 10), 10) == 60
