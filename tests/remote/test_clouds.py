"""The other clouds: emulators of the object stores of Google and Azure, and the addresses of the Hub on this machine.

Run with gcsfs 2026.10.1 and gcp-storage-emulator 2026.7.19, adlfs 2026.8.0 and azurite 3.35.0, huggingface_hub 2.4.0.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from stores import Row, make_rows, write_store
from web_server import running

pytestmark = pytest.mark.soak

READER = """
import hashlib, sys
from tts_prep.errors import StoreError
from tts_prep.loader import UtteranceDataset
url, cache = sys.argv[1:]
print([hashlib.sha256(mel.tobytes()).hexdigest() for mel in UtteranceDataset(url, cache=cache).views("mel")])
try:
    UtteranceDataset(url + "s", cache=cache)
except StoreError as error:
    print(error)
"""
UPLOADER = """
import fsspec, json, sys
scheme, store, options = sys.argv[1:]
system = fsspec.filesystem(scheme, **json.loads(options))
system.mkdir("bucket")
system.put(store + "/", "bucket/voice", recursive=True)
"""
GOOGLE = """
from functools import partial
from http.server import HTTPServer
from gcp_storage_emulator.server import RequestHandler
from gcp_storage_emulator.storage import Storage
# Its own command says no port that it has chosen.
server = HTTPServer(("127.0.0.1", 0), partial(RequestHandler, Storage(use_memory_fs=True)))
print(server.server_port, flush=True)
server.serve_forever()
"""
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account that azurite has, as its documentation says."""


@pytest.fixture
def rows() -> list[Row]:
    return make_rows([20, 30, 40])


@pytest.fixture
def store(tmp_path: Path, rows: list[Row]) -> Path:
    return write_store(tmp_path / "repository" / "voice", rows, n_shards=2)


def in_process(code: str, *arguments: str) -> str:
    """Run code in another process, because the libraries look at the environment when they are imported."""
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    return found.stdout


def check_read(url: str, rows: list[Row], cache: Path) -> None:
    """Check what is read of a store, and the error for one that is missing."""
    mels, error = in_process(READER, url, str(cache)).splitlines()
    assert mels == str([hashlib.sha256(row.mel.tobytes()).hexdigest() for row in rows])
    assert error.startswith(f"{url}s/manifest.json: no such file")


def test_a_store_is_read_from_google_cloud_storage(
    store: Path, rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gcsfs")
    pytest.importorskip("gcp_storage_emulator")
    # gcsfs asks for the kind of a bucket by gRPC otherwise, which the emulator has not.
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    with running([sys.executable, "-c", GOOGLE], r"^(\d+)$") as port:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
        in_process(UPLOADER, "gs", str(store), '{"token": "anon", "project": "test"}')
        check_read("gs://bucket/voice", rows, tmp_path / "cache")


def test_a_store_is_read_from_azure(
    store: Path, rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("adlfs")
    azurite = shutil.which("azurite-blob")
    if azurite is None:
        pytest.skip("azurite is not installed: npm install azurite, and its node_modules/.bin in PATH")
    options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--blobHost", "127.0.0.1", "--blobPort", "0"]
    with running([azurite, *options], r"successfully listening at http://127\.0\.0\.1:(\d+)") as port:
        text = f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
        text += f"BlobEndpoint=http://127.0.0.1:{port}/{ACCOUNT};"
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
        in_process(UPLOADER, "az", str(store), "{}")
        check_read("az://bucket/voice", rows, tmp_path / "cache")


class _Hub(BaseHTTPRequestHandler):
    """The addresses of the Hub that a dataset repository is read by."""

    def __init__(self, folder: Path, *arguments: object) -> None:
        self.folder = folder
        super().__init__(*arguments)

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        of_api, of_files = "/api/datasets/anna/voices", "/datasets/anna/voices/resolve/main/"
        if path == of_api:
            self._json({"id": "anna/voices", "sha": "a" * 40, "private": False, "tags": [], "siblings": []})
        elif (
            path.startswith(f"{of_api}/tree/main")
            and (folder := self.folder / path.removeprefix(f"{of_api}/tree/main").lstrip("/")).is_dir()
        ):
            self._json([self._entry(inner) for inner in sorted(folder.iterdir())])
        elif path.startswith(of_files) and (file := self.folder / path.removeprefix(of_files)).is_file():
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            data = file.read_bytes()[int(first) : int(last) + 1]
            self._send(206, data, {"ETag": '"x"', "X-Repo-Commit": "a" * 40})
        else:
            self._send(404, b"{}", {"X-Error-Code": "EntryNotFound"})

    def _entry(self, path: Path) -> dict[str, object]:
        kind, size = ("directory", 0) if path.is_dir() else ("file", path.stat().st_size)
        oid = hashlib.sha1(str(path).encode()).hexdigest()
        return {"type": kind, "oid": oid, "size": size, "path": path.relative_to(self.folder).as_posix()}

    def _json(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


def test_a_store_is_read_from_the_hub(
    store: Path, rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Hub, store.parent))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("HF_HOME", os.fspath(tmp_path / "home"))
    try:
        check_read("hf://datasets/anna/voices/voice", rows, tmp_path / "cache")
    finally:
        server.shutdown()
        server.server_close()
