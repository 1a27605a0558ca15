"""Stores in an object store: moto's server of S3 in another process, with faults before it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from forked_tests import forked_python
from stores import Row, make_rows, write_store
from web_server import Answer, WebServer, running, serving

from tts_prep.errors import StoreError
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.records.manifest import FileEntry, read_manifest
from tts_prep.loader import LengthBucketBatchSampler, UtteranceDataset
from tts_prep.remote.cache import CachedStore
from tts_prep.remote.server import Server
from tts_prep.remote.transfer import Arrival, Patience

s3fs = pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

QUICK = Patience(attempts=3, wait=0.001, silence=1)
SECRET = "very-secret-key"
SHARDS = [f"shards/{number:05d}.h5" for number in range(4)]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Run moto's server, and return its host and port."""
    command = [*forked_python(), "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with running(command, r"Running on http://127\.0\.0\.1:(\d+)") as port:
        yield f"127.0.0.1:{port}"


def upload(server: str, folder: Path, place: str) -> None:
    system = s3fs.S3FileSystem(key="testing", secret="testing", endpoint_url=f"http://{server}")
    system.makedirs(place.partition("/")[0], exist_ok=True)
    system.put(f"{folder}/", place, recursive=True)


@pytest.fixture(scope="module")
def before(server: str, folder: Path) -> Iterator[WebServer]:
    """Run a server before it for all tests, because s3fs keeps the endpoint of the first."""
    # A worker that has run tests of this module before, and others since, has kept the endpoint of an ended server.
    s3fs.S3FileSystem.clear_instance_cache()
    upload(server, folder / "voice", "bucket/voice")
    with serving(folder, upstream=server) as web, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", web.url)
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        patch.setenv("AWS_CONFIG_FILE", str(folder / "none"))
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "none"))
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield web


@pytest.fixture
def web(before: WebServer) -> Iterator[WebServer]:
    yield before
    before.fault = None


def check_cache(cache: Path, original: Path) -> None:
    """Check that whatever has its name in a cache is whole and right."""
    for path in cache.rglob("*.h5"):
        assert path.read_bytes() == original.joinpath(*path.relative_to(cache).parts[3:]).read_bytes()
    assert not list((cache / ".partial").iterdir())


def of_shards(change: Callable[[Answer], None], n: int = 999) -> Callable[[Answer], None]:
    """Return a fault of the first n answers with bytes of each shard."""

    def fault(answer: Answer) -> None:
        if "/shards/" in answer.name and answer.body and faults.setdefault(answer.name, n) > 0:
            faults[answer.name] -= 1
            change(answer)

    faults: dict[str, int] = {}
    return fault


