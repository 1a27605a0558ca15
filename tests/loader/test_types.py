"""A user's script with the types that a type checker knows of: `make check` checks it, with all of mypy's settings."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest
from stores import make_rows, write_store

SCRIPT = Path(__file__).with_name("typed_script.py")
ROOT = Path(__file__).parents[2]


def test_the_script_is_one_of_the_files_that_make_check_gives_to_the_type_checker() -> None:
    if sys.version_info < (3, 11):
        pytest.skip("needs tomllib, of Python 3.11")
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    assert settings["strict"]
    assert SCRIPT.relative_to(ROOT).as_posix() in settings["files"]
    # 'make check' gives no files of its own, and 'make test-optional' does the same with torch.
    rules = dict(re.findall(r"^([a-z-]+):.*\n((?:\t.*\n)*)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert "\t$(BIN)/mypy\n" in rules["check"]
    assert "\t$(BIN)/mypy\n" in rules["test-optional"]


@pytest.mark.whole
def test_the_script_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("typing_extensions")
    write_store(tmp_path / "store", make_rows([4, 5, 6]), n_shards=1, waveform=True)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(SCRIPT))
