"""What an ended process has left of a download: the next one goes on with it, and the SHA-256 of the whole decides."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from readers import reading
from stores import make_rows, write_store
from web_server import Answer, WebServer, serving

from tts_prep.errors import CannotReadError, StoreError
from tts_prep.format.records.manifest import FileEntry, read_manifest
from tts_prep.remote.cache import CachedStore
from tts_prep.remote.fetching import fetch_store
from tts_prep.remote.transfer import Patience, Stopped

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")

QUICK = Patience(attempts=3, wait=0.001)
SHARD = "shards/00000.h5"


def partial_file(cached: CachedStore, entry: FileEntry, web: WebServer | None = None) -> Path:
    """Return the file that a download has left which was no longer wanted, after the last byte that it was sent."""
    stop, asked = threading.Event(), f"voice/{entry.file}"
    before = web.requests[asked] if web else 0
    stop.set()
    with pytest.raises(Stopped):
        cached.fetch(entry, stop=stop)
    # The thread that reads is left to itself: it may ask later.
    until, seen = time.monotonic() + 20, -1
    while web and time.monotonic() < until and (web.requests[asked] == before or web.sent != seen):
        seen = web.sent
        time.sleep(0.1)
    (path,) = (cached.folder.parents[2] / ".partial").iterdir()
    return path


def test_a_killed_download_is_gone_on_with_and_no_byte_that_is_here_is_sent_again(folder: Path, tmp_path: Path) -> None:
    def paced(answer: Answer) -> None:
        if "shards" in answer.name:
            answer.pieces, answer.pause = 100, 0.02

    with serving(folder, paced) as web:
        url = f"{web.url}/voice"
        cached = CachedStore(url, tmp_path, patience=QUICK)
        with reading(url, tmp_path, ("mel",)):
            until, kept = time.monotonic() + 100, 0
            while time.monotonic() < until and kept < 100_000:
                time.sleep(0.02)
                if (cached.folder / "index.h5").exists():  # which comes before the shards
                    kept = sum(len(path.read_bytes().rstrip(b"\0")) for path in (tmp_path / ".partial").iterdir())
        web.fault = None
        here = {path.name: path.read_bytes().rstrip(b"\0") for path in (tmp_path / ".partial").iterdir()}
        assert sum(map(len, here.values())) >= 100_000
        time.sleep(0.1)  # what goes to the killed process
        before, again = web.sent, CachedStore(url, tmp_path, patience=QUICK)
        manifest = again.folder / "manifest.json"
        shards = read_manifest(cached.folder).shards
        for entry in shards:
            again.fetch(entry)
            assert (again.folder / entry.file).read_bytes() == (folder / "voice" / entry.file).read_bytes()
        asked = sum(entry.size for entry in shards) - sum(map(len, here.values()))
        assert web.sent - before == asked + manifest.stat().st_size
        assert not list((tmp_path / ".partial").iterdir())


def half(whole: bytes) -> bytes:
    return whole[: len(whole) // 2].rstrip(b"\0")


REMAINS: dict[str, tuple[Callable[[bytes], bytes], int, float]] = {
    # what is left; requests; the bytes that are sent, of those of the file
    "half of it": (half, 1, 0.5),
    "half of it, and room": (lambda whole: half(whole) + bytes(len(whole) // 2), 1, 0.5),
    "all of it": (lambda whole: whole, 0, 0),
    "room alone": (lambda whole: bytes(len(whole)), 1, 1),
    "half of it with a wrong bit": (lambda whole: bytes([whole[0] ^ 1]) + half(whole)[1:], 2, 1.5),
    "another file of its length": (lambda whole: b"x" * len(whole), 1, 1),
    "a longer file": (lambda whole: whole[:-1] + b"x" * 5000, 1, 1),
}


@pytest.mark.parametrize("remains", REMAINS)
@pytest.mark.parametrize("scheme", ["http", "file"])
def test_a_partial_file_is_gone_on_with_and_a_wrong_one_costs_one_restart_and_never_a_wrong_value(
    scheme: str, remains: str, folder: Path, tmp_path: Path
) -> None:
    make, requests, share = REMAINS[remains]
    whole = (folder / "voice" / SHARD).read_bytes()
    with serving(folder) as web:
        cached = CachedStore(f"{web.url if scheme == 'http' else f'file://{folder}'}/voice", tmp_path, patience=QUICK)
        entry = read_manifest(cached.folder).shards[0]
        partial_file(cached, entry, web if scheme == "http" else None).write_bytes(make(whole))
        asked, before = web.requests[f"voice/{SHARD}"], web.sent
        cached.fetch(entry)
        assert (cached.folder / SHARD).read_bytes() == whole
        if scheme == "http":
            assert web.requests[f"voice/{SHARD}"] - asked == requests
            assert abs(web.sent - before - share * len(whole)) <= 1000


@pytest.mark.parametrize("remains", ["half of it", "half of it with a wrong bit", "a longer file"])
def test_a_download_of_a_whole_store_goes_on_too(remains: str, folder: Path, tmp_path: Path) -> None:
    make, requests, _ = REMAINS[remains]
    whole = (folder / "voice" / SHARD).read_bytes()
    partial = tmp_path / "copy" / f"{SHARD}.partial"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(make(whole))
    with serving(folder) as web:
        fetch_store(f"{web.url}/voice", tmp_path / "copy", patience=QUICK)
        assert web.requests[f"voice/{SHARD}"] == requests
    assert (tmp_path / "copy" / SHARD).read_bytes() == whole
    assert not partial.exists()


def test_a_server_without_ranges_sends_the_whole_file(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "voice" / SHARD).read_bytes()

    def ignoring(answer: Answer) -> None:
        if answer.status == 206:
            answer.status, answer.body, answer.length, answer.headers = 200, whole, len(whole), {}

    with serving(folder, ignoring) as web:
        cached = CachedStore(f"{web.url}/voice", tmp_path, patience=QUICK)
        entry = read_manifest(cached.folder).shards[0]
        partial_file(cached, entry, web).write_bytes(half(whole))
        before = web.requests[f"voice/{SHARD}"]
        cached.fetch(entry)
        assert web.requests[f"voice/{SHARD}"] - before == 2
    assert (cached.folder / SHARD).read_bytes() == whole


def test_a_download_goes_on_where_it_broke_off(folder: Path, tmp_path: Path) -> None:
    def broken(answer: Answer) -> None:
        if answer.name.endswith(SHARD) and answer.number < 2:
            answer.body = half(answer.body)
            answer.pieces, answer.pause = 10, 0.02  # a library may drop what it has received last

    with serving(folder, broken) as web:
        cached = CachedStore(f"{web.url}/voice", tmp_path, patience=QUICK)
        before, entry = web.sent, read_manifest(cached.folder).shards[0]
        cached.fetch(entry)
        assert entry.size <= web.sent - before < 1.3 * entry.size
        assert web.requests[f"voice/{SHARD}"] == 3


def test_attempts_are_counted_anew_when_much_has_arrived(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.remote.server.BLOCK", 30_000)

    def broken(answer: Answer) -> None:
        if answer.name.endswith(SHARD):
            answer.body = answer.body[:80_000]
            answer.pieces, answer.pause = 8, 0.02

    with serving(folder, broken) as web:
        cached = CachedStore(f"{web.url}/voice", tmp_path, patience=QUICK)
        cached.fetch(read_manifest(cached.folder).shards[0])
        assert web.requests[f"voice/{SHARD}"] > QUICK.attempts
    assert (cached.folder / SHARD).read_bytes() == (folder / "voice" / SHARD).read_bytes()


def test_what_arrived_before_a_server_went_away_is_there_for_the_next_command_on_a_disk_with_room_for_the_rest(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(answer: Answer) -> None:
        if answer.name.endswith(SHARD):
            answer.body = half(answer.body)[: 100_000 if answer.number else None]
            answer.pieces, answer.pause = 10, 0.02

    disk = shutil.disk_usage(tmp_path)
    whole = (folder / "voice" / SHARD).read_bytes()
    copy = tmp_path / "copy"
    with serving(folder, breaking) as web:
        url = f"{web.url}/voice"
        with pytest.raises(CannotReadError):
            fetch_store(url, copy, patience=Patience(attempts=2, wait=0.001, outage=0))
        cached = CachedStore(url, tmp_path / "cache", patience=Patience(attempts=2, wait=0.001, outage=0))
        entry = read_manifest(cached.folder).shards[0]
        with pytest.raises(CannotReadError):
            cached.fetch(entry)
        web.fault = None
        (partial,) = (tmp_path / "cache" / ".partial").iterdir()
        here = partial.stat().st_blocks * 512
        assert here >= len(whole) // 4
        monkeypatch.setattr(shutil, "disk_usage", lambda _: disk._replace(free=len(whole) - here + 1))
        before = web.sent
        cached.fetch(entry)
        assert web.sent - before < len(whole) - len(whole) // 4
        left = [path for path in copy.rglob("*.partial") if path.stat().st_size]
        missing = sum(entry.size for entry in read_manifest(cached.folder).files if not (copy / entry.file).exists())
        free = missing - sum(path.stat().st_blocks * 512 for path in left) + 1
        monkeypatch.setattr(shutil, "disk_usage", lambda _: disk._replace(free=free))
        fetch_store(url, copy)
    assert (tmp_path / "copy" / SHARD).read_bytes() == (cached.folder / SHARD).read_bytes() == whole


@pytest.mark.parametrize("frames", [range(20, 60), range(20, 21)], ids=["longer", "shorter"])
def test_a_partial_file_of_a_store_that_is_replaced_is_never_mixed_with_the_new_one(
    frames: range, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder / "voice", tmp_path / "served" / "voice")
    whole = (folder / "voice" / SHARD).read_bytes()
    with serving(tmp_path / "served") as web:
        cached = CachedStore(f"{web.url}/voice", tmp_path / "cache", patience=QUICK)
        entry = read_manifest(cached.folder).shards[0]
        partial = partial_file(cached, entry, web)
        partial.write_bytes(half(whole))
        new = write_store(tmp_path / "new" / "voice", make_rows(frames), n_shards=1)
        web.folder = new.parent
        again = CachedStore(f"{web.url}/voice", tmp_path / "cache", patience=QUICK)
        again.fetch(read_manifest(again.folder).shards[0])
        assert (again.folder / SHARD).read_bytes() == (new / SHARD).read_bytes()
        assert partial.read_bytes() == half(whole)
        with pytest.raises(StoreError, match="the store was replaced since it was opened; open it again"):
            cached.fetch(entry)
        assert not (cached.folder / SHARD).exists()