def truncated(answer: Answer) -> None:
    answer.body = answer.body[: len(answer.body) // 2]


def without_checksum(answer: Answer) -> None:
    # Which botocore compares, where the server has one.
    answer.headers = {k: v for k, v in answer.headers.items() if not k.lower().startswith("x-amz-checksum")}


def without_range(answer: Answer) -> None:
    answer.headers = {k: v for k, v in answer.headers.items() if k.lower() != "content-range"}


def truncated_with_its_length(answer: Answer) -> None:
    truncated(answer)
    without_checksum(answer)
    answer.length = len(answer.body)


def longer(answer: Answer) -> None:
    answer.body += b"x" * 1000
    answer.length = len(answer.body)


def other(answer: Answer) -> None:
    without_checksum(answer)
    answer.body = bytes(len(answer.body))


def error(status: int, code: str) -> Callable[[Answer], None]:
    def change(answer: Answer) -> None:
        answer.status, answer.headers = status, {"Content-Type": "application/xml"}
        answer.body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        answer.length = len(answer.body)

    change.__name__ = code
    return change


def reset(answer: Answer) -> None:
    truncated(answer)
    answer.is_reset = True


def silent(answer: Answer) -> None:
    answer.pause = 0.7  # more than half of what is waited for


FAULTS = (
    truncated,
    truncated_with_its_length,
    longer,
    other,
    error(500, "InternalError"),
    error(503, "SlowDown"),
    reset,
    silent,
)


def test_a_store_is_read_from_an_object_store(web: WebServer, folder: Path, rows: list[Row], tmp_path: Path) -> None:
    dataset = UtteranceDataset("s3://bucket/voice", cache=tmp_path)
    assert all(np.array_equal(mel, row.mel) for mel, row in zip(dataset.views("mel"), rows, strict=True))
    check_cache(tmp_path, folder / "voice")


def test_a_file_takes_one_request(web: WebServer, tmp_path: Path) -> None:
    before = web.requests.copy()
    dataset = UtteranceDataset("s3://bucket/voice", cache=tmp_path)
    assert len(list(dataset.views("mel"))) == len(dataset)
    made = web.requests - before
    assert set(made) == {f"bucket/voice/{name}" for name in ("manifest.json", "index.h5", *SHARDS)}
    assert set(made.values()) == {1}


def test_a_file_that_is_missing_is_named(web: WebServer, server: str, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "voice", tmp_path / "voice")
    (tmp_path / "voice" / "index.h5").unlink()
    upload(server, tmp_path / "voice", "bucket/part")
    with pytest.raises(StoreError, match="s3://bucket/part/index.h5: no such file"):
        UtteranceDataset("s3://bucket/part", cache=tmp_path / "cache")


def test_an_object_that_changes_between_two_requests_for_its_parts_is_read_again(
    web: WebServer, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = CachedStore("s3://bucket/voice", tmp_path, patience=QUICK)
    entry = read_manifest(cached.folder).shards[0]
    monkeypatch.setattr("tts_prep.remote.transfer.BLOCK", entry.size // 3 + 1)
    name = f"bucket/voice/{entry.file}"
    before, changed = web.requests[name], []

    def fault(answer: Answer) -> None:
        if answer.name == name and answer.number == before + 1:
            other(answer)
            changed.append(answer.number)

    web.fault = fault
    cached.fetch(entry)
    assert len(changed) == 1
    assert web.requests[name] == before + 6
    assert file_sha256(cached.folder / entry.file) == entry.sha256


@pytest.fixture
def pieces(web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[FileEntry], list[bytes]]:
    """Return what lists the pieces in which a file arrives that is asked for by 100,000 bytes."""
    monkeypatch.setattr("tts_prep.remote.transfer.BLOCK", 100_000)
    server = Server("s3://bucket/voice")
    return lambda entry: list(server._pieces(entry.file, entry.size, 0, Arrival(), Event(), Patience()))


@pytest.mark.parametrize("status", [200, 206])
def test_no_more_of_an_answer_is_read_than_was_asked_for(
    status: int, web: WebServer, folder: Path, pieces: Callable[[FileEntry], list[bytes]]
) -> None:
    entry = read_manifest(folder / "voice").shards[0]

    def change(answer: Answer) -> None:
        without_checksum(answer)
        if status == 200:
            without_range(answer)
        answer.body += bytes(1 << 20)
        answer.status, answer.length = status, len(answer.body)

    web.fault = of_shards(change)
    found = pieces(entry)
    assert max(map(len, found)) <= 100_001
    assert sum(map(len, found)) <= entry.size + len(found)


def test_a_server_that_ignores_ranges_is_read_in_pieces(
    web: WebServer, folder: Path, tmp_path: Path, pieces: Callable[[FileEntry], list[bytes]]
) -> None:
    entry = read_manifest(folder / "voice").shards[0]
    whole = (folder / "voice" / entry.file).read_bytes()

    def change(answer: Answer) -> None:
        without_checksum(answer)
        without_range(answer)
        answer.status, answer.body, answer.length = 200, whole, len(whole)

    web.fault = of_shards(change)
    found = pieces(entry)
    assert max(map(len, found)) <= 100_001
    assert b"".join(found) == whole
    CachedStore("s3://bucket/voice", tmp_path, patience=QUICK).fetch(entry)
    check_cache(tmp_path, folder / "voice")


def test_bytes_that_break_off_are_asked_for_again_and_not_the_file(
    web: WebServer, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = CachedStore("s3://bucket/voice", tmp_path, patience=QUICK)
    entry = read_manifest(cached.folder).shards[0]
    monkeypatch.setattr("tts_prep.remote.transfer.BLOCK", 100_000)
    name = f"bucket/voice/{entry.file}"
    before, sent = web.requests[name], web.sent

    def change(answer: Answer) -> None:
        if answer.name == name and answer.number == before + 1:
            reset(answer)

    web.fault = change
    cached.fetch(entry)
    assert web.requests[name] - before == -(-entry.size // 100_000) + 1
    assert web.sent - sent <= entry.size + 100_000
    check_cache(tmp_path, folder / "voice")


@pytest.mark.parametrize("change", FAULTS, ids=lambda change: change.__name__)
def test_a_fault_that_passes_costs_another_attempt(
    change: Callable[[Answer], None], web: WebServer, folder: Path, tmp_path: Path
) -> None:
    web.fault = of_shards(change, 1)
    cached = CachedStore("s3://bucket/voice", tmp_path, patience=QUICK)
    entry = read_manifest(cached.folder).shards[0]
    cached.fetch(entry)
    assert file_sha256(cached.folder / entry.file) == entry.sha256
    check_cache(tmp_path, folder / "voice")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (truncated_with_its_length, "bytes, the manifest says"),
        (other, r"SHA-256 \w{12}…, the manifest says"),
        (error(500, "InternalError"), r"cannot be read in 3 attempts \(.*InternalError"),
        (error(404, "NoSuchKey"), "no such file"),
        (error(403, "InvalidAccessKeyId"), "not permitted .*; the credentials are those that fsspec finds"),
        (error(403, "SignatureDoesNotMatch"), "not permitted .*; the credentials are those that fsspec finds"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_fault_that_stays_is_one_error(
    change: Callable[[Answer], None], message: str, web: WebServer, folder: Path, tmp_path: Path
) -> None:
    web.fault = of_shards(change)
    cached = CachedStore("s3://bucket/voice", tmp_path, patience=QUICK)
    before = web.requests["bucket/voice/shards/00000.h5"]
    with pytest.raises(StoreError, match=message) as caught:
        cached.fetch(read_manifest(cached.folder).shards[0])
    if "3 attempts" in message:  # and no library below tries each of them again
        assert web.requests["bucket/voice/shards/00000.h5"] - before == 3
    assert str(caught.value).startswith("s3://bucket/voice/shards/00000.h5: ")
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)
    check_cache(tmp_path, folder / "voice")


def test_a_bucket_that_is_missing_is_named(web: WebServer, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="s3://no-such-bucket-here/voice/manifest.json: no such file"):
        UtteranceDataset("s3://no-such-bucket-here/voice", cache=tmp_path)


def test_missing_credentials_are_one_error_at_once(
    web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        with pytest.raises(StoreError, match=r"not permitted \(Unable to locate credentials\); the credentials are"):
            CachedStore("s3://bucket/voice", tmp_path, patience=Patience(wait=1000))
    finally:
        s3fs.S3FileSystem.clear_instance_cache()


def test_an_object_that_is_replaced_in_mid_epoch_is_an_error_and_not_other_data(
    web: WebServer, server: str, folder: Path, rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.remote.server._JITTER.random", lambda: -0.5)
    upload(server, folder / "voice", "bucket/replaced")
    dataset = UtteranceDataset("s3://bucket/replaced", cache=tmp_path / "cache")
    changed = make_rows(range(20, 44))
    for row in changed:
        row.mel = row.mel + 1
    write_store(tmp_path / "new", changed, n_shards=4, waveform=True)
    batches = LengthBucketBatchSampler(dataset.n_frames, batch_size=2, shuffle=False)
    mels = {row.id: row.mel for row in rows}
    seen = 0
    with pytest.raises(StoreError, match="the store was replaced since it was opened; open it again"):
        # Without a loader, which would have downloaded all by now.
        for number, positions in enumerate(batches):
            if number == 1:
                upload(server, tmp_path / "new", "bucket/replaced")
            for utterance in dataset.__getitems__(positions):
                assert np.array_equal(utterance.mel, mels[utterance.id])
                seen += 1
    assert 0 < seen < len(rows)
    again = UtteranceDataset("s3://bucket/replaced", cache=tmp_path / "cache")
    assert all(np.array_equal(mel, row.mel) for mel, row in zip(again.views("mel"), changed, strict=True))


def test_a_listing_that_the_program_has_made_before_does_not_hide_a_new_store(
    web: WebServer, server: str, folder: Path, tmp_path: Path
) -> None:
    url = "s3://bucket/listed"
    upload(server, folder / "voice", "bucket/listed")
    cached = CachedStore(url, tmp_path / "cache", patience=QUICK)
    system, root = cached._server._system()
    system.find(root)
    write_store(tmp_path / "new", make_rows(range(20, 60)), n_shards=4)
    upload(server, tmp_path / "new", "bucket/listed")
    again = CachedStore(url, tmp_path / "cache", patience=QUICK)
    assert again.folder != cached.folder
    assert (again.folder / "manifest.json").read_bytes() == (tmp_path / "new" / "manifest.json").read_bytes()
