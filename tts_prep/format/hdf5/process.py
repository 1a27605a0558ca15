"""Find the datasets of HDF5 files in a separate process.

A malicious or broken file can crash the HDF5 library or block it forever. Then the separate process ends, and this one
raises an error. The processes exchange JSON; nothing is unpickled.

``python -m tts_prep.format.hdf5.process`` runs that process: it reads one path per line, as JSON, and answers with the
datasets or with an error message.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.format.hdf5.datasets import Location, Locations

_CPU_SECONDS: Final = 4
"""Processor time limit per file; files of a store take milliseconds."""

_WALL_SECONDS: Final = 120
_MEMORY: Final = 1 << 30


@contextmanager
def hdf5_process() -> Iterator[Callable[[Path], Locations]]:
    """Yield a function that finds the datasets of an HDF5 file in another process, which ends with the block.

    The function raises a `CorruptStoreError` like `tts_prep.format.hdf5.reader.read_locations`, and also if the file
    crashes HDF5 or takes more than four seconds of processor time.

    Raises:
        StoreError: the system is Windows, which cannot limit the process.
    """
    if not hasattr(signal, "SIGKILL"):
        raise StoreError("HDF5 files are parsed on Linux and macOS only; a store of format 1.2 is opened without")
    process = _Process()
    try:
        yield process.locations
    finally:
        process.end()


def locations_apart(path: Path) -> Locations:
    """Find the datasets of one HDF5 file in another process; see `hdf5_process`."""
    with hdf5_process() as find:
        return find(path)


class _Process:
    """The separate process, started on first use and again after a crash."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def locations(self, path: Path) -> Locations:
        try:
            answer = self._ask(json.dumps(os.fspath(path)).encode() + b"\n")
        except OSError as error:
            raise CorruptStoreError(f"{path}: the process that reads HDF5 cannot be started ({error})") from error
        if answer is None:
            raise CorruptStoreError(
                f"{path}: crashes the HDF5 library or takes too long to read; run 'tts-prep verify'"
            )
        value = json.loads(answer)
        if "fault" in value:
            raise CorruptStoreError(value["fault"])
        return {
            name: Location(offset, tuple(shape), np.dtype(dtype))
            for name, (offset, shape, dtype) in value["datasets"].items()
        }

    def _ask(self, line: bytes) -> bytes | None:
        """Return the answer to a line; None if the process ended or took too long."""
        process = self._process or self._start()
        self._process = process
        assert process.stdin
        assert process.stdout
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(line)
            process.stdin.flush()
        answer = bytearray()
        deadline = time.monotonic() + _WALL_SECONDS
        while not answer.endswith(b"\n"):
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
            if not piece:
                self.end()
                return None
            answer += piece
        return bytes(answer)

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)},
        )

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()
        process.wait()


def _serve() -> None:
    from tts_prep.format.hdf5.reader import read_locations

    # Ctrl-C is handled by the parent process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory()
    for line in sys.stdin.buffer:
        _limit_time()
        path = Path(json.loads(line))
        value: dict[str, Any]
        try:
            value = {
                "datasets": {
                    name: (place.offset, place.shape, place.dtype.str) for name, place in read_locations(path).items()
                }
            }
        except (CorruptStoreError, MemoryError) as error:
            value = {"fault": str(error) or f"{path}: takes too much memory to read"}
        sys.stdout.buffer.write(json.dumps(value).encode() + b"\n")
        sys.stdout.buffer.flush()


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _limit_time() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit = int(time.process_time()) + 1 + _CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    _serve()
