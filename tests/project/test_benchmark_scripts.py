"""What is left by benchmarks and comparisons that end early, or lack what they need."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

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


def test_rows_of_the_last_commit_that_take_a_tenth_longer_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    history = importlib.import_module("history")

    def point(commit: str, day: int, **values: float) -> dict[str, Any]:
        benches = [
            {
                "name": name,
                "unit": "ratio",
                "value": value,
                "range": f"{value - 0.1:g} to {value + 0.1:g}",
                "extra": "9 ms; 2 cores",
            }
            for name, value in values.items()
        ]
        stamp = {"id": commit * 10, "timestamp": f"2026-11-0{day}T00:00:00+00:00", "message": "M"}
        return {"commit": stamp, "date": day, "tool": "customSmallerIsBetter", "benches": benches}

    points = [point("a1", 1, mel=2.0, check=10.0), point("b2", 2, mel=2.19, check=11.1, new=1.0)]
    (line,) = history.slower(*points, 10.0)
    assert line == "slower: check: 11.100, 10.000 before, +11 % (b2b2b2b2 to a1a1a1a1)"
    assert history.slower(*reversed(points), 10.0) == []
    # A round of before was as slow as one of now.
    points[0]["benches"][1]["range"] = "9 to 11.0"
    assert history.slower(*points, 10.0) == []
    rows = history.table(points).rows
    assert rows[0] == ["mel", "2 (1.9 to 2.1)", "2.19 (2.09 to 2.29)"]
    assert rows[2] == ["new", "", "1 (0.9 to 1.1)"]


def test_the_points_of_the_history_have_the_form_of_github_action_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    history = importlib.import_module("history")
    points = history.read_points(history.FOLDER / "speed")
    assert points
    for point in points:
        assert set(point) == {"commit", "date", "tool", "benches"}
        assert len({bench["name"] for bench in point["benches"]}) == len(point["benches"]) >= 10
        assert all({"name", "unit", "value"} <= set(bench) for bench in point["benches"])
