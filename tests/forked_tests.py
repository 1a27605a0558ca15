"""Test workers that are forked from one process, which has collected the tests: modules are read and compiled once.

``python forked_tests.py --serve SOCKET ARGUMENTS`` collects the tests of a run with these arguments, and serves until
its input ends. ``python forked_tests.py SOCKET`` is the interpreter of a test worker, for pytest-xdist, and of programs
of tests that need another process, but no new interpreter. It knows ``-u``, ``-W``, ``-c`` and ``-m``.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib.util
import json
import os
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import warnings
from pathlib import Path

PATHS: list[str] = []
"""Where the modules of tests are found. Tests that were imported in the process that is forked add nothing here."""

INTERPRETER = "TTS_PREP_TESTS_INTERPRETER"
"""The variable that tells tests of the interpreter."""


def forked_python() -> list[str]:
    """Return what runs a Python program in another process: in a fork, which has imported what tests import, if it can.

    It prints as without ``-u``. To kill it is to kill what asked for it, soon after.
    """
    return shlex.split(os.environ.get(INTERPRETER, "")) or [sys.executable]


class Server:
    """The process of which test workers are forks; it ends with this one."""

    def __init__(self, folder: Path, arguments: list[str]) -> None:
        self.interpreter = shlex.join([sys.executable, "-I", "-S", __file__, str(folder / "socket")])
        """What starts a Python program in a fork, as ``python`` does in a new process."""
        command = [sys.executable, __file__, "--serve", str(folder / "socket"), *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def wait(self) -> bool:
        """Wait until the tests are collected; return whether the process can be forked."""
        assert self._process.stdout
        return self._process.stdout.readline() == b"ready\n"

    def close(self) -> None:
        """End the process, if its forks have ended."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _serve(address: str, arguments: list[str]) -> None:
    import pytest

    # The first that is registered is the last that is called.
    atexit.register(_end, os.getpid())
    said = os.dup(1)
    os.dup2(2, 1)
    compiling = _compile_librosa()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        code = pytest.main([*arguments, "--collect-only", "-qq", "--numprocesses=0", "--dist=no"])
    # What is wrong is said by the test workers, which collect the same tests.
    if code or _other_threads():
        return
    # That of the tests, not of this program.
    importlib.import_module("forked_tests").PATHS[:] = sys.path
    gc.freeze()
    # Test workers are interrupted; this process ends after them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        try:
            listening.bind(address)
        except OSError:  # The path is too long.
            return
        listening.listen()
        os.write(said, b"ready\n")
        os.close(said)
        while select.select([listening, 0], [], [])[0] == [listening]:
            connection, _ = listening.accept()
            # Python 3.12 warns of other threads, which `_other_threads` knows.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                listening.close()
                _answer(connection)
                return
            connection.close()
            # Ended programs leave no process.
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    if compiling:
        compiling.kill()
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def _compile_librosa() -> subprocess.Popen[bytes] | None:
    """Have librosa compiled while tests are collected, if it was not: it takes 15 s, when it is first imported."""
    found = importlib.util.find_spec("librosa")
    if found is None or found.origin is None or [*Path(found.origin).parent.glob("util/__pycache__/*.nbi")]:
        return None
    program = "from tts_prep.compiler import import_librosa; import_librosa()"
    nothing = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-c", program], stdin=nothing, stdout=nothing, stderr=nothing)


def _other_threads() -> list[str]:
    """Return the names of threads, which a fork does not have, but for that of pyarrow's memory, which knows forks."""
    tasks = [path for path in Path("/proc/self/task").iterdir() if path.name != str(os.getpid())]
    return [name for task in tasks if (name := (task / "comm").read_text().strip()) != "jemalloc_bg_thd"]


def _answer(connection: socket.socket) -> None:
    """Run a program in a process of its own, and send its exit status."""
    size, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
    folder, environment, arguments = json.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
    child = os.fork()
    if child:
        for descriptor in descriptors:
            os.close(descriptor)
        # A test worker that does not end is ended by pytest-xdist, which knows the other end of the connection.
        if select.select([connection, os.pidfd_open(child)], [], [])[0] == [connection]:
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(OSError):
            connection.sendall(str(status % 256).encode())
        os._exit(0)
    connection.close()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", 1), open(2, "w", 1)  # noqa: SIM115
    global _status
    try:
        _run(arguments)
        _status = 0
    except SystemExit as error:
        _status = error.code if isinstance(error.code, int) else int(error.code is not None)
        raise


_status = 1


def _end(server: int) -> None:
    """End a fork as it is: to take apart all that tests import takes longer than what most programs do."""
    if os.getpid() != server:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_status)


def _run(arguments: list[str]) -> None:
    """Run a program as ``python`` does with these arguments."""
    option, *rest = arguments
    if option == "-u":
        _run(rest)
    elif option == "-W":
        warnings.simplefilter(rest[0])  # type: ignore[arg-type]
        _run(rest[1:])
    elif option == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif option == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(rest[0], {"__name__": "__main__"})
    else:
        sys.argv = arguments
        runpy.run_path(option, run_name="__main__")


def _ask(address: str, arguments: list[str]) -> int:
    """Have a fork of the server run a program with the files and variables of this process; return its exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        request = json.dumps([os.getcwd(), dict(os.environ), arguments]).encode()
        socket.send_fds(server, [len(request).to_bytes(4, "big")], [0, 1, 2])
        server.sendall(request)
        # The end of a test worker is seen by the end of its output.
        os.close(0)
        os.close(1)
        return int(server.recv(9) or 1)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        _serve(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(_ask(sys.argv[1], sys.argv[2:]))
