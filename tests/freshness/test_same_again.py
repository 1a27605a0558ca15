"""What was done to a store, the commands that make it again, and other stores with its settings."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest
from commands import run
from killing import contents

OPTIONS = ("--frontend", "characters", "--unknown", "drop", "--fmax", "7000", "--shard-utterances", "3")


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    status, out, err = run(capsys, *arguments)
    assert status == 0, err
    return out


@pytest.mark.whole
def test_the_history_has_a_line_for_each_command_and_its_commands_make_the_same_bytes(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "a store"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_text("id,wer\nS-0001,0.5\n")
    command(capsys, "ljspeech", corpus, "a store", *OPTIONS, "--feature", "energy")
    command(capsys, "add", "a store", "--columns", "scores.csv", "--quiet")
    # Changes nothing.
    command(capsys, "ljspeech", corpus, "a store", *OPTIONS, "--feature", "energy")
    lines = command(capsys, "info", store, "--history").splitlines()
    assert [line.split("tts-prep ")[1].split()[0] for line in lines] == ["ljspeech", "add"]
    assert all("  7 rows  " in line for line in lines)
    made = contents(store)
    printed = command(capsys, "info", store, "--command").splitlines()
    shutil.rmtree(store)
    monkeypatch.chdir(corpus)
    for line in printed:
        folder, _, rest = line.removeprefix("cd ").partition(" && tts-prep ")
        os.chdir(shlex.split(folder)[0])
        command(capsys, *shlex.split(rest))
    assert contents(store) == made


@pytest.mark.whole
def test_options_go_on_top_of_all_settings_of_a_store(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    (tmp_path / "words.txt").write_text("why\twai\n")
    command(capsys, "ljspeech", corpus, one, *OPTIONS, "--feature", "energy", "--lexicon", tmp_path / "words.txt")
    command(capsys, "ljspeech", corpus, two, "--like", one)
    assert contents(two) == contents(one)
    command(capsys, "ljspeech", corpus, three, "--like", one, "--fmin", "50")
    status, out, _ = run(capsys, "diff", one, three, "--json")
    assert (status, json.loads(out)["settings"]) == (1, [["audio", "fmin", "0", "50"]])


@pytest.mark.whole
def test_what_a_store_does_not_say_is_asked_for(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    texts, split = tmp_path / "texts.txt", tmp_path / "train.txt"
    texts.write_text("Other texts.\n")
    split.write_text("S-0001\n")
    command(capsys, "ljspeech", corpus, one, *OPTIONS, "--ood-texts", texts, "--split", f"train={split}")
    (tmp_path / "vector.csv").write_text("id,wer\nS-0001,0.5\n")
    command(capsys, "add", one, "--columns", tmp_path / "vector.csv")
    given = ["ljspeech", corpus, two, "--like", one]
    assert "give --split train=FILE again" in run(capsys, *given)[2]
    given += ["--split", f"train={split}"]
    assert "give their file with --ood-texts" in run(capsys, *given)[2]
    out = command(capsys, *given, "--ood-texts", texts)
    assert f"not as in {one}: external_columns, of other sources than the corpus; add them again\n" in out
    # A copy does not know how it was made, but has all settings.
    copy = Path(shutil.copytree(two, tmp_path / "copy", ignore=shutil.ignore_patterns("sources.json")))
    status, _, err = run(capsys, "info", copy, "--command")
    assert (status, f"'tts-prep CORPUS … --like {copy}' takes its settings" in err) == (1, True)
