"""Commands on stores behind URLs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import run
from web_server import WebServer, serving

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")


@pytest.fixture
def web(store: Path) -> Iterator[WebServer]:
    with serving(store.parent) as server:
        yield server


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", [["info"], ["plan"], ["verify"], ["check"]])
def test_a_command_on_a_url_prints_what_it_prints_on_the_folder(
    command: list[str], web: WebServer, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"{web.url}/{store.name}"
    there = run(capsys, *command, url, "--cache", tmp_path)
    here = run(capsys, *command, store)
    assert (there[0], there[1].replace(url, str(store)), there[2]) == here
    assert there[0] == 0
    if command == ["info"]:
        assert not [name for name in web.requests if "shards" in name]


def test_verify_of_a_url_names_a_file_that_the_server_has_broken(
    web: WebServer, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.remote.server._JITTER.random", lambda: -0.5)

    def broken(answer) -> None:
        if answer.name.endswith("00001.h5"):
            answer.body = answer.body[:-100] + b"x" + answer.body[-99:]

    web.fault = broken
    status, _, err = run(capsys, "verify", f"{web.url}/{store.name}", "--cache", tmp_path)
    assert status == 1
    assert err.startswith(f"tts-prep: error: {web.url}/{store.name}/shards/00001.h5: SHA-256 ")


@pytest.mark.parametrize("command", ["info", "plan", "verify", "check"])
def test_a_url_needs_a_cache(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, command, "s3://bucket/store")
    assert (status, out) == (2, "")
    assert err == ("tts-prep: error: s3://bucket/store: a URL; give a folder for copies of its files: --cache FOLDER\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["ljspeech", "corpus", "gs://bucket/store"],
        ["add", "gs://bucket/store", "--measures"],
        ["remove", "gs://bucket/store", "pitch"],
        ["finish", "gs://bucket/store"],
        ["reindex", "gs://bucket/store"],
        ["verify", "gs://bucket/store", "--cache", "cache", "--repair", "corpus"],
    ],
)
def test_a_command_that_writes_says_how_to_upload(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert "aws s3 sync FOLDER gs://bucket/store --exclude manifest.json, then aws s3 cp" in err
    assert "rclone" in err


@pytest.mark.parametrize("arguments", [["report", "s3://b/s"], ["export", "s3://b/s", "out", "--to", "nemo"]])
def test_other_commands_say_how_to_download(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, *arguments)
    assert (status, err) == (2, "tts-prep: error: s3://b/s: a URL; download it first: tts-prep fetch s3://b/s FOLDER\n")


def test_fetch_makes_the_same_store(
    web: WebServer, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "copy"
    for downloaded in ("all", "nothing"):
        status, out, err = run(capsys, "fetch", f"{web.url}/{store.name}", folder)
        assert (status, err) == (0, "")
        assert contents(folder) == contents(store)
        assert ("; " in out) == (downloaded == "nothing")
    assert {name: n for name, n in web.requests.items() if n != 1} == {f"{store.name}/manifest.json": 2}


def test_fetch_goes_on_where_it_was_interrupted_and_mends_what_is_broken(
    web: WebServer, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, url = tmp_path / "copy", f"{web.url}/{store.name}"
    run(capsys, "fetch", url, folder)
    (folder / "manifest.json").unlink()
    (folder / "shards" / "00000.h5").unlink()
    broken = folder / "shards" / "00001.h5"
    broken.write_bytes(broken.read_bytes()[:-1] + b"x")
    web.requests.clear()
    assert run(capsys, "fetch", url, folder)[0] == 0
    assert contents(folder) == contents(store)
    names = sorted(name.removeprefix(f"{store.name}/") for name in web.requests)
    assert names == ["manifest.json", "shards/00000.h5", "shards/00001.h5"]


def test_fetch_leaves_other_folders_alone(
    web: WebServer, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    status, _, err = run(capsys, "fetch", f"{web.url}/{store.name}", tmp_path)
    assert (status, err) == (
        2,
        f"tts-prep: error: {tmp_path}: not empty, it has 'thesis.tex'; give a new folder\n",
    )
    status, _, err = run(capsys, "fetch", "store", tmp_path / "new")
    assert (status, "expected a URL" in err) == (2, True)


def test_fetch_has_no_manifest_before_all_files_are_there(
    web: WebServer, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.remote.server._JITTER.random", lambda: -0.5)

    def gone(answer) -> None:
        if answer.name.endswith("00002.h5"):
            answer.status, answer.body, answer.length = 503, b"", 0

    web.fault = gone
    folder = tmp_path / "copy"
    status, _, err = run(capsys, "fetch", f"{web.url}/{store.name}", folder)
    assert status == 3
    assert "shards/00002.h5: cannot be read in 5 attempts (503" in err
    assert not (folder / "manifest.json").exists()
    assert not list(folder.rglob("*.partial"))
    web.fault = None
    assert run(capsys, "fetch", f"{web.url}/{store.name}", folder)[0] == 0
    assert contents(folder) == contents(store)
