"""Epochs of a store behind a URL over several processes, with a cache that is smaller than the store."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from forked_tests import forked_python
from stores import make_rows, write_store
from web_server import serving

from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.loader import Batch, DataLoader, LengthBucketBatchSampler, UtteranceDataset

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")

RANK = """
import hashlib, json, sys
from tts_prep.loader import Batch, DataLoader, LengthBucketBatchSampler, UtteranceDataset

url, cache, size, rank, world_size, steps, state = sys.argv[1:]
dataset = UtteranceDataset(url, cache=cache, cache_size=int(size))
sampler = LengthBucketBatchSampler(
    dataset.n_frames, max_frames=300, seed=1, shards=dataset.shard, shard_window=3, rank=int(rank),
    world_size=int(world_size),
)
loader = DataLoader(dataset, batch_sampler=sampler)
if state:
    loader.load_state_dict(json.loads(state))
used = {}
for number, batch in enumerate(loader, 1):
    for position, id in enumerate(batch.ids):
        mel = batch.mel[position, : batch.mel_lengths[position]]
        used.setdefault(id, []).append(hashlib.sha256(mel.tobytes()).hexdigest())
    if number == int(steps):
        break
print(json.dumps({"used": used, "state": loader.state_dict()}))
"""


def ranks(url: str, cache: Path, size: int, world_size: int, steps: int, state: str = "") -> list[dict]:
    command = [*forked_python(), "-W", "ignore", "-c", RANK, url, str(cache), str(size)]
    processes = [
        subprocess.Popen([*command, str(rank), str(world_size), str(steps), state], stdout=subprocess.PIPE, text=True)
        for rank in range(world_size)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * world_size
    return [json.loads(output) for output in outputs]


@pytest.mark.soak  # test_chaos.py has a short form
@pytest.mark.parametrize(("before", "after"), [(2, 3), (2, 4), (4, 2)])
def test_every_utterance_comes_once_and_right_from_a_cache_smaller_than_the_store(
    before: int, after: int, tmp_path: Path
) -> None:
    import hashlib

    rows = make_rows([20 + n % 50 for n in range(160)])
    store = write_store(tmp_path / "served" / "voice", rows, n_shards=24, waveform=True)
    shards = [path.stat().st_size for path in (store / "shards").iterdir()]
    rest = sum((store / name).stat().st_size for name in ("manifest.json", "index.h5"))
    size = rest + sum(shards) // 2
    with serving(store.parent) as web:
        url, cache = f"{web.url}/voice", tmp_path / "cache"
        first = ranks(url, cache, size, before, 5)
        rest_of_it = ranks(url, cache, size, after, -1, json.dumps(first[0]["state"]))
    used: Counter[str] = Counter()
    expected = {row.id: hashlib.sha256(row.mel.tobytes()).hexdigest() for row in rows}
    for rank in (*first, *rest_of_it):
        for id_, digests in rank["used"].items():
            used[id_] += len(digests)
            assert set(digests) == {expected[id_]}
    assert used == Counter(expected.keys())
    assert sum(os.path.getsize(path) for path in cache.rglob("*") if path.is_file()) <= size + 100


def test_a_sampler_that_downloads_ahead_gives_the_same_batches_and_states(tmp_path: Path) -> None:
    store = write_store(tmp_path / "served" / "voice", make_rows([20 + n % 50 for n in range(60)]), n_shards=12)
    with serving(store.parent) as web:
        dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache")
        plain, ahead = (
            LengthBucketBatchSampler(dataset.n_frames, max_frames=120, shards=dataset.shard, shard_window=3)
            for _ in range(2)
        )
        assert dataset.ahead(ahead) is ahead
        with pytest.raises(ConfigurationError, match="expected a batch sampler of tts_prep.loader, found a list"):
            dataset.ahead([[0]])
        states = []
        for batch, other in zip(plain, ahead, strict=True):
            assert batch == other
            states.append(ahead.state_dict())
            assert states[-1] == plain.state_dict()
        # What no process has used was downloaded, each file once.
        until = time.monotonic() + 60
        while len(list((tmp_path / "cache").rglob("shards/*.h5"))) < 12 and time.monotonic() < until:
            time.sleep(0.01)
        assert {name for name, n in web.requests.items() if "shards" in name and n == 1} == {
            f"voice/shards/{number:05d}.h5" for number in range(12)
        }
        ahead.load_state_dict(states[4])
        assert list(ahead) == list(plain.draw(0))[5:]


def test_ranks_of_a_store_that_is_replaced_in_mid_epoch_end_before_other_data_and_its_state_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.remote.server._JITTER.random", lambda: -0.5)
    rows = make_rows([20 + n % 50 for n in range(160)])
    mels = {row.id: row.mel for row in rows}
    store = write_store(tmp_path / "served" / "voice", rows, n_shards=24)
    newer = [replace(row, mel=row.mel + 1) for row in rows]

    def opened(rank: int) -> DataLoader[Batch]:  # each on a machine of its own, with half of the store in its cache
        size = sum(path.stat().st_size for path in store.rglob("*.*")) // 2
        dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path / f"cache-{rank}", cache_size=size)
        sampler = LengthBucketBatchSampler(
            dataset.n_frames, max_frames=120, shards=dataset.shard, shard_window=3, rank=rank, world_size=2
        )
        return DataLoader(dataset, batch_sampler=sampler)

    with serving(store.parent) as web:
        loaders = [opened(rank) for rank in range(2)]
        ranks = [iter(loader) for loader in loaders]
        steps = 0
        with pytest.raises(StoreError, match="voice: the store was replaced since it was opened; open it again"):
            while steps < 80:
                if steps == 5:
                    shutil.rmtree(store)
                    write_store(store, newer, n_shards=24)
                # A step is made when every rank has its batch, and so by all ranks or by none.
                for batch in [next(rank) for rank in ranks]:
                    for name, mel, length in zip(batch.ids, batch.mel, batch.mel_lengths, strict=True):
                        assert np.array_equal(mel[:length], mels[name])
                steps += 1
        assert 5 < steps < len(loaders[0]) - 5
        state = loaders[0].state_dict()
        for rank in ranks:
            rank.close()
        with pytest.raises(ConfigurationError, match="the state is of another dataset"):
            opened(0).load_state_dict(state)


def test_nodes_with_shares_download_their_half_of_the_store_in_all_epochs(tmp_path: Path) -> None:
    rows = make_rows([20 + n % 50 for n in range(240)])
    store = write_store(tmp_path / "served" / "voice", rows, n_shards=24)
    shards = sum(path.stat().st_size for path in (store / "shards").iterdir())
    rest = sum((store / name).stat().st_size for name in ("manifest.json", "index.h5"))
    used: list[Counter[str]] = [Counter(), Counter()]
    with serving(store.parent) as web:
        for node in range(2):
            (store.parent / f"node-{node}").symlink_to(store.parent, target_is_directory=True)
            # With room for the share, and not for the store.
            dataset = UtteranceDataset(
                f"{web.url}/node-{node}/voice", cache=tmp_path / f"{node}", cache_size=rest + shards * 6 // 10
            )
            sampler = LengthBucketBatchSampler(
                dataset.n_frames, 8, shards=dataset.shard, shard_window=3, rank=node, world_size=2, nodes=2
            )
            loader = DataLoader(dataset, batch_sampler=sampler)
            for epoch in range(2):
                used[epoch].update(id_ for batch in loader for id_ in batch.ids)
            assert web.sent_of[f"node-{node}"] <= 1.1 * (rest + shards / 2)
    assert used == [Counter(row.id for row in rows)] * 2


def test_an_epoch_of_windows_downloads_every_file_once_into_a_cache_smaller_than_the_store(tmp_path: Path) -> None:
    rows = make_rows([20 + n % 50 for n in range(160)])
    store = write_store(tmp_path / "served" / "voice", rows, n_shards=24)
    sizes = [path.stat().st_size for path in (store / "shards").iterdir()]
    rest = sum((store / name).stat().st_size for name in ("manifest.json", "index.h5"))
    with serving(store.parent) as web:
        dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache", cache_size=rest + 12 * max(sizes))
        sampler = LengthBucketBatchSampler(
            dataset.n_frames, max_frames=120, seed=1, shards=dataset.shard, shard_window=3
        )
        # A window of three shards has about 12 batches. The loader draws ten ahead, and three more shards: nine shards
        # or ten, which are kept until their batches are made, also on a busy machine.
        for epoch in (1, 2):
            ids = [id_ for batch in DataLoader(dataset, batch_sampler=sampler) for id_ in batch.ids]
            assert sorted(ids) == sorted(row.id for row in rows)
            assert max(n for name, n in web.requests.items() if "shards" in name) == epoch
