"""What is left by benchmarks and comparisons that end early, or lack what they need."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_files_of_another_library_that_were_half_written_are_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    written = importlib.import_module("peers").written

    def interrupted(folder: Path) -> None:
        folder.mkdir()
        (folder / "first").touch()
        raise KeyboardInterrupt

    def whole(folder: Path) -> None:
        folder.mkdir()
        (folder / "second").touch()

    with pytest.raises(KeyboardInterrupt):
        written(tmp_path / "mds", interrupted)
    assert not (tmp_path / "mds").exists()
    assert [path.name for path in written(tmp_path / "mds", whole).iterdir()] == ["second"]
    # What is whole is not written again.
    written(tmp_path / "mds", interrupted)
    assert [path.name for path in tmp_path.iterdir()] == ["mds"]


def test_what_benchmarks_leave_is_said_in_gigabytes(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    for name in ("a.wav", "corpus/b.wav"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(1_300_000_000)
    (tmp_path / "linked").symlink_to(tmp_path / "a.wav")
    said = subprocess.run(
        [sys.executable, "-c", "import sys, pathlib, run; print(run.left(pathlib.Path(sys.argv[1])))", str(tmp_path)],
        cwd=ROOT / "benchmarks",
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    assert said.startswith(f"{tmp_path} has 2.6 GB")
    assert "delete it" in said


def test_a_comparison_of_training_names_what_a_system_needs_and_ends_without_a_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "conformance/training"),
            "--corpus",
            str(tmp_path),
            "--sources",
            str(tmp_path),
            "--only",
            "hifigan",
            "--json",
        ],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("hifigan needs a checkout of ")
    assert "Traceback" not in done.stderr
