"""Stores behind URLs: what is downloaded, when, how often, and what stays in the cache."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from mounting import mounted
from readers import reading
from stores import Row, make_rows, write_store
from web_server import Answer, WebServer, serving

from tts_prep.errors import (
    CannotReadError,
    ConfigurationError,
    CorruptStoreError,
    OfflineWarning,
    StoreError,
    WriteError,
)
from tts_prep.format.files.paths import without_secret
from tts_prep.format.records.manifest import FileEntry, read_manifest
from tts_prep.loader import ChainDataset, DataLoader, LengthBucketBatchSampler, UtteranceDataset
from tts_prep.remote.cache import CachedStore
from tts_prep.remote.server import Server
from tts_prep.remote.transfer import Patience

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")

N_FRAMES = tuple(range(20, 68))
SHARDS = 12


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return make_rows(N_FRAMES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> Path:
    """Return a folder with a store of twelve shards, in the subfolder ``voice``."""
    folder = tmp_path_factory.mktemp("served")
    write_store(folder / "voice", rows, n_shards=SHARDS, waveform=True)
    return folder


@pytest.fixture
def web(folder: Path) -> Iterator[WebServer]:
    with serving(folder) as server:
        yield server


@pytest.fixture
def few(rows: list[Row], tmp_path: Path) -> Iterator[WebServer]:
    """Yield a server of a store of four shards: a bounded cache keeps a file for 0.2 s after its last use."""
    with serving(write_store(tmp_path / "served" / "voice", rows, n_shards=4, waveform=True).parent) as server:
        yield server


def files_in(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


def shard_files(cache: Path) -> list[Path]:
    return sorted(cache.rglob("shards/*.h5"))


def test_opening_downloads_the_manifest_and_the_index_alone(web: WebServer, tmp_path: Path) -> None:
    dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path)
    assert len(dataset) == len(N_FRAMES)
    assert dataset.n_frames.tolist() == list(N_FRAMES)
    assert dict(web.requests) == {"voice/manifest.json": 1, "voice/index.h5": 1}


def test_a_shard_is_downloaded_when_it_is_used_and_once(web: WebServer, rows: list[Row], tmp_path: Path) -> None:
    dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path)
    for _ in range(2):
        assert np.array_equal(dataset[0].mel, rows[0].mel)
    assert web.requests["voice/shards/00000.h5"] == 1
    assert web.requests.total() == 3


def test_the_values_are_those_of_the_store(web: WebServer, folder: Path, tmp_path: Path) -> None:
    there, here = UtteranceDataset(f"{web.url}/voice", cache=tmp_path), UtteranceDataset(folder / "voice")
    assert there.fingerprint == here.fingerprint
    for name in ("mel", "phonemes", "waveform"):
        assert all(np.array_equal(a, b) for a, b in zip(there.views(name), here.views(name), strict=True))
    assert list(there.id) == list(here.id)


def test_a_cache_holds_the_files_of_the_store_as_they_are(web: WebServer, folder: Path, tmp_path: Path) -> None:
    dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path)
    dataset.views("mel")
    for path in dataset.path.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (folder / "voice" / path.relative_to(dataset.path)).read_bytes()
    assert dataset.path.name == "voice"
    assert not list((tmp_path / ".partial").iterdir())


def test_an_epoch_downloads_every_file_once(web: WebServer, tmp_path: Path) -> None:
    dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path)
    sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=200, seed=0)
    for _ in range(2):
        assert sum(len(batch.ids) for batch in DataLoader(dataset, batch_sampler=sampler)) == len(N_FRAMES)
    assert set(web.requests.values()) == {1}
    needed = sum(path.stat().st_size for path in (web.folder / "voice").rglob("*.h5"))
    assert web.sent == needed + (web.folder / "voice" / "manifest.json").stat().st_size


class Fetched:
    """The end of each call that fetches a file into a cache."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fetch, self._ended = CachedStore.fetch, threading.Condition()

        def noted(*arguments: Any, **options: Any) -> None:
            fetch(*arguments, **options)
            with self._ended:
                self._ended.notify_all()

        monkeypatch.setattr(CachedStore, "fetch", noted)

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition is true at such an end."""
        with self._ended:
            assert self._ended.wait_for(condition, timeout=120)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> Fetched:
    return Fetched(monkeypatch)


def test_files_are_downloaded_ahead_of_the_loop(web: WebServer, fetched: Fetched, tmp_path: Path) -> None:
    dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path)
    sampler = LengthBucketBatchSampler(dataset.n_frames, batch_size=2, shuffle=False)
    batches = iter(DataLoader(dataset, batch_sampler=sampler, prefetch=0))
    next(batches)
    fetched.wait(lambda: len(shard_files(tmp_path)) == SHARDS)
    batches.close()


def test_no_later_file_is_downloaded_beside_those_of_the_first_batch(
    web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path)
    download, events = Server.download, []

    def noted(server: Server, entry: FileEntry, *arguments: Any) -> None:
        events.append(("begins", entry.file))
        if len(events) == 1:
            time.sleep(0.05)  # in which others could begin
        download(server, entry, *arguments)
        events.append(("ends", entry.file))

    monkeypatch.setattr(Server, "download", noted)
    sampler = LengthBucketBatchSampler(dataset.n_frames, batch_size=2, shuffle=False)
    needed = {f"shards/{shard:05d}.h5" for shard in dataset.shard[next(iter(sampler))]}
    assert sum(len(batch.ids) for batch in DataLoader(dataset, batch_sampler=sampler)) == len(N_FRAMES)
    first = events[: 2 * len(needed)]
    assert sorted(first) == sorted((what, file) for what in ("begins", "ends") for file in needed)
    assert len(events) == 2 * SHARDS


def test_the_files_of_a_chain_are_downloaded_ahead_of_the_loop(
    web: WebServer, rows: list[Row], fetched: Fetched, tmp_path: Path
) -> None:
    # Two stores, one of them a second time in a part of the chain, and one on this machine.
    write_store(tmp_path / "here", make_rows([30, 40]), n_shards=1, waveform=True)
    there = UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "a")
    other = UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "b")
    chain = ChainDataset(there, ChainDataset(UtteranceDataset(tmp_path / "here"), other))
    # The first two batches are of the first store; the files of both come meanwhile.
    order = [0, 1, len(rows) + 2, len(chain) - 1, 5, 0]
    batches = iter(DataLoader(chain, sampler=order, batch_size=2, prefetch=0))
    mels = [next(batches).mel]
    paths = [tmp_path / name for name in "ab"]
    expected = ["a/00000.h5", "a/00001.h5", "b/00000.h5", "b/00011.h5"]
    fetched.wait(lambda: [f"{path.name}/{file.name}" for path in paths for file in shard_files(path)] == expected)
    mels += [batch.mel for batch in batches]
    wanted = [rows[0], rows[1], rows[0], rows[-1], rows[5], rows[0]]
    for place, row in enumerate(wanted):
        assert np.array_equal(mels[place // 2][place % 2, : len(row.mel)], row.mel)


def complete_copy(folder: Path, cache: Path) -> str:
    """Fill a cache by an epoch over the store of a server that is gone afterwards, and return its URL."""
    with serving(folder) as web:
        assert all(len(utterance.mel) for utterance in UtteranceDataset(f"{web.url}/voice", cache=cache))
        return f"{web.url}/voice"


def test_a_complete_copy_is_opened_without_a_connection_after_two_attempts(
    folder: Path, rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = complete_copy(folder, tmp_path)
    waits: list[float] = []
    monkeypatch.setattr("tts_prep.remote.server.Event.wait", lambda _, seconds: waits.append(seconds))
    with pytest.warns(
        OfflineWarning, match=r"cannot be read in 2 attempts .* Opened the copy in the cache\."
    ) as caught:
        dataset = UtteranceDataset(url, cache=tmp_path)
    assert caught[0].filename == __file__
    assert np.array_equal(dataset[5].mel, rows[5].mel)


def test_a_complete_copy_is_opened_without_asking_or_not_at_all_on_request(
    web: WebServer, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.remote.server._JITTER.random", lambda: -0.5)
    for _ in DataLoader(UtteranceDataset(f"{web.url}/voice", cache=tmp_path), 8):  # an epoch
        pass
    web.requests.clear()
    assert len(UtteranceDataset(f"{web.url}/voice", cache=tmp_path, offline=True)) == len(N_FRAMES)
    assert not web.requests
    with pytest.raises(StoreError, match="no complete copy of it; open it without offline first"):
        UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "other", offline=True)
    url = complete_copy(folder, tmp_path / "gone")
    with pytest.raises(CannotReadError, match="cannot be read in 5 attempts"):
        UtteranceDataset(url, cache=tmp_path / "gone", offline=False)


@pytest.mark.parametrize("fault", [(503, b""), (200, b"{")], ids=["an error", "a broken manifest"])
def test_a_server_that_answers_is_asked_until_it_says_what_the_store_is_by_now(
    fault: tuple[int, bytes], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.remote.server._JITTER.random", lambda: -0.5)
    newer = write_store(tmp_path / "newer" / "voice", make_rows([20, 30]), n_shards=1)

    def busy(answer: Answer) -> None:
        if answer.name.endswith("manifest.json") and answer.number < 6:
            (answer.status, answer.body), answer.length = fault, len(fault[1])

    with serving(folder) as web:
        UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache", verify=True)
        web.folder, web.fault = newer.parent, busy
        web.requests.clear()
        assert len(UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache")) == 2


@pytest.fixture
def read_only() -> Iterator[Callable[[Path], None]]:
    """Return a function that makes a folder read-only, also for the superuser."""
    with ExitStack() as mounts:

        def mount(folder: Path) -> None:
            if os.getuid():
                for path in (folder, *folder.rglob("*")):
                    path.chmod(path.stat().st_mode & ~0o222)
            else:
                mounts.enter_context(mounted(folder, "--bind", str(folder)))
                subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)

        yield mount


def test_a_complete_cache_that_is_read_only_is_opened_and_read(
    folder: Path, rows: list[Row], tmp_path: Path, read_only: Callable[[Path], None]
) -> None:
    cache = tmp_path / "cache"
    with serving(folder) as web:
        for _ in DataLoader(UtteranceDataset(f"{web.url}/voice", cache=cache), 8):  # an epoch
            pass
        shutil.rmtree(cache / ".partial")
        read_only(cache)
        dataset = UtteranceDataset(f"{web.url}/voice", cache=cache, cache_size=10**9)
        assert all(np.array_equal(mel, row.mel) for mel, row in zip(dataset.views("mel"), rows, strict=True))
        copy = pickle.loads(pickle.dumps(dataset))
        assert np.array_equal(copy[7].waveform, rows[7].waveform)
        web.folder = write_store(tmp_path / "newer" / "voice", make_rows([20, 30]), n_shards=1).parent
        with pytest.raises(WriteError, match=f"{cache}: cannot be written, and .* has changed; give another cache"):
            UtteranceDataset(f"{web.url}/voice", cache=cache)
        assert len(UtteranceDataset(f"{web.url}/voice", cache=cache, offline=True)) == len(rows)


def test_a_part_of_a_cache_that_is_read_only_is_an_error(
    web: WebServer, tmp_path: Path, read_only: Callable[[Path], None]
) -> None:
    cache = tmp_path / "cache"
    UtteranceDataset(f"{web.url}/voice", cache=cache)[0]
    read_only(cache)
    with pytest.raises(WriteError, match="cannot be written .*; give another cache"):
        UtteranceDataset(f"{web.url}/voice", cache=cache)


def test_a_later_epoch_asks_neither_the_server_nor_the_cache_for_a_file(
    web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path)
    sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=120, shards=dataset.shard, shard_window=3)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        assert sum(len(batch.ids) for batch in DataLoader(dataset, batch_sampler=sampler)) == len(N_FRAMES)
        web.requests.clear()
        for name in ("map", "fetch"):
            monkeypatch.setattr(CachedStore, name, lambda *_, name=name, **__: pytest.fail(f"{name} in a later epoch"))


def test_an_incomplete_copy_is_not_opened_without_a_connection(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.remote.server._JITTER.random", lambda: -0.5)
    with serving(folder) as web:
        url = f"{web.url}/voice"
        UtteranceDataset(url, cache=tmp_path)[0]
    with pytest.raises(StoreError, match="no complete copy"):
        UtteranceDataset(url, cache=tmp_path)


def test_a_copy_in_another_process_opens_the_same_version(web: WebServer, rows: list[Row], tmp_path: Path) -> None:
    dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path)
    copy = pickle.loads(pickle.dumps(dataset))
    assert np.array_equal(copy[7].mel, rows[7].mel)
    assert web.requests["voice/manifest.json"] == 1


def test_processes_that_share_a_cache_download_every_file_once(web: WebServer, rows: list[Row], tmp_path: Path) -> None:
    with ExitStack() as readers:
        connections = [readers.enter_context(reading(f"{web.url}/voice", tmp_path, ("mel",)))[1] for _ in range(4)]
        assert all(connection.poll(120) for connection in connections)
        sums = [connection.recv() for connection in connections]
    assert sums == [sums[0]] * 4
    assert sums[0] == pytest.approx(sum(float(row.mel.sum()) for row in rows), rel=1e-5)
    assert {name: n for name, n in web.requests.items() if n != 1} == {"voice/manifest.json": 4}


def test_the_least_recently_used_files_leave_a_cache_of_limited_size(
    web: WebServer, rows: list[Row], tmp_path: Path
) -> None:
    sizes = [entry.size for entry in read_manifest(web.folder / "voice").shards]
    rest = sum((web.folder / "voice" / name).stat().st_size for name in ("manifest.json", "index.h5"))
    limit = rest + 4 * max(sizes)
    dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path, cache_size=limit)
    for number in range(len(rows)):
        assert np.array_equal(dataset[number].mel, rows[number].mel)
        assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= limit + 100
    # In the order of the store, so that the last shards are left.
    assert shard_files(tmp_path)[-1].name == f"{SHARDS - 1:05d}.h5"
    assert not any(path.name == "00000.h5" for path in shard_files(tmp_path))
    assert set(web.requests.values()) == {1}


def test_a_file_that_a_drawn_batch_needs_stays_though_it_was_used_before_others(
    web: WebServer, rows: list[Row], tmp_path: Path
) -> None:
    sizes = [entry.size for entry in read_manifest(web.folder / "voice").shards]
    rest = sum((web.folder / "voice" / name).stat().st_size for name in ("manifest.json", "index.h5"))
    dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path, cache_size=rest + 2 * max(sizes))
    first_of = {int(shard): row for row, shard in reversed(list(enumerate(dataset.shard)))}
    drawn = iter(dataset.fetched_ahead([[0], [0], [0]]))
    assert np.array_equal(dataset[next(drawn)[0]].mel, rows[0].mel)
    second = next(drawn)  # when the file of both is mapped
    for shard in (1, 2):
        assert len(dataset[first_of[shard]].mel)
    assert np.array_equal(dataset[second[0]].mel, rows[0].mel)
    assert web.requests["voice/shards/00000.h5"] == 1


def test_an_epoch_that_goes_on_in_its_middle_keeps_what_the_next_one_uses_first(web: WebServer, tmp_path: Path) -> None:
    shards = read_manifest(web.folder / "voice").shards
    size = (web.folder / "voice" / "manifest.json").stat().st_size + 4 * max(entry.size for entry in shards)
    cached = CachedStore(f"{web.url}/voice", tmp_path, size=size)
    for entry in shards[:4]:
        cached.fetch(entry)
    # The last window of this epoch, after those of the files that are here, and three of the next.
    windows = [[0, 1], [2, 3], [4, 5], [4, 0], [1, 2], [3, 5]]
    batches = cached.ahead([[4, 5]], lambda batch: [shards[number] for number in batch], lambda _: False, windows)
    assert next(iter(batches)) == [4, 5]
    until = time.monotonic() + 60
    while not {"00004.h5", "00005.h5"} <= {path.name for path in shard_files(tmp_path)} and time.monotonic() < until:
        time.sleep(0.01)
    names = {path.name for path in shard_files(tmp_path)}
    assert {"00000.h5", "00004.h5", "00005.h5"} < names
    assert "00003.h5" not in names


def test_a_cache_of_limited_size_is_emptied_under_arrays_that_are_kept(
    few: WebServer, rows: list[Row], tmp_path: Path
) -> None:
    sizes = [entry.size for entry in read_manifest(few.folder / "voice").shards]
    rest = sum((few.folder / "voice" / name).stat().st_size for name in ("manifest.json", "index.h5"))
    url, size = f"{few.url}/voice", rest + max(sizes)
    dataset = UtteranceDataset(url, cache=tmp_path / "cache", cache_size=size)
    # Of all shards, of which one at a time has room.
    mels, waveforms = dataset.views("mel"), dataset.views("waveform")
    for mel, waveform, row in zip(mels, waveforms, rows, strict=True):
        assert np.array_equal(mel, row.mel)
        assert np.array_equal(waveform, row.waveform)
        assert not mel.flags.writeable | waveform.flags.writeable
    assert len(shard_files(tmp_path / "cache")) == 1
    with pytest.raises(ConfigurationError, match=f"cache_size: {size - 1:,} bytes, expected at least {size:,}"):
        UtteranceDataset(url, cache=tmp_path / "other", cache_size=size - 1)


def test_a_cache_without_room_for_two_windows_is_said_once_with_the_size_that_has_it(
    few: WebServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sizes = [entry.size for entry in read_manifest(few.folder / "voice").shards]
    rest = sum((few.folder / "voice" / name).stat().st_size for name in ("manifest.json", "index.h5"))
    dataset = UtteranceDataset(f"{few.url}/voice", cache=tmp_path / "cache", cache_size=rest + 2 * max(sizes))
    sampler = LengthBucketBatchSampler(dataset.n_frames, 8, shards=dataset.shard, shard_window=2)
    for _ in range(2):
        assert len([*DataLoader(dataset, batch_sampler=sampler)]) == len(sampler)
    (said,) = [record.getMessage() for record in caplog.records if record.name == "tts_prep.remote"]
    found = re.fullmatch(r".*less than two windows of shards need.*; give ([\d,]+) or more, or a smaller .*", said)
    assert found is not None
    assert rest + 4 * min(sizes) <= int(found[1].replace(",", "")) <= rest + 4 * max(sizes)


def test_a_file_that_another_process_has_mapped_stays_in_the_cache(web: WebServer, tmp_path: Path) -> None:
    sizes = [entry.size for entry in read_manifest(web.folder / "voice").shards]
    rest = sum((web.folder / "voice" / name).stat().st_size for name in ("manifest.json", "index.h5"))
    with reading(f"{web.url}/voice", tmp_path) as (_, connection):
        assert connection.poll(120)
        connection.recv()
        dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path, cache_size=rest + 3 * max(sizes))
        for number in range(4, len(N_FRAMES)):
            dataset[number]
        assert any(path.name == "00000.h5" for path in shard_files(tmp_path))
    dataset[20].mel, dataset[30].mel, dataset[40].mel
    assert not any(path.name == "00000.h5" for path in shard_files(tmp_path))


def test_a_store_that_is_updated_takes_its_unchanged_files_over(folder: Path, rows: list[Row], tmp_path: Path) -> None:
    served = tmp_path / "served"
    shutil.copytree(folder / "voice", served / "voice")
    with serving(served) as web:
        UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache").views("mel")
        shutil.rmtree(served / "voice")
        changed = make_rows(N_FRAMES)
        changed[-1].mel = changed[-1].mel + 1
        write_store(served / "voice", changed, n_shards=SHARDS, waveform=True)
        web.requests.clear()
        dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache")
        assert np.array_equal(dataset[-1].mel, changed[-1].mel)
        assert np.array_equal(dataset[0].mel, rows[0].mel)
        dataset.views("mel")
    shards = [name for name in web.requests if "shards" in name]
    assert shards == [f"voice/shards/{SHARDS - 1:05d}.h5"]


def test_a_store_that_is_replaced_while_it_is_read_is_an_error_and_not_other_data(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.remote.server._JITTER.random", lambda: -0.5)
    served = tmp_path / "served"
    shutil.copytree(folder / "voice", served / "voice")
    with serving(served) as web:
        dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache")
        dataset[0]
        dataset.check_unchanged()
        shutil.rmtree(served / "voice")
        with pytest.raises(StoreError, match="replaced since it was opened; open it again"):
            dataset.check_unchanged()
        changed = make_rows(N_FRAMES)
        for row in changed:
            row.mel = row.mel + 1
        write_store(served / "voice", changed, n_shards=SHARDS, waveform=True)
        with pytest.raises(StoreError, match="replaced since it was opened; open it again"):
            dataset[-1]
        again = UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache")
        assert np.array_equal(again[-1].mel, changed[-1].mel)
        web.fault = lambda answer: setattr(answer, "status", 503)
        again.check_unchanged()  # a server that is away says nothing of the store


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://host/store", "expected a URL that starts with s3://, gs://, az://, hf://, http://, https://, file://"),
        ("http://host/store?key=1", "without a query"),
        ("http:///store", "not a URL"),
        ("http://host:port/store", "not a URL"),
        ("http://[host/store", "not a URL"),
        ("http://host/a\nb", "not a URL"),
        ("s3://", "not a URL"),
        ("s3://bucket/a::file:///etc", "'::' chains URLs"),
    ],
)
def test_other_urls_are_refused(url: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=message):
        UtteranceDataset(url, cache=tmp_path)


def test_a_url_needs_a_cache_and_a_folder_none(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cache='FOLDER'"):
        UtteranceDataset("http://127.0.0.1:1/store")
    with pytest.raises(ConfigurationError, match="needs no cache"):
        UtteranceDataset(folder / "voice", cache=tmp_path)


def test_a_url_of_a_file_system_is_copied_too(folder: Path, rows: list[Row], tmp_path: Path) -> None:
    dataset = UtteranceDataset(f"file://{folder}/voice", cache=tmp_path)
    assert np.array_equal(dataset[3].waveform, rows[3].waveform)
    assert dataset.path.is_relative_to(tmp_path)


def test_a_manifest_with_paths_that_lead_out_of_the_store_writes_nothing_there(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.remote.server._JITTER.random", lambda: -0.5)
    from stores import edit_manifest

    for name in ("../evil.h5", "/tmp/evil.h5", "shards/../../evil.h5"):
        served = tmp_path / hashlib.sha256(name.encode()).hexdigest()[:8]
        shutil.copytree(folder / "voice", served / "voice")
        edit_manifest(served / "voice", lambda value, name=name: value["shards"][0].update(file=name))
        with serving(served) as web, pytest.raises(CorruptStoreError, match="expected the file 'shards/00000.h5'"):
            UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache")
        assert [name for name in files_in(tmp_path / "cache") if "evil" in name] == []
        assert sorted(web.requests) == ["voice/manifest.json"]


def test_a_file_larger_than_the_disk_is_refused_before_it_is_downloaded(folder: Path, tmp_path: Path) -> None:
    from stores import edit_manifest

    shutil.copytree(folder / "voice", tmp_path / "served" / "voice")
    edit_manifest(tmp_path / "served" / "voice", lambda value: value["index"].update(size=1 << 55))
    with serving(tmp_path / "served") as web, pytest.raises(StoreError, match="bytes left, a file needs"):
        UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache")
    assert sorted(web.requests) == ["voice/manifest.json"]


def test_a_dataset_is_read_after_a_fork(web: WebServer, rows: list[Row], tmp_path: Path) -> None:
    dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path)
    dataset[0]
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = int(not np.array_equal(dataset[-1].mel, rows[-1].mel))
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_password_is_neither_shown_nor_kept(folder: Path, tmp_path: Path) -> None:
    def refused(answer: Answer) -> None:
        answer.status, answer.body, answer.length = 403, b"", 0

    with serving(folder) as web:
        url = web.url.replace("://", "://anna:pass%40word@") + "/voice"
        dataset = UtteranceDataset(url, cache=tmp_path)
        dataset[0]
        web.fault = refused
        with pytest.raises(StoreError) as caught:
            UtteranceDataset(url, cache=tmp_path / "other")
    shown = f"{caught.value} {dataset!r} {dataset.path}"
    assert not any(secret in shown for secret in ("anna", "pass%40word", "pass@word"))
    for path in tmp_path.rglob("*"):
        assert "anna" not in str(path)
        assert path.is_dir() or b"pass" not in path.read_bytes()


def test_another_password_finds_the_same_copy(web: WebServer, tmp_path: Path) -> None:
    for user in ("", "anna:one@", "anna:two@"):
        UtteranceDataset(web.url.replace("://", f"://{user}") + "/voice", cache=tmp_path)[0]
    assert web.requests["voice/shards/00000.h5"] == 1


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://anna:secret@host/a@b", "http://host/a@b"),
        ("http://token@host/a", "http://host/a"),
        ("http://anna:sec/ret@host/a", "http://host/a"),
        ("http://host:8000/a@b", "http://host:8000/a@b"),
        ("https://host/a?X-Amz-Signature=secret", "https://host/a?…"),
        ("az://container@account/a", "az://container@account/a"),
        ("s3://key:secret@bucket/a", "s3://bucket/a"),
        ("hf://datasets/anna/voice@main/a", "hf://datasets/anna/voice@main/a"),
        ("stores/anna:secret@host", "stores/anna:secret@host"),
    ],
)
def test_messages_have_a_url_without_its_secrets(url: str, shown: str) -> None:
    assert without_secret(url) == shown


@pytest.mark.parametrize("name", ["my voice", "voix é – 声", "100%", "a+b&c=d", "a%20b", "(a);,'~!$*[b]"])
def test_the_name_of_a_store_can_have_any_characters(name: str, folder: Path, rows: list[Row], tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / name).symlink_to(folder / "voice")
    quoted = quote(name)
    with serving(tmp_path / "served") as web:
        for number, url in enumerate(
            (f"{web.url}/{quoted}", f"{web.url}/{quoted}/", f"file://{tmp_path}/served/{name}")
        ):
            dataset = UtteranceDataset(url, cache=tmp_path / str(number))
            assert np.array_equal(dataset[0].mel, rows[0].mel)
            assert dataset.path.is_relative_to(tmp_path / str(number))


def test_the_scheme_is_read_in_any_case(web: WebServer, tmp_path: Path) -> None:
    UtteranceDataset(web.url.replace("http", "HTTP") + "/voice", cache=tmp_path)[0]
    UtteranceDataset(f"{web.url}/voice/", cache=tmp_path)[0]
    assert web.requests["voice/shards/00000.h5"] == 1


def test_a_server_may_redirect_and_not_without_an_end(web: WebServer, rows: list[Row], tmp_path: Path) -> None:
    def moved(answer: Answer) -> None:
        if answer.name.startswith("old/"):
            answer.status, answer.location = 302, f"/{answer.name.removeprefix('old/')}"

    def around(answer: Answer) -> None:
        answer.status, answer.location = 302, f"/{answer.name}"

    web.fault = moved
    assert np.array_equal(UtteranceDataset(f"{web.url}/old/voice", cache=tmp_path)[0].mel, rows[0].mel)
    web.fault = around
    with pytest.raises(StoreError, match="cannot be read in 2 attempts"):
        CachedStore(f"{web.url}/other", tmp_path, patience=Patience(attempts=2, wait=0.001))


def test_a_cache_that_is_emptied_while_it_is_used_is_filled_again(
    web: WebServer, rows: list[Row], tmp_path: Path
) -> None:
    dataset = UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache")
    before = dataset[0].mel
    shutil.rmtree(tmp_path / "cache")
    assert np.array_equal(dataset[-1].mel, rows[-1].mel)
    assert np.array_equal(before, rows[0].mel)
    assert np.array_equal(UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache")[-1].mel, rows[-1].mel)


def test_a_cache_may_be_a_link_to_a_folder_and_not_a_file(web: WebServer, rows: list[Row], tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "disk")
    assert np.array_equal(UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "cache")[0].mel, rows[0].mel)
    (tmp_path / "file").write_text("x")
    with pytest.raises(WriteError, match="give another cache"):
        UtteranceDataset(f"{web.url}/voice", cache=tmp_path / "file")
