"""Test workers are forked from a process that has collected the tests."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from forked_tests import Server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs forks")


@contextmanager
def served(folder: Path, source: str) -> Iterator[tuple[bool, list[str]]]:
    """Yield whether tests are collected, and the interpreter that runs programs in forks of the process."""
    tests = folder / "tests"
    tests.mkdir(exist_ok=True)
    (tests / "pytest.ini").write_text("[pytest]\n")
    (tests / "test_some.py").write_text(source)
    server = Server(folder, [str(tests)])
    with closing(server):
        yield server.wait(), shlex.split(server.interpreter)


def run(interpreter: list[str], program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [*interpreter, "-u", "-c", program]
    return subprocess.run(command, cwd=folder, input="a line\n", capture_output=True, text=True, timeout=60)


def test_a_program_finds_what_was_imported_and_has_files_folder_and_status_of_its_own(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "made = sys.modules['test_some']\n"
        "made.there += 1\n"
        "print(made.there, sys.stdin.readline().strip(), os.getcwd())\n"
        "print('said', file=sys.stderr)\n"
        "sys.exit(made.there)\n"
    )
    with served(tmp_path, "there = 6\ndef test_one(): pass\n") as (is_served, interpreter):
        assert is_served
        # What one changes, another does not have.
        for _ in range(2):
            done = run(interpreter, program, tmp_path)
            assert (done.returncode, done.stdout, done.stderr) == (7, f"7 a line {tmp_path}\n", "said\n")


def test_a_program_a_module_and_a_file_have_arguments_and_statuses_as_of_python(tmp_path: Path) -> None:
    lines = "import sys, warnings, atexit\natexit.register(print, 'last')\nprint(sys.argv[1:], __name__)\n"
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/module.py").write_text(f"{lines}sys.exit('said')\n")
    (tmp_path / "file.py").write_text(f"{lines}warnings.warn('warned')\n")
    commands = [
        ["-u", "-c", f"{lines}sys.exit(True if sys.argv[1] == 'a' else None)", "a", "b"],
        ["-c", lines, "é"],
        ["-W", "error", str(tmp_path / "file.py"), "a"],
        ["-W", "ignore", str(tmp_path / "file.py")],
        ["-m", "module", "a"],
    ]
    variables = {**os.environ, "PYTHONPATH": str(tmp_path / "tests")}
    with served(tmp_path, "def test_one(): pass\n") as (_, interpreter):
        for command in commands:
            found, expected = (
                subprocess.run([*python, *command], env=variables, cwd=tmp_path, capture_output=True, text=True)
                for python in (interpreter, [sys.executable])
            )
            assert (found.returncode, found.stdout) == (expected.returncode, expected.stdout)
            assert found.stderr.splitlines()[-1:] == expected.stderr.splitlines()[-1:]


def test_a_program_ends_with_the_process_that_asked_for_it(tmp_path: Path) -> None:
    with served(tmp_path, "def test_one(): pass\n") as (_, interpreter):
        command = [*interpreter, "-u", "-c", "import os, time\nprint(os.getpid())\ntime.sleep(600)"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asked:
            assert asked.stdout
            number = int(asked.stdout.readline())
            asked.kill()
    assert not Path(f"/proc/{number}").exists()


@pytest.mark.parametrize(
    "source", ["1 / 0", "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"]
)
def test_a_process_with_threads_or_tests_that_cannot_be_collected_is_not_forked(tmp_path: Path, source: str) -> None:
    with served(tmp_path, f"{source}\ndef test_one(): pass\n") as (is_served, _):
        assert not is_served
