"""Run ``tts-prep`` in processes that are forked from one that has imported it, so that a command starts in no time.

``python forked_commands.py SOCKET LOCK`` serves; `CLIENT` is the program that takes the place of ``tts-prep``. Its
arguments are those of a command, or ``--python`` and the paths of scripts, which run one after another.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import socket
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stores import make_rows, write_store

CLIENT = """
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
processors = list(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
request = json.dumps([os.getcwd(), dict(os.environ), processors, sys.argv[1:]]).encode()
socket.send_fds(server, [len(request).to_bytes(4, "big")], [0, 1, 2])
server.sendall(request)
sys.exit(int(server.recv(9) or 1))
"""


@contextmanager
def served(folder: Path, lock: Path) -> Iterator[list[str]]:
    """Yield the command that takes the place of ``tts-prep`` while the server is there.

    Args:
        lock: that of the test workers, of which one compiles at a time.
    """
    address = str(folder / "commands")
    server = subprocess.Popen([sys.executable, __file__, address, str(lock)], stdout=subprocess.PIPE, text=True)
    assert server.stdout
    try:
        assert server.stdout.readline() == "ready\n"
        # Without the modules of the site, Python starts in ten milliseconds.
        yield [sys.executable, "-I", "-S", "-c", CLIENT.format(address=address)]
    finally:
        server.kill()
        server.stdout.close()
        server.wait()


def _serve(address: str, lock: Path) -> None:
    import tts_prep.checks.detection
    import tts_prep.cli.preparing
    import tts_prep.report.page  # noqa: F401
    from tts_prep.checks import measure
    from tts_prep.cli.main import main
    from tts_prep.compiler import is_available
    from tts_prep.loader import UtteranceDataset
    from tts_prep.preprocess import PRESETS
    from tts_prep.preprocess.audio.mel import compile_kernels

    if is_available():
        from one_compiler import OneCompiler

        # Else a test worker compiles the same measures at the same time.
        OneCompiler(lock).register()

    with contextlib.suppress(ImportError):
        import torch  # noqa: F401

    compile_kernels(PRESETS["parakeet"])
    measure(UtteranceDataset(write_store(Path(f"{address}-measured"), make_rows([40, 50, 60]), waveform=True)))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listening.accept()
            with connection:
                if os.fork() == 0:
                    os._exit(_answer(connection, main))
            # Ended commands leave no process.
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _answer(connection: socket.socket, main) -> int:
    """Run the command of a request in a process of its own, and send its exit status."""
    size, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
    folder, environment, processors, arguments = json.loads(
        connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
    )
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        connection.sendall(str(status % 256).encode())
        return 0
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    if processors:
        # By default a command has a worker for each of them.
        os.sched_setaffinity(0, processors)
    os.environ.clear()
    os.environ.update(environment)
    status = 1
    try:
        if arguments[:1] == ["--python"]:
            _run_scripts(arguments[1:])
            status = 0
        else:
            main(arguments)
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
    _serve(sys.argv[1], Path(sys.argv[2]))
