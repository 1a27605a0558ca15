"""The compiler's cache consists of pickles, so it is used only where nobody else can write."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tts_prep.compiler import is_private


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that others can read, as the folders of pytest are not."""
    path = Path(tempfile.mkdtemp(dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from tts_prep.compiler import jit
import module
compiled = jit(module.function)
compiled(1)
print(sum(compiled.stats.cache_hits.values()), compiled.stats.cache_path is not None)
"""


def run(folder: Path, cache: Path) -> list[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


def test_compiled_code_is_read_from_a_private_folder_only(folder: Path) -> None:
    cache = folder / "cache"
    (folder / "module.py").write_text("def function(x):\n    return x + 1\n")
    assert run(folder, cache) == ["0", "True"]
    assert run(folder, cache) == ["1", "True"]
    (place,) = {path.parent for path in cache.rglob("*.nbi")}
    place.chmod(0o777)
    assert run(folder, cache) == ["0", "False"]


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ((0o755, 0o755), True),
        ((0o700, 0o777), True),
        ((0o1777, 0o700), True),
        ((0o777, 0o700), False),
        ((0o755, 0o777), False),
        ((0o755, 0o1777), False),
        ((0o1777, 0o1777), False),
    ],
)
def test_a_folder_is_private_if_nobody_else_can_write_in_it_or_replace_it(
    folder: Path, modes: tuple[int, int], expected: bool
) -> None:
    for path, mode in zip((folder / "a", folder / "a/b"), modes, strict=True):
        path.mkdir()
        path.chmod(mode)
    assert is_private(folder / "a/b") is expected


@pytest.mark.skipif(os.getuid() != 0, reason="giving files to other users")
def test_a_folder_of_another_user_or_with_files_of_one_is_not_private(folder: Path) -> None:
    assert is_private(folder)
    (folder / "function.nbi").touch()
    os.chown(folder / "function.nbi", 12345, 12345)
    assert not is_private(folder)
    (folder / "function.nbi").unlink()
    os.chown(folder, 12345, 12345)
    assert not is_private(folder)


def test_users_of_the_container_have_a_cache_each(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "Dockerfile").read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if line.startswith("ENTRYPOINT "))
    command = json.loads(line.removeprefix("ENTRYPOINT ").replace("/tmp/numba", f"{tmp_path}/numba"))
    (tmp_path / "numba").mkdir()
    (tmp_path / "tts-prep").write_text('#!/bin/sh\necho "$NUMBA_CACHE_DIR" "$@"\n')
    (tmp_path / "tts-prep").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for _ in range(2):
        done = subprocess.run([*command, "info", "a b"], env=environment, capture_output=True, text=True, check=True)
        own = tmp_path / "numba" / str(os.getuid())
        assert (done.stdout, done.stderr) == (f"{own} info a b\n", "")
        assert own.stat().st_mode & 0o777 == 0o700


PITCH = """
import numpy as np
from tts_prep.compiler import import_librosa
tone = np.sin(2 * np.pi * 220 * np.arange(8192) / 22050).astype(np.float32)
values = import_librosa().pyin(tone, fmin=65, fmax=1000, sr=22050)[0]
assert abs(np.nanmedian(values) - 220) < 3, values
"""


@pytest.mark.soak
def test_processes_that_compile_librosa_at_once_leave_a_cache_that_works(tmp_path: Path) -> None:
    for _ in range(3):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        started = [subprocess.Popen([sys.executable, "-c", PITCH], env=environment) for _ in range(4)]
        assert [process.wait() for process in started] == [0] * 4
