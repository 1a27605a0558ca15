"""Servers that fail, and processes that are killed: whole and right files, or one clear error; nothing that stays."""

from __future__ import annotations

import gzip
import os
import random
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from io import FileIO
from pathlib import Path

import numpy as np
import pytest
from readers import reading
from stores import Row, edit_manifest
from web_server import Answer, serving

from tts_prep.errors import StoreError
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.records.manifest import FileEntry, read_manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.remote.cache import CachedStore
from tts_prep.remote.server import Server
from tts_prep.remote.transfer import Patience

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")

QUICK = Patience(attempts=3, wait=0.001)
MUTATIONS = int(os.environ.get("RESPONSES", "60"))
KILLS = int(os.environ.get("DOWNLOAD_KILLS", "4"))


def check_cache(cache: Path, original: Path) -> None:
    """Check that whatever has its name in a cache is whole and right, and that all else is parts of files."""
    sizes = {path.stat().st_size for path in original.rglob("*") if path.is_file()}
    for path in cache.rglob("*"):
        if path.parent.name == ".partial":
            assert path.stat().st_size in sizes
        elif path.is_file() and path.name not in (".lock", "current"):
            name = path.relative_to(cache).parts[3:]
            assert name, path
            assert path.read_bytes() == original.joinpath(*name).read_bytes()


def first(n: int, change) -> object:
    """Return a fault of the first n answers for each shard."""

    def fault(answer: Answer) -> None:
        if "shards" in answer.name and answer.number < n:
            change(answer)

    return fault


def truncated(answer: Answer) -> None:
    answer.body = answer.body[: len(answer.body) // 2]


def truncated_with_its_length(answer: Answer) -> None:
    truncated(answer)
    answer.length = len(answer.body)


def longer(answer: Answer) -> None:
    answer.body += b"x" * 1000
    answer.length = None


def another(answer: Answer) -> None:
    answer.body = bytes(len(answer.body))


def unavailable(answer: Answer) -> None:
    answer.status, answer.body, answer.length = 503, b"busy", 4


def missing(answer: Answer) -> None:
    answer.status, answer.body, answer.length = 404, b"", 0


def refused(answer: Answer) -> None:
    answer.status, answer.body, answer.length = 403, b"", 0


def slow(answer: Answer) -> None:
    answer.pieces, answer.pause = 1000, 0.05


def silent(answer: Answer) -> None:
    answer.pause = 2


FAULTS = (truncated, truncated_with_its_length, longer, another, unavailable, slow, silent)


@pytest.mark.parametrize("change", FAULTS, ids=lambda change: change.__name__)
def test_a_fault_that_passes_costs_another_attempt(change, folder: Path, tmp_path: Path) -> None:
    with serving(folder, first(1, change)) as web:
        # A busy machine takes long for a whole answer, too: 20 attempts.
        limit = 0.5 if change in (slow, silent) else 60
        patience = Patience(attempts=20, wait=0.001, stall=60 if change is silent else limit, silence=limit)
        cached = CachedStore(f"{web.url}/voice", tmp_path, patience=patience)
        for entry in read_manifest(cached.folder).shards[:1]:
            cached.fetch(entry)
            assert file_sha256(cached.folder / entry.file) == entry.sha256
        assert web.requests["voice/shards/00000.h5"] == 2 or change in (slow, silent)
        assert web.requests["voice/shards/00000.h5"] >= 2
    check_cache(tmp_path, folder / "voice")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (truncated, r"cannot be read in 3 attempts \(Response payload is not completed"),
        (truncated_with_its_length, r"bytes, the manifest says .*; upload the store again, the manifest last"),
        (longer, r"more than [\d,]+ bytes, the manifest says"),
        (another, r"SHA-256 \w{12}…, the manifest says"),
        (unavailable, r"cannot be read in 3 attempts \(503"),
        (missing, r"no such file"),
        (refused, r"not permitted"),
    ],
)
def test_a_fault_that_stays_is_one_error(change, message: str, folder: Path, tmp_path: Path) -> None:
    with serving(folder, first(99, change)) as web:
        cached = CachedStore(f"{web.url}/voice", tmp_path, patience=QUICK)
        began = time.monotonic()
        with pytest.raises(StoreError, match=message) as caught:
            cached.fetch(read_manifest(cached.folder).shards[0])
        assert time.monotonic() - began < 120
        assert str(caught.value).startswith(f"{web.url}/voice/shards/00000.h5: ")
        assert "\n" not in str(caught.value)
    check_cache(tmp_path, folder / "voice")


