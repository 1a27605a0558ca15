"""The space in a cache: what is counted, what is removed, and what is never touched."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from tts_prep.remote.space import CacheFullError, CacheSpace

STORE = Path(f"voice-{'0' * 16}")
OLD, NEW = STORE / ("a" * 32) / "voice", STORE / ("b" * 32) / "voice"


def put(cache: Path, name: Path, size: int, used: int) -> Path:
    """Write a file of a cache that was last used at a time in seconds."""
    path = cache / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    os.utime(path, (used, used))
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Return a cache with one store of four files of 100 bytes, of which the first is the least recently used."""
    (tmp_path / ".partial").mkdir()
    for number in range(4):
        put(tmp_path, NEW / "shards" / f"0000{number}.h5", 100, 1000 + number)
    (tmp_path / STORE / "current").write_text("b" * 32)
    return tmp_path


def reserve(space: CacheSpace, cache: Path, size: int, name: str = "f" * 64) -> None:
    with FileIO(cache / ".partial" / name, "w") as file:
        space.reserve(file, size, None)


def shards(cache: Path, version: Path = NEW) -> list[int]:
    return sorted(int(path.stem) for path in (cache / version / "shards").iterdir())


def test_the_least_recently_used_are_removed_first_and_no_more_than_needed(cache: Path) -> None:
    reserve(CacheSpace(cache, 450), cache, 150)
    assert shards(cache) == [1, 2, 3]
    assert (cache / ".partial" / ("f" * 64)).stat().st_size == 150


def test_files_that_are_not_of_a_cache_are_not_counted_and_never_removed(cache: Path) -> None:
    others = [
        put(cache, Path("thesis.tex"), 10_000, 1),
        put(cache, Path("data", "voice", "00000.h5"), 10_000, 1),
        put(cache, STORE / "notes.txt", 10_000, 1),
        put(cache, STORE / "older" / "00000.h5", 10_000, 1),
        put(cache, Path(".partial", "draft"), 10_000, 1),
    ]
    space = CacheSpace(cache, 500)
    space.remove_remains()
    reserve(space, cache, 100)
    assert shards(cache) == [0, 1, 2, 3]
    reserve(space, cache, 400, "e" * 64)
    assert shards(cache) == []
    assert all(path.exists() for path in others)


