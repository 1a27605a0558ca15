"""Commands on stores behind URLs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from commands import run
from killing import contents
from web_server import WebServer, serving

from tts_prep import doors
from tts_prep.cli.main import _MAKE, cli

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")


@pytest.fixture
def web(store: Path) -> Iterator[WebServer]:
    with serving(store.parent) as server:
        yield server


@pytest.mark.whole
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


@pytest.mark.whole
@pytest.mark.parametrize("command", ["info", "plan", "verify"])
def test_a_command_keeps_the_cache_within_its_size(
    command: str, web: WebServer, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"{web.url}/{store.name}"
    files = {path: path.stat().st_size for path in store.rglob("*") if path.is_file()}
    shards = sorted(size for path, size in files.items() if path.parent.name == "shards")
    assert len(shards) > 2
    # The two largest shards, and what is no shard.
    size = sum(files.values()) - sum(shards[:-2])
    status, out, err = run(capsys, command, url, "--cache", tmp_path, "--cache-size", f"{size / 1e6:.6f}MB")
    assert (status, err) == (0, "")
    assert out == run(capsys, command, store)[1].replace(str(store), url)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.h5")) <= size


@pytest.mark.whole
@pytest.mark.parametrize(
    ("size", "n_bytes"), [("123", 123), ("2kB", 2000), ("1.5 GB", 1_500_000_000), ("1GiB", 1 << 30), ("2TiB", 2 << 40)]
)
def test_a_size_may_have_a_unit(size: str, n_bytes: int) -> None:
    command = cli.get_command(click.Context(cli), "info")
    context = command.make_context("info", ["s3://bucket/store", "--cache", "cache", "--cache-size", size])
    assert context.params["cache_size"] == n_bytes


@pytest.mark.whole
@pytest.mark.parametrize("size", ["", "0", "-1", "many", "1e9", "5 apples", "0.1B", "9" * 40])
def test_another_size_is_refused(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "info", "s3://bucket/store", "--cache", "cache", "--cache-size", size)
    assert (status, out) == (2, "")
    assert f"expected a number of bytes, or one with a unit such as 200GB, found '{size}'" in err


@pytest.mark.whole
def test_a_folder_needs_no_cache(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "info", store, "--cache", tmp_path)
    assert (status, "a folder needs no cache" in err) == (2, True)


@pytest.mark.whole
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


@pytest.mark.whole
@pytest.mark.parametrize("command", ["info", "plan", "verify", "check"])
def test_a_url_needs_a_cache(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, command, "s3://bucket/store")
    assert (status, out) == (2, "")
    assert err == ("tts-prep: error: s3://bucket/store: a URL; give a folder for copies of its files: --cache FOLDER\n")


def path_parameters() -> list[tuple[str, str]]:
    """Return every argument and option of every command that is a path."""
    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return [
        (name, parameter.name)
        for name, command in commands.items()
        for parameter in command.params
        if isinstance(parameter.type, click.Path)
    ]


def with_url(name: str, parameter_name: str, url: str, folder: Path) -> list[str]:
    """Return the arguments of a command in which one path is a URL, and all others are new files in a folder."""
    words = [name]
    for parameter in cli.get_command(click.Context(cli), name).params:
        is_it = parameter.name == parameter_name
        if not parameter.required and not is_it:
            continue
        value = url if is_it else str(folder / str(parameter.name))
        if not is_it and parameter.name == "url":
            value = "http://127.0.0.1:1/store"
        words += [value] if isinstance(parameter, click.Argument) else [parameter.opts[0], value]
    return words


@pytest.mark.parametrize(("command", "parameter"), path_parameters())
def test_no_command_takes_a_url_for_a_path(
    command: str, parameter: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "gs://anna:secret@bucket/store"
    status, out, err = run(capsys, *with_url(command, parameter, url, tmp_path))
    assert (status, out) == (2, "")
    assert err.startswith("tts-prep: error: gs://bucket/store: a URL; ")
    assert err.count("\n") == 1
    assert "secret" not in err
    assert not list(tmp_path.iterdir())


STORES = [command for command, parameter in path_parameters() if parameter == "store"]


@pytest.mark.parametrize("command", STORES)
def test_a_command_says_what_to_do_with_the_url_of_a_store(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, err = run(capsys, *with_url(command, "store", "gs://bucket/store", tmp_path))
    if command not in doors.rows("commands") or doors.rows("commands")[command].group == _MAKE or command == "reindex":
        assert (
            "aws s3 sync FOLDER gs://bucket/store --exclude manifest.json, then aws s3 cp FOLDER/manifest.json" in err
        )
        assert "the manifest last" in err
        assert "rclone" in err
    elif command in ("check", "info", "plan", "verify"):
        assert "--cache FOLDER" in err
    else:
        assert "download it first: tts-prep fetch gs://bucket/store FOLDER" in err


@pytest.mark.whole
def test_repairing_a_store_behind_a_url_says_how_to_upload(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "verify", "gs://bucket/store", "--cache", "cache", "--repair", "corpus")
    assert status == 2
    assert "aws s3 sync FOLDER gs://bucket/store --exclude manifest.json, then aws s3 cp" in err


@pytest.mark.whole
@pytest.mark.parametrize("command", [["info"], ["info", "--json"], ["plan"], ["plan", "--json"], ["verify"]])
def test_a_command_prints_no_password(
    command: list[str], web: WebServer, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"{web.url.replace('://', '://anna:secret@')}/{store.name}"
    status, out, err = run(capsys, *command, url, "--cache", tmp_path)
    assert (status, err) == (0, "")
    assert f"{web.url}/{store.name}" in out
    assert "secret" not in out
    web.fault = lambda answer: setattr(answer, "status", 403)
    status, out, err = run(capsys, *command, url, "--cache", tmp_path / "other")
    assert (status, out) == (3, "")
    assert err.startswith(f"tts-prep: error: {web.url}/{store.name}/manifest.json: not permitted")
    assert "secret" not in err


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


def test_fetch_says_before_it_begins_that_the_disk_has_no_room(
    web: WebServer, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, url = tmp_path / "copy", f"{web.url}/{store.name}"
    disk = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: disk._replace(free=1234))
    status, _, err = run(capsys, "fetch", url, folder)
    assert status == 1
    assert err.startswith(f"tts-prep: error: {folder}: the disk has 1.2 kB left, the download needs ")
    assert err.endswith("; give a folder on another disk, or train from the URL with a cache of limited size\n")
    assert dict(web.requests) == {f"{store.name}/manifest.json": 1}
    # What is here needs no room.
    monkeypatch.undo()
    run(capsys, "fetch", url, folder)
    (folder / "manifest.json").unlink()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: disk._replace(free=0))
    assert run(capsys, "fetch", url, folder)[0] == 0


@pytest.mark.whole
def test_a_command_says_in_one_line_that_it_reads_the_copy_in_the_cache(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.remote.server._JITTER.random", lambda: -0.5)
    with serving(store.parent) as web:
        url = f"{web.url}/{store.name}"
        assert run(capsys, "verify", url, "--cache", tmp_path)[0] == 0
        before = run(capsys, "info", url, "--cache", tmp_path)
    status, out, err = run(capsys, "info", url, "--cache", tmp_path)
    assert (status, out) == before[:2]
    assert err.startswith(f"{url}/manifest.json: cannot be read in 2 attempts (")
    assert err.endswith(" Opened the copy in the cache.\n")
    assert err.count("\n") == 1


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
