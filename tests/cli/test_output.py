"""Output in addition to results: ``--quiet``, ``--verbose``, logging, colours, and grouped help."""

from __future__ import annotations

import contextlib
import logging
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from commands import run
from corpora import TEXTS, write_ljspeech
from mounting import mounted

from tts_prep.cli.main import cli
from tts_prep.preprocess.configuration.settings import configure
from tts_prep.preprocess.corpora.corpus import read_corpus
from tts_prep.preprocess.run import prepare


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = write_ljspeech(tmp_path_factory.mktemp("c") / "corpus", TEXTS[:3])
    (corpus / "wavs/S-0001.wav").unlink()
    return corpus


MAKE = ("--frontend", "characters", "--jobs", 1, "--max-failures", 1, "--shard-utterances", 2)


@pytest.mark.whole
def test_a_quiet_command_prints_errors_only(capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert run(capsys, "ljspeech", corpus, store, *MAKE, "-q") == (0, "", "")
    assert run(capsys, "verify", store, "--quiet") == (0, "", "")
    status, out, err = run(capsys, "ljspeech", corpus, store, *MAKE, "-q", "--language", "de")
    assert (status, out, err.count("\n")) == (1, "", 1)
    status, _, err = run(capsys, "verify", store, "-q", "-v")
    assert (status, "--quiet and --verbose exclude each other" in err) == (2, True)


WRITERS = [
    *("report nowhere --output", "report nowhere --csv", "report nowhere nowhere -o", "plot nowhere x --output"),
    *("check nowhere --csv", "check nowhere --ids"),
]
"""Commands with each option for a file to write, and a store that does not exist."""


@contextlib.contextmanager
def not_writable(folder: Path) -> Iterator[None]:
    """Make a folder read-only; for root, who can write to such a folder, mount a file system there."""
    folder.chmod(0o555)
    if not os.access(folder, os.W_OK):
        yield
        return
    with mounted(folder, "-t", "tmpfs", "-o", "ro", "none"):
        yield


@pytest.mark.whole
def test_a_file_that_cannot_be_written_is_an_error_before_any_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link.png"
    folder.mkdir()
    link.symlink_to(folder / "file")
    with not_writable(folder):
        for command in WRITERS:
            file = folder / "file.png"
            assert run(capsys, *command.split(), file) == (
                1,
                "",
                f"tts-prep: error: {file}: cannot be written, the folder {folder} is not writable; give another path\n",
            )
            status, _, err = run(capsys, *command.split(), link)
            assert (status, f"{link}: is a link, expected a regular file" in err) == (1, True)


@pytest.mark.whole
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("command", ["presets", "--help"])
def test_a_full_device_is_named(command: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tts_prep", command], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "tts-prep: error: standard output: cannot be written: No space left on device\n"


@pytest.mark.whole
def test_what_a_full_disk_has_no_space_for_is_named(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    store, disk = tmp_path / "store", tmp_path / "disk"
    assert run(capsys, "ljspeech", corpus, store, *MAKE)[0] == 0
    disk.mkdir()
    with mounted(disk, "-t", "tmpfs", "-o", "size=64k", "none"):
        (disk / "filler").write_bytes(bytes(56 << 10))
        for command in (["report", store, "-o"], ["export", store, "--to", "kaldi"]):
            status, _, err = run(capsys, *command, disk / "out")
            assert (status, err.count("\n")) == (1, 1)
            assert f"{disk / 'out'}: cannot be written (No space left on device)" in err
        assert [path.name for path in disk.iterdir()] == ["filler"]


LISTS = ("corpora", "presets", "frontends", "features", "languages", "symbols", "phonemize", "recipes")
"""Commands that only print what was asked for, which have no --quiet."""


@pytest.mark.whole
def test_every_command_on_a_store_can_be_quiet(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = {
        name: {word for option in command.params for word in option.opts} for name, command in cli.commands.items()
    }
    assert {name for name in options if "--quiet" not in options[name]} == set(LISTS)
    assert run(capsys, "ljspeech", corpus, "store", *MAKE, "--part", "1/1", "-q") == (0, "", "")
    for command in (
        *("finish store --max-failures 1", "info store", "info store --json", "check store", "plan store"),
        *("plan store --json", "verify store", "reindex store", "add store --measures"),
        *("export store cuts --to lhotse", "report store", "remove store --array measures"),
    ):
        assert run(capsys, *command.split(), "--quiet") == (0, "", ""), command
    assert {path.name for path in tmp_path.iterdir()} == {"store", "cuts", "report.html"}
    status, out, err = run(capsys, "info", "nowhere", "-q")
    assert (status, out, err.count("\n")) == (1, "", 1)


@pytest.mark.whole
def test_a_verbose_command_names_the_failed_rows(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    failed = "failed: S-0001: wavs/S-0001.wav: no such file"
    status, out, err = run(capsys, "ljspeech", corpus, tmp_path / "a", *MAKE, "-v")
    assert (status, err.splitlines()) == (0, [f"{tmp_path / 'a'}: 3 rows in 1 shard", failed])
    assert "2 utterances" in out
    _, _, err = run(capsys, "ljspeech", corpus, tmp_path / "b", *MAKE, "-vv")
    assert [line for line in err.splitlines() if line.startswith("shards/")] == [
        "shards/00000.h5: 2 rows, made",
    ]
    # The option is of one command, not of the process.
    _, _, err = run(capsys, "ljspeech", corpus, tmp_path / "c", *MAKE)
    assert failed not in err


@pytest.mark.whole
def test_the_library_logs_without_printing(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, corpus: Path, tmp_path: Path
) -> None:
    items, root = read_corpus("ljspeech", corpus)
    config = configure("ljspeech", settings={"text": {"frontend": "characters"}})
    with caplog.at_level(logging.INFO, "tts_prep"):
        prepare(items, root, tmp_path / "store", config, max_failures=1)
    assert [(record.name, record.levelname) for record in caplog.records] == [
        ("tts_prep", "INFO"),
        ("tts_prep", "WARNING"),
    ]
    assert capfd.readouterr() == ("", "")


@pytest.mark.whole
@pytest.mark.parametrize(("variables", "colored"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_an_error_is_red_in_a_terminal_unless_no_color_is_set(variables: dict[str, str], colored: bool) -> None:
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | variables
    command = [sys.executable, "-m", "tts_prep", "info", "/no/such/store"]
    done = subprocess.run(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, check=False)
    os.close(theirs)
    text = os.read(ours, 10_000).decode()
    os.close(ours)
    assert done.returncode == 1
    assert text.startswith("\x1b[31m\x1b[1mtts-prep: error:\x1b[0m" if colored else "tts-prep: error: ")
    assert ("\x1b" in text) == colored


def test_an_error_that_is_piped_has_no_colors(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in run(capsys, "info", "/no/such/store")[2]


@pytest.mark.whole
def test_help_has_every_command_and_every_option_once(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--help")
    names = re.findall(r"^  ([a-z][a-z0-9-]+)  ", out, re.MULTILINE)
    readers = re.findall(r"[a-z0-9-]+", out.partition("as arguments:")[2].partition(":")[0].rpartition("\n\n")[0])
    assert sorted(names + readers) == sorted(cli.list_commands(click.Context(cli)))
    _, out, _ = run(capsys, "corpora")
    assert re.findall(r"^  ([a-z][a-z0-9-]+)  ", out, re.MULTILINE) == readers
    _, out, _ = run(capsys, "ljspeech", "--help", "all")
    titles = re.findall(r"^(\w.*):$", out, re.MULTILINE)
    assert titles == ["The corpus", "Mels", "Cleaning", "Texts", "Features", "The store", "The run"]
    command = cli.commands["ljspeech"]
    own = [option for option in command.params if isinstance(option, click.Option)]
    described = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", out, re.MULTILINE)
    assert sorted(described) == sorted([*(max(option.opts, key=len) for option in own), "--help"])
    assert "further options" not in out


@pytest.mark.whole
@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("a", "b", "--help"), ("--help", "a", "b")])
def test_help_has_a_dozen_options_first_and_says_how_to_see_the_others(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    status, out, err = run(capsys, "ljspeech", *arguments)
    described = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", out, re.MULTILINE)
    assert (status, err) == (0, "")
    assert len(described) == 12 + len(("--quiet", "--verbose", "--debug", "--help"))
    left_out = len(cli.commands["ljspeech"].params) - 2 - len(described) + 1  # two arguments; --help is no parameter
    assert out.endswith(f"\n{left_out} further options: tts-prep ljspeech --help all\n")


@pytest.mark.whole
def test_one_of_anything_is_in_the_singular(capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path) -> None:
    store, table = tmp_path / "store", tmp_path / "scores.csv"
    table.write_text("id,score\nS-0000,1\nunknown,1\n", encoding="utf-8")
    commands: tuple[tuple[object, ...], ...] = (
        ("ljspeech", corpus, store, *MAKE, "--limit", 2, "--waveform", "int16"),
        ("info", store),
        ("plan", store),
        ("verify", store),
        ("reindex", store),
        ("add", store, "--columns", table),
        ("check", store),
        ("report", store, "-o", tmp_path / "report.html", "--csv", tmp_path / "report.csv"),
    )
    for command in commands:
        status, out, err = run(capsys, *command)
        assert status == 0, err
        # A unit stays: "unspoken > 1 phones".
        assert re.findall(r"(?<!> )\b1 [a-z]+s\b", out + err) == [], command
    page = re.sub(r"<[^>]+>", "", (tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "of 1 utterance may spoil training" in page
    assert "1 row" in page
    assert "1 rows" not in page
    assert "Not measured: fewer than 100 utterances." in page
