"""Run ``tts-prep`` in processes that are forked from one that has imported it, so that a command starts in no time.

``python forked_commands.py FOLDER LOCK`` serves; `CLIENT` is the program that takes the place of ``tts-prep``. Its
arguments are those of a command, which has no workers unless it asks for them, or ``--python`` and the paths of
scripts, which run one after another.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from commands import without_workers
from corpora import write_ljspeech
from forked_tests import forked_python

CLIENT = """
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
request = json.dumps([os.getcwd(), dict(os.environ), sys.argv[1:]]).encode()
socket.send_fds(server, [len(request).to_bytes(4, "big")], [0, 1, 2])
server.sendall(request)
sys.exit(int(server.recv(9) or 1))
"""


@contextmanager
def served(folder: Path, lock: Path) -> Iterator[list[str]]:
    """Yield the command that takes the place of ``tts-prep`` while the server is there.

    Test workers that give the same folder share a server, whose start takes seconds: it ends after the last of them.

    Args:
        lock: that of the test workers, of which one compiles at a time.
    """
    folder.mkdir(exist_ok=True)
    server = None
    with _alone(folder):
        try:
            # The other end of this pipe is open while the server is there.
            user = os.open(folder / "users", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            with contextlib.suppress(FileNotFoundError):
                (folder / "commands").unlink()
            with contextlib.suppress(FileExistsError):
                os.mkfifo(folder / "users")
            users = os.open(folder / "users", os.O_RDONLY | os.O_NONBLOCK)
            user = os.open(folder / "users", os.O_WRONLY | os.O_NONBLOCK)
            command = [*forked_python(), __file__, str(folder), str(lock)]
            server = subprocess.Popen(command, stdin=users, stdout=subprocess.PIPE, text=True)
            os.close(users)
            assert server.stdout
            with server.stdout as said:
                assert said.readline() == "ready\n"
    try:
        # Without the modules of the site, Python starts in ten milliseconds.
        yield [sys.executable, "-I", "-S", "-c", CLIENT.format(address=str(folder / "commands"))]
    finally:
        os.close(user)
        if server:
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:  # a process that a test has left has the other end of the pipe
                server.kill()
                server.wait()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep others from looking whether there is a server, or ending it."""
    with (folder / "one-at-a-time").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _serve(folder: Path, lock: Path) -> None:
    """Answer until no test worker has the other end of the standard input."""
    from tts_prep.cli.main import main
    from tts_prep.compiler import is_available
    from tts_prep.preprocess import PRESETS
    from tts_prep.preprocess.audio.mel import compile_kernels

    if is_available():
        from one_compiler import OneCompiler

        # Else a test worker compiles the same measures at the same time.
        OneCompiler(lock).register()

    with contextlib.suppress(ImportError):
        import torch  # noqa: F401

    compile_kernels(PRESETS["parakeet"])
    _run_commands(main, folder)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "commands"))
        listening.listen()
        print("ready", flush=True)
        while True:
            if listening not in select.select([listening, 0], [], [])[0]:
                if _is_unused(folder):
                    return
                continue
            connection, _ = listening.accept()
            with connection:
                if os.fork() == 0:
                    os._exit(_answer(connection, main))
            # Ended commands leave no process.
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _run_commands(main: Callable[[list[str]], None], folder: Path) -> None:
    """Run the commands that most pages have, so that what they import, compile and start is there for all."""
    own = folder / str(os.getpid())
    corpus, store = str(write_ljspeech(own / "corpus")), str(own / "store")
    for command in (
        ("ljspeech", corpus, store, "--waveform", "int16", "--jobs", "1"),
        ("add", store, "--measures"),
        ("verify", store),
        ("check", store),
        ("report", store, "--output", str(own / "report.html")),
    ):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main([*command, "--quiet"])


def _is_unused(folder: Path) -> bool:
    """Return whether no test worker uses the server; none will, then, but start one."""
    with _alone(folder):
        users = select.poll()
        users.register(0, 0)
        if users.poll(0) != [(0, select.POLLHUP)]:
            return False
        (folder / "users").unlink()
        return True


def _answer(connection: socket.socket, main) -> int:
    """Run the command of a request in a process of its own, and send its exit status."""
    size, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
    folder, environment, arguments = json.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        connection.sendall(str(status % 256).encode())
        return 0
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    status = 1
    try:
        if arguments[:1] == ["--python"]:
            _run_scripts(arguments[1:])
            status = 0
        else:
            main(without_workers(arguments))
    except SystemExit as error:
        status = int(error.code or 0)
    except Exception:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _run_scripts(paths: list[str]) -> None:
    warnings.simplefilter("error")
    # As for a script of the working folder.
    sys.path.insert(0, os.getcwd())
    for path in paths:
        runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), Path(sys.argv[2]))