def test_a_version_that_is_removed_during_a_download_is_made_again(folder: Path, tmp_path: Path) -> None:
    def remove(answer: Answer) -> None:
        if "shards" in answer.name:  # by a process that opened another version, and found nothing but the manifest
            shutil.rmtree(cached.folder.parent)

    with serving(folder, remove) as web:
        cached = CachedStore(f"{web.url}/voice", tmp_path, patience=QUICK)
        cached.fetch(read_manifest(cached.folder).shards[0])
    check_cache(tmp_path, folder / "voice")
    assert (cached.folder / "shards" / "00000.h5").exists()


@pytest.mark.parametrize(
    ("change", "patience", "message"),
    [
        (slow, Patience(2, 0.001, stall=0.5), r"cannot be read in \d attempts? \([\d,]+ bytes in \d s\)"),
        (silent, Patience(2, 0.001, stall=0.5, silence=0.5), r"cannot be read in \d attempts? \("),
    ],
    ids=("slow", "silent"),
)
def test_a_server_that_stays_slow_is_one_error(
    change, patience: Patience, message: str, folder: Path, tmp_path: Path
) -> None:
    entry = read_manifest(folder / "voice").shards[0]
    with (
        serving(folder, first(99, change)) as web,
        FileIO(tmp_path / "partial", "w+") as file,
        pytest.raises(StoreError, match=message),
    ):
        Server(f"{web.url}/voice", patience).download(entry, file)


def test_a_library_that_never_returns_is_one_error(folder: Path, tmp_path: Path) -> None:
    # A pipe without a writer: like a file system that hangs, or a library with retries without an end.
    entry = read_manifest(folder / "voice").shards[0]
    pipe = tmp_path / "voice" / entry.file
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    patience = Patience(attempts=2, wait=0.001, silence=0.05)
    with FileIO(tmp_path / "partial", "w+") as file, pytest.raises(StoreError, match="in 2 attempts .no answer in 0 s"):
        Server(f"file://{tmp_path}/voice", patience).download(entry, file)
    os.close(os.open(pipe, os.O_RDWR))  # the threads that wait for it go on, and end


def test_mutated_answers_give_right_files_or_errors(folder: Path, tmp_path: Path) -> None:
    generator = random.Random(7)
    taken: list[float] = []

    def mutated(answer: Answer) -> None:
        kind = generator.randrange(8)
        body = bytearray(answer.body)
        if kind == 0 and body:
            body[generator.randrange(len(body))] ^= 1 << generator.randrange(8)
        elif kind == 1:
            body = body[: generator.randrange(len(body) + 1)]
        elif kind == 2:
            body += generator.randbytes(generator.randrange(1, 5000))
        elif kind == 3:
            answer.status = generator.choice([204, 206, 301, 304, 400, 404, 429, 500, 502, 503])
        elif kind == 4:
            body = bytearray(generator.randbytes(generator.randrange(3000)))
        elif kind == 5:
            start = generator.randrange(len(body) + 1)
            body[start : start + 4096] = b""
        elif kind == 6:
            answer.length = generator.randrange(2 * len(body) + 2)
        answer.body = bytes(body)
        if kind != 6:
            answer.length = generator.choice([len(body), len(answer.body), None])

    opened = 0
    with serving(folder, mutated) as web:
        for number in range(MUTATIONS):
            began = time.monotonic()
            try:
                cached = CachedStore(f"{web.url}/voice", tmp_path, patience=Patience(2, 0.001))
                opened += 1
                cached.fetch(generator.choice(read_manifest(cached.folder).files))
            except StoreError as error:
                assert "\n" not in str(error)
            taken.append(time.monotonic() - began)
            if number % 20 == 19:
                check_cache(tmp_path, folder / "voice")
                for path in tmp_path.rglob("*.h5"):
                    path.unlink()
    assert opened > MUTATIONS // 20
    assert max(taken) < 60