def test_a_link_to_another_folder_is_not_followed(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    path = put(elsewhere, Path("c" * 32, "voice", "00000.h5"), 10_000, 1)
    (cache / f"other-{'1' * 16}").symlink_to(elsewhere)
    (cache / STORE / ("d" * 32)).symlink_to(elsewhere / ("c" * 32))
    reserve(CacheSpace(cache, 500), cache, 100)
    assert shards(cache) == [0, 1, 2, 3]
    assert path.exists()


def test_a_file_that_two_versions_share_frees_its_room_with_the_last_of_them(cache: Path) -> None:
    (cache / OLD / "shards").mkdir(parents=True)
    for number in range(2):
        os.link(cache / NEW / "shards" / f"0000{number}.h5", cache / OLD / "shards" / f"0000{number}.h5")
    reserve(CacheSpace(cache, 400), cache, 100)
    found = {path.stat().st_ino for path in cache.rglob("*.h5")}
    assert len(found) == 3
    taken = sum(100 for _ in found) + (cache / ".partial" / ("f" * 64)).stat().st_size
    assert taken == 400


def test_a_file_that_was_used_since_it_was_counted_is_not_the_oldest(cache: Path) -> None:
    space = CacheSpace(cache, 450)
    reserve(space, cache, 100, "e" * 64)
    assert shards(cache) == [1, 2, 3]
    os.utime(cache / NEW / "shards" / "00001.h5", (5000, 5000))
    reserve(space, cache, 100, "d" * 64)
    assert shards(cache) == [1, 3]


def test_the_count_of_one_process_is_that_of_another(cache: Path) -> None:
    one, other = CacheSpace(cache, 600), CacheSpace(cache, 600)
    reserve(one, cache, 100, "e" * 64)
    reserve(other, cache, 100, "d" * 64)
    reserve(one, cache, 100, "c" * 64)
    assert shards(cache) == [1, 2, 3]


@pytest.mark.parametrize("left", [b"", b"-1", b"many", b"9" * 30, b"%020d" % 100_000])
def test_a_wrong_count_removes_nothing_that_need_not_be(cache: Path, left: bytes) -> None:
    (cache / ".lock").write_bytes(left)
    reserve(CacheSpace(cache, 500), cache, 100)
    assert shards(cache) == [0, 1, 2, 3]


def test_opening_a_store_mends_a_count_that_is_too_small(cache: Path) -> None:
    (cache / ".lock").write_bytes(b"0" * 20)
    space = CacheSpace(cache, 450)
    space.remove_remains()
    reserve(space, cache, 100)
    assert shards(cache) == [1, 2, 3]


def test_files_in_use_are_kept_and_leave_room_once_they_are_not(cache: Path) -> None:
    space = CacheSpace(cache, 400)
    held = [(cache / NEW / "shards" / f"0000{number}.h5").open("rb") for number in range(4)]
    for file in held:
        fcntl.flock(file, fcntl.LOCK_SH)
    with pytest.raises(CacheFullError, match="processes use the files in it"):
        reserve(space, cache, 100)
    held[2].close()
    reserve(space, cache, 100)
    assert shards(cache) == [0, 1, 3]
    for file in held:
        file.close()


def test_the_cost_of_a_download_does_not_grow_with_the_files_in_the_cache(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = CacheSpace(cache, 1000)
    reserve(space, cache, 10, "e" * 64)
    looked_at: list[str] = []
    monkeypatch.setattr("tts_prep.remote.space._entries", lambda folder: looked_at.append(str(folder)) or [])
    for number in range(5):
        reserve(space, cache, 100, f"{number:064d}")
    assert looked_at == []


def test_the_smallest_size_that_a_process_gives_holds_for_what_it_adds_itself(cache: Path) -> None:
    without, wide, narrow = (CacheSpace(cache, size) for size in (None, 900, 450))
    without.remove_remains()
    reserve(without, cache, 100, "e" * 64)
    reserve(wide, cache, 100, "d" * 64)
    assert shards(cache) == [0, 1, 2, 3]
    # 600 bytes are there; what is downloaded cannot be removed.
    reserve(narrow, cache, 100, "c" * 64)
    assert shards(cache) == [3]
    with FileIO(cache / ".partial" / ("b" * 64), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        without.reserve(file, 500, None)
        with pytest.raises(CacheFullError):
            reserve(narrow, cache, 100, "a" * 64)
    assert shards(cache) == []


def test_what_a_killed_process_has_left_counts_once_is_gone_on_with_and_makes_room_like_a_file(cache: Path) -> None:
    left = put(cache, Path(".partial", "e" * 64), 100, 2000)
    space = CacheSpace(cache, 500)
    with FileIO(left, "r+") as file:
        space.reserve(file, 100, None)
    assert shards(cache) == [0, 1, 2, 3]
    reserve(space, cache, 100)
    assert shards(cache) == [1, 2, 3]
    os.utime(left, (1, 1))
    reserve(space, cache, 100, "d" * 64)
    assert shards(cache) == [1, 2, 3]
    assert not left.exists()


def test_what_a_killed_process_has_left_is_kept_for_a_day(cache: Path) -> None:
    old, new = (
        put(cache, Path(".partial", name * 64), 100, int(time.time()) - age)
        for name, age in (("a", 90_000), ("b", 80_000))
    )
    CacheSpace(cache, 500).remove_remains()
    assert (old.exists(), new.exists()) == (False, True)


class _DownloadEnds(CacheSpace):
    """Another process ends a download while the files are counted, after the folder of its place was listed."""

    def _stored(self) -> Iterator[Any]:
        yield from super()._stored()
        download = self._cache / ".partial" / ("e" * 64)
        if download.exists():
            download.rename(self._cache / NEW / "shards" / "00009.h5")


def test_a_download_that_ends_while_the_files_are_counted_is_counted(cache: Path) -> None:
    put(cache, Path(".partial", "e" * 64), 300, 2000)
    # 700 bytes are there, so that 200 more need the space of one file.
    reserve(_DownloadEnds(cache, 800), cache, 200)
    assert shards(cache) == [1, 2, 3, 9]