def test_killed_readers_leave_nothing_that_stays(folder: Path, rows: list[Row], tmp_path: Path) -> None:
    generator = random.Random(1)

    def paced(answer: Answer) -> None:
        answer.pieces, answer.pause = 8, 0.02
        begun.release()

    with serving(folder, paced) as web:
        url = f"{web.url}/voice"
        for _ in range(KILLS):
            begun = threading.Semaphore(0)
            with reading(url, tmp_path, ("mel", "waveform")) as (_, connection):
                # In the course of one of the answers, of which the manifest is the first, and each shard one.
                until, answers = time.monotonic() + 120, generator.randrange(1, 6)
                while answers and not connection.poll():  # it needs none for what others have left whole
                    answers -= begun.acquire(timeout=0.1)
                    assert time.monotonic() < until
                time.sleep(generator.uniform(0, 0.16))
            for path in tmp_path.rglob("shards/*.h5"):
                assert path.read_bytes() == (folder / "voice" / "shards" / path.name).read_bytes()
                path.unlink()
        web.fault = None
        dataset = UtteranceDataset(url, cache=tmp_path)
        assert all(np.array_equal(mel, row.mel) for mel, row in zip(dataset.views("mel"), rows, strict=True))
    check_cache(tmp_path, folder / "voice")
    assert not list((tmp_path / ".partial").iterdir())


def test_a_process_takes_over_from_one_that_was_killed(folder: Path, tmp_path: Path) -> None:
    begun = threading.Event()

    def endless(answer: Answer) -> None:
        if "00000" in answer.name and answer.number == 0:
            answer.pieces, answer.pause = 500, 0.1
            begun.set()

    with serving(folder, endless) as web:
        url = f"{web.url}/voice"
        with reading(url, tmp_path, ("mel", "waveform")):
            assert begun.wait(120)
        dataset = UtteranceDataset(url, cache=tmp_path)
        began = time.monotonic()
        assert len(dataset[0].mel)
        assert time.monotonic() - began < 40  # the answer to the other one takes 50 s
        assert web.requests["voice/shards/00000.h5"] == 2


def test_a_full_disk_is_one_error_and_leaves_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    with serving(folder) as web:
        cached = CachedStore(f"{web.url}/voice", tmp_path, patience=QUICK)
        entry = read_manifest(cached.folder).shards[0]
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (entry.size // 2, limits[1]))
        try:
            with pytest.raises(StoreError, match="cannot be written") as caught:
                cached.fetch(entry)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)
        assert "\n" not in str(caught.value)
        assert not list((tmp_path / ".partial").iterdir())
        cached.fetch(entry)
    check_cache(tmp_path, folder / "voice")


def test_a_disk_that_takes_a_part_of_the_manifest_is_one_error(folder: Path, tmp_path: Path) -> None:
    # The system writes what there is room for, and says so by a number alone.
    import resource

    size = (folder / "voice" / "manifest.json").stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with serving(folder) as web:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, limits[1]))
        try:
            with pytest.raises(StoreError, match="cannot be written"):
                CachedStore(f"{web.url}/voice", tmp_path, patience=QUICK)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)
    check_cache(tmp_path, folder / "voice")
    assert not list((tmp_path / ".partial").iterdir())


def test_an_entry_of_a_server_is_read_with_its_limits_only(folder: Path, tmp_path: Path) -> None:
    # A body without an end: no more than a block beyond the size in the manifest is read.
    def endless(answer: Answer) -> None:
        if "shards" in answer.name:
            answer.body, answer.length = answer.body + bytes(64 << 20), None

    with serving(folder, endless) as web:
        cached = CachedStore(f"{web.url}/voice", tmp_path, patience=QUICK)
        entry: FileEntry = read_manifest(cached.folder).shards[0]
        with pytest.raises(StoreError, match="more than"):
            cached.fetch(entry)
    assert not list((tmp_path / ".partial").iterdir())


def test_a_compressed_answer_is_taken_for_what_it_contains_and_no_more_than_that(folder: Path, tmp_path: Path) -> None:
    def compressed(answer: Answer) -> None:
        if "shards" in answer.name:
            answer.body = gzip.compress(answer.body + bytes(extra), 1)
            answer.length, answer.headers = len(answer.body), {"Content-Encoding": "gzip"}

    extra = 0
    with serving(folder, compressed) as web:
        cached = CachedStore(f"{web.url}/voice", tmp_path, patience=QUICK)
        first_shard, second = read_manifest(cached.folder).shards[:2]
        cached.fetch(first_shard)
        extra = 1 << 24
        with pytest.raises(StoreError, match="more than"):
            cached.fetch(second)
    check_cache(tmp_path, folder / "voice")


def test_a_redirect_leads_to_no_file_and_takes_no_password_to_another_server(folder: Path, tmp_path: Path) -> None:
    sent: list[str | None] = []

    with serving(folder) as web, serving(folder) as other:
        answer_of_other = other.answer

        def noting(path: str, method: str, headers: dict[str, str]) -> Answer:
            sent.append(headers.get("Authorization"))
            return answer_of_other(path, method, headers)

        def redirected(answer: Answer) -> None:
            place = f"{other.url}/{answer.name}" if "shards" in answer.name else f"file://{folder}/{answer.name}"
            if not answer.name.endswith("manifest.json"):
                answer.status, answer.location, answer.body, answer.length = 302, place, b"", 0

        other.answer, web.fault = noting, redirected
        cached = CachedStore(f"{web.url.replace('//', '//anna:secret@')}/voice", tmp_path, patience=QUICK)
        manifest = read_manifest(cached.folder)
        cached.fetch(manifest.shards[0])
        with pytest.raises(StoreError, match="cannot be read") as caught:
            cached.fetch(manifest.index)
    assert "secret" not in str(caught.value)
    assert sent == [None]
    check_cache(tmp_path, folder / "voice")


@pytest.mark.parametrize("change", [str.upper, lambda sha256: sha256[:12], lambda _: ""])
def test_a_checksum_in_another_form_is_never_taken_for_right(
    change: Callable[[str], str], folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder / "voice", tmp_path / "served" / "voice")
    edit_manifest(
        tmp_path / "served" / "voice",
        lambda value: value["shards"][0].update(sha256=change(value["shards"][0]["sha256"])),
    )
    cache = tmp_path / "cache"
    with serving(tmp_path / "served") as web, pytest.raises(StoreError, match="SHA-256"):
        cached = CachedStore(f"{web.url}/voice", cache, patience=QUICK)
        cached.fetch(read_manifest(cached.folder).shards[0])
    assert not list(cache.rglob("*.h5"))


def test_a_server_that_is_away_is_waited_for_and_that_is_logged_once(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(folder, first(8, unavailable)) as web:
        patience = Patience(attempts=2, wait=0.001, longest=0.002)
        cached = CachedStore(f"{web.url}/voice", tmp_path, patience=patience, outage=100)
        entry = read_manifest(cached.folder).shards[0]
        cached.fetch(entry)
        assert web.requests["voice/shards/00000.h5"] == 9
    begins, ends = [record.getMessage() for record in caplog.records if record.name == "tts_prep.remote"]
    assert re.fullmatch(rf"{web.url}/voice: no answer \(503.*\); waiting up to 100 s for it", begins)
    assert re.fullmatch(rf"{web.url}/voice: answers again after \d+ s", ends)


def test_what_a_server_sends_wrong_is_not_waited_for(folder: Path, tmp_path: Path) -> None:
    with serving(folder, first(99, another)) as web:
        cached = CachedStore(f"{web.url}/voice", tmp_path, patience=QUICK, outage=100)
        with pytest.raises(StoreError, match="SHA-256"):
            cached.fetch(read_manifest(cached.folder).shards[0])
        assert web.requests["voice/shards/00000.h5"] == 3


def test_an_outage_has_an_end(folder: Path, tmp_path: Path) -> None:
    with serving(folder, first(10**9, unavailable)) as web:
        cached = CachedStore(f"{web.url}/voice", tmp_path, patience=replace(QUICK, longest=0.01), outage=0.2)
        with pytest.raises(StoreError, match=r"cannot be read in \d+ attempts \(503"):
            cached.fetch(read_manifest(cached.folder).shards[0])
        assert web.requests["voice/shards/00000.h5"] > 3


@pytest.mark.parametrize(("said", "least"), [("1", 1.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("-5", 0.0)])
def test_an_answer_says_when_to_ask_again(said: str, least: float, folder: Path, tmp_path: Path) -> None:
    def busy(answer: Answer) -> None:
        unavailable(answer)
        answer.headers["Retry-After"] = said

    with serving(folder, first(1, busy)) as web:
        cached = CachedStore(f"{web.url}/voice", tmp_path, patience=QUICK)
        began = time.monotonic()
        cached.fetch(read_manifest(cached.folder).shards[0])
        assert time.monotonic() - began >= least
